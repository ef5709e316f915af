import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const settings = new PageShieldSettings("shop", { zoneId, enabled: true, useConnectionUrlPath: true });

const checkout = new PageShieldPolicy("checkout", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example"] },
});

// The account is the setting edgeguard:accountId.
const catalog = new KvNamespace("catalog", { title: "catalog" });
const products = new KvEntries("products", { namespaceId: catalog.id, file: "catalog.json" });

export const monitoredSince = settings.updatedAt;
export const policy = checkout.value;
export const productCount = products.keys;
export const binding = catalog.bindingSnippet("CATALOG");
