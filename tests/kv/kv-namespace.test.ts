import * as pulumi from "@pulumi/pulumi";
import { apiPerTest } from "../support/bench";
import { KvNamespace } from "pulumi-edgeguard";
import { REGISTER } from "../../provider/register";
import { failureOf } from "../support/edge-client";
import { Operation, rawGet, rawSend, sent, type Recorded } from "../support/operation";

/** A namespace's title, adoption and destroy. */

const TYPE = "KvNamespace";

const api = apiPerTest();
const ACCOUNT_ID = api.accounts.main;
const PATH = `/accounts/${ACCOUNT_ID}/storage/kv/namespaces`;

const up = (inputs: object): Promise<Recorded> =>
  new Operation(api).up(TYPE, { accountId: ACCOUNT_ID, ...inputs });
const titles = async (): Promise<unknown> => (await rawGet(api, PATH))["result"];

/** A namespace that someone else created, with a key or without. */
async function existing(title: string, ...keys: string[]): Promise<string> {
  const { id } = (await rawSend(api, "POST", PATH, { title }))["result"] as { id: string };
  const entries = keys.map((key) => ({ key, value: "v" }));
  await rawSend(api, "PUT", `${PATH}/${id}/bulk`, entries);
  return id;
}

const STRANGE = /has keys, such as "a"/;
const NEVER = /adopt: "never" prevents adopting it/;

test.each([
  [undefined, "empty", "adopted", undefined],
  [undefined, "non-empty", "refused", STRANGE],
  ["ifEqual", "empty", "adopted", undefined],
  ["ifEqual", "non-empty", "refused", STRANGE],
  ["never", "empty", "refused", NEVER],
  ["never", "non-empty", "refused", NEVER],
  ["takeOver", "empty", "adopted", undefined],
  ["takeOver", "non-empty", "adopted", undefined],
] as const)("with adopt: %j, an existing %s namespace is %s", async (adopt, state, _, refusal) => {
  const id = await existing("shop", ...(state === "non-empty" ? ["a"] : []));
  const inputs = { accountId: ACCOUNT_ID, title: "shop", ...(adopt && { adopt }) };
  if (refusal === undefined) {
    expect((await up(inputs)).id).toBe(id);
    return;
  }
  expect(await new Operation(api).refusals(TYPE, inputs)).toEqual([expect.stringMatching(refusal)]);
  const unseen = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
  expect((await failureOf(unseen.up(TYPE, inputs))).message).toMatch(refusal);
});

test("adds _preview to a preview namespace's title, in the account and in the state", async () => {
  const { id, outputs } = await up({ title: "fresh", preview: true });
  expect(outputs).toMatchObject({ title: "fresh", preview: true, fullTitle: "fresh_preview" });
  expect(await titles()).toContainEqual(expect.objectContaining({ id, title: "fresh_preview" }));
});

test("a destroy fails at once if the namespace still has keys, and names them", async () => {
  const namespace = await up({ title: "non-empty" });
  await rawSend(api, "PUT", `${PATH}/${namespace.id}/bulk`, [{ key: "b", value: "v" }]);
  api.clearRequests();
  const { message } = await failureOf(new Operation(api).destroy(TYPE, namespace));
  expect(message).toMatch(
    /^Namespace "non-empty" \([0-9a-f]{32}\) still has 1 key: "b"\. Deleting the namespace would also delete its keys\. .*set forceDestroy: true .* run `pulumi state delete '<URN>'`/,
  );
  const many = Array.from({ length: 2_000 }, (_, n) => ({ key: `k${n}`, value: "v" }));
  await rawSend(api, "PUT", `${PATH}/${namespace.id}/bulk`, many);
  api.clearRequests();
  expect((await failureOf(new Operation(api).destroy(TYPE, namespace))).message).toContain(
    "still has at least 1,000 keys: ",
  );
  expect(sent(api)).toEqual([expect.stringMatching(/^GET .*\/keys$/)]);
});

test("forceDestroy deletes a namespace with its keys", async () => {
  const namespace = await up({ title: "non-empty", forceDestroy: true });
  await rawSend(api, "PUT", `${PATH}/${namespace.id}/bulk`, [{ key: "b", value: "v" }]);
  await new Operation(api).destroy(TYPE, namespace);
  expect(await titles()).not.toContainEqual(expect.objectContaining({ id: namespace.id }));
});

test.each([
  [false, "id"],
  [true, "preview_id"],
])("with preview: %j, bindingSnippet returns %s", async (preview, member) => {
  await pulumi.runtime.setMocks({
    newResource: ({ inputs }) => ({ id: "5".repeat(32), state: inputs as object }),
    call: ({ inputs }) => inputs as object,
  });
  const namespace = new KvNamespace(`snippet-${member}`, { accountId: ACCOUNT_ID, title: member, preview });
  const snippet = await new Promise((done) => namespace.bindingSnippet("CATALOG").apply(done));
  expect(snippet).toBe(`[[kv_namespaces]]\nbinding = "CATALOG"\n${member} = "${"5".repeat(32)}"\n`);
});

test("in a preview, the binding snippet of an unchanged namespace is known", async () => {
  await pulumi.runtime.setMocks(
    {
      newResource: ({ inputs }) => ({ id: "5".repeat(32), state: inputs as object }),
      call: ({ inputs }) => inputs as object,
    },
    "project",
    "stack",
    true,
  );
  const snippet = new KvNamespace("unchanged", { accountId: ACCOUNT_ID, title: "unchanged" }).bindingSnippet(
    "CATALOG",
  );
  expect(await (snippet as unknown as { isKnown: Promise<boolean> }).isKnown).toBe(true);
});

