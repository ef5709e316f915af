import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

// What every zone gets. Each zone has its own stack, so a failure in one doesn't affect the others.
const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("settings", { zoneId, enabled: true });

new PageShieldPolicy("baseline", {
  zoneId,
  description: "baseline",
  action: "log",
  expression: "true",
  value: { scriptSrc: ["'self'"], objectSrc: ["'none'"] },
});
