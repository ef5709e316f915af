import { LogpushJob } from "pulumi-edgeguard";

// Its region is missing. The error mustn't repeat the destination, which has credentials.
new LogpushJob("errors", {
  zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a501",
  dataset: "http_requests",
  destinationConf: "s3://logs?access-key-id=AKIACANARYKEYID&secret-access-key=canary-secret-key",
});
