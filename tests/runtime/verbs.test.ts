import { z } from "zod";
import { pageShieldPolicy } from "../../provider/page-shield/policy";
import { CompositeId } from "../../provider/runtime/composite-id";
import { PartialFailure } from "../../provider/runtime/lifecycle";
import { Locks } from "../../provider/runtime/locks";
import { omit } from "../../provider/basics/json";
import { defineResource } from "../../provider/runtime/resource";
import { failureOf } from "../support/edge-client";
import { Bench, zones } from "../support/bench";
import { Operation, rawGet, sent, type Recorded } from "../support/operation";

const b = new Bench("PageShieldPolicy", { shared: true });
const policy = {
  zoneId: zones.empty,
  description: "Checkout",
  action: "log",
  expression: "true",
  value: "script-src 'self'",
};
const settings = { zoneId: zones.empty, enabled: true };

const policyCount = async () => {
  const { result } = await rawGet(b.api, `/zones/${zones.empty}/page_shield/policies`);
  return (result as unknown[]).length;
};

describe("a rename without an alias", () => {
  test("adopts the same object, and deleting the old name sends nothing", async () => {
    const before = await b.up(policy);
    b.api.clearRequests();
    const op = new Operation(b.api);
    const after = await op.up("PageShieldPolicy", policy);
    await op.destroy("PageShieldPolicy", before);
    expect(after.id).toBe(before.id);
    expect(sent(b.api, "POST", "PUT", "DELETE")).toEqual([]);
    expect(await policyCount()).toBe(1);
    expect(op.said.join("\n")).toContain(
      `PageShieldPolicy ${before.id} is kept: another resource in this program adopted it`,
    );
  });

  test("is finished by the next operation if it was interrupted before the delete", async () => {
    const before = await b.up(policy);
    const after = await b.up(policy);
    b.api.clearRequests();
    const op = new Operation(b.api);
    expect(await op.preview("PageShieldPolicy", policy, after)).toMatchObject({ step: "same" });
    await op.destroy("PageShieldPolicy", before);
    expect(sent(b.api)).toEqual([]);
    expect(await policyCount()).toBe(1);
  });

  test("keeps the object even if the renamed resource's create failed halfway", async () => {
    const before = await new Operation(b.api).up("PageShieldSettings", settings);
    b.api.fault({ match: { method: "PUT" }, kind: "dropAfter", times: 9 });
    const op = new Operation(b.api);
    await op.failedUp("PageShieldSettings", { ...settings, enabled: false });
    b.api.clearFaults();
    b.api.clearRequests();
    await op.destroy("PageShieldSettings", before);
    expect(sent(b.api)).toEqual([]);
  });
});

describe("objects that another resource of the program owns", () => {
  test("can't be adopted by a new resource if their owner is about to change them", async () => {
    const held = await b.up(policy);
    const op = new Operation(b.api);
    // The engine compares the changed one, then makes the new one, then carries out the change.
    await op.preview("PageShieldPolicy", { ...policy, description: "Changed" }, held);
    const made = await op.up("PageShieldPolicy", policy);
    expect(made.id).not.toBe(held.id);
    await op.up("PageShieldPolicy", { ...policy, description: "Changed" }, held);
    expect(await policyCount()).toBe(2);
  });

  test("can't be changed by a former owner once a new resource has adopted them", async () => {
    const held = await b.up(policy);
    const op = new Operation(b.api);
    const made = await op.up("PageShieldPolicy", policy);
    expect(made.id).toBe(held.id);
    b.api.clearRequests();
    const { message } = await failureOf(
      op.up("PageShieldPolicy", { ...policy, description: "Changed" }, held),
    );
    expect(message).toContain("was adopted by another resource in this program");
    expect(sent(b.api, "PUT", "POST", "DELETE")).toEqual([]);
  });

  test("aren't taken over just because their name matches", async () => {
    const held = await b.up(policy);
    const op = new Operation(b.api);
    await op.preview("PageShieldPolicy", policy, held);
    const made = await op.up("PageShieldPolicy", { ...policy, value: "script-src *", adopt: "takeOver" });
    expect(made.id).not.toBe(held.id);
  });
});

