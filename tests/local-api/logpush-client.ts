import { z } from "zod";
import type { LocalApi } from "edgeguard-local";
import { type ApiResponse, type Call, result } from "./client";

/** A destination that needs no ownership challenge. */
export const DATADOG =
  "datadog://intake.logs.example/v1/input?header_DD-API-KEY=canary&ddsource=edge&service=shop";

export const newJob = {
  name: "shop-errors",
  dataset: "http_requests",
  destination_conf: DATADOG,
  enabled: true,
  output_options: { field_names: ["ClientIP", "EdgeStartTimestamp", "RayID"], timestamp_format: "rfc3339" },
};

export function jobId(response: ApiResponse): number {
  return z.object({ id: z.number() }).parse(result(response)).id;
}

/** Creates a job that must be accepted. */
export async function create(
  call: Call,
  path: string,
  members: Record<string, unknown> = {},
): Promise<number> {
  const response = await call("POST", path, { ...newJob, ...members });
  expect(response).toMatchObject({ status: 200 });
  return jobId(response);
}

/** The ownership token that a challenge wrote to the sink. */
export async function tokenFor(
  api: LocalApi,
  call: Call,
  scope: string,
  destination: string,
): Promise<string> {
  const response = await call("POST", `${scope}/logpush/ownership`, { destination_conf: destination });
  const { filename } = z.object({ filename: z.string() }).parse(result(response));
  const file = api.logpush.files().find(({ path }) => path.endsWith(filename));
  return api.logpush.read(file?.path ?? "no file");
}

export const refusal = (status: number, code: number, message: string, pointer?: string) => ({
  status,
  body: {
    success: false,
    result: null,
    errors: [
      {
        code,
        message: expect.stringContaining(message) as string,
        ...(pointer === undefined ? {} : { source: { pointer } }),
      },
    ],
  },
});
