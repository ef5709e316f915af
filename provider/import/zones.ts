import { z } from "zod";
import { ApiError } from "../api/errors";
import type { Host } from "../runtime/host";
import { oneLine, slug } from "./names";

/** An account that is read; nothing tells its name. */
export interface Account {
  readonly id: string;
  /** As messages call it. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone that is read. */
export interface Zone {
  readonly id: string;
  /** As messages call it: `zone shop.example (0da4…)`. */
  readonly what: string;
  /** For names; empty where its name could not be read. */
  readonly slug: string;
  /** The account it belongs to, where the service said so. */
  readonly accountId: string | undefined;
  readonly name: string | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
});

/**
 * The zone's name and account. Nothing depends on them but names and the account of managed rulesets, and the call is
 * none of the documented ones: where it is refused, the zone goes by its id.
 */
export async function readZone(host: Host, id: string): Promise<Zone> {
  let said: z.infer<typeof answer> = {};
  try {
    said = await host.api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // An answer, even a refusal; without one the reading would go no further either.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  const { account } = said;
  const name = oneLine(said.name ?? "") || undefined;
  return {
    id,
    name,
    what: `zone ${name ?? id}`,
    slug: slug(name ?? ""),
    accountId: account?.id ?? undefined,
  };
}