describe("a delete", () => {
  test("deletes the object if no other resource owns it", async () => {
    const op = new Operation(b.api);
    const one = await op.up("PageShieldPolicy", policy);
    await op.up("PageShieldPolicy", { ...policy, description: "Other" });
    await b.destroy(one);
    expect(await policyCount()).toBe(1);
  });

  test("deletes the object even if the same operation has just planned a change to it", async () => {
    const before = await b.up(policy);
    const op = new Operation(b.api);
    expect(await op.preview("PageShieldPolicy", { ...policy, description: "New" }, before)).toMatchObject({
      step: "update",
    });
    await op.destroy("PageShieldPolicy", before);
    expect(sent(b.api, "DELETE")).toHaveLength(1);
  });

  test("deletes the object after a diff without a check, because a refresh or destroy has no program", async () => {
    const before = await b.up(policy);
    const op = new Operation(b.api);
    const verbs = pageShieldPolicy.verbs;
    expect(await verbs.diff(op.host, before.id, before.outputs, before.inputs)).toEqual({
      changes: false,
      changed: [],
      replaces: [],
      deleteBeforeReplace: false,
    });
    await op.destroy("PageShieldPolicy", before);
    expect(await policyCount()).toBe(0);
  });
});

test("creates two resources of a zone one after the other, even if the engine starts both at once", async () => {
  const op = new Operation(b.api, { config: { "edgeguard:liveChecks": "false" } });
  b.api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 60 });
  await Promise.all([
    op.up("PageShieldSettings", settings),
    op.up("PageShieldPolicy", policy),
    op.up("PageShieldPolicy", { ...policy, description: "Second" }),
    op.up("PageShieldPolicy", { ...policy, description: "Third", zoneId: zones.shop }),
  ]);
  expect(await policyCount()).toBe(2);
  expect(await rawGet(b.api, `/zones/${zones.empty}/page_shield`)).toMatchObject({
    result: { enabled: true },
  });
  // Within the zone no request of one resource stands between those of another.
  const inZone = b.api.requests.filter((r) => r.path.includes(zones.empty));
  const writers = inZone
    .slice(0, 7)
    .map(({ method, path }) => `${method} ${path.endsWith("policies") ? "policy" : "settings"}`);
  expect(writers).toEqual([
    "GET settings",
    "PUT settings",
    "GET settings",
    "GET policy",
    "POST policy",
    "GET policy",
    "POST policy",
  ]);
});

test("deletes two resources of a zone one after the other, even if the engine starts both at once", async () => {
  const held = [await b.operation().up("PageShieldSettings", settings), await b.up(policy)] as const;
  b.api.fault({ match: { method: "GET" }, kind: "slow", delayMs: 60 });
  b.api.clearRequests();
  const op = b.operation();
  await Promise.all([op.destroy("PageShieldSettings", held[0]), op.destroy("PageShieldPolicy", held[1])]);
  expect(b.api.requests.at(-1)?.method).toBe("DELETE");
});

test("a lock admits one holder per key, in order of arrival, and survives a failure", async () => {
  const locks = new Locks();
  const seen: string[] = [];
  const hold = (key: string, name: string, fails = false) =>
    locks.with(key, async () => {
      seen.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, 10));
      seen.push(`${name} out`);
      if (fails) throw new Error(name);
      return name;
    });
  const [a, b] = [hold("k", "a", true), hold("k", "b")];
  const c = hold("other", "c");
  expect((await failureOf(a)).message).toBe("a");
  expect(await Promise.all([b, c])).toEqual(["b", "c"]);
  expect(seen.filter((text) => !text.startsWith("c"))).toEqual(["a in", "a out", "b in", "b out"]);
  expect(seen.indexOf("c in")).toBeLessThan(seen.indexOf("a out"));
});

