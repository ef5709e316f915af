import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const settings = new PageShieldSettings("shop", { zoneId, enabled: true });

new PageShieldPolicy("checkout", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["js.payments.example", "'self'"], upgradeInsecureRequests: true },
});

export const previous = settings.previous;
