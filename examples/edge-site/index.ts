import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const settings = new PageShieldSettings("shop", { zoneId, enabled: true, useConnectionUrlPath: true });

const checkout = new PageShieldPolicy("checkout", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example"] },
});

export const monitoredSince = settings.updatedAt;
export const policy = checkout.value;
