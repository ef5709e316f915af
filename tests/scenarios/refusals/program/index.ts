import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("shop", { zoneId, enabled: true });
new PageShieldPolicy("checkout", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "a.example"',
  value: "script-src 'self'",
});
