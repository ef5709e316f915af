import { apiPerFile } from "../support/bench";
import { Operation, rawGet, rawSend, type Recorded } from "../support/operation";
import { requestsIn } from "./namespace-values";
import { emptyNamespace } from "./upload-support";
import { isWrite } from "../support/is-write";

/** An update that declares new keys looks for existing ones, as a create does. */

const TYPE = "KvEntries";

const api = apiPerFile();
const address = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
const PATH = `/accounts/${address.accountId}/storage/kv/namespaces/${address.namespaceId}`;
beforeEach(() => {
  emptyNamespace(api);
  api.lagKv(address.namespaceId, { listing: 0, reads: 0 });
});

type Inputs = Record<string, unknown>;

const declare = (entries: Inputs, more: Inputs = {}): Inputs => ({ ...address, entries, ...more });
const numbered = (prefix: string, count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, value]));

/** What a preview finds out, as the report reads it. */
async function impact(inputs: Inputs, previous?: Recorded): Promise<unknown> {
  return (await new Operation(api).preview(TYPE, inputs, previous)).inputs["impact"];
}

/** A list in the record. */
const listed = (...names: string[]): object => ({
  count: names.length,
  names,
  digest: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
});

async function up(inputs: Inputs, previous?: Recorded): Promise<Recorded> {
  return await new Operation(api).up(TYPE, inputs, previous);
}

/** Writes as someone else. */
async function writeElsewhere(entries: Record<string, string>, more: Inputs = {}): Promise<void> {
  const body = Object.entries(entries).map(([key, value]) => ({ key, value, ...more }));
  await rawSend(api, "PUT", `${PATH}/bulk`, body);
}

async function stored(...keys: string[]): Promise<unknown> {
  const { result } = await rawSend(api, "POST", `${PATH}/bulk/get`, { keys });
  return (result as { values: unknown }).values;
}

const requests = (): string[] => requestsIn(api, address.namespaceId);

/** What a preview says, including its refusal. It must send nothing but reads. */
async function preview(inputs: Inputs, previous?: Recorded): Promise<string> {
  api.clearRequests();
  const op = new Operation(api);
  const refusal = await op.preview(TYPE, inputs, previous).then(
    () => "",
    (error: unknown) => `refused: ${(error as Error).message}`,
  );
  const writes = api.requests.filter(isWrite);
  expect(writes).toEqual([]);
  return [...op.said, ...op.warned, refusal].join("\n");
}

/** What an `up` throws if its preview didn't find the conflict. */
async function failedUpdate(inputs: Inputs, previous: Recorded): Promise<string> {
  const op = new Operation(api);
  const { inputs: checked } = await op.check(TYPE, inputs, previous);
  api.clearRequests();
  const failure = await op.update(TYPE, checked, previous).then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  expect(requests().filter((line) => line.startsWith("PUT") || line.endsWith("/delete"))).toEqual([]);
  return failure?.message ?? "it went through";
}

const DIFFERS = /1 declared key already exists with different content \("b"\)\. Nothing was written\./;

test("refuses to adopt a key that someone else wrote, in both preview and update", async () => {
  const recorded = await up(declare({ a: "1" }));
  await writeElsewhere({ b: "theirs" });
  const more = declare({ a: "1", b: "mine" });
  expect(await preview(more, recorded)).toMatch(DIFFERS);
  expect(await failedUpdate(more, recorded)).toMatch(DIFFERS);
  expect(await stored("a", "b")).toEqual({ a: "1", b: "theirs" });
});

test("doesn't let one stack overwrite the keys of another", async () => {
  const first = await up(declare(numbered("first/", 250, "1")));
  await up(declare(numbered("second/", 250, "2")));
  const both = declare({ ...numbered("first/", 250, "1"), ...numbered("second/", 250, "x") });
  expect(await preview(both, first)).toMatch(/250 declared keys already exist with different content/);
  expect(await failedUpdate(both, first)).toMatch(/250 declared keys already exist with different content/);
});

