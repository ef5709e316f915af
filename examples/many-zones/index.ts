import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

// What every zone gets. A stack is one zone, so that a zone that fails leaves the others alone.
const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("settings", { zoneId, enabled: true });

new PageShieldPolicy("baseline", {
  zoneId,
  description: "baseline",
  action: "log",
  expression: "true",
  value: { scriptSrc: ["'self'"], objectSrc: ["'none'"] },
});
