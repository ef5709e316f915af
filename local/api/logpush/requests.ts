import { z } from "zod";
import type { ApiContext } from "../context";
import { pathOf, readBody } from "../request";
import type { LogpushBehavior } from "./behavior";
import { dataset, kinds, outputOptions } from "./entities";

const destination = z.string().max(4096);

/** The schema of a limit. 0 means no limit, null means Cloudflare's default. */
const measure = (least: number, most: number) => {
  const allowed = (value: number) => value === 0 || (value >= least && value <= most);
  return z.int().refine(allowed, `must be 0 or between ${least} and ${most}`).nullable().optional();
};

/** The schema of the CVE flag. Cloudflare's guide sends it as a string, but in the OpenAPI schema it's a boolean. */
function flag(form: LogpushBehavior["cve"]) {
  const text = z.enum(["true", "false"]).transform((value) => value === "true");
  const either = z.union([z.boolean(), text], { error: 'must be a boolean, "true" or "false"' });
  const accepted = form === "booleanOnly" ? z.boolean() : form === "stringOnly" ? text : either;
  return accepted.nullable().optional();
}

function members({ cve }: LogpushBehavior) {
  return {
    name: z.string().max(512).nullable().optional(),
    enabled: z.boolean().optional(),
    filter: z.string().nullable().optional(),
    frequency: z.enum(["high", "low"]).nullable().optional(),
    logpull_options: z.string().max(4096).nullable().optional(),
    max_upload_bytes: measure(5_000_000, 1_000_000_000),
    max_upload_interval_seconds: measure(30, 300),
    max_upload_records: measure(1000, 1_000_000),
    output_options: z
      .looseObject({ ...outputOptions.shape, "CVE-2021-44228": flag(cve) })
      .nullable()
      .optional(),
    filter_attack_traffic: z.boolean().optional(),
    transformer_id: z.int().min(1).nullable().optional(),
    ownership_challenge: z.string().max(4096).optional(),
    dataset: dataset.nullable().optional(),
    kind: z.enum(kinds).optional(),
  };
}

/** Reads a new job. Unknown properties are kept; a strict API rejects them. */
export function readNewJob(c: ApiContext, behavior: LogpushBehavior, strict: boolean) {
  const shape = { ...members(behavior), destination_conf: destination };
  return read(c, strict ? z.strictObject(shape) : z.looseObject(shape));
}

export function readChange(c: ApiContext, behavior: LogpushBehavior, strict: boolean) {
  const shape = { ...members(behavior), destination_conf: destination.optional() };
  return read(c, strict ? z.strictObject(shape) : z.looseObject(shape));
}

export type Change = Awaited<ReturnType<typeof readChange>>;

/** Reads a new transformer, or a change of one. Unknown properties are kept; a strict API rejects them. */
export function readTransformer(c: ApiContext, strict: boolean) {
  const shape = {
    name: z.string().max(255).optional(),
    description: z.string().max(4096).optional(),
    code: z.string().optional(),
  };
  return read(c, strict ? z.strictObject(shape) : z.looseObject(shape));
}

export async function readDestination(c: ApiContext): Promise<string> {
  return (await read(c, z.object({ destination_conf: destination }))).destination_conf;
}

/** Reads a body and checks it against a schema. Errors have Logpush's own code, unlike those of other products. */
function read<T>(c: ApiContext, schema: z.ZodType<T>): Promise<T> {
  return readBody(c, schema, (issue) => ({
    code: 1002,
    message: `${pathOf(issue).join(".")}: ${issue.message}`,
  }));
}
