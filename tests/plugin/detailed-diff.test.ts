import { apiPerFile } from "../support/bench";
import fc from "fast-check";
import { REGISTER } from "../../provider/register";
import { isJsonObject, omit, sameJson, type JsonObject } from "../../provider/basics/json";
import { LONG } from "../support/long";
import { PluginClient, secret } from "./client";

/** The plugin's detailed diffs name the values that differ: all of them, and nothing more. */

const RUNS = LONG ? 100 : 8;

const api = apiPerFile();
let plugin: PluginClient;
beforeAll(async () => {
  const settings = { baseUrl: api.url, apiToken: "local-token", accountId: api.accounts.main };
  plugin = await PluginClient.start({ ...settings, liveChecks: "false" });
});
afterAll(() => plugin.stop());

/** A resource, and other values of its arguments. Undefined removes an argument. */
interface Sample {
  readonly args: JsonObject;
  readonly others: Readonly<Record<string, readonly unknown[]>>;
}

const rule = (path: string): JsonObject => ({
  expression: `http.request.uri.path eq "${path}"`,
  skip: "all",
});

const SAMPLES: Readonly<Record<string, () => Sample>> = {
  PageShieldSettings: () => ({
    args: { zoneId: api.zones.shop, enabled: true, useConnectionUrlPath: true },
    others: {
      zoneId: [api.zones.empty],
      enabled: [false],
      useConnectionUrlPath: [undefined, false],
      onDestroy: ["keep"],
    },
  }),
  PageShieldPolicy: () => ({
    args: {
      ...{ zoneId: api.zones.shop, description: "one", action: "log", expression: "true" },
      value: "script-src 'self'",
    },
    others: {
      zoneId: [api.zones.empty],
      description: ["other"],
      enabled: [false],
      value: ["script-src 'none'"],
      expression: ['http.host eq "a.example"'],
    },
  }),
  ManagedRulesetOverride: () => ({
    args: {
      zoneId: api.zones.shop,
      ruleset: "Cloudflare OWASP Core Ruleset",
      owasp: { paranoiaLevel: 2, scoreThreshold: "high" },
      exceptions: [rule("/a"), rule("/b")],
    },
    others: {
      owasp: [undefined, { paranoiaLevel: 3, scoreThreshold: "high" }, { paranoiaLevel: 1 }],
      exceptions: [undefined, [rule("/a")], [rule("/a"), rule("/c"), rule("/d")]],
      description: ["ours"],
      enabled: [false],
    },
  }),
  WafMigration: () => ({
    args: { zoneId: api.zones.migrateEnterprise, plan: "enterprise", target: "assessed" },
    others: { plan: ["pro"], quiet: [true], zoneId: [api.zones.migratePro] },
  }),
  LogpushJob: () => ({
    args: {
      ...{ zoneId: api.zones.shop, dataset: "http_requests", destinationConf: "https://a.example" },
      outputOptions: { fieldNames: ["RayID", "ClientIP"], sampleRate: 0.5 },
    },
    others: {
      dataset: ["firewall_events"],
      destinationConf: [secret("https://b.example")],
      outputOptions: [
        undefined,
        { fieldNames: ["RayID"], sampleRate: 0.5 },
        { fieldNames: ["RayID", "ClientRequestHost", "ClientIP"], batchPrefix: "[" },
      ],
      frequency: ["low"],
      enabled: [true],
    },
  }),
  LogpushTransformer: () => ({
    args: { name: "one", code: secret("SELECT RayID FROM http_requests") },
    others: {
      name: ["other"],
      description: ["ours"],
      code: [secret("SELECT ClientIP FROM http_requests")],
      adopt: ["never"],
    },
  }),
  KvNamespace: () => ({
    args: { title: "one", preview: true },
    others: { title: ["other"], preview: [undefined, false], forceDestroy: [true], adopt: ["never"] },
  }),
  KvEntries: () => ({
    args: { namespaceId: "0".repeat(32), entries: secret({ a: "1", b: { value: "2" } }) },
    others: {
      entries: [secret({ a: "2" }), secret({ a: "1", b: { value: "2" }, c: "3" })],
      namespaceId: ["1".repeat(32)],
    },
  }),
};

