import type { Context } from "hono";
import { z } from "zod";
import { ApiFailure, type ApiMessage, failures } from "./envelope";

/** An identifier: 32 lowercase hexadecimal characters. Anything else isn't routed. */
export const identifier = z.string().regex(/^[0-9a-f]{32}$/);

/** Reads the path parameter `name` as an identifier. */
export function readId(c: Context, name: string): string {
  const parsed = identifier.safeParse(c.req.param(name));
  if (!parsed.success) throw failures.notRouted(400, c.req.path);
  return parsed.data;
}

const parsedBodies = new WeakMap<Context["req"], Promise<{ readonly value: unknown } | undefined>>();

export async function bodyBytes(c: Context): Promise<Buffer> {
  return Buffer.from(await c.req.arrayBuffer());
}

/** Returns the body, parsed once for all callers. Undefined if it isn't valid JSON. */
export function bodyJson(c: Context): Promise<{ readonly value: unknown } | undefined> {
  const known = parsedBodies.get(c.req);
  if (known !== undefined) return known;
  const parsed = bodyBytes(c).then(parseJson);
  parsedBodies.set(c.req, parsed);
  return parsed;
}

type Wording = (issue: z.core.$ZodIssue) => Pick<ApiMessage, "code" | "message">;

/**
 * Reads the body as JSON and checks it against `schema`. Each error points at the invalid field.
 *
 * @param wording the product's errors for invalid fields.
 */
export async function readBody<T>(
  c: Context,
  schema: z.ZodType<T>,
  wording: Wording = ({ message }) => ({ code: 10001, message: `invalid body: ${message}` }),
): Promise<T> {
  requireJsonType(c);
  const json = await bodyJson(c);
  if (json === undefined) throw failures.bodyNotJson();
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return parsed.data;
  throw new ApiFailure(
    400,
    parsed.error.issues.map((issue) => ({ ...wording(issue), source: { pointer: pointerTo(issue) } })),
  );
}

export function requireJsonType(c: Context): void {
  const contentType = c.req.header("content-type");
  if (contentType?.split(";")[0]?.trim().toLowerCase() === "application/json") return;
  throw failures.bodyWithoutJsonType(contentType);
}

/** Reads the query string and checks it against `schema`. Unknown parameters are ignored. */
export function readQuery<T>(c: Context, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(c.req.query());
  if (parsed.success) return parsed.data;
  throw failures.queryInvalid(
    ...parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`),
  );
}

function parseJson(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString()) as unknown };
  } catch {
    return undefined;
  }
}

/** Returns the path of an invalid field. Zod reports an unknown field on its parent, but the path should name the field. */
export function pathOf(issue: z.core.$ZodIssue): string[] {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  return [...issue.path, ...unknown].map(String);
}

/** Builds a JSON pointer (RFC 6901). */
export function pointerTo(issue: z.core.$ZodIssue): string {
  return pathOf(issue)
    .map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** Like `Partial`, but properties may also be undefined. */
export type Changes<T> = { readonly [Member in keyof T]?: T[Member] | undefined };

/** Applies changes to a record. Members that weren't sent stay as they are. */
export function applied<T extends object>(old: T, changes: Changes<T>): T {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...old, ...(Object.fromEntries(given) as Partial<T>) };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
