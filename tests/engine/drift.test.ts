import { startLocalApi, type LocalApi } from "edgeguard-local";
import { buildDrift } from "../../provider/report/drift/build";
import type { DriftedResource } from "../../provider/report/drift/model";
import { reportDrift } from "../../provider/report";
import { readPlan } from "../../provider/report/plan";
import { storedValues } from "../kv/namespace-values";
import type { Project } from "../support/engine";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** Someone changes every kind of resource manually. Following the drift report undoes or keeps each change. */

/** What the program declares, by class. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  PageShieldSettings: "zoneId: shop, enabled: true, useConnectionUrlPath: true",
  PageShieldPolicy: `zoneId: shop, description: "pay", action: "allow", expression: 'http.host eq "pay.shop.example"', value: "script-src 'self'"`,
  ManagedRulesetOverride: 'zoneId: empty, accountId, ruleset: "Cloudflare Managed Ruleset"',
  WafMigration: 'zoneId: old, target: "assessed"',
  LogpushJob:
    'zoneId: shop, dataset: "http_requests", destinationConf: "https://logs.shop.example/in", outputOptions: { fieldNames: ["RayID"] }',
  KvNamespace: 'accountId, title: "sessions"',
  KvEntries: 'accountId, namespaceId: existing, entries: { "flag/a": "1", "flag/b": "2" }',
};

/**
 * @param more lines of code to put in the program, by class.
 * @param without the classes that the program no longer declares.
 */
const program = (
  more: Readonly<Record<string, readonly string[]>> = {},
  without: readonly string[] = [],
): string => `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, shop, empty, old, existing } = new pulumi.Config().requireObject<Record<string, string>>("ids");
${Object.entries(ARGUMENTS)
  .filter(([kind]) => !without.includes(kind))
  .map(([kind, args]) => {
    const base = `{ ${args} }`;
    const code = more[kind];
    return `new edgeguard.${kind}("own", ${code === undefined ? base : `{ ...${base}, ${code.join("\n")} }`});`;
  })
  .join("\n")}
`;

