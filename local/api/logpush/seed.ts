import { type LogpushSnapshot, nothingSet, nothingStored } from "./entities";

/** The ID of the job that exists at every start. It never changes, so that programs and docs can name it. */
const SEEDED_JOB_ID = 101;

export function seeded(zoneId: string): LogpushSnapshot {
  return {
    ...nothingStored,
    nextId: 102,
    jobs: [
      {
        ...nothingSet,
        id: SEEDED_JOB_ID,
        scope: { kind: "zones", id: zoneId },
        name: "existing",
        dataset: "firewall_events",
        destination_conf: "gs://shop-example-logs/firewall",
        enabled: true,
        kind: "",
        output_options: {
          field_names: ["Datetime", "ClientIP", "Action", "RuleID"],
          timestamp_format: "rfc3339",
        },
      },
    ],
  };
}
