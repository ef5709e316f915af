import { z } from "zod";
import { firstFew, pluralize } from "../basics/words";
import { ZONES } from "../limits";
import type { ResultInfo } from "./envelope";
import { isUnroutable } from "./errors";

const record = z.looseObject({ id: z.string(), name: z.string() });

/** What this needs of the client, which calls it. */
interface ZoneLister {
  list(
    path: string,
    options: {
      readonly what: string;
      readonly record: typeof record;
      readonly query: Readonly<Record<string, string | number>>;
    },
  ): Promise<{
    readonly records: readonly z.infer<typeof record>[];
    readonly resultInfo: ResultInfo | undefined;
  }>;
  quote(text: string): string;
}

const MOST_SHOWN = 5;

/** Returns the ID of the zone that Cloudflare doesn't find. Undefined for other errors. */
export function unknownZone(error: unknown, path: string): string | undefined {
  return isUnroutable(error) ? /^\/zones\/([^/]+)/.exec(path)?.[1] : undefined;
}

/** Returns a sentence with the zones that the token can see. Undefined if the zone is one of them, or none can be listed. */
export async function zonesSeen(api: ZoneLister, zone: string): Promise<string | undefined> {
  const query = { order: "name", direction: "asc", per_page: ZONES.MAX_PER_PAGE };
  try {
    const { records, resultInfo } = await api.list("/zones", { what: "Listing the zones", record, query });
    if (records.some(({ id }) => id === zone)) return undefined;
    const names = records.map(({ id, name }) => `${api.quote(name)} (${id})`);
    const all = Math.max(resultInfo?.total_count ?? 0, names.length);
    const list =
      names.length === 0 ? "no zones" : `${pluralize(all, "zone")}: ${firstFew(names, MOST_SHOWN)}`;
    return `The token can see ${list}.`;
  } catch {
    return undefined; // The error about the zone itself says more.
  }
}
