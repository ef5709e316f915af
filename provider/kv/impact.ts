import { z } from "zod";
import type { JsonObject } from "../basics/json";
import { pluralize } from "../basics/words";
import { KV } from "../limits/index";
import { formatNumber } from "../limits/workers";
import { LISTED, type Listed, type ImpactRecord, type RecordShape } from "../runtime/impact";
import { quoteKeys } from "./entry";

/** What an operation finds out about a `KvEntries`, and the messages about it. */

/** What an operation found out about a `KvEntries`. */
export interface EntriesImpact extends ImpactRecord {
  /** The declared keys. */
  readonly keys?: Listed;
  /** Keys to write that the resource hasn't written before. */
  readonly added?: Listed;
  /** Keys to write again. */
  readonly changed?: Listed;
  /** Keys to delete that the resource wrote and no longer declares, or whose entry has expired. */
  readonly removed?: Listed;
  /** Those of the changed keys that expire earlier than what the resource wrote before. */
  readonly expires?: Listed;
  /** When the first of them expires, such as `60 s after the update` or `at 2030-01-31T00:00:00.000Z`. */
  readonly expiry?: string;
  /** Those of the changed keys whose value becomes empty. */
  readonly emptied?: Listed;
  /** Keys to delete that others wrote under the pruned prefix. */
  readonly prunes?: Listed;
  /** Existing keys to overwrite. */
  readonly overwrites?: Listed;
  /** How many of these expire earlier than what exists. */
  readonly overwrittenExpire?: number;
  /** When the first of them expires. */
  readonly overwrittenExpiry?: string;
  /** How many of the overwritten keys get an empty value. */
  readonly overwrittenEmptied?: number;
  /** Existing keys that match the program. */
  readonly adopts?: Listed;
  /** How many new keys the preview didn't look up. */
  readonly unchecked?: number;
}

export const entriesRecord = {
  keys: LISTED.schema.exactOptional(),
  added: LISTED.schema.exactOptional(),
  changed: LISTED.schema.exactOptional(),
  removed: LISTED.schema.exactOptional(),
  expires: LISTED.schema.exactOptional(),
  expiry: z.string().exactOptional(),
  emptied: LISTED.schema.exactOptional(),
  prunes: LISTED.schema.exactOptional(),
  overwrites: LISTED.schema.exactOptional(),
  overwrittenExpire: z.int().exactOptional(),
  overwrittenExpiry: z.string().exactOptional(),
  overwrittenEmptied: z.int().exactOptional(),
  adopts: LISTED.schema.exactOptional(),
  unchecked: z.int().exactOptional(),
} as const satisfies RecordShape<EntriesImpact>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = {
  ownKeys: "ownKeys",
  existingKeys: "existingKeys",
  prunedKeys: "prunedKeys",
  existingNamespace: "existingNamespace",
} as const;

/** Up to here, a refresh compares values by default: that takes at most ten requests, and memory for as many bytes. */
const COMPARED = { keys: 1_000, bytes: 1024 * 1024 };

/** What a refresh says instead of comparing: neither a listing nor a read is guaranteed to show our own writes yet. */
export const TOO_RECENT = `nothing was compared, because the keys were written less than ${KV.CONSISTENCY_SECONDS} seconds ago. Refresh again later`;

/** Returns what a refresh of these entries doesn't compare, and how to compare it. Undefined if it compares everything. */
export function uncompared({ verify, keys, bytes }: JsonObject): string | undefined {
  const isSmall = Number(keys ?? 0) <= COMPARED.keys && Number(bytes ?? 0) <= COMPARED.bytes;
  if (verify === "values" || (verify === undefined && isSmall)) return undefined;
  const what = verify === "none" ? "nothing was compared" : "the values weren't compared";
  return `${what}. To compare keys and values, set verify: "values", run \`pulumi up\`, then refresh again`;
}

