import { apiPerFile } from "../support/bench";
import { LONG, ofRound, ROUND_CREDENTIALS } from "../support/long";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { readValues } from "./namespace-values";

/** Several stacks that write to one namespace: none deletes what belongs to another. */

const TYPE = "KvEntries";

const api = apiPerFile({ credentials: ROUND_CREDENTIALS });
let namespaceId: string;
let path: string;

let made = 0;
beforeEach(async () => {
  made += 1;
  const args = { accountId: api.accounts.main, title: `shared by stacks ${made}` };
  ({ id: namespaceId } = await new Operation(api).up("KvNamespace", args));
  path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${namespaceId}`;
});

const declare = (entries: Readonly<Record<string, unknown>>, more: object = {}) => ({
  accountId: api.accounts.main,
  namespaceId,
  entries,
  ...more,
});

/** What the namespace holds. */
const stored = async (): Promise<Map<string, string>> => new Map(Object.entries(await readValues(api, path)));
const lines = (op: Operation): string => op.said.join("\n");

test("a destroy keeps a key that another stack has taken over, and deletes the others", async () => {
  const first = await new Operation(api).up(TYPE, declare({ shared: "first", own: "first" }));
  const second = await new Operation(api).up(TYPE, declare({ shared: "second" }, { adopt: "takeOver" }));
  api.advance(120_000);
  const op = new Operation(api);
  await op.destroy(TYPE, first);
  expect(await stored()).toEqual(new Map([["shared", "second"]]));
  expect(lines(op)).toContain(
    `keeping 1 key ("shared"), because someone else has changed it since this resource wrote it.`,
  );
  await new Operation(api).destroy(TYPE, second);
  expect(await stored()).toEqual(new Map());
});

test("an update keeps a key that it no longer declares and another stack has taken over", async () => {
  const all = { shared: "1", described: { value: "1", metadata: { by: "first" } }, own: "1", stays: "1" };
  const first = await new Operation(api).up(TYPE, declare(all));
  const theirs = { shared: "2", described: { value: "1", metadata: { by: "second" } } };
  await new Operation(api).up(TYPE, declare(theirs, { adopt: "takeOver" }));
  api.advance(120_000);
  const op = new Operation(api);
  const updated = await op.up(TYPE, declare({ stays: "1" }), first);
  expect([...(await stored()).keys()].sort()).toEqual(["described", "shared", "stays"]);
  expect(lines(op)).toContain("keeping 2 keys");
  await new Operation(api).destroy(TYPE, updated);
  expect([...(await stored()).keys()].sort()).toEqual(["described", "shared"]);
});

test.each([
  ["a destroy", async (op: Operation, updated: Recorded) => await op.destroy(TYPE, updated)],
  ["an update", async (op: Operation, updated: Recorded) => await op.up(TYPE, declare({ b: "1" }), updated)],
])("%s deletes a key even if reads don't show its last update yet", async (_what, remove) => {
  const first = await new Operation(api).up(TYPE, declare({ a: "1", b: "1" }));
  api.advance(120_000);
  api.lagKv(namespaceId, { reads: 60_000 });
  const updated = await new Operation(api).up(TYPE, declare({ a: "2", b: "1" }), first);
  const op = new Operation(api, { inNoTime: api });
  await remove(op, updated);
  expect(lines(op)).toMatch(/waiting (89|90) s, because reads may not show its last update yet/);
  expect(lines(op)).not.toContain("keeping");
  api.advance(120_000);
  expect((await stored()).has("a")).toBe(false);
});

test("a key that a refresh finds changed isn't deleted, unless the resource writes it again", async () => {
  const first = await new Operation(api).up(TYPE, declare({ a: "1", b: "1" }, { verify: "values" }));
  await rawSend(api, "PUT", `${path}/bulk`, [{ key: "a", value: "theirs" }]);
  api.advance(120_000);
  const refreshed = await new Operation(api).refresh(TYPE, first);
  expect(refreshed?.outputs["drift"]).toBe("1 key changed: a");
  const repaired = await new Operation(api).up(
    TYPE,
    declare({ a: "1", b: "1" }, { verify: "values" }),
    refreshed,
  );
  expect((await stored()).get("a")).toBe("1");
  await new Operation(api).destroy(TYPE, refreshed ?? first);
  expect(await stored()).toEqual(new Map([["a", "1"]]));
  await new Operation(api).destroy(TYPE, repaired);
  expect(await stored()).toEqual(new Map());
});

test("a failed comparison deletes nothing, and the next update does", async () => {
  const first = await new Operation(api).up(TYPE, declare({ a: "1", b: "1" }));
  api.fault({ kind: "status", status: 500, times: 2, match: { path: "/bulk/get" } });
  const { message, recorded } = await new Operation(api).failedUp(TYPE, declare({ a: "1" }), first);
  expect(message).not.toContain("may have applied");
  expect(message).toContain("No key was deleted. Run `pulumi up` again to continue.");
  expect((await stored()).size).toBe(2);
  await new Operation(api).up(TYPE, declare({ a: "1" }), recorded);
  expect((await stored()).size).toBe(1);
});

test("compares 100 values a request", async () => {
  const entries = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`key-${i}`, "1"]));
  const first = await new Operation(api).up(TYPE, declare(entries));
  api.clearRequests();
  const op = new Operation(api);
  await op.destroy(TYPE, first);
  expect(api.requests.map(({ path }) => path.replace(/.*\/bulk/, "bulk"))).toEqual([
    ...["bulk/get", "bulk/get", "bulk/get"],
    "bulk/delete",
  ]);
  expect(lines(op)).toContain("comparing 250 values takes 3 requests");
});

describe("a refresh", () => {
  const emptyList = (): void =>
    api.fault({
      kind: "raw",
      status: 200,
      contentType: "application/json",
      body: JSON.stringify({
        success: true,
        errors: [],
        messages: [],
        result: [],
        result_info: { count: 0, cursor: "" },
      }),
      times: 1,
      match: { path: "/keys" },
    });

  test("doesn't forget keys that an empty list lacks, and finds those that really are missing", async () => {
    const first = await new Operation(api).up(TYPE, declare({ a: "1", b: "1" }));
    api.advance(120_000);
    emptyList();
    const same = await new Operation(api).refresh(TYPE, first);
    expect(same?.outputs).not.toHaveProperty("drift");
    expect(same?.outputs["manifest"]).toBe(first.outputs["manifest"]);
    await rawSend(api, "POST", `${path}/bulk/delete`, ["b"]);
    api.advance(120_000);
    emptyList();
    expect((await new Operation(api).refresh(TYPE, first))?.outputs["drift"]).toBe("1 key missing: b");
  });
});

/** Repeatable numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const ROUNDS = LONG ? 200 : 3;
const TITLE = `with %i stacks in random order, no stack's key is lost (${ROUNDS} of 200 rounds)`;
if (LONG) jest.setTimeout(3_600_000);
const KEYS = ["a", "b", "c", "d", "e"];

test.each([2, 3])(TITLE, async (count) => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const next = random(round * 10 + count);
    const stacks: (Recorded | undefined)[] = Array.from({ length: count }, () => undefined);
    for (let step = 0; step < 12; step += 1) {
      api.advance(120_000);
      const stack = Math.floor(next() * count);
      const recorded = stacks[stack];
      const declared = KEYS.filter(() => next() < 0.4);
      const before = await stored();
      const config = { ...ofRound(round), "edgeguard:liveChecks": String(next() < 0.5) };
      const op = new Operation(api, { config });
      const action = next();
      if (recorded !== undefined && action < 0.25) {
        await op.destroy(TYPE, recorded);
        stacks[stack] = undefined;
        declared.length = 0;
      } else if (recorded !== undefined && action < 0.45) {
        stacks[stack] = await op.refresh(TYPE, recorded);
        declared.length = 0;
      } else {
        const values = Object.fromEntries(declared.map((key) => [key, `${stack} in step ${step}`]));
        const args = declare(values, { adopt: next() < 0.7 ? "takeOver" : "ifEqual", verify: "values" });
        try {
          stacks[stack] = await op.up(TYPE, args, recorded);
        } catch (error) {
          if (!(error instanceof Error) || !/already exist/.test(error.message)) throw error;
        }
      }
      const after = await stored();
      const lost = [...before].filter(
        ([key, value]) =>
          !value.startsWith(`${stack} `) && !declared.includes(key) && after.get(key) !== value,
      );
      expect({ round, step, stack, lost }).toEqual({ round, step, stack, lost: [] });
    }
    api.advance(120_000);
    for (const each of stacks)
      if (each !== undefined) await new Operation(api, { config: ofRound(round) }).destroy(TYPE, each);
    const left = [...(await stored()).keys()];
    if (left.length > 0) await rawSend(api, "POST", `${path}/bulk/delete`, left);
  }
});
