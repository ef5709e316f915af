import * as pulumi from "@pulumi/pulumi";
import { destination, filter, LogpushJob } from "pulumi-edgeguard";

const config = new pulumi.Config();
const { where, and, isIn, notContains } = filter;

const attacks = new LogpushJob("attacks", {
  zoneId: config.require("zoneId"),
  dataset: "http_requests",
  destination: destination.r2({
    bucket: "edge-logs",
    path: "attacks/{DATE}",
    accountId: config.require("bucketAccountId"),
    accessKeyId: config.requireSecret("accessKeyId"),
    secretAccessKey: config.requireSecret("secretAccessKey"),
  }),
  outputOptions: {
    fieldNames: ["EdgeStartTimestamp", "SecurityAction", "ClientIP", "ClientRequestPath", "SecurityRuleID"],
  },
  filter: where(
    and(isIn("SecurityAction", ["block", "managed_challenge"]), notContains("ClientRequestPath", "/health")),
  ),
});

export const job = attacks.id;