describe.each(surfaces())("on $name, the drift report's advice works:", (surface) => {
  let api: LocalApi;
  let project: Project;
  let drifted: readonly DriftedResource[];
  let declared: Seen;
  let changed: Seen;

  const refreshedPlan = async (): Promise<readonly DriftedResource[]> => {
    const { stdout } = await project.ok("preview", "--refresh", "--json", "--show-sames");
    return buildDrift(readPlan(stdout)).resources;
  };

  beforeAll(async () => {
    api = await startLocalApi();
    const { shop, empty, migrateDeployed: old } = api.zones;
    const { existing } = api.namespaces;
    project = surface.project("drift");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const ids = JSON.stringify({ accountId: api.accounts.main, shop, empty, old, existing });
    await project.init({ ids, "edgeguard:baseUrl": api.url });
    project.write(program());
    await project.ok("up", "--yes", "--skip-preview");
    declared = await seenIn(api);
    await project.age(120); // A key that was written a moment ago may only be missing from the listing.
    await changeEverything(api, declared);
    changed = await seenIn(api);
    drifted = await refreshedPlan();
  }, 300_000);
  afterAll(async () => {
    project.remove();
    await api.close();
  });

  const named = (): readonly string[] => drifted.map(({ kind }) => kind).sort();

  it("names every resource that someone changed, and nothing else", () => {
    expect(named()).toEqual(
      Object.keys(ARGUMENTS)
        .filter((kind) => kind !== "WafMigration")
        .sort(),
    );
  });

  it("without --refresh, an update leaves every change as it is", async () => {
    await project.ok("up", "--yes", "--skip-preview");
    expect(await seenIn(api)).toEqual(changed);
  });

  it("its command undoes each change", async () => {
    const commands = drifted.map(
      ({ update }) =>
        /^pulumi (up --refresh) (?:undoes the change|writes these keys again)$/.exec(update.toString())?.[1],
    );
    expect(new Set(commands)).toEqual(new Set(["up --refresh"]));
    await project.ok(...(commands[0] ?? "").split(" "), "--yes", "--skip-preview");
    expect(await seenIn(api)).toEqual(declared);
    expect(await refreshedPlan()).toEqual([]);
  });

  it("what it says wasn't compared, its instruction compares", async () => {
    const declare = (verify: string): void => project.write(program({ KvEntries: [`verify: "${verify}",`] }));
    declare("keys");
    await project.ok("up", "--yes", "--skip-preview");
    await project.age(120);
    await writeValue(api, "flag/a", "theirs");
    const { stdout } = await project.ok("preview", "--refresh", "--json", "--show-sames");
    const report = buildDrift(readPlan(stdout));
    expect(report.resources).toEqual([]);
    expect(report.counts.uncompared).toBe(1);
    const note = String(report.notes.find((each) => each.toString().startsWith("KvEntries own: ")));
    const instruction = /set verify: "(\w+)", run `pulumi (\w+)`, then refresh again\.$/;
    const [, verify = "", command = ""] = instruction.exec(note) ?? [];
    expect(reportDrift([{ name: "plan", text: stdout }], "text").text).toContain(
      "No manual change was found in what the program sets: 6 resources match the state, 1 compared only in part.",
    );
    const { stderr, text } = await project.ok("refresh", "--yes");
    expect(text + stderr).toContain("KvEntries own: the values weren't compared. To compare keys and values");

    declare(verify);
    await project.ok(command, "--yes", "--skip-preview");
    expect((await seenIn(api)).values).toEqual(["theirs", "2"]);
    expect(await refreshedPlan()).toMatchObject([
      { kind: "KvEntries", changes: [{ now: expect.anything() as unknown }] },
    ]);
    project.write(program());
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    expect(await seenIn(api)).toEqual(declared);
  });

  it("its code keeps each change", async () => {
    await project.age(120);
    await changeEverything(api, declared);
    const { KvEntries, ...others } = Object.fromEntries(drifted.map(({ kind, keep }) => [kind, keep]));
    expect(KvEntries?.how.toString()).toBe(
      "To keep the change, the program's entries must have these keys as they are now",
    );
    const kept = Object.entries(others).map(([kind, { how, code }]): [string, readonly string[]] => {
      expect(how.toString()).toBe("To keep the change, put this in the program");
      return [kind, code];
    });
    project.write(program({ ...Object.fromEntries(kept), KvEntries: ['entries: { "flag/a": "changed" },'] }));
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    expect(await seenIn(api)).toEqual(changed);
    expect(await refreshedPlan()).toEqual([]);
  });

  it("keeps what was deleted, and what was changed after the program dropped it", async () => {
    project.write(program());
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    const { job, namespace } = await seenIn(api);
    const jobPath = `/zones/${api.zones.shop}/logpush/jobs/${job.id}`;
    await rawSend(api, "PUT", jobPath, { enabled: false });
    await rawSend(api, "DELETE", `/accounts/${api.accounts.main}/storage/kv/namespaces/${namespace.id}`);
    project.write(program({}, ["LogpushJob"]));
    const found = new Map((await refreshedPlan()).map(({ kind, keep }) => [kind, keep]));
    const [gone, dropped] = [found.get("KvNamespace"), found.get("LogpushJob")];
    expect(gone?.how.toString()).toBe("To keep it deleted, remove KvNamespace own from the program");
    expect(dropped?.how.toString()).toBe("To keep the change, declare LogpushJob own again with");
    project.write(program({ LogpushJob: dropped?.code ?? [] }, ["KvNamespace"]));
    await project.ok("up", "--refresh", "--yes", "--skip-preview");
    expect((await rawGet(api, jobPath))["result"]).toMatchObject({ id: job.id, enabled: false });
    expect(api.snapshot().kv?.namespaces.map(({ id }) => id)).not.toContain(namespace.id);
    expect(await refreshedPlan()).toEqual([]);
  });
});

