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

// The same resources as in the first program; every one of them differs.
const shop = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const empty = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const older = "5a0c1e7f3b2d4968a7e1c0f2d3b4a603";

const { where, and, or, eq, contains, geq, isIn } = filter;

new PageShieldSettings("shop", { zoneId: shop, enabled: false, useConnectionUrlPath: false });

new PageShieldPolicy("checkout", {
  zoneId: shop,
  description: "checkout: own scripts and payments",
  action: "allow",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example", "cdn.libraries.example"], objectSrc: ["'none'"] },
});

new PageShieldPolicy("www", {
  zoneId: shop,
  description: "www: scripts detected in the shop",
  action: "log",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'", "cdn.libraries.example", "tags.metrics.example"] },
});

new PageShieldPolicy(
  "kept",
  {
    zoneId: shop,
    description: "kept: of another team",
    action: "log",
    expression: "true",
    value: "img-src *",
  },
  { retainOnDelete: true },
);

new ManagedRulesetOverride("owasp", {
  zoneId: empty,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 3, scoreThreshold: "high", action: "managed_challenge" },
  exceptions: [
    { expression: 'http.request.uri.path eq "/upload"', skip: "all", description: "big uploads, and videos" },
    {
      expression: 'http.host eq "cms.shop.example"',
      skip: { rulesets: ["4814384a9e5d4991b9815dcfc25d2f1f"] },
    },
    {
      expression: "ip.src in {198.51.100.0/24}",
      skip: { rules: { "4814384a9e5d4991b9815dcfc25d2f1f": ["6179ae15870a4bb7b2d480d4843b323c"] } },
    },
  ],
});

new ManagedRulesetOverride("managed", {
  zoneId: empty,
  ruleset: { id: "efb7b8c949ac4650a09736fc376e9aee" },
  version: "87",
  position: "first",
  categories: [{ tag: "php", enabled: true }],
  rules: { "23ee7cebe6e8443e99ecf932ab579455": { enabled: false } },
});

new WafMigration("older", {
  zoneId: older,
  plan: "enterprise",
  target: "finished",
  confirm: process.env["CONFIRM_OLDER"] ?? "",
});

new LogpushJob("errors", {
  zoneId: shop,
  dataset: "http_requests",
  destination: destination.https({
    url: "https://logs.shop.example/edge",
    headers: { Authorization: "Bearer canary-rotated-token" },
  }),
  outputOptions: {
    fieldNames: ["ClientRequestHost", "ClientRequestPath", "ClientRequestMethod", "EdgeResponseStatus"],
    timestampFormat: "rfc3339",
  },
  filter: where(
    and(
      or(
        eq("ClientRequestHost", "www.shop.example"),
        contains("ClientRequestPath", "/api"),
        isIn("ClientRequestMethod", ["PUT", "DELETE"]),
      ),
      geq("EdgeResponseStatus", 400),
    ),
  ),
});

const catalog = new KvNamespace("catalog", { title: "catalogue", forceDestroy: true });
new KvEntries("products", { namespaceId: catalog.id, file: "products.json" });
new KvEntries("flags", {
  namespaceId: catalog.id,
  entries: {
    "flag/express": "canary-other-value",
    "flag/banner": "off",
    "flag/new": "on",
    "flag/old": "off",
  },
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
new Ticket("another-request");
new pulumi.ComponentResource("team:edge:Group", "group");

new PageShieldPolicy("ticket", {
  zoneId: shop,
  description: pulumi.interpolate`for change request ${ticket.number}`,
  action: "log",
  expression: "true",
  value: pulumi.interpolate`script-src 'self'`,
});
