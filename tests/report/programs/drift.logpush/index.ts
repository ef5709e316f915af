import { destination, filter, LogpushJob, LogpushTransformer, type LogpushJobArgs } from "pulumi-edgeguard";

// A job for each way that someone can change it manually. Every destination carries a canary.
const zone = (last: string) => `5a0c1e7f3b2d4968a7e1c0f2d3b4a${last}`;
const { where, and, eq, geq } = filter;

function push(name: string, last: string, more: Partial<LogpushJobArgs> = {}): void {
  new LogpushJob(name, {
    zoneId: zone(last),
    name,
    dataset: "http_requests",
    destination: destination.https({
      url: "https://logs.shop.example/edge",
      headers: { Authorization: "Bearer canary-log-token" },
    }),
    outputOptions: { fieldNames: ["ClientIP", "ClientRequestHost", "EdgeResponseStatus"] },
    ...more,
  });
}

push("unchanged", "505");
push("enabled", "505");
push("destination", "505");
push("credential", "505");
push("fields", "603");
push("options", "603", { outputOptions: { fieldNames: ["ClientIP"], sampleRate: 0.5 } });
push("filter", "603", {
  filter: where(and(geq("EdgeResponseStatus", 500), eq("ClientRequestHost", "www.shop.example"))),
});
push("uploads", "606", { maxUploadIntervalSeconds: 60 });
push("gone", "606");
push("failing", "607");

new LogpushTransformer("code", {
  accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
  code: "SELECT ClientIP, 'canary-salt' AS salt FROM http_requests",
});