describe("recorded state", () => {
  /** Version 3; a `Thing` of version 1 called its size `width`, one of version 2 kept it as text. */
  const seen: unknown[] = [];
  const thing = (more: { half?: boolean } = {}) =>
    defineResource({
      type: "Thing",
      compositeId: new CompositeId(["<zone ID>"]),
      existing: () => Promise.resolve(undefined),
      schemaVersion: 3,
      upgrades: {
        1: ({ width, ...rest }) => ({ ...rest, size: String(width) }),
        2: ({ size, ...rest }) => ({ ...rest, size: Number(size) }),
      },
      args: z.object({ name: z.string(), size: z.number(), note: z.string().exactOptional() }),
      computed: z.object({ madeAt: z.string() }),
      replaceOn: ["name"],
      lock: ({ name }) => name,
      create: () => {
        if (more.half === true) {
          throw new PartialFailure("id-1", { madeAt: "half" }, "Made, but local-token is not done.", {
            size: 1,
          });
        }
        return Promise.resolve({ id: "id-1", computed: { madeAt: "now" } });
      },
      read: ({ state }) => {
        seen.push(state);
        return Promise.resolve(state);
      },
      update: ({ state }) => {
        seen.push(state);
        return Promise.resolve({ madeAt: state.madeAt });
      },
      delete: ({ state }) => {
        seen.push(state);
        return Promise.resolve();
      },
    }).verbs;
  const operation = (more = {}) => new Operation(b.api, { types: { Thing: thing(more) } });
  const inputs = { name: "a", size: 5 };
  const old = (outputs: object): Recorded => ({
    id: "id-1",
    inputs,
    outputs: { name: "a", madeAt: "then", ...outputs },
  });

  beforeEach(() => {
    seen.length = 0;
  });

  test("contains the schema version", async () => {
    expect((await operation().up("Thing", inputs)).outputs).toMatchObject({
      ...inputs,
      madeAt: "now",
      schemaVersion: 3,
    });
  });

  test.each([
    ["one", { schemaVersion: 1, width: 5 }],
    ["two", { schemaVersion: 2, size: "5" }],
  ])("is upgraded from version %s by every provider method", async (_version, outputs) => {
    const op = operation();
    const recorded = old(outputs);
    expect(await op.preview("Thing", inputs, recorded)).toMatchObject({ step: "same" });
    expect((await op.refresh("Thing", recorded))?.outputs).toMatchObject({ size: 5, schemaVersion: 3 });
    expect((await op.update("Thing", { ...inputs, size: 6 }, recorded)).outputs).toMatchObject({
      size: 6,
      schemaVersion: 3,
    });
    await operation().destroy("Thing", recorded);
    expect(seen).toEqual(Array(3).fill({ name: "a", size: 5, madeAt: "then" }));
  });

  test("is refused by every provider method if its version is newer, and the error says what to install", async () => {
    const recorded = old({ size: 5, schemaVersion: 4 });
    const op = operation();
    const failures = await Promise.all([
      failureOf(op.preview("Thing", inputs, recorded)),
      failureOf(op.refresh("Thing", recorded)),
      failureOf(op.update("Thing", inputs, recorded)),
      failureOf(op.destroy("Thing", recorded)),
    ]);
    for (const { message } of failures) {
      expect(message).toContain(
        "This Thing was written by a newer pulumi-edgeguard (state schema 4; version ",
      );
      expect(message).toContain("reads up to 3). Install the version that wrote it, or a later one");
    }
    expect(seen).toEqual([]);
  });

  test("is refused if its version is unreadable or can't be upgraded", async () => {
    expect((await failureOf(operation().refresh("Thing", old({ schemaVersion: 0 })))).message).toContain(
      "can't upgrade Thing from state schema 0",
    );
    expect((await failureOf(operation().refresh("Thing", old({ schemaVersion: "x" })))).message).toContain(
      "no valid schemaVersion",
    );
  });

  test("is refused if it lacks a required property, and the error names the property", async () => {
    const recorded = { ...old({ size: 5, schemaVersion: 3 }) };
    const outputs = omit(recorded.outputs, ["madeAt"]);
    expect((await failureOf(operation().refresh("Thing", { ...recorded, outputs }))).message).toMatch(
      /Can't read the recorded state of this Thing: madeAt: /,
    );
  });

  test("contains how far a failed change got, the provider and the reason", async () => {
    const { message, recorded, error } = await operation({ half: true }).failedUp("Thing", inputs);
    expect(message).toBe("Made, but [secret] is not done.");
    expect(recorded).toMatchObject({ id: "id-1", inputs: { size: 5 } });
    expect(Reflect.get(error, "properties")).toEqual({
      name: "a",
      size: 1,
      madeAt: "half",
      impact: { operation: "check", revision: 1, seen: [] },
      schemaVersion: 3,
      __provider: expect.stringContaining("pulumi-edgeguard") as string,
    });
    expect(Reflect.get(error, "reasons")).toEqual([message]);
  });
});
