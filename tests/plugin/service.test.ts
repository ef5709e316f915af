import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerFile, folderPerTest } from "../support/bench";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import type { ServiceError } from "@grpc/grpc-js";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { parse } from "yaml";
import { RESOURCES } from "../../provider/plugin";
import { userDirectory } from "../../provider/runtime/user-directory";
import { failureOf } from "../support/edge-client";
import { describeLong } from "../support/long";
import { rawSend, UNKNOWN } from "../support/operation";
import { REPOSITORY } from "../support/repository";
import { FakeEngine, halfOf, plain, PluginClient, secret, struct, urn } from "./client";

/** The plugin's protocol, as an engine speaks it. What the lifecycles do is tested elsewhere. */

const CANARY = "c4nary-secret-value";

const api = apiPerFile();
let plugin: PluginClient;
beforeAll(async () => {
  // A proxy that refuses everything: the engine isn't behind it.
  plugin = await PluginClient.start(settings(), {
    env: { grpc_proxy: "http://127.0.0.1:9" },
  });
});
afterAll(() => plugin.stop());
beforeEach(() => api.clearRequests());

const settings = (): Record<string, unknown> => ({
  baseUrl: api.url,
  apiToken: secret("local-token"),
  accountId: api.accounts.main,
  maxRetries: "0",
});
const writes = (): string[] =>
  api.requests.flatMap(({ method, path }) => (method === "GET" ? [] : [`${method} ${path}`]));
const policy = (more: object = {}): Record<string, unknown> => ({
  zoneId: api.zones.shop,
  description: "shop",
  action: "log",
  expression: "true",
  value: "script-src 'self'",
  ...more,
});

test("returns arguments in canonical form with the default names that a class would set, and treats null as not set", async () => {
  const zoneId = api.zones.shop.toUpperCase();
  const rule = await plugin.check("ManagedRulesetOverride", "owasp", {
    zoneId,
    ruleset: "Cloudflare OWASP Core Ruleset",
    ref: null,
  });
  expect(rule).toMatchObject({
    failures: [],
    inputs: { zoneId: api.zones.shop, ref: "edgeguard/shop/dev/owasp", __resourceName: "owasp" },
  });
  const job = await plugin.check("LogpushJob", "all logs", {
    zoneId,
    dataset: "http_requests",
    destinationConf: "https://a.example",
  });
  expect(job).toMatchObject({ failures: [], inputs: { name: "shop-dev-all-logs" } });
});

test.each(["examples/yaml/Pulumi.yaml", "docs/guides/other-languages.md"])(
  "the YAML program in %s passes the checks",
  async (path) => {
    const text = readFileSync(join(REPOSITORY, path), "utf8");
    const yaml = /```yaml\n(name:[^]+?)```/.exec(text)?.[1] ?? text;
    const { resources } = parse(yaml, (key, value: unknown) =>
      key === "zoneId" ? api.zones.migrateEnterprise : String(value).startsWith("${") ? UNKNOWN : value,
    ) as { resources: Record<string, { type: string; properties: Record<string, unknown> }> };
    for (const [name, { type, properties }] of Object.entries(resources)) {
      const { failures } = await plugin.check(type.replace("edgeguard:", ""), name, properties);
      expect({ name, failures }).toEqual({ name, failures: [] });
    }
    expect(Object.keys(resources).length).toBeGreaterThan(1);
  },
);

test("refuses a mistake with the same message as the classes, and checks an unknown value once it's known", async () => {
  const { failures } = await plugin.check("PageShieldPolicy", "a", policy({ action: "deny", vlaue: 1 }));
  expect(failures).toEqual([
    expect.stringMatching(/^vlaue: unknown argument "vlaue". Did you mean "value"\?/),
    expect.stringMatching(/^action: must be "log", "allow" or "add_reporting_directives"/),
  ]);
  const { inputs } = await plugin.check(
    "PageShieldPolicy",
    "a",
    policy({ zoneId: "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2" }),
  );
  expect(inputs).toMatchObject({ zoneId: UNKNOWN });
});

