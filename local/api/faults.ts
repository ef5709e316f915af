import { z } from "zod";

const rawStatus = z.int().min(200).max(599);
const failedStatus = z.int().min(400).max(599);

const scope = {
  /**
   * Which requests to match. The path is a substring or a regular expression. It's relative to the base URL, without
   * the query.
   */
  match: z.strictObject({
    method: z.string().optional(),
    path: z.string().refine(isPattern, "not a regular expression").optional(),
  }),
  /** How many matching requests the fault affects. @default 1 */
  times: z.int().min(1).optional(),
};

export const faultSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    ...scope,
    kind: z.literal("status"),
    status: failedStatus,
    code: z.int().optional(),
    message: z.string().optional(),
    retryAfter: z.union([z.number(), z.string()]).optional(),
  }),
  /** Breaks the connection before the request is carried out. */
  z.strictObject({ ...scope, kind: z.literal("dropBefore") }),
  /** Carries out the request, then breaks the connection without a response. */
  z.strictObject({ ...scope, kind: z.literal("dropAfter") }),
  /** Waits before or after the request is carried out. */
  z.strictObject({
    ...scope,
    kind: z.literal("slow"),
    delayMs: z.number().min(0),
    /** @default before */
    when: z.enum(["before", "after"]).optional(),
  }),
  /** Sends the headers and half of the body, then breaks the connection. */
  z.strictObject({ ...scope, kind: z.literal("truncated") }),
  /** Doesn't carry out the request, and responds with this text instead of the envelope. */
  z.strictObject({
    ...scope,
    kind: z.literal("raw"),
    status: rawStatus,
    body: z.string(),
    contentType: z.string().optional(),
  }),
  /**
   * Affects only bulk writes and deletes of keys. Carries out the request except for the named keys, the first few
   * keys, or the first fraction of them, which the response lists. Set one of the three.
   */
  z
    .strictObject({
      ...scope,
      kind: z.literal("unsuccessful"),
      keys: z.array(z.string()).readonly().optional(),
      count: z.int().min(1).optional(),
      fraction: z.number().min(0).max(1).optional(),
    })
    .refine(
      ({ keys, count, fraction }) =>
        [keys, count, fraction].filter((each) => each !== undefined).length === 1,
      "set exactly one of keys, count and fraction",
    ),
  /** Affects only listings of keys. Returns an empty page and a cursor to continue with. */
  z.strictObject({ ...scope, kind: z.literal("emptyPage") }),
]);

/** A failure that the API simulates for the next matching requests. */
export type Fault = z.infer<typeof faultSchema>;

/** The only requests that some kinds of faults affect, even if `match` includes others. */
const onlyOn: Partial<Record<Fault["kind"], RegExp>> = {
  unsuccessful: /^(PUT|DELETE) .*\/bulk$|^POST .*\/bulk\/delete$/,
  emptyPage: /^GET .*\/keys$/,
};

/** The faults that haven't hit all of their requests yet, in the order in which they were added. */
export class Faults {
  #waiting: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault: faultSchema.parse(fault), left: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  list(): readonly Fault[] {
    return this.#waiting.map(({ fault, left }) => ({ ...fault, times: left }));
  }

  /** Returns the first fault that matches, and decrements its count. */
  take(method: string, path: string): Fault | undefined {
    const found = this.#waiting.find(({ fault }) => matches(fault, method, path));
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left === 0) this.#waiting = this.#waiting.filter((waiting) => waiting !== found);
    return found.fault;
  }
}

function matches({ kind, match }: Fault, method: string, path: string): boolean {
  if (onlyOn[kind]?.test(`${method} ${path}`) === false) return false;
  if (match.method !== undefined && match.method.toUpperCase() !== method) return false;
  return match.path === undefined || path.includes(match.path) || new RegExp(match.path).test(path);
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}
