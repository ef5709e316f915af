import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";

const settings = new PageShieldSettings("monitor", {
  zoneId: new pulumi.Config().require("zoneId"),
  enabled: true,
  // Report to the zone's own host, with paths, so that two scripts of one host are told apart.
  useReportingEndpoint: false,
  useConnectionUrlPath: true,
});

export const changedAt = settings.updatedAt;
