import { z } from "zod";
import type { ApiContext } from "../context";
import { ok } from "../envelope";
import type { Limits } from "../limits";
import { paginate } from "../paging";
import { readQuery } from "../request";

type Wire = Readonly<Record<string, unknown>>;

/** The filters and orders of a list of the previous rules. */
interface Choice<T extends Wire> {
  /** Predicates by query parameter: whether a record matches. */
  readonly filters?: Readonly<Record<string, (record: T, wanted: string) => boolean>>;
  /** Sort keys by the value of `order`. */
  readonly orders?: Readonly<Record<string, (record: T) => string | number>>;
}

/** Returns one page, within the OpenAPI schema's bounds (`waf-*-list-*`). */
export function listed<T extends Wire>(
  c: ApiContext,
  records: readonly T[],
  limits: Limits,
  choice: Choice<T> = {},
): Response {
  const { filters = {}, orders = {} } = choice;
  const { minWafPerPage: least, maxPerPage: most } = limits;
  const query = readQuery(
    c,
    z.object({
      page: z.coerce.number().pipe(z.int().min(1)).optional(),
      per_page: z.coerce.number().pipe(z.int().min(least).max(most)).optional(),
      match: z.enum(["all", "any"]).default("all"),
      direction: z.enum(["asc", "desc"]).default("asc"),
      order: z
        .string()
        .refine((name) => Object.hasOwn(orders, name), "unknown")
        .optional(),
    }),
  );

  const wanted = Object.entries(filters).flatMap(([name, fits]) => {
    const value = c.req.query(name);
    return value === undefined ? [] : [(record: T) => fits(record, value)];
  });
  const chosen = records.filter((record) =>
    query.match === "any" && wanted.length > 0
      ? wanted.some((fits) => fits(record))
      : wanted.every((fits) => fits(record)),
  );

  const key = query.order === undefined ? undefined : orders[query.order];
  const sign = query.direction === "asc" ? 1 : -1;
  const ordered = key === undefined ? chosen : [...chosen].sort((a, b) => sign * compare(key(a), key(b)));
  const { items, info } = paginate(ordered, query, { ...limits, defaultPerPage: limits.defaultWafPerPage });
  return ok(c, items, info);
}

function compare(a: string | number, b: string | number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
