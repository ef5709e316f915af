import type { LogpushSnapshot } from "./entities";

/** The id of the one job of every start. It never changes, so that programs and documents may name it. */
export const SEEDED_JOB_ID = 101;

export function seeded(zoneId: string): LogpushSnapshot {
  return {
    nextId: 102,
    jobs: [
      {
        id: SEEDED_JOB_ID,
        scope: { kind: "zones", id: zoneId },
        name: "existing",
        dataset: "firewall_events",
        destination_conf: "gs://shop-example-logs/firewall",
        enabled: true,
        kind: "",
        filter: "",
        frequency: "high",
        logpull_options: null,
        max_upload_bytes: null,
        max_upload_interval_seconds: null,
        max_upload_records: null,
        output_options: {
          field_names: ["Datetime", "ClientIP", "Action", "RuleID"],
          timestamp_format: "rfc3339",
        },
        further: {},
        last_complete: null,
        last_error: null,
        error_message: null,
      },
    ],
  };
}
