import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldPolicy("checkout", {
  zoneId,
  description: "enforced",
  action: "allow",
  expression: "true",
  value: "script-src 'self'",
});
