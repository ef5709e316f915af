import { readFileSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { zoneId as zone, type LiteralUnion } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { ask, LookupError, readArgs, type LookupOptions } from "../runtime/lookup";
import { omitAbsent } from "../runtime/members";
import { isJsonObject } from "../runtime/values";
import {
  CONNECTIONS,
  COOKIES,
  filterShape,
  listDetected,
  SCRIPTS,
  type DetectedRecord,
  type DetectedKind,
} from "./detected";
import type { Connection, Cookie, DetectedFilters, Script } from "./records";
import {
  toDetections,
  VERSION,
  type Detections,
  type SeenConnection,
  type SeenCookie,
  type SeenScript,
} from "./snapshot";

export type { Detections, SeenScript } from "./snapshot";

export interface SaveDetectionsOptions extends DetectedFilters, LookupOptions {
  /** Kinds to keep. Connections and cookies need the Business plan. Default `["scripts"]`. */
  readonly include?: readonly LiteralUnion<DetectionKind>[];
}

export type DetectionKind = (typeof KINDS)[number];
const KINDS = ["scripts", "connections", "cookies"] as const;

/**
 * Writes what a zone was seen to load into a file that is meant to be committed: a policy built from it (see
 * `scriptSources`) then changes by a reviewed diff, never by itself. Sorted, so that the same findings give the same
 * bytes; a file that holds them already is left alone. All active records are read, duplicates and `/cdn-cgi/` paths
 * among them; `hosts`, `status` and `filters` narrow or widen that. At a prompt, `edgeguard detections save` does it.
 *
 *     await saveDetections("0da4…", "detections.json", { status: ["active", "infrequent"] });
 *
 * @param file relative to the working directory, which in a program is that of Pulumi.yaml or of its `main`.
 * @returns what the file holds.
 * @throws LookupError when an argument is wrong or the file cannot be written.
 * @throws when the token lacks Page Shield Read, or the plan lacks a kind; the file is then as it was.
 */
export function saveDetections(
  zoneId: string,
  file: string,
  options: SaveDetectionsOptions = {},
): Promise<Detections> {
  return ask(options, async (host) => {
    const { include, hosts, status, filters } = options;
    const found = await collectDetections(host, { zoneId, include, hosts, status, filters });
    await writeDetections(file, found);
    return found;
  });
}

/** What to collect: the options of `saveDetections`, each perhaps undefined. */
type CollectOptions = { readonly zoneId: string } & {
  readonly [K in "include" | keyof DetectedFilters]?: SaveDetectionsOptions[K] | undefined;
};

/** Reads what `saveDetections` writes. */
export async function collectDetections(host: Host, wanted: CollectOptions): Promise<Detections> {
  const shape = { zoneId: zone, include: includeArg, ...filterShape };
  const { include = ["scripts"], ...listing } = readArgs("saveDetections", shape, wanted);
  const read = async <T extends DetectedRecord, S>(
    kind: DetectedKind<T>,
    toSeen: (record: T) => S,
  ): Promise<S[]> => {
    const all = { ...listing, filters: { ...kind.includeAll, ...listing.filters } };
    return sortRecords((await listDetected(host, kind, all)).items.map(toSeen));
  };
  return {
    version: VERSION,
    zoneId: listing.zoneId,
    ...(include.includes("scripts") ? { scripts: await read(SCRIPTS, toSeenScript) } : {}),
    ...(include.includes("connections") ? { connections: await read(CONNECTIONS, toSeenConnection) } : {}),
    ...(include.includes("cookies") ? { cookies: await read(COOKIES, toSeenCookie) } : {}),
  };
}

const includeArg = z.array(z.enum(KINDS)).min(1, "has to name at least one kind; it is empty").optional();

/**
 * The snapshot in a file that `saveDetections` wrote.
 *
 * @param file relative to the working directory, which in a program is that of Pulumi.yaml or of its `main`.
 * @throws LookupError when the file is missing, is no snapshot, or was written by a later version.
 */
export function readDetections(file: string): Detections {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new LookupError(
      `${path.resolve(file)} cannot be read (${errorCode(error)}): write it with \`edgeguard detections save --zone <zone ID> --out ${file}\`.`,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const where = error instanceof Error ? error.message : String(error);
    throw new LookupError(
      `${path.resolve(file)} is not JSON (${where}): resolve what a merge left, or write it again with \`edgeguard detections save\`.`,
    );
  }
  return toDetections(json, path.resolve(file));
}

function toSeenScript(script: Script): SeenScript {
  return { ...toSeenConnection(script), ...omitAbsent({ jsIntegrityScore: script.jsIntegrityScore }) };
}

function toSeenConnection(record: Connection): SeenConnection {
  return omitAbsent({
    url: record.url,
    host: record.host,
    firstPageUrl: record.firstPageUrl,
    firstSeenAt: record.firstSeenAt,
    domainReportedMalicious: record.domainReportedMalicious === true ? true : undefined,
    maliciousDomainCategories: sortedCategories(record.maliciousDomainCategories),
    urlReportedMalicious: record.urlReportedMalicious === true ? true : undefined,
    maliciousUrlCategories: sortedCategories(record.maliciousUrlCategories),
  });
}

function toSeenCookie(cookie: Cookie): SeenCookie {
  return omitAbsent({
    name: cookie.name,
    host: cookie.host,
    type: cookie.type,
    domainAttribute: cookie.domainAttribute,
    pathAttribute: cookie.pathAttribute,
    sameSiteAttribute: cookie.sameSiteAttribute,
    secureAttribute: cookie.secureAttribute,
    httpOnlyAttribute: cookie.httpOnlyAttribute,
    firstSeenAt: cookie.firstSeenAt,
  });
}

function sortedCategories(categories: readonly string[] | undefined): string[] | undefined {
  return categories === undefined || categories.length === 0 ? undefined : [...categories].sort();
}

/** By URL or name, then host: each record begins with the two. Alike in both, by all the rest. */
function sortRecords<T>(records: readonly T[]): T[] {
  return records
    .map((record) => ({ record, key: JSON.stringify(record) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ record }) => record);
}

/**
 * Leaves the old file or the new one, never half of one.
 *
 * @returns false where the file held just that already.
 * @throws LookupError when it cannot be written.
 */
export async function writeDetections(file: string, found: Detections): Promise<boolean> {
  const text = `${JSON.stringify(found, undefined, 2)}\n`;
  const held = await readFile(file, "utf8").catch(() => undefined); // A file that cannot be read is replaced, or the write says why not.
  if (held === text) return false;
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text);
    await rename(draft, file);
    return true;
  } catch (error) {
    await rm(draft, { force: true });
    throw new LookupError(
      `${path.resolve(file)} cannot be written (${errorCode(error)}): check that its folder exists and may be written to.`,
    );
  }
}

function errorCode(error: unknown): string {
  return isJsonObject(error) && typeof error["code"] === "string" ? error["code"] : String(error);
}
