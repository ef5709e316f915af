import type { EdgeApi } from "../api/client";
import { ApiError } from "../api/errors";
import { byPage } from "../api/pages";
import { ZONES } from "../limits";
import { ID } from "../runtime/fields";
import { CommandError } from "../terminal/errors";
import { zoneNamed, zoneRecord as record, type ZoneRecord } from "../terminal/zones";
import type { ListedAccount, ListedZone } from "./model";

/** The zones and accounts in a survey, in a fixed order. */
export interface Scope {
  readonly zones: readonly ListedZone[];
  readonly accounts: readonly ListedAccount[];
}

/**
 * Lists the account's zones, or all zones that the token can see, with one request per 50 zones. With a file, reads only
 * the zones named in it.
 *
 * @throws CommandError if the token can't list zones, or if a zone in the file isn't found.
 */
export async function listZones(
  api: EdgeApi,
  {
    account,
    wanted,
  }: { readonly account: string | undefined; readonly wanted: readonly string[] | undefined },
): Promise<Scope> {
  const found = wanted === undefined ? await listAll(api, account) : await readWanted(api, account, wanted);
  const accounts = new Map<string, { id: string; name?: string; zones: number }>();
  if (account !== undefined) accounts.set(account, { id: account, zones: 0 });
  for (const { accountId, accountName } of found) {
    if (typeof accountId !== "string") continue;
    const known = accounts.get(accountId) ?? { id: accountId, zones: 0 };
    known.zones += 1;
    if (accountName !== undefined) known.name = accountName;
    accounts.set(accountId, known);
  }
  return {
    zones: found.map(({ id, name, plan, status, accountId }) => ({ id, name, plan, status, accountId })),
    accounts: [...accounts.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

/** A zone with its account's name. The survey stores that name only in the account. */
type FoundZone = ListedZone & { readonly accountName?: string };

const NEEDS =
  "A survey needs Zone Read to list zones. Grant it to the token, or pass the zones' IDs with --zones FILE. The survey then omits the zones' names and plans.";

async function listAll(api: EdgeApi, account: string | undefined): Promise<FoundZone[]> {
  const found: FoundZone[] = [];
  try {
    const list = byPage(api, "/zones", {
      what: account === undefined ? "Listing the zones" : `Listing the zones of account ${account}`,
      record,
      query: { "account.id": account, order: "name", direction: "asc" },
      perPage: ZONES.MAX_PER_PAGE,
      complete: true,
      key: ({ id }) => id,
    });
    for await (const each of list) found.push(toZone(each));
  } catch (error) {
    if (error instanceof ApiError && error.status === 403)
      throw new CommandError(`${error.message} ${NEEDS}`);
    throw error;
  }
  if (found.length > 0) return found;
  const where = account === undefined ? "" : ` in account ${account}`;
  throw new CommandError(`the token can't see any zones${where}. ${NEEDS}`);
}

/** Reads the wanted zones one by one, because a token without Zone Read can't list them. */
async function readWanted(
  api: EdgeApi,
  account: string | undefined,
  wanted: readonly string[],
): Promise<FoundZone[]> {
  const found = new Map<string, FoundZone>();
  for (const key of wanted) {
    const zone = await readOne(api, key, account);
    found.set(zone.id, zone);
  }
  return [...found.values()];
}

const ZONE_READ = { notReadable: "right", what: "Zone Read" } as const;

async function readOne(api: EdgeApi, key: string, account: string | undefined): Promise<FoundZone> {
  const isId = ID.is(key);
  try {
    return toZone(
      isId
        ? await api.get(`/zones/${key}`, { what: `Reading zone ${key}`, schema: record })
        : await zoneNamed(api, key, { option: "--zones", account }),
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    if (!isId) throw new CommandError(`${error.message} ${NEEDS}`);
    const unread = { name: ZONE_READ, plan: ZONE_READ, status: ZONE_READ };
    return { id: key, ...unread, accountId: account ?? ZONE_READ };
  }
}

function toZone({ id, name, status, paused, plan, account }: ZoneRecord): FoundZone {
  const missing = (what: string) =>
    ({ notReadable: "failed", what: `Cloudflare didn't return the zone's ${what}` }) as const;
  return {
    id,
    name: name ?? missing("name"),
    plan: plan?.legacy_id ?? missing("plan"),
    status: paused === true ? "paused" : (status ?? missing("status")),
    accountId: account?.id ?? missing("account"),
    ...(typeof account?.name === "string" ? { accountName: account.name } : {}),
  };
}
