import { z } from "zod";

/**
 * The answer that every JSON operation gives. Cloudflare leaves out what it has nothing to put in, so `success` alone is
 * required; what is odd about another member costs that member, and what is odd about one item of a list that item.
 */
const envelope = z.looseObject({
  success: z.boolean(),
  result: z.unknown().optional(),
  errors: z.unknown().optional(),
  messages: z.unknown().optional(),
  result_info: z.unknown().optional(),
});

const note = z.union([
  z.string().transform((message) => ({ message, code: undefined, source: undefined })),
  z.looseObject({
    code: z.number().optional().catch(undefined),
    message: z.string().catch(""),
    source: z.looseObject({ pointer: z.string().optional() }).optional().catch(undefined),
  }),
]);

const amount = z.number().nullish().catch(undefined);
const text = z.string().nullish().catch(undefined);

const resultInfo = z
  .looseObject({
    page: amount,
    per_page: amount,
    count: amount,
    total_count: amount,
    total_pages: amount,
    cursor: text,
    cursors: z.looseObject({ after: text }).nullish().catch(undefined),
  })
  .optional()
  .catch(undefined);

/** One entry of `errors`: the service's code and words, and where in the body it points. */
export interface ApiNote {
  readonly code: number | undefined;
  readonly message: string;
  readonly pointer: string | undefined;
}

/** Paging facts of a list answer; every member may be missing. */
export type ResultInfo = NonNullable<z.infer<typeof resultInfo>>;

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
    errors: notesIn(errors),
    messages: notesIn(messages)
      .map(({ message }) => message)
      .filter((message) => message !== ""),
    resultInfo: resultInfo.parse(result_info ?? undefined),
  };
}

function notesIn(list: unknown): ApiNote[] {
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  return items.flatMap((item) => {
    const { data } = note.safeParse(item);
    return data === undefined
      ? []
      : [{ code: data.code, message: data.message, pointer: data.source?.pointer }];
  });
}
