import { destination, filter, LogpushJob, type LogpushJobArgs } from "pulumi-edgeguard";

// A job for each argument that can lower what is seen, by its path: as it is, and with WEAKER as it shouldn't become.
const zone = (last: string) => `5a0c1e7f3b2d4968a7e1c0f2d3b4a${last}`;
const { where, and, eq, geq } = filter;

function push(
  argument: string,
  last: string,
  strong: Partial<LogpushJobArgs>,
  weak: Partial<LogpushJobArgs>,
) {
  new LogpushJob(
    argument,
    {
      zoneId: zone(last),
      dataset: "http_requests",
      destination: destination.https({ url: "https://logs.shop.example/edge" }),
      ...(process.env["WEAKER"] === undefined ? strong : weak),
    },
    { deleteBeforeReplace: true }, // One zone has as many jobs as it may have.
  );
}

const FIELDS = ["ClientIP", "ClientRequestHost", "EdgeResponseStatus"];

push("zoneId", "505", {}, { zoneId: zone("603") });
push("dataset", "505", {}, { dataset: "firewall_events" });
push("kind", "505", {}, { kind: "edge" });
push("enabled", "505", {}, { enabled: false });
push(
  "destinationConf",
  "603",
  {},
  { destination: destination.https({ url: "https://logs.shop.example/other" }) },
);
push(
  "outputOptions.fieldNames",
  "603",
  { outputOptions: { fieldNames: FIELDS } },
  { outputOptions: { fieldNames: FIELDS.slice(1) } },
);
push("outputOptions.sampleRate", "603", {}, { outputOptions: { sampleRate: 0.1 } });
push(
  "outputOptions.recordTemplate",
  "606",
  { outputOptions: { fieldNames: FIELDS } },
  { outputOptions: { fieldNames: FIELDS, recordTemplate: "{{.ClientRequestHost}}" } },
);
push("outputOptions.mergeSubrequests", "606", {}, { outputOptions: { mergeSubrequests: true } });
push("outputOptions.cve202144228", "606", { outputOptions: { cve202144228: true } }, {});
push("outputOptions.extra", "606", {}, { outputOptions: { extra: { sample: 1 } } });
push("extra", "607", {}, { extra: { sample: 1 } });
push(
  "filter",
  "607",
  { filter: where(geq("EdgeResponseStatus", 400)) },
  { filter: where(and(geq("EdgeResponseStatus", 500), eq("ClientRequestHost", "www.shop.example"))) },
);
push(
  "filter: wider",
  "607",
  { filter: where(and(geq("EdgeResponseStatus", 500), eq("ClientRequestHost", "www.shop.example"))) },
  { filter: where(geq("EdgeResponseStatus", 400)) },
);

const account = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
new LogpushJob("accountId", {
  ...(process.env["WEAKER"] === undefined
    ? { accountId: account, dataset: "audit_logs" }
    : { zoneId: zone("607"), dataset: "http_requests" }),
  destination: destination.https({ url: "https://logs.shop.example/audit" }),
});