test.each(Object.keys(REGISTER))(
  "the detailed diff of a %s names exactly the values that differ",
  async (type) => {
    const { args, others } = SAMPLES[type]?.() ?? { args: {}, others: {} };
    const made = type === "KvEntries" ? await withNamespace(args) : await plugin.create(type, "it", args);
    const choices = Object.entries(others).map(([key, values]) =>
      fc.option(fc.constantFrom(...values), { nil: KEPT }).map((value) => [key, value] as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.tuple(...choices), async (chosen) => {
        const changes = chosen.filter(([, value]) => value !== KEPT);
        const news = omit({ ...written(made, args), ...Object.fromEntries(changes) });
        const { inputs, details, replaces } = await plugin.diff(type, "it", made, news);
        const replaceOn = REGISTER[type]?.facts.replaceOn ?? [];
        const [before, after] = [made.outputs, inputs].map(withOpaqueSecrets);
        for (const [path, kind] of Object.entries(details)) {
          const keys = keysOf(path);
          const [top = ""] = keys;
          const [old, now] = [valueAt(before, keys), valueAt(after, keys)];
          expect({ path, differs: !sameJson(old, now) }).toEqual({ path, differs: true });
          const isInner = Array.isArray(old)
            ? !Array.isArray(now)
            : !(isJsonObject(old) && isJsonObject(now));
          expect({ path, isInner }).toEqual({ path, isInner: true });
          const what = old === undefined ? "ADD" : now === undefined ? "DELETE" : "UPDATE";
          expect([path, kind]).toEqual([path, replaceOn.includes(String(top)) ? `${what}_REPLACE` : what]);
        }
        // What's left, once the named values are as declared, is the same for every argument that the engine can show.
        for (const path of Object.keys(details).sort().reverse()) copy(after, before, keysOf(path));
        for (const key of Object.keys(REGISTER[type]?.facts.args.shape ?? {}))
          expect([key, before?.[key]]).toEqual([key, after?.[key]]);
        expect(replaces).toEqual(replaceOn.filter((key) => key in details));
      }),
      { numRuns: RUNS },
    );
  },
);

const KEPT = Symbol("kept");

/** The arguments as the program wrote them, in the namespace that exists. */
function written(made: { readonly outputs: JsonObject }, args: JsonObject): JsonObject {
  return "namespaceId" in args ? { ...args, namespaceId: made.outputs["namespaceId"] } : args;
}

async function withNamespace(args: JsonObject): ReturnType<PluginClient["create"]> {
  const { id: namespaceId } = await plugin.create("KvNamespace", "its", { title: "for entries" });
  return await plugin.create("KvEntries", "it", { ...args, namespaceId });
}

/** Makes each secret one value. */
function withOpaqueSecrets(bag: JsonObject): JsonObject {
  const members = Object.entries(structuredClone(bag));
  return Object.fromEntries(
    members.map(([key, value]) => [
      key,
      isJsonObject(value) && Object.keys(secret("")).every((each) => each in value)
        ? JSON.stringify(value)
        : value,
    ]),
  );
}

/** `a.b[0]["c d"]` as keys. */
function keysOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|\["([^"]*)"\]|(\w+)/g)].map(([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? "") : Number(index),
  );
}

function valueAt(root: unknown, keys: readonly (string | number)[]): unknown {
  return keys.reduce((value: unknown, key) => (value as JsonObject | undefined)?.[key], root);
}

function copy(from: unknown, to: unknown, keys: readonly (string | number)[]): void {
  const parent = valueAt(to, keys.slice(0, -1)) as Record<string | number, unknown>;
  const last = keys.at(-1) ?? "";
  const value = valueAt(from, keys);
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent, last);
}