test("keeps a value secret if its type or the program says so, and never shows it in a message", async () => {
  const made = await plugin.create("KvNamespace", "secret", { title: secret(CANARY) });
  expect(made.inputs).toMatchObject({ title: secret(CANARY), __secrets: ["title"] });
  expect(made.outputs).toMatchObject({ title: secret(CANARY) });
  const entries = await plugin.create("KvEntries", "secret", {
    namespaceId: made.id,
    entries: { a: CANARY, __proto__x: "1" },
  });
  expect(entries.outputs).toMatchObject({ entries: secret({ a: CANARY, __proto__x: "1" }) });
  for (const name of ["digest", "manifest"])
    expect(entries.outputs[name]).toEqual(secret(expect.any(String)));
  const { failures } = await plugin.check("KvNamespace", "b", { title: secret({ a: CANARY }) });
  expect(failures.join()).toMatch(/secret value not shown/);
  expect(plugin.printed + plugin.shown + failures.join()).not.toContain(CANARY);
});

test("refuses two resources that manage the same object, but not one that is checked twice", async () => {
  const one = { zoneId: api.zones.blog, enabled: true };
  for (let i = 0; i < 2; i += 1)
    expect((await plugin.check("PageShieldSettings", "one", one)).failures).toEqual([]);
  expect((await plugin.check("PageShieldSettings", "two", one)).failures).toEqual([
    `PageShieldSettings "one" and "two" both manage Page Shield in zone ${api.zones.blog}. Keep one of them.`,
  ]);
  const { id: namespaceId } = await plugin.create("KvNamespace", "both", { title: "both" });
  const entries = { namespaceId, entries: { k: "1" } };
  await plugin.check("KvEntries", "one", entries);
  expect((await plugin.check("KvEntries", "two", entries)).failures).toEqual([
    expect.stringContaining('both declare the key "k"'),
  ]);
});

test("compares the entries of two components, even if both resources have the same name", async () => {
  const { id: namespaceId } = await plugin.create("KvNamespace", "shared", { title: "shared" });
  const check = async (component: string, value: string): Promise<string[]> => {
    const request = new rpc.CheckRequest()
      .setUrn(`urn:pulumi:dev::shop::shop:index:${component}$edgeguard:index:KvEntries::entries`)
      .setNews(struct({ namespaceId, entries: { k: value } }));
    const response: rpc.CheckResponse = await plugin.call("check", request);
    return response.getFailuresList().map((each) => each.getReason());
  };
  expect(await check("A", "1")).toEqual([]);
  expect(await check("A", "1")).toEqual([]);
  expect(await check("B", "2")).toEqual([expect.stringContaining('both declare the key "k"')]);
});

describeLong("EDGEGUARD_SAVED_PLAN", () => {
  const withPlan = async (value: string, work: (own: PluginClient) => Promise<void>): Promise<void> => {
    const own = await PluginClient.start(settings(), { env: { EDGEGUARD_SAVED_PLAN: value } });
    try {
      await work(own);
    } finally {
      own.stop();
    }
  };
  const enforced = () => policy({ zoneId: api.zones.blog, action: "allow" });

  test("leaves values open that a preview reads from the zone", async () => {
    const { inputs } = await plugin.check("PageShieldPolicy", "saved", enforced());
    expect(inputs).toMatchObject({ impact: { wouldBlock: { seen: expect.any(Number) as number } } });
    await withPlan("true", async (own) => {
      const { inputs } = await own.check("PageShieldPolicy", "saved", enforced());
      expect(inputs).toMatchObject({ impact: UNKNOWN });
      expect(own.shown).toContain("would block");
      expect(own.shown).toContain("Unset it for an update, which otherwise fails.");
    });
  });

  test("makes an update fail, because the plugin can't tell its check from a preview's", async () => {
    await withPlan("true", async (own) => {
      await expect(own.create("PageShieldPolicy", "saved", enforced())).rejects.toThrow(
        "Nothing was sent. Set it only for `pulumi preview --save-plan`",
      );
      expect(writes()).toEqual([]);
    });
  });

  test("must be true or false", async () => {
    await withPlan("yes", async (own) => {
      await expect(own.check("KvNamespace", "saved", { title: "saved" })).rejects.toThrow(
        'EDGEGUARD_SAVED_PLAN is "yes" but must be true or false.',
      );
    });
  });
});