describe("a rename", () => {
  test("fails the update if another namespace has the new title", async () => {
    await existing("taken");
    const recorded = await up({ title: "mine" });
    const taken = { accountId: ACCOUNT_ID, title: "taken" };
    const { message } = await failureOf(new Operation(api).up(TYPE, taken, recorded));
    expect(message).toContain("Choose another title, or rename that namespace first.");
  });

  test("works if someone already made the same rename in the dashboard", async () => {
    const recorded = await up({ title: "mine" });
    await rawSend(api, "PUT", `${PATH}/${recorded.id}`, { title: "theirs" });
    const theirs = { accountId: ACCOUNT_ID, title: "theirs" };
    const renamed = await new Operation(api).up(TYPE, theirs, recorded);
    expect(renamed).toMatchObject({ id: recorded.id, outputs: { fullTitle: "theirs" } });
  });

  test("works once another resource has given up the title", async () => {
    const [first, second] = [await up({ title: "first" }), await up({ title: "second" })];
    const op = new Operation(api);
    const plan = await op.preview(TYPE, { accountId: ACCOUNT_ID, title: "third" }, first);
    const next = await op.preview(TYPE, { accountId: ACCOUNT_ID, title: "first" }, second);
    await op.update(TYPE, plan.inputs, first);
    await op.update(TYPE, next.inputs, second);
    expect(await titles()).toContainEqual(expect.objectContaining({ id: second.id, title: "first" }));
  });
});

describe("a namespace's jurisdiction", () => {
  const inputs = { accountId: ACCOUNT_ID, title: "shop", jurisdiction: "eu" };
  const create = async (body: object): Promise<string> =>
    ((await rawSend(api, "POST", PATH, body))["result"] as { id: string }).id;

  test("is sent with the create, recorded, and no change afterwards", async () => {
    const recorded = await up(inputs);
    const body = api.requests.find(({ method }) => method === "POST")?.body;
    expect(body).toEqual({ title: "shop", jurisdiction: "eu" });
    expect(await titles()).toContainEqual(expect.objectContaining({ title: "shop", jurisdiction: "eu" }));
    expect((await new Operation(api).preview(TYPE, inputs, recorded)).step).toBe("same");
    expect((await new Operation(api).refresh(TYPE, recorded))?.outputs).toEqual(recorded.outputs);
    expect(await new Operation(api).refusals(TYPE, { ...inputs, jurisdiction: "fr" })).toEqual([
      'jurisdiction: must be "eu", "us" or "fedramp", not "fr"',
    ]);
  });

  test("replaces an empty namespace, which is deleted first, and fails the preview if it has keys", async () => {
    const recorded = await up(inputs);
    const moved = { ...inputs, jurisdiction: "us" };
    const { inputs: news } = await new Operation(api).check(TYPE, moved, recorded);
    const operation = new Operation(api);
    await operation.check(TYPE, moved, recorded);
    expect(await REGISTER[TYPE]?.diff(operation.host, recorded.id, recorded.outputs, news)).toMatchObject({
      replaces: ["jurisdiction"],
      deleteBeforeReplace: true,
    });
    const replaced = await new Operation(api).up(TYPE, moved, recorded, { deleteBeforeReplace: true });
    expect(replaced.id).not.toBe(recorded.id);
    expect(await titles()).toContainEqual(
      expect.objectContaining({ id: replaced.id, title: "shop", jurisdiction: "us" }),
    );
    await rawSend(api, "PUT", `${PATH}/${replaced.id}/bulk`, [{ key: "b", value: "v" }]);
    await expect(new Operation(api).preview(TYPE, inputs, replaced)).rejects.toThrow(
      /still has 1 key: "b"\. .*set forceDestroy: true/,
    );
    const forced = await new Operation(api).up(TYPE, { ...moved, forceDestroy: true }, replaced);
    expect(await new Operation(api).preview(TYPE, inputs, forced)).toMatchObject({ step: "replace" });
  });

  test("of an existing namespace has to be the declared one, whatever adopt says", async () => {
    const id = await create({ title: "shop", jurisdiction: "us" });
    for (const adopt of ["ifEqual", "takeOver"])
      expect(await new Operation(api).refusals(TYPE, { ...inputs, adopt })).toEqual([
        `adopt: Namespace "shop" already exists (${id}) with jurisdiction "us", which can't be changed. Choose another title, or delete that namespace.`,
      ]);
    expect((await up({ title: "shop", jurisdiction: "us" })).id).toBe(id);
    const plain = await create({ title: "plain" });
    expect(await new Operation(api).refusals(TYPE, { ...inputs, title: "plain" })).toEqual([
      expect.stringContaining(`(${plain}) with jurisdiction "none", which can't be changed`),
    ]);
  });

  test("is read by get, and left alone by a program that doesn't declare it", async () => {
    const id = await create({ title: "shop", jurisdiction: "fedramp" });
    const { outputs } = await new Operation(api).get(TYPE, `${ACCOUNT_ID}/${id}`);
    expect(outputs).toMatchObject({ title: "shop", jurisdiction: "fedramp" });
    const adopted = await up({ title: "shop" });
    expect(adopted.id).toBe(id);
    const refreshed = await new Operation(api).refresh(TYPE, adopted);
    expect(refreshed?.outputs).not.toHaveProperty("jurisdiction");
  });
});
