import type { Context } from "hono";
import { z } from "zod";
import { failures } from "./envelope";

/** Identifiers are 32 lower-case hexadecimal characters; anything else does not route (facts 1.2). */
export const identifier = z.string().regex(/^[0-9a-f]{32}$/);

/** The path parameter `name`, as an identifier. */
export function readId(c: Context, name: string): string {
  const parsed = identifier.safeParse(c.req.param(name));
  if (!parsed.success) throw failures.notRouted(400, c.req.path);
  return parsed.data;
}

/** The body as JSON, checked against `schema`; each complaint points at its member. */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const contentType = c.req.header("content-type");
  if (contentType?.split(";")[0]?.trim().toLowerCase() !== "application/json") {
    throw failures.bodyWithoutJsonType(contentType);
  }

  const parsed = schema.safeParse(parseJson(await c.req.text()));
  if (parsed.success) return parsed.data;
  throw failures.bodyInvalid(
    parsed.error.issues.map((issue) => ({ pointer: pointerTo(issue), message: issue.message })),
  );
}

/** The query string, checked against `schema`. Parameters that the schema does not know are ignored. */
export function readQuery<T>(c: Context, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(c.req.query());
  if (parsed.success) return parsed.data;
  throw failures.queryInvalid(
    parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failures.bodyNotJson();
  }
}

/** RFC 6901. An unknown member is reported on its parent; the pointer should name the member. */
function pointerTo(issue: z.core.$ZodIssue): string {
  const path = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
