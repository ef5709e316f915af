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

// Zones of the local API; their ids never change.
const shop = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const empty = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const older = "5a0c1e7f3b2d4968a7e1c0f2d3b4a603";

const { where, and, or, eq, contains, geq } = filter;

new PageShieldSettings("shop", { zoneId: shop, enabled: true });

new PageShieldPolicy("checkout", {
  zoneId: shop,
  description: "checkout: own scripts and payments",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example"], imgSrc: ["*"] },
});

new PageShieldPolicy("www", {
  zoneId: shop,
  description: "www: scripts detected in the shop",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'", "cdn.libraries.example", "tags.metrics.example"] },
});

// Deleted from the program it stays in the zone; its protection goes in the second program.
new PageShieldPolicy(
  "kept",
  {
    zoneId: shop,
    description: "kept: of another team",
    action: "log",
    expression: "true",
    value: "img-src *",
  },
  { retainOnDelete: true, protect: true },
);

new ManagedRulesetOverride("owasp", {
  zoneId: empty,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 1, scoreThreshold: "low" },
  exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: "all", description: "big uploads" }],
});

new ManagedRulesetOverride("managed", {
  zoneId: empty,
  ruleset: { id: "efb7b8c949ac4650a09736fc376e9aee" },
  description: "vendor rules",
  categories: [
    { tag: "wordpress", enabled: false },
    { tag: "php", action: "log" },
  ],
  rules: { "23ee7cebe6e8443e99ecf932ab579455": { action: "log" } },
});

new WafMigration("older", { zoneId: older, plan: "enterprise", target: "assessed" });

new LogpushJob("errors", {
  zoneId: shop,
  dataset: "http_requests",
  destination: destination.https({
    url: "https://logs.shop.example/edge",
    headers: { Authorization: "Bearer canary-log-token" },
  }),
  outputOptions: {
    fieldNames: ["ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus"],
    sampleRate: 0.5,
  },
  filter: where(
    and(
      or(eq("ClientRequestHost", "www.shop.example"), contains("ClientRequestPath", "/api")),
      geq("EdgeResponseStatus", 500),
    ),
  ),
});

const catalog = new KvNamespace("catalog", { title: "catalog", forceDestroy: true });
new KvEntries("products", { namespaceId: catalog.id, file: "products.json" });
new KvEntries("flags", {
  namespaceId: catalog.id,
  entries: { "flag/express": "canary-flag-value", "flag/banner": "off" },
});

// Other resources: two from a dynamic provider in this program, one of which is only read, and a component.
class Ticket extends pulumi.dynamic.Resource {
  declare readonly number: pulumi.Output<string>;
  constructor(name: string, opts?: pulumi.CustomResourceOptions) {
    const create = () => Promise.resolve({ id: "7", outs: { number: "7" } });
    const read = (id: string) => Promise.resolve({ id, props: { number: id } });
    super({ create, read }, name, { number: undefined }, opts);
  }
}
const ticket = new Ticket("change-request");
new Ticket("looked-at", { id: "3" });
new pulumi.ComponentResource("team:edge:Group", "group");

// Known after the apply only.
new PageShieldPolicy("ticket", {
  zoneId: shop,
  description: pulumi.interpolate`for change request ${ticket.number}`,
  action: "log",
  expression: "true",
  value: pulumi.interpolate`script-src 'self' change-${ticket.number}.shop.example`,
});
