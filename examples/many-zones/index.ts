import * as pulumi from "@pulumi/pulumi";
import { ProtectedZone } from "pulumi-edgeguard";

// What every zone gets. Each zone has its own stack, so a failure in one doesn't affect the others.
const config = new pulumi.Config();
const destinationConf = config.getSecret("eventsDestination");

new ProtectedZone("baseline", {
  zoneId: config.require("zoneId"),
  pageShieldPolicy: { description: "baseline", value: { scriptSrc: ["'self'"], objectSrc: ["'none'"] } },
  // Without a destination, firewall events stay on Cloudflare.
  ...(destinationConf === undefined ? { without: ["logpushJob"] } : { logpushJob: { destinationConf } }),
});
