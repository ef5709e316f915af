import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const first = new PageShieldSettings("first", { zoneId, enabled: true });
// Known only after the first resource is made: each value below is unknown in the first preview.
const later = <T>(value: T): pulumi.Output<T> => first.updatedAt.apply(() => value);

new PageShieldSettings("second", {
  zoneId: later(new pulumi.Config().require("otherZoneId")),
  enabled: later(true),
  useReportingEndpoint: later(true),
  useConnectionUrlPath: later(true),
  onDestroy: later("restore"),
});
new PageShieldPolicy("text", {
  zoneId: later(zoneId),
  description: later("text"),
  action: later("log"),
  expression: pulumi.interpolate`http.host eq "${later("a.example")}"`,
  enabled: later(false),
  value: pulumi.interpolate`script-src ${later("'self'")}`,
  adopt: later("ifEqual"),
  extra: later({}),
});
new PageShieldPolicy("typed", {
  zoneId,
  description: "typed",
  action: "log",
  expression: 'http.host eq "a.example"',
  value: {
    scriptSrc: ["'self'", later("cdn.example.com")],
    imgSrc: later(["*"]),
    upgradeInsecureRequests: later(true),
  },
});
