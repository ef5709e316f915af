import type { JsonObject } from "../../provider/basics/json";
import { Bench, zones } from "../support/bench";
import { rawGet, rawSend } from "../support/operation";

/** Shared by the tests of Logpush jobs: a local API, a job in its empty zone, and the requests that were sent. */

export const TYPE = "LogpushJob";

/** A destination that needs no ownership challenge. */
export const HTTPS = "https://logs.example.com/in?header_Authorization=Bearer%20first-secret-token";

export const FILTER =
  '{"where":{"and":[{"key":"ClientRequestHost","operator":"eq","value":"example.com"},{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}';

export type Members = JsonObject;

export class LogpushBench extends Bench {
  /** Path of the zone's jobs. */
  readonly jobs = `/zones/${zones.empty}/logpush/jobs`;
  /** Arguments of a job, as the class passes them to the engine. */
  readonly job = {
    zoneId: zones.empty,
    name: "shop-requests",
    dataset: "http_requests",
    destinationConf: HTTPS,
    outputOptions: { fieldNames: ["ClientIP", "RayID"] },
    filter: FILTER,
  };

  constructor(shared = false) {
    super(TYPE, { shared });
  }

  /** The zone's jobs, as the API returns them. */
  async stored(): Promise<Members[]> {
    return (await rawGet(this.api, this.jobs))["result"] as Members[];
  }

  async one(): Promise<Members> {
    return (await this.stored())[0] ?? {};
  }

  /** Creates a job as the dashboard would: `job` with some members changed. Returns its ID. */
  async made(more: Members = {}): Promise<string> {
    const { result } = await rawSend(this.api, "POST", this.jobs, {
      name: "shop-requests",
      dataset: "http_requests",
      destination_conf: HTTPS,
      enabled: true,
      output_options: { field_names: ["ClientIP", "RayID"] },
      filter: FILTER,
      ...more,
    });
    const shown = result as { readonly id: number } | null; // If the API doesn't return it, it's the last one.
    return String(shown?.id ?? (await this.stored()).at(-1)?.["id"]);
  }

  /** Changes a job as the dashboard would. */
  async changed(id: string, members: Members): Promise<void> {
    await rawSend(this.api, "PUT", `${this.jobs}/${id}`, members);
  }
}