interface Seen {
  readonly settings: unknown;
  readonly policy: { readonly id: string; readonly action: string };
  readonly rule: { readonly id: string; readonly enabled: boolean };
  readonly job: { readonly id: number; readonly enabled: boolean };
  readonly namespace: { readonly id: string; readonly title: string };
  /** The values of the keys that the program declares. */
  readonly values: readonly (string | undefined)[];
}

const KEYS = ["flag/a", "flag/b"];
const phaseOf = (zone: string): string =>
  `/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`;

/** What the API holds of the program's resources, read without the provider's code. */
async function seenIn(api: LocalApi): Promise<Seen> {
  const { shop, empty } = api.zones;
  const result = async <T>(path: string): Promise<T> => (await rawGet(api, path))["result"] as T;
  const { enabled, use_connection_url_path } = await result<Record<string, unknown>>(
    `/zones/${shop}/page_shield`,
  );
  const policies = await result<(Seen["policy"] & { description: string })[]>(
    `/zones/${shop}/page_shield/policies`,
  );
  const { rules } = await result<{ rules: (Seen["rule"] & { ref: string })[] }>(phaseOf(empty));
  const jobs = await result<(Seen["job"] & { name: string })[]>(`/zones/${shop}/logpush/jobs`);
  const namespaces = api.snapshot().kv?.namespaces ?? [];
  const own = <T>(found: T | undefined): T => {
    if (found === undefined) throw new Error("a resource of the program is missing");
    return found;
  };
  const policy = own(policies.find(({ description }) => description === "pay"));
  const rule = own(rules.find(({ ref }) => ref.endsWith("/own")));
  const job = own(jobs.find(({ name }) => name.endsWith("own")));
  const namespace = own(namespaces.find(({ title }) => title.startsWith("sessions")));
  return {
    settings: { enabled, use_connection_url_path },
    policy: { id: policy.id, action: policy.action },
    rule: { id: rule.id, enabled: rule.enabled },
    job: { id: job.id, enabled: job.enabled },
    namespace: { id: namespace.id, title: namespace.title },
    values: KEYS.map((key) => storedValues(api).get(key)),
  };
}

/** Writes a value of the shared namespace as someone else. */
async function writeValue(api: LocalApi, key: string, value: string): Promise<void> {
  const kv = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
  await rawSend(api, "PUT", `${kv}/bulk`, [{ key, value }]);
}

async function changeEverything(api: LocalApi, { policy, rule, job, namespace }: Seen): Promise<void> {
  const { shop, empty } = api.zones;
  const kv = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  const { id: entryPoint } = (await rawGet(api, phaseOf(empty)))["result"] as { id: string };
  const { result: current } = (await rawGet(api, phaseOf(empty))) as { result: { rules: { id: string }[] } };
  const rewritten = { ...current.rules.find(({ id }) => id === rule.id), enabled: false };
  const policyPath = `/zones/${shop}/page_shield/policies/${policy.id}`;
  const { result: found } = (await rawGet(api, policyPath)) as { result: object };
  await writeValue(api, "flag/a", "changed");
  for (const [method, path, body] of [
    ["PUT", `/zones/${shop}/page_shield`, { use_connection_url_path: false }],
    ["PUT", policyPath, { ...found, action: "log" }],
    ["PATCH", `/zones/${empty}/rulesets/${entryPoint}/rules/${rule.id}`, rewritten],
    ["PUT", `/zones/${shop}/logpush/jobs/${job.id}`, { enabled: false }],
    ["PUT", `${kv}/${namespace.id}`, { title: "sessions-old" }],
    ["DELETE", `${kv}/${api.namespaces.existing}/values/${encodeURIComponent("flag/b")}`, undefined],
  ] as const) {
    const { success } = await rawSend(api, method, path, body);
    if (!success) throw new Error(`${method} ${path} was refused`);
  }
}
