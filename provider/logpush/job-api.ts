import { z } from "zod";
import type { EdgeApi, RequestOptions } from "../api/client";
import { trimEnd } from "../basics/printable";
import { ApiError } from "../api/errors";
import { BooleanMember, type BooleanForm } from "../runtime/boolean-form";
import { scopeName, scopePath, type Scope } from "../runtime/composite-id";
import type { Context } from "../runtime/lifecycle";
import { inSeries } from "../basics/words";
import { typeInText, type FieldType } from "./dataset-fields";
import { wireJob, type Job } from "./job";
import { shownDestination } from "./destination-text";

/** Requests to the Logpush API, `/{zones|accounts}/{id}/logpush`. */

export function jobsPath(scope: Scope): string {
  return `${scopePath(scope)}/logpush/jobs`;
}

/** Lists the jobs of a zone or account: all of them, or only those for one dataset. */
export async function listJobs(
  api: EdgeApi,
  scope: Scope,
  { dataset, complete = false }: JobListOptions = {},
): Promise<readonly Job[]> {
  const path =
    dataset === undefined ? jobsPath(scope) : `${scopePath(scope)}/logpush/datasets/${dataset}/jobs`;
  const { records } = await api.list(path, {
    what: `Listing the Logpush jobs of ${scopeName(scope)}`,
    record: wireJob,
    complete,
    advice: zeroTrustAdvice,
  });
  return records;
}

interface JobListOptions {
  /** The dataset whose jobs to list. By default, jobs of all datasets are listed. */
  readonly dataset?: string | undefined;
  /**
   * Whether to fail if a listed job can't be parsed. Set before a create, because the create may have to adopt that
   * job.
   */
  readonly complete?: boolean;
}

export async function readJob(api: EdgeApi, scope: Scope, id: string): Promise<Job> {
  return await api.get(`${jobsPath(scope)}/${id}`, {
    what: `Reading Logpush job ${id} of ${scopeName(scope)}`,
    schema: wireJob,
    advice: deletedAdvice("job"),
  });
}

/** Returns advice for a 404. */
export function deletedAdvice(noun: string): Advice {
  return ({ status }) =>
    status === 404
      ? `If the ${noun} was deleted elsewhere, run \`pulumi refresh\`; the next \`pulumi up\` creates it again.`
      : undefined;
}

/** A field of a dataset, as the API describes it. */
export interface ListedField {
  readonly name: string;
  readonly type: FieldType | undefined;
  /** Cloudflare's description of the field, including its type. */
  readonly text: string;
}

const fieldTexts = z.record(z.string(), z.string().nullable().catch(null)).nullable();

export async function listFields(api: EdgeApi, scope: Scope, dataset: string): Promise<ListedField[]> {
  const texts = await api.get(`${scopePath(scope)}/logpush/datasets/${dataset}/fields`, {
    what: `Listing the fields of dataset ${dataset} in ${scopeName(scope)}`,
    schema: fieldTexts,
    advice: zeroTrustAdvice,
  });
  return Object.entries(texts ?? {}).map(([name, text]) => ({
    name,
    type: typeInText(text ?? ""),
    text: text ?? "",
  }));
}

/**
 * Returns advice if Cloudflare rejects a request for a Zero Trust dataset:
 * https://developers.cloudflare.com/logs/logpush/permissions/.
 */
const zeroTrustAdvice: Advice = ({ status, errors }) =>
  status === 403 && errors.some(({ message }) => /for product\b/i.test(message))
    ? "A Zero Trust dataset needs a token with Zero Trust: PII Read and Logs Write. Edit its permissions in the dashboard."
    : undefined;

type Advice = NonNullable<RequestOptions<unknown>["advice"]>;

/** The `source.pointer` of Cloudflare's error about a missing or invalid ownership token. */
const CHALLENGE_POINTER = "/ownership_challenge";

