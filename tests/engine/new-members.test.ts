import { managedRulesets, startLocalApi, type LocalApi } from "edgeguard-local";
import type { Project } from "../support/engine";
import { madeTransformer, rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** What leaves log lines out, payload logging, a ruleset that's off as a whole, and where a namespace's data is. */

const KEY = `${"A".repeat(43)}=`;
const OTHER_KEY = `${"B".repeat(43)}=`;

const program = (jurisdiction: string): string => `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, zoneId, ruleset } = new pulumi.Config().requireObject<Record<string, string>>("ids");
new edgeguard.LogpushJob("job", {
  zoneId, name: "job", dataset: "http_requests", destinationConf: "https://logs.shop.example/in",
  filterAttackTraffic: true, transformerId: 1, outputOptions: { fieldNames: ["RayID"], stringifyObject: true },
});
new edgeguard.ManagedRulesetOverride("waf", {
  zoneId, accountId, ruleset: { id: ruleset }, allRulesEnabled: false, matchedData: { publicKey: "${KEY}" },
  exceptions: [{ expression: 'http.host eq "a.example"', skip: "this", logging: false }],
});
new edgeguard.KvNamespace("space", { accountId, title: "space", ${jurisdiction} });
`;

describe.each(surfaces())("on $name, what the API added lately", (surface) => {
  let api: LocalApi;
  let project: Project;

  beforeAll(async () => {
    api = await startLocalApi();
    await madeTransformer(api);
    project = surface.project("new-members");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const ids = { accountId: api.accounts.main, zoneId: api.zones.empty, ruleset: managedRulesets.managed };
    await project.init({ ids: JSON.stringify(ids), "edgeguard:baseUrl": api.url });
    project.write(program('jurisdiction: "eu"'));
    await project.ok("up", "--yes", "--skip-preview");
  }, 300_000);
  afterAll(async () => {
    project.remove();
    await api.close();
  });

  it("is created, and the next update changes nothing", async () => {
    expect(await seenIn(api)).toEqual(DECLARED);
    const { stdout } = await project.ok("up", "--yes", "--skip-preview");
    expect(stdout).toMatch(/\b4 unchanged/);
  });

  it("is restored by up --refresh after someone changed it", async () => {
    await changeAll(api);
    expect(await seenIn(api)).not.toEqual(DECLARED);
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    expect(await seenIn(api)).toEqual(DECLARED);
  });

  it("deletes the namespace before its successor with the same title is created elsewhere", async () => {
    api.clearRequests();
    project.write(program('jurisdiction: "us"'));
    await project.ok("up", "--yes", "--skip-preview");
    const writes = api.requests.filter(({ method, path }) => method !== "GET" && /namespaces/.test(path));
    expect(writes.map(({ method }) => method)).toEqual(["DELETE", "POST"]);
    expect(await seenIn(api)).toEqual({ ...DECLARED, jurisdiction: "us" });
  });

  it("keeps a namespace with keys where it is", async () => {
    const [space] = await namespacesIn(api);
    const value = `/accounts/${api.accounts.main}/storage/kv/namespaces/${space?.id}/values/a`;
    await rawSend(api, "PUT", value, "1");
    project.write(program(""));
    const { code, stdout, stderr } = await project.run("preview");
    expect({ code: code === 0, text: stdout + stderr }).toEqual({
      code: false,
      text: expect.stringMatching(/Namespace "space".*forceDestroy/s) as string,
    });
  });
});

const DECLARED = {
  job: { filter_attack_traffic: true, transformer_id: 1, stringify_object: true },
  rule: { matched_data: { public_key: KEY }, overrides: { enabled: false } },
  logging: { enabled: false },
  jurisdiction: "eu",
};

const phaseOf = ({ zones }: LocalApi): string =>
  `/zones/${zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;

interface Rule {
  readonly id: string;
  readonly action: string;
  readonly action_parameters: { readonly matched_data?: unknown; readonly overrides?: unknown };
  readonly logging?: unknown;
}

interface Job {
  readonly id: number;
  readonly filter_attack_traffic: unknown;
  readonly transformer_id: unknown;
  readonly output_options: { readonly stringify_object?: unknown };
}

async function resultOf<T>(api: LocalApi, path: string): Promise<T> {
  return (await rawGet(api, path))["result"] as T;
}

async function namespacesIn(api: LocalApi): Promise<{ id: string; title: string; jurisdiction?: string }[]> {
  const all = await resultOf<{ id: string; title: string }[]>(
    api,
    `/accounts/${api.accounts.main}/storage/kv/namespaces`,
  );
  return all.filter(({ title }) => title === "space");
}

/** What the API holds of the program's resources, read without the provider's code. */
async function seenIn(api: LocalApi): Promise<unknown> {
  const [job] = await resultOf<Job[]>(api, `/zones/${api.zones.empty}/logpush/jobs`);
  const { rules } = await resultOf<{ rules: Rule[] }>(api, phaseOf(api));
  const [space] = await namespacesIn(api);
  const deployed = rules.find(({ action }) => action === "execute")?.action_parameters;
  return {
    job: {
      filter_attack_traffic: job?.filter_attack_traffic,
      transformer_id: job?.transformer_id,
      stringify_object: job?.output_options.stringify_object,
    },
    rule: { matched_data: deployed?.matched_data, overrides: deployed?.overrides },
    logging: rules.find(({ action }) => action === "skip")?.logging,
    jurisdiction: space?.jurisdiction,
  };
}

async function changeAll(api: LocalApi): Promise<void> {
  const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
  const [job] = await resultOf<Job[]>(api, jobs);
  const { id, rules } = await resultOf<{ id: string; rules: Rule[] }>(api, phaseOf(api));
  const changes: [method: string, path: string, body: unknown][] = [
    ["PUT", `${jobs}/${job?.id}`, { filter_attack_traffic: false, transformer_id: null }],
    ...rules.map((rule): [string, string, unknown] => [
      "PATCH",
      `/zones/${api.zones.empty}/rulesets/${id}/rules/${rule.id}`,
      rule.action === "skip"
        ? { ...rule, logging: { enabled: true } }
        : {
            ...rule,
            action_parameters: {
              ...rule.action_parameters,
              matched_data: { public_key: OTHER_KEY },
              overrides: { enabled: true },
            },
          },
    ]),
  ];
  for (const [method, path, body] of changes) {
    const { success } = await rawSend(api, method, path, body);
    if (!success) throw new Error(`${method} ${path} was refused`);
  }
}
