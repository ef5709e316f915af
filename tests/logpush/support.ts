import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { Operation, rawGet, rawSend, type Recorded, type Step } from "../support/operation";

/** Shared by the tests of Logpush jobs: a local API, a job in its empty zone, and the requests that were sent. */

export const TYPE = "LogpushJob";

/** A destination that needs no ownership challenge. */
export const HTTPS = "https://logs.example.com/in?header_Authorization=Bearer%20first-secret-token";

export const FILTER =
  '{"where":{"and":[{"key":"ClientRequestHost","operator":"eq","value":"example.com"},{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}';

export type Members = Record<string, unknown>;

export interface Bench {
  readonly api: LocalApi;
  /** Path of the zone's jobs. */
  readonly jobs: string;
  /** Arguments of a job, as the class passes them to the engine. */
  readonly job: Members & { readonly outputOptions: Members };
  /** The zone's jobs, as the API returns them. */
  stored(): Promise<Members[]>;
  one(): Promise<Members>;
  /** Method and path below `/logpush` of the requests. */
  sent(...methods: string[]): string[];
  bodies(method: string): Members[];
  /** Creates a job as the dashboard would: `job` with some members changed. Returns its ID. */
  made(more?: Members): Promise<string>;
  /** Changes a job as the dashboard would. */
  changed(id: string, members: Members): Promise<void>;
}

export async function bench(options: LocalApiOptions = {}): Promise<Bench> {
  const api = await startLocalApi(options);
  const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
  const stored = async () => (await rawGet(api, jobs))["result"] as Members[];
  return {
    api,
    jobs,
    job: {
      zoneId: api.zones.empty,
      name: "shop-requests",
      dataset: "http_requests",
      destinationConf: HTTPS,
      outputOptions: { fieldNames: ["ClientIP", "RayID"] },
      filter: FILTER,
    },
    stored,
    one: async () => (await stored())[0] ?? {},
    sent: (...methods) =>
      api.requests
        .filter(({ method }) => methods.length === 0 || methods.includes(method))
        .map(
          ({ method, path }) => `${method} ${path.replace(/^\/(zones|accounts)\/[0-9a-f]+\/logpush/, "")}`,
        ),
    bodies: (method) => api.requests.filter((r) => r.method === method).map(({ body }) => body as Members),
    made: async (more = {}) => {
      const { result } = await rawSend(api, "POST", jobs, {
        name: "shop-requests",
        dataset: "http_requests",
        destination_conf: HTTPS,
        enabled: true,
        output_options: { field_names: ["ClientIP", "RayID"] },
        filter: FILTER,
        ...more,
      });
      const shown = result as { readonly id: number } | null; // If the API doesn't return it, it's the last one.
      return String(shown?.id ?? (await stored()).at(-1)?.["id"]);
    },
    changed: async (id, members) => {
      await rawSend(api, "PUT", `${jobs}/${id}`, members);
    },
  };
}

/** The setup of the running test. */
export let b: Bench;

/** Gives each test of a file its own setup. */
export function benchForEach(): void {
  beforeEach(async () => {
    b = await bench();
  });
  afterEach(() => b.api.close());
}

/** Starts over with a local API that behaves differently. */
export async function restart(options: LocalApiOptions): Promise<void> {
  await b.api.close();
  b = await bench(options);
}

export const up = (inputs: Members, previous?: Recorded): Promise<Recorded> =>
  new Operation(b.api).up(TYPE, inputs, previous);

export const step = async (inputs: Members, previous: Recorded): Promise<Step> =>
  (await new Operation(b.api).preview(TYPE, inputs, previous)).step;

export const refreshed = async (recorded: Recorded): Promise<Recorded> =>
  (await new Operation(b.api).refresh(TYPE, recorded)) as Recorded;