/** Whether Cloudflare rejected a request because it lacks an ownership token. */
export function isProofRequired(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.status === 400 &&
    error.errors.some((e) => e.pointer === CHALLENGE_POINTER)
  );
}

/** Returns advice for a create or update that Cloudflare rejected, based on the error's status, codes and pointers. */
const jobAdvice: Advice = (failure) => {
  const { errors } = failure;
  const points = (to: string): boolean => errors.some(({ pointer }) => pointer?.startsWith(to) === true);
  const ofProduct = zeroTrustAdvice(failure);
  if (ofProduct !== undefined) return ofProduct;
  if (points(CHALLENGE_POINTER)) {
    return "Remove ownershipChallenge and run `pulumi up`: Cloudflare then writes a new token to the destination.";
  }
  if (points("/destination_conf")) {
    return "Cloudflare writes a test file before it accepts a destination. Check the destination's name, permissions and credentials.";
  }
  return deletedAdvice("job")(failure);
};

/** Options of the requests that write a job. */
export const writeOptions = { advice: jobAdvice };

/** Options of the request that creates a job, which Cloudflare rejects if `jobs` are all that the limit allows. */
export function createOptions({ kind, id }: Scope, jobs: readonly Job[]): typeof writeOptions {
  return {
    ...writeOptions,
    advice: (rejection) => {
      const { status, errors } = rejection;
      if (status !== 403 || !errors.some(({ code }) => code === 1004)) return jobAdvice(rejection);
      return jobs.length === 0
        ? `${kind} ${id} has no job yet, so its limit may be 0. Ask Cloudflare to raise it.`
        : `The ${kind} has ${jobNames(jobs)}. If the update replaces one of them, set deleteBeforeReplace: true in its resource options. Otherwise delete one, or ask Cloudflare to raise the limit.`;
    },
  };
}

const MAX_JOBS_SHOWN = 10;

function jobNames(jobs: readonly Job[]): string {
  const names = jobs.slice(0, MAX_JOBS_SHOWN).map(({ id, name }) => `${JSON.stringify(name)} (ID ${id})`);
  return inSeries(jobs.length > MAX_JOBS_SHOWN ? [...names, `${jobs.length - MAX_JOBS_SHOWN} more`] : names);
}

const challenge = z.looseObject({
  filename: z.string().nullish(),
  message: z.string().nullish(),
  valid: z.boolean().nullish(),
});

/** An ownership token that Cloudflare wrote: the file's name at the destination, and Cloudflare's message, if any. */
export interface WrittenToken {
  readonly filename: string;
  readonly note: string;
}

/** Asks Cloudflare to write an ownership token to the destination. */
export async function requestChallenge(
  api: EdgeApi,
  scope: Scope,
  destination: string,
): Promise<WrittenToken> {
  const { filename, message, valid } = await api.post(`${scopePath(scope)}/logpush/ownership`, {
    what: `Requesting an ownership challenge for ${shownDestination(destination)}`,
    schema: challenge,
    body: { destination_conf: destination },
    isNoWrite: true,
    repeatable: true, // At worst, a retry writes another file.
    ...writeOptions,
  });
  const note = trimEnd(api.quote(message ?? ""), ".");
  if (valid !== false && typeof filename === "string" && filename !== "") return { filename, note };
  throw new Error(
    `Cloudflare couldn't write the ownership token to ${shownDestination(destination)}${note === "" ? "" : `: ${note}`}. ` +
      "Check that the destination exists and lets Cloudflare write to it, then run `pulumi up` again.",
  );
}

/**
 * The CVE flag, under either of its names. If Cloudflare's error points at the flag, the request is repeated with the
 * flag as a boolean. Other errors aren't retried this way, because each request writes to the destination.
 */
export function withCveFlag<T>(ctx: Context, send: (form: BooleanForm) => Promise<T>): Promise<T> {
  return new BooleanMember(ctx, "the CVE flag", "/output_options/CVE-2021-44", false).send(send);
}