describeLong("two providers of one program, each in its own process", () => {
  let engine: FakeEngine;
  const temporary = folderPerTest("plugin");
  let [one, two]: (PluginClient | undefined)[] = [];
  beforeEach(async () => {
    const env = { TMPDIR: temporary };
    engine = await FakeEngine.start();
    one = await PluginClient.start(settings(), { name: "one", engine, env });
    two = await PluginClient.start(settings(), { name: "two", engine, env });
  });
  afterEach(() => {
    one?.stop();
    two?.stop();
    engine.stop();
  });

  test("can't both manage the same object, but a resource can change its provider", async () => {
    const zone = { zoneId: api.zones.shop, enabled: true };
    const failures = async (of: PluginClient | undefined, name: string): Promise<unknown> =>
      (await of?.check("PageShieldSettings", name, zone))?.failures;
    expect(await failures(one, "first")).toEqual([]);
    expect(await failures(two, "first")).toEqual([]);
    const clash = [
      `PageShieldSettings "first" and "second" both manage Page Shield in zone ${api.zones.shop}. Keep one of them.`,
    ];
    expect(await failures(two, "second")).toEqual(clash);
    expect(await failures(one, "second")).toEqual(clash);
    one?.stop(); // What a dead process has claimed is free.
    expect((await two?.check("PageShieldSettings", "first", zone))?.failures).toEqual([]);
  });

  test("compare secret values without showing or storing them", async () => {
    const title = { title: secret(`${CANARY} of both`) };
    await one?.check("KvNamespace", "first", title);
    const found = await two?.check("KvNamespace", "second", title);
    expect(found?.failures).toEqual([expect.stringContaining("keep one of them")]);
    expect(found?.failures.join()).not.toContain(CANARY);
    const folder = userDirectory(temporary);
    const books = readdirSync(folder)
      .filter((name) => name.startsWith("operation-"))
      .map((name) => join(folder, name));
    expect(books).not.toEqual([]);
    for (const book of books) expect(readFileSync(book, "utf8")).not.toContain(CANARY);
  });
});

test("the plugin sends its messages to the engine to show, because engines hide what a plugin prints", async () => {
  const description = "shown";
  for (const name of ["shown", "also shown"])
    await plugin.check(
      "PageShieldPolicy",
      name,
      policy({ zoneId: api.zones.blog, action: "allow", description }),
    );
  expect(plugin.shown).toMatch(/^edgeguard: policy "shown": would block 3 of the 4 active scripts/m);
  expect(plugin.shown).toMatch(/^warning: edgeguard: .*"also shown" are both enforced allow policies/m);
  expect(plugin.printed).toBe("");
});

test("the plugin returns an empty list of mappings, as the protocol requires", async () => {
  const mapping: rpc.GetMappingResponse = await plugin.call("getMapping", new rpc.GetMappingRequest());
  expect(mapping.getProvider()).toBe("");
  const mappings: rpc.GetMappingsResponse = await plugin.call("getMappings", new rpc.GetMappingsRequest());
  expect(mappings.getProvidersList()).toEqual([]);
});

test("a diff lists exactly the values that differ, says which force a replacement, and shows nothing inside a secret or of the record's bookkeeping", async () => {
  const job = {
    zoneId: api.zones.shop,
    dataset: "http_requests",
    destinationConf: "https://a.example",
    outputOptions: { fieldNames: ["RayID", "ClientIP"], sampleRate: 1 },
  };
  const made = await plugin.create("LogpushJob", "job", job);
  const same = await plugin.diff("LogpushJob", "job", made, job);
  expect(same).toMatchObject({ details: {}, replaces: [] });
  const changed = await plugin.diff("LogpushJob", "job", made, {
    ...job,
    outputOptions: { fieldNames: ["RayID", "ClientRequestHost"], batchPrefix: "[" },
    dataset: "firewall_events",
  });
  expect(changed.replaces).toEqual(["dataset"]);
  expect(changed.details).toEqual({
    dataset: "UPDATE_REPLACE",
    "outputOptions.fieldNames[1]": "UPDATE",
    "outputOptions.sampleRate": "DELETE",
    "outputOptions.batchPrefix": "ADD",
  });
  const secretly = await plugin.diff("LogpushJob", "job", made, {
    ...job,
    outputOptions: secret({ ...job.outputOptions, sampleRate: 0.5 }),
  });
  expect(secretly.details).toEqual({ outputOptions: "UPDATE" });
});