test("adopts an existing key that matches, says so, and deletes it once it's no longer declared", async () => {
  const recorded = await up(declare({ a: "1" }));
  await writeElsewhere({ b: "2" }, { metadata: { n: 1 }, expiration_ttl: 3600 });
  const more = declare({ a: "1", b: { value: "2", metadata: { n: 1 }, expirationTtl: 3600 } });
  const adopted =
    /1 declared key already exists with matching content \("b"\) and is adopted\. Destroying the resource deletes it\./;
  expect(await preview(more, recorded)).toMatch(adopted);
  expect(await impact(more, recorded)).toMatchObject({
    seen: ["existingKeys", "ownKeys"],
    adopts: listed("b"),
  });
  api.clearRequests();
  const after = await up(more, recorded);
  expect(requests()).toEqual(["POST /bulk/get", "POST /bulk/get"]); // One in the preview, one before the write.
  await up(declare({ a: "1" }), after);
  expect(await stored("a", "b")).toEqual({ a: "1", b: null });
});

test('adopt: "never" also refuses a key that matches; with "takeOver", the preview says what it overwrites', async () => {
  const recorded = await up(declare({ a: "1" }));
  await writeElsewhere({ b: "2" });
  const never = declare({ a: "1", b: "2" }, { adopt: "never" });
  expect(await preview(never, recorded)).toMatch(
    /1 declared key already exists \("b"\)\. Nothing was written/,
  );
  expect(await failedUpdate(never, recorded)).toMatch(/1 declared key already exists \("b"\)/);
  const takeOver = declare({ a: "1", b: "mine" }, { adopt: "takeOver" });
  expect(await preview(takeOver, recorded)).toContain(
    '1 declared key already exists ("b"); adopt: "takeOver" overwrites it.',
  );
  expect(await impact(takeOver, recorded)).toMatchObject({
    seen: ["existingKeys", "ownKeys"],
    overwrites: listed("b"),
  });
  await up(takeOver, recorded);
  expect(await stored("b")).toEqual({ b: "mine" });
});

test("says how many of the keys that it takes over will expire earlier, or become empty", async () => {
  await writeElsewhere({ a: "1", b: "2", c: "3" });
  await writeElsewhere({ d: "4" }, { expiration_ttl: 60 });
  const entries = {
    a: { value: "1", expirationTtl: 120 },
    b: { value: "", expirationTtl: 3600 },
    c: "3",
    d: { value: "4", expirationTtl: 86_400 },
  };
  const takeOver = declare(entries, { adopt: "takeOver" });
  expect(await preview(takeOver)).toContain(
    "overwrites them, 2 of them will expire, the first 120 s after the update, 1 of them with an empty value.",
  );
  expect(await impact(takeOver)).toMatchObject({
    overwrites: listed("a", "b", "c", "d"),
    overwrittenExpire: 2,
    overwrittenExpiry: "120 s after the update",
    overwrittenEmptied: 1,
  });
});

test("fails the preview of a create if a declared key already exists in the namespace", async () => {
  await writeElsewhere({ b: "theirs" });
  expect(await preview(declare({ a: "1", b: "mine" }))).toMatch(DIFFERS);
  expect(requests()).toEqual(["POST /bulk/get"]);
});

test("looks for existing keys with no request if no key is new, and with one for a few new keys", async () => {
  const recorded = await up(declare({ a: "1", b: "2" }));
  api.clearRequests();
  const changed = await up(declare({ a: "one" }), recorded);
  expect(requests()).toEqual(["PUT /bulk", "POST /bulk/get", "POST /bulk/delete"]);
  api.clearRequests();
  await up(declare({ a: "one", c: "3" }), changed);
  expect(requests()).toEqual(["POST /bulk/get", "POST /bulk/get", "PUT /bulk"]);
});

