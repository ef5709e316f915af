import { apiPerTest } from "../support/bench";
import { report } from "../../provider/report";
import type { Project } from "../support/engine";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** What a preview couldn't look at is a danger in the plans of every engine and surface. */

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, PageShieldPolicy } from "pulumi-edgeguard";
const { accountId, existing } = new pulumi.Config().requireObject<Record<string, string>>("ids");
DECLARED
`;
const PRUNES = `new KvEntries("own", { accountId, namespaceId: existing, entries: { "product/mine": "1" }, prune: { prefix: "product/" } });`;
const TAKES_OVER = `new KvEntries("own", { accountId, namespaceId: existing, entries: { "product/1": "1" }, adopt: "takeOver" });`;
const PLAIN = `new KvEntries("own", { accountId, namespaceId: existing, entries: { "own/1": "1" } });`;
const inNamespace = (args: string): string => `
const ns = new KvNamespace("ns", { accountId, ${args} });
new KvEntries("own", { accountId, namespaceId: ns.id, entries: { "product/mine": "1" }, prune: { prefix: "product/" } });`;
const WHOLE = (namespace: string): string => `
const first = new KvNamespace("first", { accountId, title: "first" });
const second = new KvNamespace("second", { accountId, title: "second" });
const entries = Object.fromEntries(Array.from({ length: 12 }, (_, index) => ["own/" + index, "1"]));
new KvEntries("own", { accountId, namespaceId: ${namespace}.id, entries });`;

describe.each(surfaces())("on $name", (surface) => {
  const api = apiPerTest();
  let project: Project;
  let title: string;

  beforeEach(async () => {
    const ids = { accountId: api.accounts.main, existing: api.namespaces.existing };
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const path = `${api.url}/accounts/${ids.accountId}/storage/kv/namespaces/${ids.existing}`;
    const body = JSON.stringify(
      Array.from({ length: 80 }, (_, index) => ({ key: `product/${index}`, value: "theirs" })),
    );
    await fetch(`${path}/bulk`, { method: "PUT", headers, body });
    const found = (await (await fetch(path, { headers })).json()) as { result: { title: string } };
    title = JSON.stringify(found.result.title);
    project = surface.project("unseen");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ ids: JSON.stringify(ids), "edgeguard:baseUrl": api.url });
  });
  afterEach(() => project.remove());

  /** The kinds of danger in the plan of a program. */
  async function dangersOf(declared: string, ...options: string[]): Promise<string[]> {
    project.write(PROGRAM.replace("DECLARED", declared));
    const { stdout } = await project.run("preview", "--json", "--show-sames", ...options);
    const plan = report(stdout, "json", { failOn: ["irreversible", "unprotect", "removes", "unseen"] });
    return plan.dangers.map(({ kind, name }) => `${kind} ${name}`);
  }

  it("keys that prune deletes or that are taken over are unseen without live checks", async () => {
    expect(await dangersOf(PRUNES)).toEqual(["irreversible own"]);
    expect(await dangersOf(TAKES_OVER)).toEqual(["irreversible own"]);
    await project.ok("config", "set", "edgeguard:liveChecks", "false");
    expect(await dangersOf(PRUNES)).toEqual(["unseen own"]);
    expect(await dangersOf(TAKES_OVER)).toEqual(["unseen own"]);
    expect(await dangersOf(PLAIN)).toEqual([]);
  });

  it("what someone made stronger and renamed is unseen, and a preview with --refresh names it", async () => {
    const zoneId = api.zones.shop;
    const policy = (description: string): string =>
      `new PageShieldPolicy("own", ${JSON.stringify({ zoneId, description, action: "log", expression: "true", value: "script-src 'self'" })});`;
    project.write(PROGRAM.replace("DECLARED", policy("old")));
    await project.ok("up", "--yes");
    const path = `/zones/${zoneId}/page_shield/policies`;
    const { result } = await rawGet(api, path);
    const { id, ...own } =
      (result as { id: string; description: string }[]).find((p) => p.description === "old") ?? {};
    const edit = (change: object): Promise<unknown> =>
      rawSend(api, "PUT", `${path}/${id}`, { ...own, ...change });
    await edit({ action: "allow" });
    expect(await dangersOf(policy("new"))).toEqual(["unprotect own"]);
    await edit({ action: "allow", description: "by hand" });
    expect(await dangersOf(policy("new"))).toEqual(["unseen own"]);
    expect(await dangersOf(policy("new"), "--refresh")).toEqual(["unprotect own"]);
    expect(await dangersOf("")).toEqual(["unprotect own", "unseen own", "delete own"]);
    expect(await dangersOf("", "--refresh")).toEqual(["unprotect own", "delete own"]);
  });

  it("keys are unseen while the API doesn't respond", async () => {
    await project.ok("config", "set", "edgeguard:maxRetries", "0");
    api.fault({ kind: "status", status: 503, match: {}, times: 99 });
    expect(await dangersOf(PRUNES)).toEqual(["unseen own"]);
  });

  it("keys of a namespace in the same update are unseen only if the namespace may exist", async () => {
    expect(await dangersOf(inNamespace(`title: ${title}, adopt: "takeOver"`))).toEqual(["unseen own"]);
    expect(await dangersOf(inNamespace('title: "new"'))).toEqual([]);
  });

  it("deleting or moving a whole KvEntries removes its keys", async () => {
    project.write(PROGRAM.replace("DECLARED", WHOLE("first")));
    await project.ok("up", "--yes");
    expect(await dangersOf(WHOLE("first"))).toEqual([]);
    expect(await dangersOf(WHOLE("second"))).toEqual(["removes own", "replace own"]);
    expect(await dangersOf("")).toContain("removes own");
  });
});
