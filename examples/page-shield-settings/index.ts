import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";

const settings = new PageShieldSettings("monitor", {
  zoneId: new pulumi.Config().require("zoneId"),
  enabled: true,
  // Report to the zone's own host, with paths, to tell two scripts from the same host apart.
  useReportingEndpoint: false,
  useConnectionUrlPath: true,
});

export const changedAt = settings.updatedAt;