/** @param who the beginning of each message, such as `KvEntries products`. */
export function entriesMessages(members: unknown, who: string): Record<"infos" | "warnings", string[]> {
  const found = z.object(entriesRecord).parse(members);
  const { added, changed, removed, expires, expiry = "", prunes, overwrites, adopts, unchecked = 0 } = found;
  const infos: string[] = [];
  const warnings: string[] = [];
  if (added !== undefined && changed !== undefined && removed !== undefined)
    infos.push(`${who}: ${summaryOf({ added, changed, removed })}`);
  if (unchecked > 0)
    infos.push(
      `${who}: the preview looked up only the first new keys. ${formatNumber(unchecked)} ${unchecked === 1 ? "other" : "others"} may already exist.`,
    );
  if (isAny(adopts))
    infos.push(
      `${who}: ${formatNumber(adopts.count)} declared ${adopts.count === 1 ? "key already exists" : "keys already exist"} with matching content${inParentheses(adopts)} and ${adopts.count === 1 ? "is" : "are"} adopted. Destroying the resource deletes ${themOf(adopts)}.`,
    );
  if (isAny(overwrites))
    warnings.push(
      `${who}: ${formatNumber(overwrites.count)} declared ${overwrites.count === 1 ? "key already exists" : "keys already exist"}${inParentheses(overwrites)}; adopt: "takeOver" overwrites ${themOf(overwrites)}${overwrittenLoss(found)}. Destroying the resource deletes ${themOf(overwrites)}.`,
    );
  if (isAny(expires))
    warnings.push(
      `${who}: ${pluralize(expires.count, "key")} that lived longer before${inParentheses(expires)} ${expiryText(expires.count, expiry)}`,
    );
  if (isAny(prunes))
    warnings.push(
      `${who}: prune deletes ${pluralize(prunes.count, "key")} that others wrote${prunes.names.length === 0 ? "" : `: ${quoted(prunes)}`}`,
    );
  return { infos, warnings };
}

/** Returns what overwritten keys lose besides their values, to append to a sentence. */
export function overwrittenLoss({
  overwrittenExpire: expire = 0,
  overwrittenExpiry: expiry = "",
  overwrittenEmptied: emptied = 0,
}: Pick<EntriesImpact, "overwrittenExpire" | "overwrittenExpiry" | "overwrittenEmptied">): string {
  const expiring = expire === 0 ? "" : `, ${formatNumber(expire)} of them ${expiryText(expire, expiry)}`;
  return `${expiring}${emptied === 0 ? "" : `, ${formatNumber(emptied)} of them with an empty value`}`;
}

/** Returns what a sentence says about keys that expire, after their number. */
export const expiryText = (count: number, expiry: string): string =>
  `will expire${count === 1 ? "" : ", the first"} ${expiry}`;

const isAny = (list: Listed | undefined): list is Listed => list !== undefined && list.count > 0;
const themOf = ({ count }: Listed): string => (count === 1 ? "it" : "them");
const inParentheses = (list: Listed): string => (list.names.length === 0 ? "" : ` (${quoted(list)})`);

function quoted({ names, count }: Listed): string {
  const text = quoteKeys(names);
  return count > names.length && !text.endsWith("…") ? `${text}, …` : text;
}

/** How many keys of each kind of change the summary names. */
const SHOWN_KEYS = 10;

/** Returns the preview's summary: `+12 ~3 -1 (+a, +b, ~c, -d …)`. */
export function summaryOf({
  added,
  changed,
  removed,
}: Record<"added" | "changed" | "removed", Listed>): string {
  const shown = Object.entries({ "+": added, "~": changed, "-": removed }).flatMap(([sign, { names }]) =>
    names.slice(0, SHOWN_KEYS).map((key) => `${sign}${key}`),
  );
  const total = added.count + changed.count + removed.count;
  const named = shown.length === 0 ? "" : ` (${shown.join(", ")}${total > shown.length ? " …" : ""})`;
  return `+${added.count} ~${changed.count} -${removed.count}${named}`;
}
