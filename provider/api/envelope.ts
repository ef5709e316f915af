import { z } from "zod";
import { parseJson } from "../basics/json";

/**
 * The envelope of every JSON response. Cloudflare omits empty fields, so only `success` is required. Malformed fields
 * and malformed list items are dropped.
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

/** One entry of `errors`: Cloudflare's code and message, and the location in the body that it points at. */
export interface ApiNote {
  readonly code: number | undefined;
  readonly message: string;
  readonly pointer: string | undefined;
}

/** Paging information for a list; every field may be missing. */
export type ResultInfo = NonNullable<z.infer<typeof resultInfo>>;

export interface Envelope {
  readonly result: unknown;
  readonly success: boolean;
  readonly errors: readonly ApiNote[];
  readonly messages: readonly string[];
  readonly resultInfo: ResultInfo | undefined;
}

/** Decodes a response; `undefined` if it isn't an envelope, as with an HTML error page. */
export function decodeEnvelope(text: string): Envelope | undefined {
  const parsed = envelope.safeParse(parseJson(text)); // If it's neither, the caller reports what it received instead.
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
