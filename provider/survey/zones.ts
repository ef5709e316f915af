import type { EdgeApi } from "../api/client";
import { ApiError } from "../api/errors";
import { byPage } from "../api/pages";
import { ZONES } from "../limits";
import { ID } from "../runtime/fields";
import { CommandError } from "../terminal/errors";
import { ambiguousName, zoneNamed, zoneRecord as record, type ZoneRecord } from "../terminal/zones";
import type { ListedAccount, ListedZone } from "./model";
import { textOf } from "./readable";

/** The zones and accounts in a survey, in a fixed order. */
export interface Scope {
  readonly zones: readonly ListedZone[];
  readonly accounts: readonly ListedAccount[];
}

/**
 * Lists the account's zones, or all zones that the token can see. With a file, lists only the zones named in it. The
 * list takes one request per 50 zones.
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
  const found =
    wanted === undefined ? await listAll(api, account) : await listWanted(api, account, new Set(wanted));
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
    for await (const each of pages(api, account)) found.push(toZone(each));
  } catch (error) {
    if (error instanceof ApiError && error.status === 403)
      throw new CommandError(`${error.message} ${NEEDS}`);
    throw error;
  }
  if (found.length > 0) return found;
  const where = account === undefined ? "" : ` in account ${account}`;
  throw new CommandError(`the token can't see any zones${where}. ${NEEDS}`);
}

function pages(api: EdgeApi, account: string | undefined): AsyncGenerator<ZoneRecord, void, undefined> {
  return byPage(api, "/zones", {
    what: account === undefined ? "Listing the zones" : `Listing the zones of account ${account}`,
    record,
    query: { "account.id": account, order: "name", direction: "asc" },
    perPage: ZONES.MAX_PER_PAGE,
    complete: true,
    key: ({ id }) => id,
  });
}

/** Finds the wanted zones in the list of all zones. A few are read one by one, as are all if the token can't list zones. */
async function listWanted(
  api: EdgeApi,
  account: string | undefined,
  wanted: ReadonlySet<string>,
): Promise<FoundZone[]> {
  const found = new Map<string, FoundZone>();
  const note = (zone: FoundZone): void => {
    for (const key of [zone.id, zone.name]) {
      if (typeof key !== "string" || !wanted.has(key)) continue;
      const other = found.get(key);
      if (other !== undefined && other.id !== zone.id) throw ambiguous(key, [other, zone]);
      found.set(key, zone);
    }
  };
  let isRefused = false;
  if (wanted.size > FEW) {
    try {
      for await (const each of pages(api, account)) note(toZone(each));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      isRefused = true;
    }
  }
  for (const key of wanted) if (!found.has(key)) note(await readOne(api, key, isRefused, account));
  return [
    ...new Map([...wanted].flatMap((key) => found.get(key) ?? []).map((zone) => [zone.id, zone])).values(),
  ];
}

/** Up to this many zones are read one by one. */
const FEW = 10;

const ZONE_READ = { notReadable: "right", what: "Zone Read" } as const;

async function readOne(
  api: EdgeApi,
  key: string,
  isRefused: boolean,
  account: string | undefined,
): Promise<FoundZone> {
  const what = `Reading zone ${key}`;
  if (!ID.is(key)) {
    if (isRefused) throw new CommandError(`zone ${JSON.stringify(key)} can't be looked up by name. ${NEEDS}`);
    return toZone(await zoneNamed(api, key, { option: "--zones", account }));
  }
  const unknown = {
    id: key,
    name: ZONE_READ,
    plan: ZONE_READ,
    status: ZONE_READ,
    accountId: account ?? ZONE_READ,
  };
  if (isRefused) return unknown;
  try {
    return toZone(await api.get(`/zones/${key}`, { what, schema: record }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return unknown;
    throw error;
  }
}

function ambiguous(name: string, zones: readonly FoundZone[]): CommandError {
  const named = zones.map(({ id, accountId }) => ({ id, account: textOf(accountId, String) }));
  return ambiguousName("--zones", name, named);
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
