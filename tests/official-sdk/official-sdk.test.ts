import Cloudflare from "cloudflare";
import { managedRulesets } from "edgeguard-local";
import { apiPerFile } from "../support/bench";

/** Cloudflare's official SDK against the local API: what newer versions of the API have is kept and refused alike. */

const DESTINATION = "https://logs.shop.example/edge";
const KEY = `${"A".repeat(43)}=`;

describe("Cloudflare's official SDK against the local API", () => {
  const api = apiPerFile();
  let sdk: Cloudflare;
  beforeEach(() => {
    api.reset();
    sdk = new Cloudflare({ baseURL: api.url, apiToken: "local-token", maxRetries: 0 });
  });

  it("creates, changes and reads a Logpush job that leaves out attack traffic", async () => {
    const zone_id = api.zones.empty;
    const created = await sdk.logpush.jobs.create({
      zone_id,
      dataset: "http_requests",
      destination_conf: DESTINATION,
      filter_attack_traffic: true,
      output_options: { field_names: ["RayID"], merge_subrequests: true },
    });
    const id = created?.id ?? 0;
    expect(await sdk.logpush.jobs.get(id, { zone_id })).toMatchObject({ filter_attack_traffic: true });
    const changed = await sdk.logpush.jobs.update(id, { zone_id, filter_attack_traffic: false });
    expect(changed).toMatchObject({ filter_attack_traffic: false });
  });

  it("can't leave out attack traffic of a dataset that has none", async () => {
    const job = sdk.logpush.jobs.create({
      zone_id: api.zones.empty,
      dataset: "dns_logs",
      destination_conf: DESTINATION,
      filter_attack_traffic: true,
    });
    await expect(job).rejects.toMatchObject({ status: 400 });
  });

  it("creates jobs for the datasets of a zone and of an account", async () => {
    const [zone_id, account_id] = [api.zones.empty, api.accounts.main];
    for (const [dataset, scope] of [
      ["account_abuse_protection_events", { zone_id }],
      ["firewall_events", { zone_id }],
      ["firewall_events", { account_id }],
      ["magic_bgp_logs", { account_id }],
    ] as const) {
      const job = await sdk.logpush.jobs.create({ ...scope, dataset, destination_conf: DESTINATION });
      expect(job).toMatchObject({ dataset });
    }
  });

  it("creates, changes, reads, attaches and deletes a Logpush transformer", async () => {
    const account_id = api.accounts.main;
    const { transformers } = sdk.logpush;
    const code = "SELECT RayID FROM http_requests";
    const { id = 0 } = await transformers.create({ account_id, name: "a", description: "b", code });
    expect(await transformers.get(id, { account_id })).toMatchObject({
      name: "a",
      description: "b",
      dataset: "http_requests",
      associated_jobs: [],
    });
    const next = "SELECT ClientIP FROM http_requests";
    expect(await transformers.update(id, { account_id, name: "c" })).toMatchObject({ description: "" });
    await transformers.update(id, { account_id, name: "c", code: next });
    expect(await transformers.content.get(id, { account_id })).toEqual({ content: next });
    expect(await transformers.content.get(id, { account_id, version_id: 1 })).toEqual({ content: code });
    const versions = await transformers.versions.list(id, { account_id, limit: 1 });
    expect(versions.getPaginatedItems()).toMatchObject([{ version: 2 }]);
    expect((await transformers.list({ account_id })).getPaginatedItems()).toMatchObject([{ id, name: "c" }]);

    const zone_id = api.zones.empty;
    const job = { zone_id, destination_conf: DESTINATION, transformer_id: id };
    const other = sdk.logpush.jobs.create({ ...job, dataset: "dns_logs" });
    await expect(other).rejects.toMatchObject({ status: 400 });
    const attached = await sdk.logpush.jobs.create({ ...job, dataset: "http_requests" });
    await expect(transformers.delete(id, { account_id })).rejects.toMatchObject({ status: 409 });
    await sdk.logpush.jobs.delete(attached?.id ?? 0, { zone_id });
    expect(await transformers.delete(id, { account_id })).toEqual({ id });
    await expect(transformers.get(id, { account_id })).rejects.toMatchObject({ status: 404 });
  });

  it("creates a namespace in a jurisdiction, which a rename keeps", async () => {
    const account_id = api.accounts.main;
    const { id } = await sdk.kv.namespaces.create({ account_id, title: "sales", jurisdiction: "eu" });
    await sdk.kv.namespaces.update(id, { account_id, title: "orders" });
    expect(await sdk.kv.namespaces.get(id, { account_id })).toMatchObject({
      title: "orders",
      jurisdiction: "eu",
    });
    const elsewhere = sdk.kv.namespaces.create({
      account_id,
      title: "moon",
      jurisdiction: "moon" as "eu",
    });
    await expect(elsewhere).rejects.toMatchObject({ status: 400 });
  });

  it("deploys a ruleset for an account's Enterprise zones, and one for responses", async () => {
    const account_id = api.accounts.main;
    const phase = "http_request_firewall_managed";
    const execute = { action: "execute", action_parameters: { id: managedRulesets.managed } } as const;
    const expression = 'cf.zone.plan eq "ENT"';
    const ruleset = { account_id, name: "root", kind: "root", phase } as const;
    await expect(
      sdk.rulesets.create({ ...ruleset, rules: [{ ...execute, expression: "true" }] }),
    ).rejects.toMatchObject({ status: 400 });
    const created = await sdk.rulesets.create({ ...ruleset, rules: [] });
    const { id } = created as { id: string };
    const added = await sdk.rulesets.rules.create(id, { account_id, ...execute, expression });
    expect(added).toMatchObject({ kind: "root", rules: [{ expression }] });
    expect(await sdk.rulesets.phases.get(phase, { account_id })).toMatchObject({ id, kind: "root" });
    const zone_id = api.zones.empty;
    const responses = await sdk.rulesets.phases.update("http_response_firewall_managed", {
      zone_id,
      rules: [{ ...execute, action_parameters: { id: managedRulesets.sensitiveData }, expression: "true" }],
    });
    expect(responses).toMatchObject({ phase: "http_response_firewall_managed" });
  });

  it("deploys a ruleset with payload logging, all of its rules off, behind an exception that isn't logged", async () => {
    const zone_id = api.zones.empty;
    const phase = "http_request_firewall_managed";
    await sdk.rulesets.phases.update(phase, {
      zone_id,
      rules: [
        {
          action: "skip",
          action_parameters: { ruleset: "current" },
          expression: 'http.host eq "a.example"',
          logging: { enabled: false },
        },
        {
          action: "execute",
          action_parameters: {
            id: managedRulesets.managed,
            matched_data: { public_key: KEY },
            overrides: { enabled: false },
          },
          expression: "true",
        },
      ],
    });
    const { rules } = await sdk.rulesets.phases.get(phase, { zone_id });
    expect(rules).toMatchObject([
      { logging: { enabled: false } },
      { action_parameters: { matched_data: { public_key: KEY }, overrides: { enabled: false } } },
    ]);
  });
});
