import { HTTPS } from "../logpush/support";
import { accounts, apiPerTest, zones } from "../support/bench";
import { Operation, rawGet, rawSend } from "../support/operation";

/** `get` as the engine calls it: a read with the composite ID and nothing recorded. */

const api = apiPerTest();

const HEX = "0123456789abcdef0123456789abcdef";

const result = async (path: string): Promise<Record<string, unknown>> =>
  (await rawGet(api, path))["result"] as Record<string, unknown>;

async function made(path: string, body: object): Promise<string> {
  const { result: object } = await rawSend(api, "POST", path, body);
  return String((object as { id: unknown }).id);
}

async function keysOf(namespace: string): Promise<string[]> {
  const keys = await result(`/accounts/${accounts.main}/storage/kv/namespaces/${namespace}/keys`);
  return (keys as unknown as { name: string }[]).map(({ name }) => name);
}

const failure = async (promise: Promise<unknown>): Promise<string> =>
  await promise.then(
    (found) => Promise.reject(new Error(`did not fail: ${JSON.stringify(found)}`)),
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

describe("get", () => {
  test("reads PageShieldSettings by zone", async () => {
    const zone = zones.shop;
    const op = new Operation(api);
    const { id, outputs } = await op.get("PageShieldSettings", zone);
    const { enabled, use_connection_url_path: path } = await result(`/zones/${zone}/page_shield`);
    expect(id).toBe(zone);
    expect(outputs).toMatchObject({ zoneId: zone, enabled, useConnectionUrlPath: path, schemaVersion: 1 });
  });

  test("reads a PageShieldPolicy by zone and policy", async () => {
    const zone = zones.empty;
    const body = { action: "log", expression: "true", enabled: false, value: "script-src 'self'" };
    const policy = await made(`/zones/${zone}/page_shield/policies`, { description: "theirs", ...body });
    const { id, outputs } = await new Operation(api).get(
      "PageShieldPolicy",
      `${zone}/${policy}`.toUpperCase(),
    );
    expect(id).toBe(policy);
    expect(outputs).toMatchObject({
      zoneId: zone,
      description: "theirs",
      ...body,
      __resourceName: "existing",
    });
  });

  test("reads a ManagedRulesetOverride by zone and rule, with the zone's own account", async () => {
    const zone = zones.shop;
    const { rules } = await result(`/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`);
    const rule = (rules as { id: string; action: string; ref: string; description: string }[]).find(
      ({ action }) => action === "execute",
    );
    const { id, outputs } = await new Operation(api).get("ManagedRulesetOverride", `${zone}/${rule?.id}`);
    expect(id).toBe(rule?.id);
    expect(outputs).toMatchObject({
      zoneId: zone,
      accountId: accounts.main,
      ref: rule?.ref,
      ruleId: rule?.id,
      ruleset: { name: expect.any(String) as string },
    });
    expect(outputs).not.toHaveProperty("drift");
  });

  test("reads a LogpushJob by zone or account and the job's number", async () => {
    for (const [kind, scope] of [
      ["zone", zones.empty],
      ["account", accounts.main],
    ]) {
      const dataset = kind === "zone" ? "http_requests" : "audit_logs";
      const job = await made(`/${kind}s/${scope}/logpush/jobs`, {
        name: "theirs",
        dataset,
        destination_conf: HTTPS,
        enabled: true,
        max_upload_records: 2000,
      });
      const { id, outputs } = await new Operation(api).get("LogpushJob", `${kind}/${scope}/${job}`);
      expect(id).toBe(job);
      const owner = { [`${kind}Id`]: scope };
      expect(outputs).toMatchObject({
        ...owner,
        name: "theirs",
        dataset,
        enabled: true,
        maxUploadRecords: 2000,
      });
    }
  });

  test("reads a KvNamespace by account and namespace", async () => {
    const account = accounts.main;
    const namespace = await made(`/accounts/${account}/storage/kv/namespaces`, { title: "theirs" });
    const { id, outputs } = await new Operation(api).get("KvNamespace", `${account}/${namespace}`);
    expect(id).toBe(namespace);
    expect(outputs).toMatchObject({ accountId: account, title: "theirs", fullTitle: "theirs" });
  });

  test("returns an object that a refresh can read by its bare ID", async () => {
    const zone = zones.empty;
    const body = { action: "log", expression: "true", enabled: true, value: "script-src 'self'" };
    const policy = await made(`/zones/${zone}/page_shield/policies`, { description: "theirs", ...body });
    const op = new Operation(api);
    const found = await op.get("PageShieldPolicy", `${zone}/${policy}`);
    await rawSend(api, "PUT", `/zones/${zone}/page_shield/policies/${policy}`, {
      description: "renamed",
      ...body,
    });
    const refreshed = await op.refresh("PageShieldPolicy", found);
    expect(refreshed?.outputs).toMatchObject({ description: "renamed" });
    // Further refreshes, too, know that it's a get: arguments among its inputs would all show as removed.
    expect(refreshed?.inputs).toEqual(found.inputs);
    expect((await op.refresh("PageShieldPolicy", refreshed ?? found))?.inputs).toEqual(found.inputs);
  });
});

describe("get of an object that can't be read in full", () => {
  test("counts the keys of KvEntries, and shows no values in state or messages", async () => {
    const account = accounts.main;
    const namespace = await made(`/accounts/${account}/storage/kv/namespaces`, { title: "theirs" });
    const path = `/accounts/${account}/storage/kv/namespaces/${namespace}/bulk`;
    await rawSend(api, "PUT", path, [
      { key: "a", value: "c4nary-value" },
      { key: "b", value: "c4nary-value" },
    ]);
    const op = new Operation(api);
    const { id, outputs } = await op.get("KvEntries", `${account}/${namespace}`);
    expect(id).toBe(namespace);
    expect(outputs).toMatchObject({ accountId: account, namespaceId: namespace, keys: 2 });
    expect(Object.keys(outputs)).not.toEqual(expect.arrayContaining(["bytes", "digest", "entries"]));
    expect(op.said).toEqual([
      `edgeguard: KvEntries existing: KvEntries.get counts the namespace's keys but doesn't read their values, so bytes and digest are undefined. To write a program that declares the entries, run \`edgeguard import --account ${account} --only kv --with-values\`.`,
    ]);
    expect(JSON.stringify([outputs, op.said, op.warned])).not.toContain("c4nary");
  });

  test.each([
    ["migratePro", "start", "assessed"],
    ["migrateValidating", "validation", "validation"],
    ["migrateFinished", "finished", "finished"],
    ["migrateRetired", "retired", "assessed"],
  ] as const)("reads only the migration state of zone %s (%s)", async (zone, state, target) => {
    const op = new Operation(api);
    const { id, outputs } = await op.get("WafMigration", api.zones[zone]);
    expect(id).toBe(api.zones[zone]);
    expect(outputs).toMatchObject({ zoneId: id, target, migrationState: state, findings: [], history: [] });
    expect(op.said[0]).toContain("WafMigration.get reads only the zone's state");
    expect(op.said[0]).toContain("compatible, proposedConfiguration and configurationDigest stay undefined");
  });

  test("reads a LogpushTransformer with its code", async () => {
    const code = "SELECT RayID FROM http_requests";
    const id = await made(`/accounts/${accounts.main}/logpush/transformers`, { name: "theirs", code });
    const found = await new Operation(api).get("LogpushTransformer", `${accounts.main}/${id}`);
    expect(found.id).toBe(id);
    const { outputs } = found;
    expect(outputs).toMatchObject({
      accountId: accounts.main,
      name: "theirs",
      code,
      dataset: "http_requests",
      codeDigest: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
  });

  test("leaves a LogpushJob's destination empty if Cloudflare doesn't show it", async () => {
    const job = await made(`/zones/${zones.empty}/logpush/jobs`, {
      name: "theirs",
      dataset: "http_requests",
      destination_conf: HTTPS,
    });
    const shown = await result(`/zones/${zones.empty}/logpush/jobs/${job}`);
    const body = JSON.stringify({ success: true, result: { ...shown, destination_conf: undefined } });
    api.fault({ match: {}, kind: "raw", status: 200, body, times: 2 });
    const op = new Operation(api);
    const { outputs } = await op.get("LogpushJob", `zone/${zones.empty}/${job}`);
    expect(outputs).toMatchObject({ name: "theirs", destinationConf: "" });
    expect(op.said).toEqual([
      "edgeguard: LogpushJob \"theirs\": Cloudflare doesn't return the job's destination, so destinationConf is empty.",
    ]);
  });
});

describe("ManagedRulesetOverride.get", () => {
  const CONFIG = { "edgeguard:accountId": HEX };
  let zone: string;
  let rule: { id: string; action: string; action_parameters: { id: string } };
  beforeEach(async () => {
    zone = zones.shop;
    const { rules } = await result(`/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`);
    rule = (rules as (typeof rule)[]).find(({ action }) => action === "execute") ?? rule;
  });
  const refuse = (path: string, status: number): void =>
    api.fault({ match: { method: "GET", path: `^${path}$` }, kind: "status", status, times: 9 });

  test("uses the zone's own account, even if the setting names another", async () => {
    const op = new Operation(api, { config: CONFIG });
    const { outputs } = await op.get("ManagedRulesetOverride", `${zone}/${rule.id}`);
    expect(outputs).toMatchObject({ accountId: accounts.main });
  });

  test("uses the setting's account if the token lacks Zone Read", async () => {
    refuse(`/zones/${zone}`, 403);
    const op = new Operation(api, { config: { "edgeguard:accountId": accounts.main } });
    const { outputs } = await op.get("ManagedRulesetOverride", `${zone}/${rule.id}`);
    expect(outputs).toMatchObject({ accountId: accounts.main });
  });

  test("names the account if the ruleset isn't in it, because the rule itself isn't missing", async () => {
    refuse(`/zones/${zone}`, 403);
    const { id: ruleset } = rule.action_parameters;
    refuse(`/accounts/${HEX}/rulesets/${ruleset}`, 404);
    refuse(`/accounts/${HEX}/rulesets`, 404);
    const op = new Operation(api, { config: CONFIG });
    const message = await failure(op.get("ManagedRulesetOverride", `${zone}/${rule.id}`));
    expect(message).toContain(
      `Rule ${rule.id} in zone ${zone} executes the managed ruleset ${ruleset}, which can't be read in account ${HEX}: `,
    );
    expect(message).toContain("give the token Zone Read, or set edgeguard:accountId to that account.");
    expect(message).not.toContain("doesn't exist");
  });
});

describe("with an ID that can't be used,", () => {
  const DIGITS = "An ID is 32 hex digits";
  const FIND = "Find the ID of a zone or an account on its Overview page in the dashboard.";

  test.each([
    ["PageShieldSettings", `${HEX}/${HEX}`, '"<zone ID>"', DIGITS],
    ["PageShieldPolicy", HEX, '"<zone ID>/<policy ID>"', DIGITS],
    ["PageShieldPolicy", `${HEX}/<policy ID>`, '"<zone ID>/<policy ID>"', DIGITS],
    [
      "ManagedRulesetOverride",
      `shop.example/${HEX}`,
      '"<zone ID>/<rule ID>" or "account/<account ID>/<rule ID>"',
      DIGITS,
    ],
    ["WafMigration", "", '"<zone ID>"', DIGITS],
    [
      "LogpushJob",
      `${HEX}/17`,
      '"zone/<zone ID>/<job ID>" or "account/<account ID>/<job ID>"',
      `${DIGITS}; a job ID is a number`,
    ],
    ["LogpushTransformer", HEX, '"<account ID>/<transformer ID>"', `${DIGITS}; a transformer ID is a number`],
    ["KvNamespace", HEX, '"<account ID>/<namespace ID>"', DIGITS],
    ["KvEntries", `${HEX}/${HEX}/5ca1ab1e`, '"<account ID>/<namespace ID>"', DIGITS],
  ])(
    "%s.get refuses %j and shows the right form, before anything is sent",
    async (type, id, form, digits) => {
      expect(await failure(new Operation(api).get(type, id))).toBe(
        `${JSON.stringify(id)} is not ${form}. ${digits}. ${FIND}`,
      );
      expect(api.requests).toEqual([]);
    },
  );

  test.each([
    ["PageShieldPolicy", `shop/${HEX}`],
    ["ManagedRulesetOverride", `shop/${HEX}`],
    ["LogpushJob", "zone/shop/4711"],
    ["LogpushJob", "account/main/4711"],
    ["LogpushTransformer", "main/4711"],
    ["KvNamespace", `main/${HEX}`],
    ["KvEntries", `main/${HEX}`],
  ])("%s.get fails if %s doesn't exist, because the engine would record it anyway", async (type, id) => {
    const real = id.replace("shop", zones.shop).replace("main", accounts.main);
    expect(await failure(new Operation(api).get(type, real))).toBe(
      `${type}.get: ${real} doesn't exist. Check the ID, or remove the get call from the program.`,
    );
  });

  test.each(["PageShieldSettings", "WafMigration"])(
    "%s.get fails if the zone doesn't exist",
    async (type) => {
      expect(await failure(new Operation(api).get(type, HEX))).toContain(
        "The zone or account does not exist",
      );
    },
  );

  test("ManagedRulesetOverride.get refuses a rule that executes no managed ruleset, and names its action", async () => {
    const zone = zones.shop;
    const entryPoint = `/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    const { id: ruleset } = await result(entryPoint);
    const skip = {
      action: "skip",
      expression: "true",
      action_parameters: { ruleset: "current" },
      ref: "theirs",
    };
    await rawSend(api, "POST", `/zones/${zone}/rulesets/${String(ruleset)}/rules`, skip);
    const { rules } = await result(entryPoint);
    const theirs = (rules as { id: string; ref: string }[]).find(({ ref }) => ref === "theirs")?.id ?? "";
    expect(await failure(new Operation(api).get("ManagedRulesetOverride", `${zone}/${theirs}`))).toBe(
      `Rule ${theirs} in zone ${zone} has the action "skip", but only rules that execute a managed ruleset can be read. Use the ID of such a rule.`,
    );
  });
});

describe("when the program used to declare an object and now reads it with get,", () => {
  const policy = { description: "Checkout", action: "log", expression: "true", value: "script-src 'self'" };

  test("deleting the declared resource sends nothing", async () => {
    const zoneId = zones.empty;
    const declared = await new Operation(api).up("PageShieldPolicy", { zoneId, ...policy });
    const op = new Operation(api);
    await op.get("PageShieldPolicy", `${zoneId}/${declared.id}`);
    api.clearRequests();
    await op.destroy("PageShieldPolicy", declared);
    expect(api.requests).toEqual([]);
    expect(op.said).toEqual([
      `edgeguard: PageShieldPolicy ${declared.id} is kept: this program reads it with PageShieldPolicy.get. Nothing was sent.`,
    ]);
    expect(await result(`/zones/${zoneId}/page_shield/policies/${declared.id}`)).toMatchObject({
      description: "Checkout",
    });
  });

  test("deleting the declared KvEntries keeps the namespace's entries", async () => {
    const accountId = accounts.main;
    const namespace = await made(`/accounts/${accountId}/storage/kv/namespaces`, { title: "theirs" });
    const address = { accountId, namespaceId: namespace };
    const declared = await new Operation(api).up("KvEntries", { ...address, entries: { a: "1", b: "2" } });
    const op = new Operation(api);
    await op.get("KvEntries", `${accountId}/${namespace}`);
    await op.destroy("KvEntries", declared);
    expect(await keysOf(namespace)).toEqual(["a", "b"]);
    expect(op.said.at(-1)).toContain(
      `KvEntries ${declared.id} is kept: this program reads it with KvEntries.get. Nothing was sent.`,
    );
  });

  test("an object that the program doesn't read is still deleted", async () => {
    const zoneId = zones.empty;
    const one = await new Operation(api).up("PageShieldPolicy", { zoneId, ...policy });
    const other = await new Operation(api).up("PageShieldPolicy", {
      zoneId,
      ...policy,
      description: "Other",
    });
    const op = new Operation(api);
    await op.get("PageShieldPolicy", `${zoneId}/${one.id}`);
    await op.destroy("PageShieldPolicy", other);
    const left = (await result(`/zones/${zoneId}/page_shield/policies`)) as unknown as { id: string }[];
    expect(left.map(({ id }) => id)).toEqual([one.id]);
  });
});

describe("when the program reads a namespace's entries with get and also declares some,", () => {
  let address: { accountId: string; namespaceId: string };
  beforeEach(async () => {
    const accountId = accounts.main;
    const path = `/accounts/${accountId}/storage/kv/namespaces`;
    address = { accountId, namespaceId: await made(path, { title: "shared" }) };
    await rawSend(api, "PUT", `${path}/${address.namespaceId}/bulk`, [{ key: "theirs", value: "1" }]);
  });
  const get = (op: Operation): Promise<unknown> =>
    op.get("KvEntries", `${address.accountId}/${address.namespaceId}`);

  test("an update deletes the key that's no longer declared", async () => {
    const declared = await new Operation(api).up("KvEntries", { ...address, entries: { a: "1", b: "2" } });
    const op = new Operation(api);
    await get(op);
    const updated = await op.up("KvEntries", { ...address, entries: { a: "1" } }, declared);
    expect(await keysOf(address.namespaceId)).toEqual(["a", "theirs"]);
    await new Operation(api).destroy("KvEntries", updated);
    expect(await keysOf(address.namespaceId)).toEqual(["theirs"]);
  });

  test("prune deletes the keys that others wrote", async () => {
    const op = new Operation(api);
    await get(op);
    await op.up("KvEntries", { ...address, entries: { a: "1" }, prune: { prefix: "" } });
    expect(await keysOf(address.namespaceId)).toEqual(["a"]);
  });
});

/** A destination with a credential that nothing may show. */
const CANARY = "https://logs.example.com/in?header_Authorization=Bearer%20c4nary-token";

/** Creates a job with that destination, as another team would: its ID. */
const theirJob = async (): Promise<string> =>
  await made(`/zones/${zones.empty}/logpush/jobs`, {
    name: "theirs",
    dataset: "http_requests",
    destination_conf: CANARY,
    enabled: true,
  });

test("a refresh records a job's destination only as an output, which the class marks as a secret", async () => {
  const job = await theirJob();
  const found = await new Operation(api).get("LogpushJob", `zone/${zones.empty}/${job}`);
  const op = new Operation(api);
  const refreshed = await op.refresh("LogpushJob", found);
  const { destinationConf, ...others } = refreshed?.outputs ?? {};
  expect(destinationConf).toContain("c4nary");
  expect(JSON.stringify([refreshed?.inputs, others, op.said, op.warned])).not.toContain("c4nary");
});

test("neither records nor prints a credential in a job's error message", async () => {
  const job = await theirJob();
  const shown = await result(`/zones/${zones.empty}/logpush/jobs/${job}`);
  const failing = {
    ...shown,
    destination_conf: CANARY,
    last_error: "2026-01-02T03:04:05Z",
    error_message: "401 for Bearer c4nary-token",
  };
  api.fault({
    match: {},
    kind: "raw",
    status: 200,
    body: JSON.stringify({ success: true, result: failing }),
    times: 2,
  });
  const op = new Operation(api);
  const { outputs } = await op.get("LogpushJob", `zone/${zones.empty}/${job}`);
  const { destinationConf, ...others } = outputs;
  expect(destinationConf).toContain("c4nary"); // The class marks it as a secret.
  expect(op.warned.join()).toContain("is failing: 401 for");
  expect(JSON.stringify([others, op.said, op.warned])).not.toContain("c4nary");
});
