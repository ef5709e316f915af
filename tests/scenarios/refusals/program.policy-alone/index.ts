import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

new PageShieldPolicy("checkout", {
  zoneId: new pulumi.Config().require("zoneId"),
  description: "checkout",
  action: "log",
  expression: 'http.host eq "a.example"',
  value: "script-src 'self'",
});
