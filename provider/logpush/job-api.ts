import { z } from "zod";
import type { EdgeApi, RequestOptions } from "../api/client";
import { ApiError } from "../api/errors";
import { LOGPUSH } from "../limits";
import { inEitherForm, type BooleanForm } from "../runtime/boolean-form";
import type { Context } from "../runtime/lifecycle";
import { typeInText, type FieldType } from "./dataset-fields";
import { wireJob, type Job } from "./job";
import { shownDestination } from "./destination-text";

/** Calls of the log-push API, for jobs of a zone and of an account alike (OpenAPI, tags "Logpush jobs for …"). */

export interface Scope {
  readonly kind: "zone" | "account";
  readonly id: string;
}

export function scopeOf(args: {
  readonly zoneId?: string | undefined;
  readonly accountId?: string | undefined;
}): Scope {
  if (args.zoneId !== undefined) return { kind: "zone", id: args.zoneId };
  if (args.accountId !== undefined) return { kind: "account", id: args.accountId };
  throw new Error("a log-push job is of a zone or of an account, and neither is given");
}

export function scopeName({ kind, id }: Scope): string {
  return `${kind} ${id}`;
}

function logpushPath({ kind, id }: Scope): string {
  return `/${kind}s/${id}/logpush`;
}

export function jobsPath(scope: Scope): string {
  return `${logpushPath(scope)}/jobs`;
}

/** All jobs of a zone or account, or those of one dataset. */
export async function listJobs(
  api: EdgeApi,
  scope: Scope,
  { dataset, complete = false }: JobListOptions = {},
): Promise<readonly Job[]> {
  const path = dataset === undefined ? jobsPath(scope) : `${logpushPath(scope)}/datasets/${dataset}/jobs`;
  const { records } = await api.list(path, {
    what: `Listing the log-push jobs of ${scopeName(scope)}`,
    record: wireJob,
    complete,
    advice: zeroTrustAdvice,
    entitlement: ENTITLEMENT,
  });
  return records;
}

interface JobListOptions {
  /** Of this dataset alone. */
  readonly dataset?: string | undefined;
  /** Whether a job that cannot be read fails the list, as before a create: it may be the very job. */
  readonly complete?: boolean;
}

export async function readJob(api: EdgeApi, scope: Scope, id: string): Promise<Job> {
  return await api.get(`${jobsPath(scope)}/${id}`, {
    what: `Reading log-push job ${id} of ${scopeName(scope)}`,
    schema: wireJob,
    advice: ({ status }) =>
      status === 404
        ? "If it was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew."
        : undefined,
  });
}

/** A field of a dataset, as the service describes it. */
export interface ListedField {
  readonly name: string;
  readonly type: FieldType | undefined;
  /** The service's own words, its type included. */
  readonly text: string;
}

const fieldTexts = z.record(z.string(), z.string().nullable().catch(null)).nullable();

export async function listFields(api: EdgeApi, scope: Scope, dataset: string): Promise<ListedField[]> {
  const texts = await api.get(`${logpushPath(scope)}/datasets/${dataset}/fields`, {
    what: `Listing the fields of dataset ${dataset} of ${scopeName(scope)}`,
    schema: fieldTexts,
    advice: zeroTrustAdvice,
    entitlement: ENTITLEMENT,
  });
  return Object.entries(texts ?? {}).map(([name, text]) => ({
    name,
    type: typeInText(text ?? ""),
    text: text ?? "",
  }));
}

const ENTITLEMENT = "Logpush";

/** Cloudflare refuses a dataset of Zero Trust by these words: https://developers.cloudflare.com/logs/logpush/permissions/. */
const zeroTrustAdvice: Advice = ({ status, errors }) =>
  status === 403 && errors.some(({ message }) => /for product\b/i.test(message))
    ? "A Zero Trust dataset needs a token with Zero Trust: PII Read as well as Logs Write: edit its permissions in the dashboard."
    : undefined;

type Advice = NonNullable<RequestOptions<unknown>["advice"]>;

/** Where the service points when it refuses a token, or the lack of one. */
const CHALLENGE_POINTER = "/ownership_challenge";

/** The service wants a proof of ownership that the request did not have. */
export function isProofRequired(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.status === 400 &&
    error.errors.some((e) => e.pointer === CHALLENGE_POINTER)
  );
}

/** The next step after a refused create or update, where the answer's status, code or pointer tells one. */
const jobAdvice: Advice = ({ status, errors }) => {
  const points = (to: string): boolean => errors.some(({ pointer }) => pointer?.startsWith(to) === true);
  const ofProduct = zeroTrustAdvice({ status, errors });
  if (ofProduct !== undefined) return ofProduct;
  if (status === 403 && errors.some(({ code }) => code === 1004)) {
    return `Either the Logpush job limit is reached (documented: ${LOGPUSH.MAX_JOBS_PER_ZONE} jobs per zone), or the plan has no Logpush. Delete a job, or ask Cloudflare for the entitlement. Where this job replaces another of the program, set deleteBeforeReplace: true in its options.`;
  }
  if (points(CHALLENGE_POINTER)) {
    return "Remove ownershipChallenge and run `pulumi up`: the service then writes a new token to the destination.";
  }
  if (points("/destination_conf")) {
    return "The service writes a test file before it accepts a destination: check the name, the permissions and the credentials.";
  }
  if (status === 404) {
    return "If it was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew.";
  }
  return undefined;
};

/** How a job is written. */
export const writeOptions = { advice: jobAdvice, entitlement: ENTITLEMENT };

const challenge = z.looseObject({
  filename: z.string().nullish(),
  message: z.string().nullish(),
  valid: z.boolean().nullish(),
});

/** Where Cloudflare has written a token: the file's name at the destination, and what else it says, if anything. */
export interface WrittenToken {
  readonly filename: string;
  readonly note: string;
}

/** Has Cloudflare write a token to the destination. */
export async function requestChallenge(
  api: EdgeApi,
  scope: Scope,
  destination: string,
): Promise<WrittenToken> {
  const { filename, message, valid } = await api.post(`${logpushPath(scope)}/ownership`, {
    what: `Asking for a proof of ownership of ${shownDestination(destination)}`,
    schema: challenge,
    body: { destination_conf: destination },
    repeatable: true, // It writes one more file at worst.
    ...writeOptions,
  });
  const note = api.redactor.redact(message ?? "").replace(/\.$/, "");
  if (valid !== false && typeof filename === "string" && filename !== "") return { filename, note };
  throw new Error(
    `Cloudflare could not write the ownership token to ${shownDestination(destination)}${note === "" ? "" : `: ${note}`}. ` +
      "Check that it exists and that Cloudflare may write there, then run `pulumi up` again.",
  );
}

/** The CVE flag, under either spelling of its name. Not doubted without need: each request writes to the destination. */
const CVE_FLAG = { key: "the CVE flag", pointer: "/output_options/CVE-2021-44", doubtful: false };

/** Sends the flag as text, and once more as a boolean where that is what was refused. */
export function withCveFlag<T>(ctx: Context, send: (form: BooleanForm) => Promise<T>): Promise<T> {
  return inEitherForm(ctx, CVE_FLAG, send);
}
