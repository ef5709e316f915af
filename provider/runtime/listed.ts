import type { JsonObject } from "../basics/json";
import { scopeOf } from "./composite-id";
import { ID } from "./fields";
import type { Host } from "./host";
import type { ListedObject } from "./lifecycle";
import { LookupError, readArgs } from "./lookup";
import type { Verbs } from "./verbs";

/** The arguments of a list: a zone or an account. */
const SHAPES = { zone: { zoneId: ID.zone }, account: { accountId: ID.account } };
const EITHER = { zoneId: ID.zone.optional(), accountId: ID.account.optional() };

/**
 * Lists the objects that Cloudflare has of a type, with the IDs that `get` and imports accept.
 *
 * @throws LookupError if the query doesn't name one zone or account.
 */
export async function listObjects(
  host: Host,
  { facts, list }: Verbs,
  query: JsonObject,
): Promise<readonly ListedObject[]> {
  const what = `${facts.type} list`;
  const [first = "zone", ...others] = facts.compositeId.kinds;
  const account = query["zoneId"] === undefined ? { accountId: host.settings.accountId } : {};
  const given = first === "zone" && others.length === 0 ? query : { ...account, ...query };
  const args = readArgs(what, others.length === 0 ? SHAPES[first] : EITHER, given);
  if (list === undefined) throw new LookupError(`${what}: every zone has one, whose ID is the zone's.`);
  if (Object.keys(args).length !== 1) throw new LookupError(`${what}: set either zoneId or accountId.`);
  return await list(host, scopeOf(args));
}
