import type { YAMLMap } from "yaml";
import { schemaUrl } from "../../basics/published";
import { LookupError } from "../../runtime/lookup";
import { escapeInvisible } from "../../basics/printable";
import { omit, sameJson } from "../../basics/json";
import { parseInventory, VERSION, yaml, type ScriptInventory } from "./file";
import { firstPages, newScripts, type ZoneReading } from "./judge";
import type { InventoriedScript } from "./model";
import { parseScriptUrl } from "./script-pattern";

/**
 * Adds new scripts to an inventory file, so that you approve them by reviewing a diff. The rest of the file keeps its
 * meaning and its comments, but not every space.
 */

/** An entry to add. */
export interface Proposal {
  readonly script: string;
  /** The hash to pin. Undefined if none or several were seen, or if the content may change under this URL. */
  readonly hash: string | undefined;
  /** The number of different hashes that were seen. */
  readonly hashes: number;
  /** Where the script was seen, for the reviewer. */
  readonly seen: readonly InventoriedScript[];
}

/** The entries to add, and the scripts that don't get an entry. */
export interface Proposals {
  readonly entries: readonly Proposal[];
  readonly malicious: readonly string[];
  /** URLs that no entry can cover. */
  readonly unusable: readonly string[];
}

/**
 * Whether a path names a version or a digest of the script. Under any other URL, a vendor may change the script at any
 * time.
 */
const VERSIONED = /\d\.\d|[./_-]v?(?=[a-f]*\d)[\da-f]{6,}(?=[./_-]|$)/i;

/**
 * Finds the scripts that no entry covers, each only once even if several zones load it.
 *
 * @param pinHashes whether to pin the hash of a script even if its URL names no version.
 */
export function findProposals(
  inventory: ScriptInventory,
  zones: readonly ZoneReading[],
  { threshold, pinHashes }: { readonly threshold: number; readonly pinHashes: boolean },
): Proposals {
  const byUrl = new Map<string, InventoriedScript[]>();
  const malicious = new Set<string>();
  const unusable = new Set<string>();
  for (const { seen, isThreat } of newScripts(inventory, zones, threshold)) {
    const url = parseScriptUrl(seen.url);
    if (isThreat) malicious.add(seen.url);
    else if (url === undefined || url.hasUser) unusable.add(seen.url);
    else byUrl.set(url.text, [...(byUrl.get(url.text) ?? []), seen]);
  }
  const entries = [...byUrl]
    .filter(([, seen]) => !seen.some(({ url }) => malicious.has(url)))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([script, seen]): Proposal => {
      const hashes = [...new Set(seen.flatMap((each) => each.hashes))];
      const mayPin = pinHashes || VERSIONED.test(parseScriptUrl(script)?.address?.path ?? "");
      const hash = hashes.length === 1 && mayPin ? hashes[0] : undefined;
      return { script, seen, hash, hashes: hashes.length };
    });
  return { entries, malicious: [...malicious], unusable: [...unusable] };
}

/** The values that the command's options set in every new entry. */
export interface Stated {
  readonly owner: string | undefined;
  readonly justification: string | undefined;
}

/** Returns an inventory without entries, in the format that the file name's extension implies. */
export function emptyInventory(file: string): string {
  const url = schemaUrl("script-inventory.v1");
  return file.endsWith(".json")
    ? `${JSON.stringify({ $schema: url, version: VERSION, scripts: [] }, undefined, 2)}\n`
    : `# yaml-language-server: $schema=${url}\nversion: ${VERSION}\nscripts: []\n`;
}

/**
 * Adds the entries at the end of the list.
 *
 * @param text the inventory's file.
 * @throws LookupError if that isn't possible without changing the other entries.
 */
export function addEntries(
  { file, entries: before }: ScriptInventory,
  text: string,
  entries: readonly Proposal[],
  stated: Stated,
): string {
  if (entries.length === 0) return text;
  const added = insert(file, text, entries, stated);
  // Whatever the file's style: the others are as they were, and nothing new is approved.
  const after = parseInventory(file, Buffer.from(added)).entries;
  const plain = (all: typeof before): object[] => all.map((entry) => omit({ ...entry }, ["line"]));
  const kept = plain(after.slice(0, before.length));
  const fresh = after.slice(before.length);
  if (!sameJson(kept, plain(before)) || fresh.length !== entries.length || fresh.some((one) => one.approval))
    throw new LookupError(
      `${file}: the new entries can't be added without changing existing ones. Add them manually.`,
    );
  return added;
}

function insert(file: string, text: string, entries: readonly Proposal[], stated: Stated): string {
  const { parseDocument, isSeq } = yaml();
  const document = parseDocument(text);
  const list = document.get("scripts");
  if (!isSeq(list)) throw new LookupError(`${file}: has no list named scripts.`);
  list.flow = false; // An entry per line can be reviewed.
  for (const entry of entries) {
    const node: YAMLMap = document.createNode(entryOf(entry, stated));
    node.commentBefore = ` ${escapeInvisible(factsAbout(entry))}.`;
    const approval = document.createNode(null);
    approval.comment = " To approve: { by: <name>, on: <YYYY-MM-DD>, until: <YYYY-MM-DD> }";
    node.set("approval", approval);
    list.add(node);
  }
  if (file.endsWith(".json")) return `${JSON.stringify(document, undefined, 2)}\n`;
  return document.toString({ lineWidth: 0 });
}

function entryOf(
  { script, hash }: Proposal,
  { owner = "", justification = "" }: Stated,
): Record<string, unknown> {
  return { script, justification, owner, approval: null, ...(hash === undefined ? {} : { hash }) };
}

/** What was seen of a script, for the reviewer. */
function factsAbout({ hash, hashes, seen }: Proposal): string {
  const [first] = seen;
  const pages = [...new Set(seen.flatMap((each) => each.pages))];
  return [
    `Seen on ${firstPages(pages)}`,
    ...(first?.firstSeenAt === undefined ? [] : [`first on ${first.firstSeenAt.slice(0, 10)}`]),
    first?.score === undefined ? "without a score" : `score ${first.score}`,
    ...(hashes > 1 ? [`with ${hashes} different hashes, so no hash is filled in`] : []),
    ...(hashes === 1 && hash === undefined ? ["without a version in its URL, so no hash is filled in"] : []),
  ].join(", ");
}