test("finds many new keys by listing the namespace, unless reading them takes fewer requests", async () => {
  const recorded = await up(declare({ a: "1" }));
  const more = declare({ a: "1", ...numbered("new/", 150, "1") });
  await preview(more, recorded);
  expect(requests()).toEqual(["GET /keys"]);
  await writeElsewhere(numbered("theirs/", 2_500, "x"));
  await preview(more, recorded);
  expect(requests()).toEqual(["GET /keys", "GET /keys", "POST /bulk/get", "POST /bulk/get"]);
  // With very many new keys, a preview checks some of them and says so.
  const file = declare({ a: "1", ...numbered("new/", 1_500, "1") });
  expect(await preview(file, recorded)).toContain(
    "the preview looked up only the first new keys. 500 others may already exist.",
  );
  expect(await impact(file, recorded)).toMatchObject({ seen: ["ownKeys"], unchecked: 500 });
});

test("reads binary values one by one", async () => {
  const recorded = await up(declare({ a: "1" }));
  const bytes = Buffer.of(0xff, 0x00, 0x80).toString("base64");
  await writeElsewhere({ "b-longer": "x" });
  await writeElsewhere({ b: bytes }, { base64: true });
  const more = declare({ a: "1", b: { value: bytes, base64: true } });
  expect(await preview(more, recorded)).toMatch(/already exists with matching content \("b"\)/);
  expect(requests()).toEqual(["GET /keys", "GET /values/b"]);
  expect(await preview(declare({ a: "1", b: "text" }), recorded)).toMatch(DIFFERS);
});

test("adopts the keys of an update that was killed before it could record them", async () => {
  const recorded = await up(declare({ a: "1" }));
  const more = declare({ a: "1", b: { value: "2", expirationTtl: 600 } });
  await up(more, recorded); // Written but not recorded.
  api.clearRequests();
  const again = await up(more, recorded);
  expect(requests()).not.toContain("PUT /bulk");
  expect((await new Operation(api).preview(TYPE, more, again)).step).toBe("same");
});

test("doesn't adopt a key that it just deleted, even if the list still shows the key", async () => {
  api.lagKv(address.namespaceId, { listing: 60_000 });
  const all = { a: "1", ...numbered("k/", 150, "1") };
  const whole = await up(declare(all, { adopt: "never" }));
  api.advance(60_000);
  const part = await up(declare({ a: "1" }, { adopt: "never" }), whole);
  const other = declare({ a: "1", ...numbered("k/", 150, "2") }, { adopt: "never" });
  expect(await preview(other, part)).not.toContain("refused");
  await up(other, part);
  expect(await stored("k/149")).toEqual({ "k/149": "2" });
});

test("warns that live checks were skipped if the API fails in a preview", async () => {
  const recorded = await up(declare({ a: "1" }));
  api.fault({ kind: "status", status: 503, match: { path: "/bulk/get$" } });
  expect(await preview(declare({ a: "1", b: "2" }), recorded)).toMatch(/live checks skipped: .*503/);
  expect((await rawGet(api, `${PATH}/keys`))["result"]).toEqual([{ name: "a" }]);
});

test("maxOwnDeletes limits how many of a resource's own keys an update may delete, but doesn't limit a destroy", async () => {
  const recorded = await up(declare(numbered("own/", 12, "1"), { maxOwnDeletes: 10 }));
  const none = declare({}, { maxOwnDeletes: 10 });
  const refused =
    /this update would delete 12 of its 12 keys \("own\/0", .*\); maxOwnDeletes allows 10\. Nothing was written\. Check the source/;
  expect(await preview(none, recorded)).toMatch(refused);
  expect(await failedUpdate(none, recorded)).toMatch(refused);
  const fewer = await up(declare(numbered("own/", 2, "1"), { maxOwnDeletes: 10 }), recorded);
  expect(await stored("own/1", "own/2")).toEqual({ "own/1": "1", "own/2": null });
  await new Operation(api).destroy(TYPE, { ...fewer, outputs: { ...fewer.outputs, maxOwnDeletes: 0 } });
  expect(await stored("own/1")).toEqual({ "own/1": null });
});