test("a preview of a create returns the arguments and sends no write", async () => {
  const { id, outputs } = await plugin.create("KvNamespace", "preview", { title: "p", preview: true }, true);
  expect({ id, outputs }).toMatchObject({ id: "", outputs: { title: "p", fullTitle: "p_preview" } });
  const settings = await plugin.create(
    "PageShieldSettings",
    "preview",
    { zoneId: api.zones.small, enabled: true },
    true,
  );
  expect(settings.outputs).toMatchObject({ enabled: true, previous: UNKNOWN });
  expect(writes()).toEqual([]);
});

test("a preview doesn't return an argument that's known in part, whose output may have another form", async () => {
  const { outputs } = await plugin.create(
    "PageShieldPolicy",
    "part",
    {
      zoneId: api.zones.empty,
      description: "part",
      action: "log",
      expression: "true",
      value: { scriptSrc: ["'self'", UNKNOWN] },
    },
    true,
  );
  expect(outputs).toMatchObject({ value: UNKNOWN, expression: "true" });
});

test("if a response is lost, the engine gets the partially created object to record", async () => {
  api.fault({ match: { method: "PUT" }, kind: "dropAfter" });
  const error = await failureOf(
    plugin.create("PageShieldSettings", "half", { zoneId: api.zones.empty, enabled: true }),
  );
  const half = halfOf(error as ServiceError);
  expect(half).toMatchObject({ id: api.zones.empty, reasonsList: [(error as ServiceError).details] });
  expect(JSON.stringify(half?.properties)).toContain("previous");
});

test("an import takes a composite ID, and the error for any other ID shows the right form", async () => {
  const { id } = await plugin.create("KvNamespace", "their", { title: "their" });
  const read = async (given: string): Promise<rpc.ReadResponse> =>
    await plugin.call("read", new rpc.ReadRequest().setUrn(urn("KvNamespace", "their")).setId(given));
  const found = await read(`${api.accounts.main}/${id}`);
  expect(found.getId()).toBe(id);
  expect(plain(found.getInputs())).toEqual({
    accountId: api.accounts.main,
    title: "their",
    fullTitle: "their",
    __resourceName: "their",
  });
  await expect(read(id)).rejects.toThrow('is not "<account ID>/<namespace ID>"');
  await expect(read(`${api.accounts.main}/${"0".repeat(32)}`)).rejects.toThrow("doesn't exist. Check the ID");
});

test("a refresh keeps the provider code that a class stored in state, and an update removes it", async () => {
  const { result } = await rawSend(api, "POST", `/accounts/${api.accounts.main}/storage/kv/namespaces`, {
    title: "moved",
  });
  const { id } = result as { id: string };
  const read = async (
    given: string,
    properties: object,
    inputs: object,
  ): Promise<{ inputs: object; outputs: object }> => {
    const request = new rpc.ReadRequest().setUrn(urn("KvNamespace", "moved")).setId(given);
    request.setProperties(struct({ ...properties })).setInputs(struct({ ...inputs }));
    const response: rpc.ReadResponse = await plugin.call("read", request);
    return { inputs: plain(response.getInputs()), outputs: plain(response.getProperties()) };
  };
  const { inputs, outputs } = await read(`${api.accounts.main}/${id}`, {}, {});
  const recorded = { ...outputs, __provider: "text" };
  expect(await read(id, recorded, { ...inputs, __provider: "text" })).toEqual({
    inputs: { ...inputs, __provider: "text" },
    outputs: recorded,
  });
  const request = new rpc.UpdateRequest().setUrn(urn("KvNamespace", "moved")).setId(id);
  request.setOlds(struct(recorded)).setNews(struct({ ...inputs }));
  const updated: rpc.UpdateResponse = await plugin.call("update", request);
  expect(plain(updated.getProperties())).toEqual(outputs);
});

