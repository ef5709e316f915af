import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ApiFailure, refusal } from "../envelope";

/** The action in the message of an error with code 1004. */
export type Doing = "creating a new job" | "updating a job";

/**
 * Logpush errors. Codes 1002 and 1004, the quota's message and the form of "bad predicate" are Cloudflare's. Where
 * Cloudflare's message is unknown, the message is made up, with one of the two codes.
 */
export const logpushFailures = {
  jobNotFound: (id: number) => refusal(404, 1002, `job ${id} not found`),
  datasetUnknown: (name: string) => refusal(404, 1002, `dataset ${name} not found`),
  datasetElsewhere: (name: string, scope: string) =>
    refusal(400, 1002, `dataset ${name} is not available for ${scope}`, "/dataset"),
  fieldsUnknown: (name: string) =>
    refusal(404, 1002, `the local API doesn't know the fields of dataset ${name}`),

  /** Cloudflare's message is the same if the plan doesn't include Logpush, even without any job. */
  tooManyJobs: () => notAllowed(403, "creating a new job", "exceeded max jobs allowed"),
  fieldNotAllowed: (doing: Doing, field: string, index: number) =>
    notAllowed(400, doing, `unknown field ${field}`, `/output_options/field_names/${index}`),
  badPredicate: (doing: Doing, why: string) => notAllowed(400, doing, `bad predicate: ${why}`, "/filter"),
  filterTooLarge: () => refusal(400, 1002, "filter exceeds the limit", "/filter"),
  immutable: (member: "dataset" | "kind") =>
    refusal(400, 1002, `${member} cannot be changed after a job is created`, `/${member}`),
  onlyHttpRequests: (what: string, pointer: string) =>
    refusal(400, 1002, `${what} is only supported for the dataset http_requests`, pointer),

  onlyForZones: (what: string, pointer: string) =>
    refusal(400, 1002, `${what} is not supported for account-scoped jobs`, pointer),
  attackTrafficNotAllowed: (dataset: string) =>
    refusal(
      400,
      1002,
      `filter_attack_traffic is not supported for dataset ${dataset}`,
      "/filter_attack_traffic",
    ),
  transformerNeedsNdjson: () =>
    refusal(400, 1002, "transformer_id needs the output type ndjson", "/transformer_id"),

  /** The messages about transformers are those of Cloudflare's guide, except for the conflict and the wording of `why`. */
  transformerNotFound: (id: number, status: 400 | 404, pointer?: string) =>
    refusal(status, 1002, `transformer ${id} not found for this account`, pointer),
  transformerOfOther: (id: number, its: string, job: string) =>
    refusal(
      400,
      1002,
      `transformer ${id} dataset "${its}" does not match job dataset "${job}"`,
      "/transformer_id",
    ),
  transformerLacks: (member: string) => refusal(400, 1002, `missing required field: ${member}`, `/${member}`),
  transformerInvalid: (why: string) => refusal(400, 1002, `schema validation error: ${why}`, "/code"),
  transformerInUse: (id: number) =>
    refusal(409, 1002, `transformer ${id} is referenced by active logpush jobs`),

  destinationInvalid: (why: string) => refusal(400, 1002, `destination_conf: ${why}`, "/destination_conf"),
  destinationUnwritable: () =>
    refusal(
      400,
      1002,
      "error validating destination: error writing object: access denied",
      "/destination_conf",
    ),
  ownershipMissing: () =>
    refusal(400, 1002, "ownership_challenge is required for this destination", "/ownership_challenge"),
  ownershipInvalid: (why: string) =>
    refusal(400, 1002, `ownership_challenge is invalid: ${why}`, "/ownership_challenge"),

  sinkFileNotFound: (path: string) => refusal(404, 1404, `no file ${path} in the sink`),
};

function notAllowed(status: ContentfulStatusCode, doing: Doing, why: string, pointer?: string): ApiFailure {
  return refusal(status, 1004, `${doing} is not allowed: ${why}`, pointer);
}
