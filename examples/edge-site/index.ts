import * as pulumi from "@pulumi/pulumi";
import {
  destination,
  filter,
  KvEntries,
  KvNamespace,
  LogpushJob,
  ManagedRulesetOverride,
  PageShieldPolicy,
  PageShieldSettings,
  WafMigration,
} from "pulumi-edgeguard";

const config = new pulumi.Config();
const zoneId = config.require("zoneId");

// Page Shield: monitor what the site's pages load, and restrict it.
const settings = new PageShieldSettings("shop", { zoneId, enabled: true, useConnectionUrlPath: true });

const checkout = new PageShieldPolicy("checkout", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example"] },
});

// The OWASP Core Ruleset, beside the managed rulesets that others deployed in the zone.
const owasp = new ManagedRulesetOverride("owasp", {
  zoneId,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" },
  exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: "all", description: "big uploads" }],
});

// An older zone is still on the previous WAF managed rules. Every pull request shows what its migration would do.
const migration = new WafMigration("old-shop", { zoneId: config.require("oldZoneId"), target: "assessed" });

// Server errors of the shop and of its API, pushed to the log collector.
const { where, and, or, eq, contains, geq } = filter;
const errors = new LogpushJob("errors", {
  zoneId,
  dataset: "http_requests",
  destination: destination.https({
    url: "https://logs.shop.example/edge",
    headers: { Authorization: config.requireSecret("logToken") },
  }),
  outputOptions: { fieldNames: ["ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus"] },
  filter: where(
    and(
      or(eq("ClientRequestHost", "www.shop.example"), contains("ClientRequestPath", "/api")),
      geq("EdgeResponseStatus", 500),
    ),
  ),
});

// The account comes from the setting edgeguard:accountId.
const catalog = new KvNamespace("catalog", { title: "catalog" });
const products = new KvEntries("products", { namespaceId: catalog.id, file: "catalog.json" });

export const monitoredSince = settings.updatedAt;
export const policy = checkout.value;
export const owaspVersion = owasp.rulesetVersion;
export const migrationState = migration.migrationState;
export const job = errors.id;
export const productCount = products.keys;
export const binding = catalog.bindingSnippet("CATALOG");