describe("the preview of a replacement into another namespace", () => {
  let moved: Inputs;
  let recorded: Recorded;
  let there: string;
  let others = 0;
  beforeEach(async () => {
    const namespaces = PATH.slice(0, PATH.lastIndexOf("/"));
    const { result } = await rawSend(api, "POST", namespaces, {
      title: `another ${(others += 1)}`,
    });
    const { id } = result as { id: string };
    there = `${namespaces}/${id}`;
    api.lagKv(id, { listing: 0, reads: 0 });
    moved = { namespaceId: id };
    recorded = await up(declare({ a: "mine" }, { prune: { prefix: "" } }));
  });
  const bulk = async (entries: Record<string, string>): Promise<void> => {
    const body = Object.entries(entries).map(([key, value]) => ({ key, value }));
    await rawSend(api, "PUT", `${there}/bulk`, body);
  };

  test("shows what prune deletes in the new namespace", async () => {
    await bulk({ theirs: "x" });
    const inputs = { ...declare({ a: "mine" }, { prune: { prefix: "" } }), ...moved };
    const said = await preview(inputs, recorded);
    expect(said).toContain('prune deletes 1 key that others wrote: "theirs"');
    expect(said).toContain("+1 ~0 -0 (+a)");
    expect(await impact(inputs, recorded)).toMatchObject({
      seen: ["existingKeys", "ownKeys", "prunedKeys"],
      ...{ keys: listed("a"), added: listed("a"), removed: listed(), prunes: listed("theirs") },
    });
  });

  test("fails if someone else wrote one of the keys in the new namespace", async () => {
    await bulk({ a: "theirs" });
    const inputs = { ...declare({ a: "mine" }), ...moved };
    await expect(new Operation(api).preview(TYPE, inputs, recorded)).rejects.toThrow(
      '1 declared key already exists with different content ("a")',
    );
  });
});

test("previews what prune deletes even if the check for existing keys fails", async () => {
  const mine = await up(declare({ a: "mine" }, { prune: { prefix: "" } }));
  await writeElsewhere({ strange: "x" });
  api.fault({ match: { path: "/bulk/get" }, kind: "status", status: 500 });
  const inputs = declare({ a: "mine", b: "new" }, { prune: { prefix: "" } });
  const said = await preview(inputs, mine);
  expect(said).toContain("live checks skipped: ");
  expect(said).toContain('prune deletes 1 key that others wrote: "strange"');
  api.fault({ match: { path: "/bulk/get" }, kind: "status", status: 500 });
  expect(await impact(inputs, mine)).toMatchObject({
    seen: ["ownKeys", "prunedKeys"],
    skipped: [expect.stringContaining("returned 500")],
    prunes: listed("strange"),
  });
});

test("previews what prune deletes even if another resource in the preview looks up the same keys", async () => {
  await writeElsewhere({ "a/theirs": "x", "b/theirs": "x" });
  const op = new Operation(api);
  for (const prefix of ["a/", "b/"]) {
    const { inputs } = await op.preview(TYPE, declare({}, { prune: { prefix } }));
    expect(inputs["impact"]).toMatchObject({
      seen: ["existingKeys", "ownKeys", "prunedKeys"],
      prunes: listed(`${prefix}theirs`),
    });
  }
});

test("fails the preview at the first refused key, and looks existing keys up only once", async () => {
  const mine = await up(declare({ a: "mine" }, { prune: { prefix: "" } }));
  await writeElsewhere({ b: "theirs" });
  const inputs = declare({ a: "mine", b: "mine" }, { prune: { prefix: "" } });
  expect(await preview(inputs, mine)).toMatch(DIFFERS);
  expect(requests()).toEqual(["POST /bulk/get", "GET /keys"]);
  // With nothing to compare, the preview of a create doesn't ask what prune would delete.
  expect(await preview(declare({ b: "mine" }))).toMatch(DIFFERS);
  expect(requests()).toEqual(["POST /bulk/get"]);
});

test("fails the preview of a create if prune would delete more than prune.maxDeletes", async () => {
  await writeElsewhere(numbered("theirs/", 3, "x"));
  const inputs = declare({ a: "mine" }, { prune: { prefix: "", maxDeletes: 2 } });
  expect(await new Operation(api).refusals(TYPE, inputs)).toEqual([
    expect.stringContaining(
      'prune.maxDeletes: prune would delete 3 keys that others wrote under ""; the limit is 2.',
    ),
  ]);
});
