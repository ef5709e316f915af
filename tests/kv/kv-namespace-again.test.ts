import { type LocalApi, startLocalApi } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import { Operation, rawGet, rawSend, sent, UNKNOWN, type Recorded } from "../support/operation";

/** A namespace that the program had before is met again: renamed, tainted, replaced, or forgotten by the state. */

const NAMESPACE = "KvNamespace";
const ENTRIES = "KvEntries";

let api: LocalApi;
let accountId: string;
let path: string;
beforeAll(async () => {
  api = await startLocalApi();
  accountId = api.accounts.main;
  path = `/accounts/${accountId}/storage/kv/namespaces`;
});
afterAll(() => api.close());

type Inputs = Record<string, unknown>;
interface Stack {
  readonly args: Inputs;
  readonly namespace: Recorded;
  readonly entries: Recorded;
}

let made = 0;

/** A namespace with two entries, made by one `up`. */
async function deployed(): Promise<Stack> {
  made += 1;
  const args = { accountId, title: `again ${made}` };
  const op = new Operation(api);
  const namespace = await op.up(NAMESPACE, args);
  const entries = await op.up(ENTRIES, { accountId, namespaceId: namespace.id, entries: { a: "1", b: "2" } });
  api.clearRequests();
  return { args, namespace, entries };
}

const knowing = (args: Inputs, ...keys: string[]): Inputs => ({ ...args, __declaredKeys: [{ keys }] });

async function preview(args: Inputs, previous?: Recorded): Promise<string> {
  const op = new Operation(api);
  const refused = await op.refusals(NAMESPACE, args, previous);
  return [...op.said, ...op.warned, ...refused.map((reason) => `refused: ${reason}`)].join("\n");
}

const writes = (): string[] => sent(api, "POST", "PUT", "DELETE").map((line) => line.replace(path, ""));

test("a preview refuses a title that is taken by a namespace with keys of others, and says what to type", async () => {
  const { args, namespace } = await deployed();
  expect(await preview(args)).toMatch(
    new RegExp(
      `refused: adopt: Namespace "${String(args["title"])}" exists already \\(${namespace.id}\\) and holds keys that this program doesn't declare for it, such as "a"\\. ` +
        'If you renamed or moved this resource, add its old name to its options: aliases: \\[\\{ name: "old-name" \\}\\]\\. ' +
        'Otherwise set adopt: "takeOver" to manage it with what it holds, or choose another title\\.',
    ),
  );
  expect(await preview(knowing(args, "a"))).toMatch(/doesn't declare for it, such as "b"/);
  expect(await preview({ ...knowing(args, "a", "b"), adopt: "never" })).toMatch(
    /adopt: "never" prevents adopting it\. .*aliases/,
  );
  expect(await preview({ ...args, adopt: "takeOver" })).toMatch(
    new RegExp(
      `KvNamespace "${String(args["title"])}" adopts the existing namespace ${namespace.id} of .* Destroying the resource deletes it once it holds no keys\\. It keeps the keys it holds\\.`,
    ),
  );
  expect(writes()).toEqual([]);
});

test("renamed without an alias, it is adopted where it holds nothing but what the program declares", async () => {
  const { args, namespace, entries } = await deployed();
  expect(await preview(knowing(args, "a", "b", "c"))).toMatch(
    /adopts the existing namespace .* It holds only keys that the program declares/,
  );
  const op = new Operation(api);
  const renamed = await op.up(NAMESPACE, knowing(args, "a", "b", "c"));
  expect(renamed.id).toBe(namespace.id);
  expect(renamed.outputs["adopted"]).toMatchObject({ onDestroy: "deletes it once it holds no keys" });
  expect(JSON.stringify(renamed)).not.toContain("__declaredKeys");
  expect((await op.preview(ENTRIES, entries.inputs, entries)).step).toBe("same");
  await op.destroy(NAMESPACE, namespace);
  expect(op.said.join("\n")).toContain("is kept: another resource of this operation has taken it over");
  expect((await rawGet(api, `${path}/${namespace.id}/keys`))["result"]).toEqual([
    { name: "a" },
    { name: "b" },
  ]);
});

test("replaced for the change of an argument, it is taken up again with whatever it holds", async () => {
  const { args, namespace } = await deployed();
  await rawSend(api, "PUT", `${path}/${namespace.id}/bulk`, [{ key: "theirs", value: "x" }]);
  const op = new Operation(api);
  await op.check(NAMESPACE, args, namespace); // The engine has it checked once more as a new one after that.
  const again = await op.up(NAMESPACE, args);
  expect(again.id).toBe(namespace.id);
  expect(op.said).toEqual([]);
  expect(again.outputs).not.toHaveProperty("adopted");
  await op.destroy(NAMESPACE, namespace);
  expect((await rawGet(api, `${path}/${namespace.id}`))["success"]).toBe(true);
});

test("one that gets another title in the same operation leaves its old title to nobody else", async () => {
  const { args, namespace } = await deployed();
  const op = new Operation(api);
  await op.preview(NAMESPACE, { ...args, title: `${String(args["title"])}, renamed` }, namespace);
  expect(await op.refusals(NAMESPACE, knowing(args, "a", "b"))).toEqual([]);
  expect(op.warned).toEqual([expect.stringContaining("belongs to another resource of this program")]);
  await expect(op.up(NAMESPACE, knowing(args, "a", "b"))).rejects.toThrow(
    "belongs to another resource of this program",
  );
});

test("replaced with its entries deleted first, it goes at once, though a listing shows the keys for a minute yet", async () => {
  const { args, namespace, entries } = await deployed();
  api.lagKv(namespace.id, { listing: 60_000 });
  const op = new Operation(api);
  await op.check(NAMESPACE, args, namespace);
  // The engine asks which resources depend on it so that they have to go first: nothing of them was checked yet.
  const question = { ...entries.inputs, namespaceId: UNKNOWN };
  const diff = await REGISTER[ENTRIES]?.diff(op.host, entries.id, entries.outputs, question);
  expect(diff?.replaces).toEqual(["namespaceId"]);
  await op.destroy(ENTRIES, entries);
  await op.destroy(NAMESPACE, namespace);
  expect(op.said.join("\n")).not.toContain("seems to hold");
  const fresh = await op.up(NAMESPACE, args);
  expect(fresh.id).not.toBe(namespace.id);
});

test("a title that another resource gives up in this update can be had once that one is renamed, and not before", async () => {
  made += 1;
  const [from, to] = [`given up ${made}`, `renamed ${made}`];
  const renamed = await new Operation(api).up(NAMESPACE, { accountId, title: from });
  const op = new Operation(api);
  const plan = await op.preview(NAMESPACE, { accountId, title: to }, renamed);
  await expect(op.up(NAMESPACE, { accountId, title: from })).rejects.toThrow(
    /belongs to another resource of this program, which this update renames\. Add that resource to this one's dependsOn/,
  );
  await op.update(NAMESPACE, plan.inputs, renamed);
  const next = await op.up(NAMESPACE, { accountId, title: from });
  expect(next.id).not.toBe(renamed.id);
});

test("an input that only looks like one of the class is refused, not dropped", async () => {
  const given = { accountId, title: "shop", __declaredKey: [] };
  expect((await new Operation(api).refusals(NAMESPACE, given)).join()).toContain("__declaredKey");
});
