import { apiPerFile } from "../support/bench";
import { REGISTER } from "../../provider/register";
import { Operation, rawGet, rawSend, sent, UNKNOWN, type Recorded } from "../support/operation";

/** A namespace that the program created before: renamed, tainted, replaced, or missing from the state. */

const NAMESPACE = "KvNamespace";
const ENTRIES = "KvEntries";

const api = apiPerFile();
const ACCOUNT_ID = api.accounts.main;
const PATH = `/accounts/${ACCOUNT_ID}/storage/kv/namespaces`;

type Inputs = Record<string, unknown>;
interface Stack {
  readonly args: Inputs;
  readonly namespace: Recorded;
  readonly entries: Recorded;
}

let made = 0;

/** A namespace with two entries, created by one `up`. */
async function deployed(): Promise<Stack> {
  made += 1;
  const args = { accountId: ACCOUNT_ID, title: `again ${made}` };
  const op = new Operation(api);
  const namespace = await op.up(NAMESPACE, args);
  const entries = await op.up(ENTRIES, {
    accountId: ACCOUNT_ID,
    namespaceId: namespace.id,
    entries: { a: "1", b: "2" },
  });
  api.clearRequests();
  return { args, namespace, entries };
}

async function preview(args: Inputs, previous?: Recorded): Promise<string> {
  const op = new Operation(api);
  const refused = await op.refusals(NAMESPACE, args, previous);
  return [...op.said, ...op.warned, ...refused.map((reason) => `refused: ${reason}`)].join("\n");
}

const writes = (): string[] => sent(api, "POST", "PUT", "DELETE").map((line) => line.replace(PATH, ""));

test("the preview refuses to adopt a namespace with keys, and says what to do", async () => {
  const { args, namespace } = await deployed();
  expect(await preview(args)).toMatch(
    new RegExp(
      `refused: adopt: Namespace "${String(args["title"])}" already exists \\(${namespace.id}\\) and has keys, such as "a"\\. ` +
        "If you renamed or moved this resource, add its old URN to its options, under `aliases`; `pulumi stack --show-urns` lists it\\. " +
        'Otherwise set adopt: "takeOver" to manage it with all its keys, or choose another title\\.',
    ),
  );
  expect(await preview({ ...args, adopt: "never" })).toMatch(
    /adopt: "never" prevents adopting it\. .*aliases/,
  );
  expect(await preview({ ...args, adopt: "takeOver" })).toMatch(
    new RegExp(
      `KvNamespace "${String(args["title"])}" adopts the existing namespace ${namespace.id} in .* Destroying the resource deletes it once it has no keys\\. The namespace keeps its keys\\.`,
    ),
  );
  expect(writes()).toEqual([]);
});

test("a namespace that another resource adopts is kept, with its entries", async () => {
  const { args, namespace, entries } = await deployed();
  const op = new Operation(api);
  const renamed = await op.up(NAMESPACE, { ...args, adopt: "takeOver" });
  expect(renamed.id).toBe(namespace.id);
  expect(renamed.outputs["adopted"]).toMatchObject({ onDestroy: "deletes it once it has no keys" });
  expect((await op.preview(ENTRIES, entries.inputs, entries)).step).toBe("same");
  await op.destroy(NAMESPACE, namespace);
  expect(op.said.join("\n")).toContain("is kept: another resource in this program adopted it");
  expect((await rawGet(api, `${PATH}/${namespace.id}/keys`))["result"]).toEqual([
    { name: "a" },
    { name: "b" },
  ]);
});

test("refuses a forced replacement while the namespace has keys, and keeps them all with takeOver", async () => {
  const { args, namespace } = await deployed();
  await rawSend(api, "PUT", `${PATH}/${namespace.id}/bulk`, [{ key: "theirs", value: "x" }]);
  const forced = async (inputs: Record<string, unknown>): Promise<Operation> => {
    const op = new Operation(api);
    await op.check(NAMESPACE, inputs, namespace); // The engine then checks it again as a new resource.
    return op;
  };
  await expect((await forced(args)).up(NAMESPACE, args)).rejects.toThrow('set adopt: "takeOver"');
  const op = await forced({ ...args, adopt: "takeOver" });
  expect((await op.up(NAMESPACE, { ...args, adopt: "takeOver" })).id).toBe(namespace.id);
  await op.destroy(NAMESPACE, namespace);
  expect((await rawGet(api, `${PATH}/${namespace.id}`))["success"]).toBe(true);
});

test("doesn't adopt a namespace that the same update renames", async () => {
  const { args, namespace } = await deployed();
  const op = new Operation(api);
  await op.preview(NAMESPACE, { ...args, title: `${String(args["title"])}, renamed` }, namespace);
  expect(await op.refusals(NAMESPACE, args)).toEqual([]);
  expect(op.warned).toEqual([expect.stringContaining("belongs to another resource in this program")]);
  await expect(op.up(NAMESPACE, args)).rejects.toThrow("belongs to another resource in this program");
});

test("deletes the namespace right after its entries, even if they're still listed", async () => {
  const { args, namespace, entries } = await deployed();
  api.lagKv(namespace.id, { listing: 60_000 });
  const op = new Operation(api);
  await op.check(NAMESPACE, args, namespace);
  // The engine asks which dependents it has to replace first, before checking them.
  const question = { ...entries.inputs, namespaceId: UNKNOWN };
  const diff = await REGISTER[ENTRIES]?.diff(op.host, entries.id, entries.outputs, question);
  expect(diff?.replaces).toEqual(["namespaceId"]);
  await op.destroy(ENTRIES, entries);
  await op.destroy(NAMESPACE, namespace);
  const fresh = await op.up(NAMESPACE, args);
  expect(fresh.id).not.toBe(namespace.id);
});

test("creates a namespace with a title that another resource gives up, but only after that resource's rename", async () => {
  made += 1;
  const [from, to] = [`given up ${made}`, `renamed ${made}`];
  const renamed = await new Operation(api).up(NAMESPACE, { accountId: ACCOUNT_ID, title: from });
  const op = new Operation(api);
  const plan = await op.preview(NAMESPACE, { accountId: ACCOUNT_ID, title: to }, renamed);
  await expect(op.up(NAMESPACE, { accountId: ACCOUNT_ID, title: from })).rejects.toThrow(
    /belongs to another resource in this program, and this update renames it\. Add that resource to this one's dependsOn/,
  );
  await op.update(NAMESPACE, plan.inputs, renamed);
  const next = await op.up(NAMESPACE, { accountId: ACCOUNT_ID, title: from });
  expect(next.id).not.toBe(renamed.id);
});
