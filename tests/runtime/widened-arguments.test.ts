import * as pulumi from "@pulumi/pulumi";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import {
  scriptSources,
  type KvEntriesArgs,
  type KvNamespaceArgs,
  type LogpushJobArgs,
  type LogpushTransformerArgs,
  type ManagedRulesetOverrideArgs,
  type PageShieldPolicyArgs,
  type PageShieldSettingsArgs,
  type WafMigrationArgs,
} from "pulumi-edgeguard";
import { Operation } from "../support/operation";

/**
 * Arguments in variables, from functions, spread and as JSON gives them: TypeScript then takes `"log"` for any text and 2 for
 * any number. They compile without `as const` or annotation, and with `as const` as well; the check accepts both.
 */

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(() => api.close());

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const ACCOUNT = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

const settings = { zoneId: ZONE, enabled: true, onDestroy: "keep" };
const policy = {
  zoneId: ZONE,
  description: "checkout",
  action: "log",
  expression: "true",
  value: { scriptSrc: ["'self'"], upgradeInsecureRequests: true },
  adopt: "takeOver",
};
const owasp = (paranoiaLevel: number) => ({ paranoiaLevel, scoreThreshold: "medium", action: "log" });
const deployment = {
  zoneId: ZONE,
  accountId: ACCOUNT,
  ref: "shop",
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: owasp(2),
  categories: [{ tag: "language-java", action: "log" }],
  exceptions: [
    { expression: "true", skip: "all" },
    { expression: "true", skip: { rulesets: [ZONE] } },
  ],
  position: "first",
  adopt: "never",
  onDestroy: "restore",
};
const migration = { zoneId: ZONE, plan: "pro", target: "assessed" };
const job = {
  zoneId: ZONE,
  name: "errors",
  dataset: "http_requests",
  destinationConf: "https://logs.example",
  outputOptions: { fieldNames: ["RayID"], timestampFormat: "rfc3339", outputType: "csv" },
  filterChecks: "warn",
  frequency: "low",
  kind: "edge",
  adopt: "never",
};
const transformer = { accountId: ACCOUNT, name: "errors", code: "SELECT RayID FROM http_requests" };
const namespace = { accountId: ACCOUNT, title: "catalog", adopt: "never" };
const entries = {
  accountId: ACCOUNT,
  namespaceId: ZONE,
  entries: { a: "1" },
  adopt: "never",
  verify: "values",
};

const asConst = {
  zoneId: ZONE,
  description: "checkout",
  action: "log",
  expression: "true",
  value: { scriptSrc: ["'self'", "cdn.example"] },
} as const;

const DECLARED = {
  PageShieldSettings: settings satisfies PageShieldSettingsArgs,
  PageShieldPolicy: policy satisfies PageShieldPolicyArgs,
  ManagedRulesetOverride: { ...deployment } satisfies ManagedRulesetOverrideArgs,
  WafMigration: migration satisfies WafMigrationArgs,
  LogpushJob: { ...job, enabled: false } satisfies LogpushJobArgs,
  LogpushTransformer: { ...transformer, adopt: "never" } satisfies LogpushTransformerArgs,
  KvNamespace: namespace satisfies KvNamespaceArgs,
  KvEntries: entries satisfies KvEntriesArgs,
};

test.each(Object.entries(DECLARED))("%s accepts arguments with widened types", async (type, args) => {
  const op = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
  expect(await op.refusals(type, { ...args })).toEqual([]);
});

test("a policy accepts readonly lists, outputs of lists, and values that become known later", async () => {
  const action: string = asConst.action;
  const later = {
    ...asConst,
    action: pulumi.output(action),
    value: { scriptSrc: pulumi.output(["'self'"]) },
  };
  expect(Object.keys(later satisfies PageShieldPolicyArgs)).toHaveLength(5);
  const op = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
  expect(await op.refusals("PageShieldPolicy", asConst satisfies PageShieldPolicyArgs)).toEqual([]);
});

test("a value that isn't one of an argument's choices compiles, but the preview refuses it", async () => {
  const wrong = { ...policy, action: "block" } satisfies PageShieldPolicyArgs;
  expect(await new Operation(api).refusals("PageShieldPolicy", wrong)).toEqual([
    'action: must be "log", "allow" or "add_reporting_directives", not "block". To block, use "allow": visitors then load only what the value lists',
  ]);
  const options = { unscored: "perhaps" };
  expect(() => scriptSources([], options)).toThrow('not "perhaps"');
});