describe("functions", () => {
  const invoke = async (
    name: string,
    args: Record<string, unknown>,
    of = plugin,
    preview = false,
  ): Promise<Record<string, unknown>> => {
    const request = new rpc.InvokeRequest()
      .setTok(`edgeguard:index:${name}`)
      .setArgs(struct(args))
      .setPreview(preview);
    const response: rpc.InvokeResponse = await of.call("invoke", request);
    return { ...plain(response.getReturn()) };
  };

  test("return objects unchanged, wrap anything else in `result`, and mark KV values as secret", async () => {
    expect(await invoke("getPageShieldSettings", { zoneId: api.zones.shop })).toMatchObject({
      enabled: true,
    });
    expect(await invoke("getKvNamespaces", { accountId: null })).toMatchObject({
      result: expect.any(Array) as unknown,
    });
    const { id } = await plugin.create("KvNamespace", "values", { title: "values" });
    await plugin.create("KvEntries", "values", { namespaceId: id, entries: { a: CANARY } });
    expect(await invoke("getKvValue", { namespaceId: id, key: "a" })).toEqual({ result: secret(CANARY) });
    expect(await invoke("getKvValue", { namespaceId: id, key: "a", as: "bytes" })).toEqual({
      result: secret(Buffer.from(CANARY).toString("base64")),
    });
    await expect(invoke("getNothing", {})).rejects.toThrow(
      "edgeguard has no function edgeguard:index:getNothing",
    );
    await expect(invoke("getKvKeys", { namespaceId: "x" })).rejects.toThrow("getKvKeys: namespaceId:");
  });

  test("without credentials, return empty results in a preview, because engines refuse unknown ones, and fail in an update", async () => {
    const anonymous = await PluginClient.start({ baseUrl: api.url });
    try {
      const zone = { zoneId: api.zones.shop };
      expect(await invoke("getPageShieldSettings", zone, anonymous, true)).toEqual({});
      expect(await invoke("getPageShieldPolicies", zone, anonymous, true)).toEqual({ result: [] });
      await expect(invoke("getPageShieldPolicies", zone, anonymous)).rejects.toThrow("needs credentials");
    } finally {
      anonymous.stop();
    }
  });
});

test("checks settings, always treats credentials as secret, and requires a credential for an explicit provider", async () => {
  const check = async (name: string, news: Record<string, unknown>) => {
    const request = new rpc.CheckRequest()
      .setUrn(`urn:pulumi:dev::shop::pulumi:providers:edgeguard::${name}`)
      .setNews(struct(news));
    const response: rpc.CheckResponse = await plugin.call("checkConfig", request);
    return {
      inputs: plain(response.getInputs()),
      failures: response.getFailuresList().map((each) => each.getReason()),
    };
  };
  expect(await check("default_0_1_0", { apiToken: CANARY, version: "0.1.0" })).toEqual({
    inputs: { apiToken: secret(CANARY), version: "0.1.0" },
    failures: [],
  });
  expect((await check("default", { apiTokn: CANARY })).failures).toEqual([
    expect.stringContaining('Did you mean "edgeguard:apiToken"?'),
  ]);
  expect((await check("eu", { accountId: "x" })).failures).toEqual([
    expect.stringContaining('Provider "eu" has no credential'),
  ]);
  expect((await check("eu", { apiToken: secret(CANARY), maxRetries: 99 })).failures).toEqual([
    expect.stringContaining("maxRetries"),
  ]);
  expect((await check("eu", { apiToken: UNKNOWN })).failures).toEqual([]);
  expect(plugin.printed).toBe("");
  expect(plugin.shown).not.toContain(CANARY);
});

