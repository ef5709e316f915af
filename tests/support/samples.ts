import { type LocalApi, managedRulesets } from "edgeguard-local";
import type { JsonObject } from "../../provider/basics/json";
import type { ResourceName } from "./permissions-markdown";

/** A resource as a program first declares it, and as it declares it after a change. */
export interface Sample {
  readonly args: JsonObject;
  readonly changed: JsonObject;
}

/** One of each resource. */
export const SAMPLES: Readonly<Record<ResourceName, (api: LocalApi) => Sample>> = {
  PageShieldSettings: ({ zones }) =>
    of({ zoneId: zones.empty, enabled: true }, { useConnectionUrlPath: true }),
  PageShieldPolicy: ({ zones }) =>
    of(
      {
        zoneId: zones.empty,
        description: "checkout",
        action: "log",
        expression: 'http.host eq "shop.example"',
        value: { scriptSrc: ["'self'"] },
      },
      { action: "allow" },
    ),
  ManagedRulesetOverride: ({ zones, accounts }) =>
    of(
      { zoneId: zones.empty, accountId: accounts.main, ref: "waf", ruleset: { id: managedRulesets.managed } },
      { categories: [{ tag: "wordpress", enabled: false }] },
    ),
  WafMigration: ({ zones }) => of({ zoneId: zones.migratePro, target: "assessed" }, { target: "finished" }),
  LogpushJob: ({ zones }) =>
    of(
      {
        zoneId: zones.empty,
        name: "requests",
        dataset: "http_requests",
        destinationConf: "https://logs.example.com/in",
      },
      { outputOptions: { fieldNames: ["ClientIP", "EdgeResponseStatus"] } },
    ),
  LogpushTransformer: ({ accounts }) =>
    of(
      { accountId: accounts.main, name: "failed-requests", code: "SELECT RayID FROM http_requests" },
      { code: "SELECT RayID, ClientIP FROM http_requests WHERE EdgeResponseStatus >= 500" },
    ),
  KvNamespace: ({ accounts }) => of({ accountId: accounts.main, title: "catalog" }, { title: "products" }),
  KvEntries: ({ accounts, namespaces }) =>
    of(
      { accountId: accounts.main, namespaceId: namespaces.existing, entries: { "product/kettle": "1" } },
      { entries: { "product/kettle": "2", "product/scale": "1" } },
    ),
};

/** Managed rulesets that aren't in a zone's entry point for requests. */
export const ELSEWHERE: Readonly<Record<"for an account" | "for responses", (api: LocalApi) => Sample>> = {
  "for an account": ({ accounts }) =>
    of(
      {
        accountId: accounts.main,
        ref: "waf",
        ruleset: { id: managedRulesets.managed },
        expression: ENTERPRISE,
        exceptions: [{ expression: `(http.host eq "a.example") and ${ENTERPRISE}`, skip: "this" }],
      },
      { categories: [{ tag: "wordpress", enabled: false }] },
    ),
  "for responses": ({ zones, accounts }) =>
    of(
      {
        zoneId: zones.empty,
        accountId: accounts.main,
        phase: "http_response_firewall_managed",
        ref: "leaks",
        ruleset: { id: managedRulesets.sensitiveData },
      },
      { categories: [{ tag: "pii", enabled: false }] },
    ),
};

/** How the expression of an account's rule ends. */
export const ENTERPRISE = 'cf.zone.plan eq "ENT"';

function of(args: JsonObject, change: JsonObject): Sample {
  return { args, changed: { ...args, ...change } };
}
