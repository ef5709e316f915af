import { z } from "zod";
import type { ApiContext } from "../context";
import { failures, ok } from "../envelope";
import type { Limits } from "../limits";
import type { Settings } from "../options";

export function pageParameters({ maxRulesetsPerPage }: Limits) {
  return z.object({
    per_page: z.coerce.number().pipe(z.int().min(1).max(maxRulesetsPerPage)).optional(),
    cursor: z.string().min(1).optional(),
  });
}

interface Query {
  readonly per_page?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * Returns a list of rulesets. In Cloudflare's guides, it's one plain array; in the OpenAPI schema, there are pages with
 * a cursor, except for the last one.
 */
export function listResponse(
  c: ApiContext,
  rulesets: readonly { readonly id: string }[],
  { per_page, cursor }: Query,
  { dialect, limits }: Settings,
): Response {
  if (dialect === "documented") return ok(c, rulesets);
  const start = cursor === undefined ? 0 : indexAfter(rulesets, cursor);
  const page = rulesets.slice(start, start + (per_page ?? limits.maxRulesetsPerPage));
  const last = page.at(-1);
  if (last === undefined || start + page.length === rulesets.length) return ok(c, page);
  const after = Buffer.from(last.id).toString("base64url");
  return ok(c, page, { cursors: { after } });
}

function indexAfter(rulesets: readonly { readonly id: string }[], cursor: string): number {
  const id = Buffer.from(cursor, "base64url").toString();
  const index = rulesets.findIndex((each) => each.id === id);
  if (index < 0) throw failures.queryInvalid("cursor: no list returned it");
  return index + 1;
}