describe("an explicit provider that is called default", () => {
  const env = { CLOUDFLARE_API_TOKEN: "local-token", PULUMI_CONFIG: '{"maxRetries":"1"}' };
  const check = async (
    news: Record<string, unknown>,
    name = "default",
    variables: Record<string, string> = env,
  ): Promise<string[]> => {
    const own = await PluginClient.start({}, { env: variables });
    try {
      const request = new rpc.CheckRequest()
        .setUrn(`urn:pulumi:dev::shop::pulumi:providers:edgeguard::${name}`)
        .setNews(struct(news));
      const response: rpc.CheckResponse = await own.call("checkConfig", request);
      return response.getFailuresList().map((each) => each.getReason());
    } finally {
      own.stop();
    }
  };

  test("is refused if its settings aren't the stack's, because it would use the environment's credential", async () => {
    expect(await check({ maxRetries: "1", version: "0.1.0" })).toEqual([]);
    expect(await check({ maxRetries: "1", version: "0.1.0" }, "default_0_1_0")).toEqual([]);
    for (const news of [
      { maxRetries: "1", apiToken: secret("") },
      { maxRetries: "1", apiToken: UNKNOWN },
      {},
    ])
      expect(await check(news, "default_2")).toEqual([expect.stringContaining("Give it another name.")]);
  });

  test("is refused if its credential is blank and the engine doesn't pass the stack's settings", async () => {
    const { CLOUDFLARE_API_TOKEN } = env;
    expect(await check({ apiToken: secret("") }, "default", { CLOUDFLARE_API_TOKEN })).toEqual([
      expect.stringContaining("Give it another name."),
    ]);
    expect(await check({ maxRetries: "1" }, "default", { CLOUDFLARE_API_TOKEN })).toEqual([]);
  });
});

describe("a list of existing objects", () => {
  const CREDENTIAL = "listed-credential";
  const jobs = { destination_conf: `https://a.example?header_X=${CREDENTIAL}`, dataset: "http_requests" };
  const listable = Object.entries(RESOURCES).filter(([, { list }]) => list !== undefined);

  test.each(listable)("has IDs of %s that a read accepts, and sends no write", async (type, { facts }) => {
    const [zoneId, accountId] = [api.zones.shop, api.accounts.main];
    await rawSend(api, "POST", `/zones/${zoneId}/logpush/jobs`, { ...jobs, name: "all" });
    const transformer = { name: "short", code: "SELECT RayID FROM http_requests" };
    await rawSend(api, "POST", `/accounts/${accountId}/logpush/transformers`, transformer);
    await rawSend(api, "POST", `/accounts/${accountId}/storage/kv/namespaces`, { title: `list ${type}` });
    api.clearRequests();
    const query = facts.compositeId.kinds.includes("zone") ? { zoneId } : { accountId };
    const { pages } = await plugin.list(type, query);
    const listed = pages.flat();
    expect(listed.length).toBeGreaterThan(0);
    for (const [id, name] of listed) {
      const request = new rpc.ReadRequest().setId(id).setUrn(urn(type, "read"));
      const read: rpc.ReadResponse = await plugin.call("read", request);
      expect(read.getId()).toBe(id.split("/").at(-1));
      expect(name).not.toBe("");
    }
    expect(writes()).toEqual([]);
    expect(JSON.stringify(listed) + plugin.shown + plugin.printed).not.toContain(CREDENTIAL);
  });

  test("is of the provider's account by default, ends at its limit, and comes in pages of at most the size asked for", async () => {
    for (const title of ["list a", "list b", "list c"])
      await rawSend(api, "POST", `/accounts/${api.accounts.main}/storage/kv/namespaces`, { title });
    const {
      pages: [all = []],
    } = await plugin.list("KvNamespace", {});
    expect(all.map(([, name]) => name)).toEqual(expect.arrayContaining(["list a", "list b", "list c"]));
    expect((await plugin.list("KvNamespace", {}, { limit: 2 })).pages).toEqual([all.slice(0, 2)]);
    const { pages } = await plugin.list("KvNamespace", {}, { limit: 3, pageSize: 2 });
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 3)]);
  });

  test("isn't known as long as its zone isn't", async () => {
    expect(await plugin.list("PageShieldPolicy", { zoneId: UNKNOWN })).toEqual({
      pages: [[]],
      isComputed: true,
    });
    expect(api.requests).toEqual([]);
  });

  test.each([
    ["PageShieldPolicy", {}, /: PageShieldPolicy list: zoneId: is required/],
    ["PageShieldPolicy", { zone: api.zones.shop }, /zone: unknown argument "zone"/],
    ["LogpushJob", { zoneId: "shop" }, /: LogpushJob list: zoneId: "shop" is not a zone ID/],
    [
      "LogpushJob",
      { zoneId: "0".repeat(32), accountId: "0".repeat(32) },
      /set either zoneId or accountId\.$/,
    ],
    [
      "WafMigration",
      { zoneId: "0".repeat(32) },
      /: WafMigration list: every zone has one, whose ID is the zone's\.$/,
    ],
    ["Nothing", {}, /has no resource edgeguard:index:Nothing/],
  ])("of %s with %j is refused before anything is sent", async (type, query, message) => {
    expect((await failureOf(plugin.list(type, query))).message).toMatch(message);
    expect(api.requests).toEqual([]);
  });

  test("fails with the permission that the token lacks", async () => {
    api.fault({ kind: "status", status: 403, code: 10000, message: "no", match: { method: "GET" } });
    const { message } = await failureOf(plugin.list("PageShieldPolicy", { zoneId: api.zones.shop }));
    expect(message).toMatch(/Listing the policies in zone .* lacks the .* permission/);
  });
});

