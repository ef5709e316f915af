import { z } from "zod";

/**
 * The answer every JSON operation gives (seed 000, "Response envelope"; seed 001, "Endpoints"). Read leniently where
 * the service is known to vary (facts 1.4), so that only `success` is required.
 */
const note = z.looseObject({
  code: z.number().optional().catch(undefined),
  message: z.string().catch(""),
  source: z.looseObject({ pointer: z.string().optional() }).optional().catch(undefined),
});

const resultInfo = z.looseObject({
  page: z.number().nullish(),
  per_page: z.number().nullish(),
  count: z.number().nullish(),
  total_count: z.number().nullish(),
  total_pages: z.number().nullish(),
  cursor: z.string().nullish(),
  cursors: z.looseObject({ after: z.string().nullish() }).nullish(),
});

const envelope = z.looseObject({
  result: z.unknown(),
  success: z.boolean(),
  errors: z.array(note).nullish(),
  messages: z.array(z.union([z.string(), note])).nullish(),
  result_info: resultInfo.nullish(),
});

/** One entry of `errors`: the service's code and words, and where in the body it points. */
export interface ApiNote {
  readonly code: number | undefined;
  readonly message: string;
  readonly pointer: string | undefined;
}

/** Paging facts of a list answer; every member may be missing. */
export type ResultInfo = z.infer<typeof resultInfo>;

/** The envelope, decoded. */
export interface Envelope {
  readonly result: unknown;
  readonly success: boolean;
  readonly errors: readonly ApiNote[];
  readonly messages: readonly string[];
  readonly resultInfo: ResultInfo | undefined;
}

/** Decodes an answer's text; `undefined` when it is not the envelope (an HTML error page, say). */
export function decodeEnvelope(text: string): Envelope | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined; // The caller reports what arrived instead.
  }
  const parsed = envelope.safeParse(json);
  if (!parsed.success) return undefined;
  const { result, success, errors, messages, result_info } = parsed.data;
  return {
    result,
    success,
    errors: (errors ?? []).map((e) => ({ code: e.code, message: e.message, pointer: e.source?.pointer })),
    messages: (messages ?? []).map((m) => (typeof m === "string" ? m : m.message)).filter((m) => m !== ""),
    resultInfo: result_info ?? undefined,
  };
}
