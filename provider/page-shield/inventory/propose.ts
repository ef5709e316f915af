import type { YAMLSeq } from "yaml";
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
 * bytes.
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

/** Inserts the entries as text, because serializing the parsed document would change the style of other lines. */
function insert(file: string, given: string, entries: readonly Proposal[], stated: Stated): string {
  const eol = given.includes("\r\n") ? "\r\n" : "\n";
  const text = given.endsWith("\n") ? given : `${given}${eol}`;
  const { parseDocument, isSeq, isNode } = yaml();
  const list = parseDocument(text).get("scripts", true);
  if (!isNode(list) || !list.range) throw new LookupError(`${file}: has no list named scripts.`);
  const items = isSeq(list) ? list.items : [];
  const [start, end] = list.range;
  if (file.endsWith(".json")) {
    const last = items.at(-1);
    const indentAt = (offset: number): string =>
      /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? "";
    const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
    const outer = indentAt(start);
    const objects = entries.map((entry) => jsonLines(entry, stated, unit, `${outer}${unit}`, eol));
    const added = objects.join(`,${eol}`);
    if (!isNode(last) || !last.range)
      return `${text.slice(0, start)}[${eol}${added}${eol}${outer}]${text.slice(end)}`;
    return `${text.slice(0, last.range[1])},${eol}${added}${text.slice(last.range[1])}`;
  }
  const lines = (indent: string): string =>
    entries
      .flatMap((entry) => yamlLines(entry, stated))
      .map((line) => `${indent}${line}${eol}`)
      .join("");
  if (!isSeq(list) || items.length === 0) {
    const rest = text
      .slice(end)
      .replace(/^[ \t]+(?=\r?\n)/, "")
      .replace(/^\r?\n/, "");
    return `${text.slice(0, start).trimEnd()}${eol}${lines("  ")}${rest}`;
  }
  if (list.flow === true) {
    throw new LookupError(
      `${file}: scripts is an inline list ([ ]), which can't be reviewed line by line. Write it with a dash before each entry.`,
    );
  }
  const dash = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const at = endOfList(text, list, dash.length);
  return `${text.slice(0, at)}${lines(dash)}${text.slice(at)}`;
}

/** Finds the end of the list: the start of the line after the last entry and any indented comments below it. */
function endOfList(text: string, list: YAMLSeq, dashColumn: number): number {
  const last = list.items.at(-1);
  const { isNode } = yaml();
  const end = isNode(last) && last.range ? last.range[1] : (list.range?.[1] ?? 0);
  const lineEnd = (from: number): number => {
    const found = text.indexOf("\n", from);
    return found === -1 ? text.length : found + 1;
  };
  let at = text[end - 1] === "\n" ? end : lineEnd(end);
  for (let next = at; next < text.length; next = lineEnd(next)) {
    const line = text.slice(next, lineEnd(next));
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    if (line.trim() === "") continue;
    if (!line.trimStart().startsWith("#") || indent <= dashColumn) break;
    at = lineEnd(next);
  }
  return at;
}

function yamlLines({ script, hash, hashes, seen }: Proposal, { owner, justification }: Stated): string[] {
  const [first] = seen;
  const pages = [...new Set(seen.flatMap((each) => each.pages))];
  const facts = [
    `Seen on ${firstPages(pages)}`,
    ...(first?.firstSeenAt === undefined ? [] : [`first on ${first.firstSeenAt.slice(0, 10)}`]),
    first?.score === undefined ? "without a score" : `score ${first.score}`,
    ...(hashes > 1 ? [`with ${hashes} different hashes, so no hash is filled in`] : []),
    ...(hashes === 1 && hash === undefined ? ["without a version in its URL, so no hash is filled in"] : []),
  ];
  return [
    `# ${escapeInvisible(facts.join(", "))}.`,
    `- script: ${scalar(script)}`,
    `  justification: ${scalar(justification ?? "")}`,
    `  owner: ${scalar(owner ?? "")}`,
    "  approval: null # To approve: { by: <name>, on: <YYYY-MM-DD>, until: <YYYY-MM-DD> }",
    ...(hash === undefined ? [] : [`  hash: ${scalar(hash)}`]),
  ];
}

function jsonLines(
  { script, hash }: Proposal,
  { owner, justification }: Stated,
  unit: string,
  indent: string,
  eol: string,
): string {
  const entry = {
    script,
    justification: justification ?? "",
    owner: owner ?? "",
    approval: null,
    ...(hash === undefined ? {} : { hash }),
  };
  const lines = JSON.stringify(entry, undefined, unit).split("\n");
  return lines.map((line) => indent + line).join(eol);
}

/** Formats text as a YAML scalar on one line. */
function scalar(text: string): string {
  return yaml().stringify(text, { lineWidth: 0, blockQuote: false }).trimEnd();
}