test("the error for an unsupported method, resource type or component names it", async () => {
  await expect(plugin.call("call", new rpc.CallRequest())).rejects.toThrow(
    "does not implement the method call",
  );
  const component = new rpc.ConstructRequest().setType("edgeguard:index:Nothing");
  await expect(plugin.call("construct", component)).rejects.toThrow(
    "has no component edgeguard:index:Nothing",
  );
  await expect(plugin.check("Nothing", "a", {})).rejects.toThrow("has no resource edgeguard:index:Nothing");
});

describeLong("through the plugin's service", () => {
  const retrying = async (work: (own: PluginClient) => Promise<void>): Promise<void> => {
    const own = await PluginClient.start({ ...settings(), maxRetries: "5" });
    try {
      await work(own);
    } finally {
      own.stop();
    }
  };

  test("a storm of 429 responses is waited out, and every entry is written once", async () => {
    await retrying(async (own) => {
      const { id: namespaceId } = await own.create("KvNamespace", "storm", { title: "storm" });
      api.clearRequests();
      api.fault({ kind: "status", status: 429, retryAfter: 0, times: 3, match: { method: "PUT" } });
      await own.create("KvEntries", "storm", { namespaceId, entries: { a: "1", b: "2" } });
      const puts = api.requests.filter(({ method }) => method === "PUT");
      expect(puts.map(({ status }) => status)).toEqual([429, 429, 429, 200]);
    });
  });

  test("Cancel ends a wait for Cloudflare, and nothing more is sent", async () => {
    await retrying(async (own) => {
      api.fault({ kind: "status", status: 429, retryAfter: 60, match: { method: "POST" } });
      const created = failureOf(own.create("KvNamespace", "waiting", { title: "waiting" }));
      while (writes().length === 0) await new Promise((turn) => setTimeout(turn, 10));
      await own.call("cancel", new Empty());
      expect((await created).message).toMatch(/cancelled/);
      expect(writes()).toHaveLength(1);
    });
  });

  test("an error names the permission that the token lacks, and doesn't show the token", async () => {
    await retrying(async (own) => {
      api.fault({
        kind: "status",
        status: 403,
        code: 10000,
        message: "local-token is bad",
        match: { method: "POST" },
      });
      const error = await failureOf(own.create("KvNamespace", "forbidden", { title: "forbidden" }));
      expect(error.message).toMatch(/lacks the Workers KV Storage Write permission/);
      expect(error.message + own.shown + own.printed).not.toContain("local-token");
    });
  });
});

// The last test: it ends what the others use.
test("after Cancel, nothing more is sent", async () => {
  await plugin.call("cancel", new Empty());
  await expect(plugin.create("KvNamespace", "late", { title: "late" })).rejects.toThrow(/cancelled/);
  expect(writes()).toEqual([]);
});
