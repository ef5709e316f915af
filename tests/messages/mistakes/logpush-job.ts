import { rawSend } from "../../support/operation";
import type { Mistake } from "./play";

const FILTER = { key: "EdgeResponseStatus", operator: "geq" };

export const LOGPUSH_JOB: readonly Mistake[] = [
  {
    title: "A field that the dataset doesn't have",
    write: { outputOptions: { fieldNames: ["ClientRequestHosts"] } },
    instead: { outputOptions: { fieldNames: ["ClientRequestHost"] } },
  },
  {
    title: "One value where a filter takes a list",
    write: { filter: JSON.stringify({ where: { ...FILTER, operator: "in", value: 500 } }) },
    instead: { filter: JSON.stringify({ where: { ...FILTER, operator: "in", value: [500, 503] } }) },
  },
  {
    title: "A filter on a field that doesn't exist",
    write: { filter: JSON.stringify({ where: { ...FILTER, key: "EdgeStatus", value: 500 } }) },
    instead: { filter: JSON.stringify({ where: { ...FILTER, value: 500 } }) },
  },
  {
    title: "A filter operator that doesn't exist",
    write: { filter: JSON.stringify({ where: { ...FILTER, operator: "gte", value: 500 } }) },
    instead: { filter: JSON.stringify({ where: { ...FILTER, value: 500 } }) },
  },
  {
    title: "A filter that isn't JSON",
    write: { filter: "EdgeResponseStatus >= 500" },
    instead: { filter: JSON.stringify({ where: { ...FILTER, value: 500 } }) },
  },
  {
    title: "A dataset that doesn't exist",
    write: { dataset: "http_request" },
    instead: { dataset: "http_requests" },
    warns: true,
  },
  {
    title: "A bucket without its scheme",
    write: { destinationConf: "my-logs/http?region=us-east-1" },
    instead: { destinationConf: "s3://my-logs/http?region=us-east-1", ownershipChallenge: "a-token" },
  },
  {
    title: "An S3 bucket without a region",
    write: { destinationConf: "s3://my-logs/http" },
    instead: { destinationConf: "s3://my-logs/http?region=us-east-1", ownershipChallenge: "a-token" },
  },
  {
    title: "A destination that needs an ownership challenge",
    write: { destinationConf: "gs://my-logs/http" },
    fix: "Run `pulumi up` once: it names the file that Cloudflare wrote to the destination. Set `ownershipChallenge` to that file's content, and run `pulumi up` again.",
    warns: true,
  },
  {
    title: "A sample rate out of range",
    write: { outputOptions: { sampleRate: 10 } },
    instead: { outputOptions: { sampleRate: 0.1 } },
    fix: "The rate is a share of the log lines: `0.1` pushes 10 percent of them.",
  },
  {
    title: "Both a zone and an account",
    write: (api) => ({ accountId: api.accounts.main }),
    instead: (api) => ({ zoneId: api.zones.empty }),
  },
  {
    title: "Neither a zone nor an account",
    write: { zoneId: null },
    instead: (api) => ({ zoneId: api.zones.empty }),
  },
  {
    title: "An upload interval below 30 seconds",
    write: { maxUploadIntervalSeconds: 10 },
    instead: { maxUploadIntervalSeconds: 30 },
  },
  {
    title: "A job of that name already exists and differs",
    before: (api) =>
      rawSend(api, "POST", `/zones/${api.zones.empty}/logpush/jobs`, {
        name: "requests",
        dataset: "http_requests",
        destination_conf: "https://logs.example.com/elsewhere",
      }),
    instead: { adopt: "takeOver" },
  },
];
