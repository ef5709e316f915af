import { z } from "zod";
import type { ResultInfo } from "./envelope";
import type { Limits } from "./limits";

/** Returns the schema of the query parameters `page` and `per_page`. */
export function pagingParameters(limits: Limits) {
  return {
    page: z.union([z.literal("all"), z.coerce.number().pipe(z.int().min(1))]).optional(),
    per_page: z.coerce.number().pipe(z.int().min(1).max(limits.maxPerPage)).optional(),
  };
}

export interface Paging {
  readonly page?: "all" | number | undefined;
  readonly per_page?: number | undefined;
}

/** Returns one page of `items`. A page beyond the last one is empty, not an error. */
export function paginate<T>(
  items: readonly T[],
  { page = 1, per_page }: Paging,
  limits: Limits,
): { items: readonly T[]; info: ResultInfo } {
  const perPage = page === "all" ? Math.max(1, items.length) : (per_page ?? limits.defaultPerPage);
  const number = page === "all" ? 1 : page;
  const shown = items.slice((number - 1) * perPage, number * perPage);
  return {
    items: shown,
    info: {
      page: number,
      per_page: perPage,
      count: shown.length,
      total_count: items.length,
      total_pages: Math.ceil(items.length / perPage),
    },
  };
}
