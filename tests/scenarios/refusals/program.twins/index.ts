import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldPolicy("one", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: "true",
  value: { scriptSrc: ["a.example", "'self'"] },
});
new PageShieldPolicy("two", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: "true",
  value: "script-src 'self' a.example",
});
