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

export type { Detections, SeenConnection, SeenCookie, SeenScript } from "./snapshot";

/** Saves detections to a file, and reads such files. */
/** Options of `saveDetections`: which detections to save. */
export interface SaveDetectionsOptions extends DetectedFilters, LookupOptions {
  /**
   * The kinds of detections to save. Connections and cookies require the Business plan.
   *
   * @defaultValue `["scripts"]`
   */
  readonly include?: readonly LiteralUnion<DetectionKind>[];
}

/** A kind of detection. */
export type DetectionKind = (typeof KINDS)[number];
const KINDS = ["scripts", "connections", "cookies"] as const;

/**
 * Saves the detections of a zone to a file that you commit.
 *
 * A policy that `scriptSources` builds from the file changes only when the file does, in a diff that you can review.
 * The file is sorted, so the same detections always produce the same bytes. A file that's up to date isn't rewritten.
 * Saves all active detections, including duplicates and `/cdn-cgi/` paths; `hosts`, `status` and `filters` change that.
 * The command `edgeguard detections save` does the same.
 *
 * @param zoneId - The zone's ID (32 hex digits).
 * @param file - Relative to the working directory: in a program, the directory of Pulumi.yaml or of its `main`.
 * @returns The content of the file.
 *
 * @example Save scripts, including infrequent ones
 * ```ts
 * import { saveDetections } from "pulumi-edgeguard";
 *
 * void saveDetections("0da42c8d2132a9ddaf714f9e7c920711", "detections.json", {
 *   status: ["active", "infrequent"],
 * });
 * ```
 *
 * @throws `LookupError` if an argument is invalid or the file can't be written.
 * @throws If the token lacks Page Shield Read, or the zone's plan doesn't include a kind. The file stays unchanged.
 * @see https://developers.cloudflare.com/page-shield/detection/
 * @see `GET /zones/{zone_id}/page_shield/scripts`
 * @see `GET /zones/{zone_id}/page_shield/connections`
 * @see `GET /zones/{zone_id}/page_shield/cookies`
 */
export function saveDetections(
  zoneId: string,
  file: string,
  options: SaveDetectionsOptions = {},
): Promise<Detections> {
  return ask(options, async (host) => {
    const { include, hosts, status, filters } = options;
    const detections = await collectDetections(host, { zoneId, include, hosts, status, filters });
    await writeDetections(file, detections);
    return detections;
  });
}

/** The zone and the options of `saveDetections`. Each option may be undefined. */
type CollectOptions = { readonly zoneId: string } & {
  readonly [K in "include" | keyof DetectedFilters]?: SaveDetectionsOptions[K] | undefined;
};

/** Reads the detections that `saveDetections` saves. */
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

const includeArg = z
  .array(z.enum(KINDS))
  .min(1, "is empty. List at least one of: scripts, connections, cookies")
  .optional();

/**
 * Reads a file that `saveDetections` or `edgeguard detections save` wrote. Sends no requests.
 *
 * @param file - Relative to the working directory: in a program, the directory of Pulumi.yaml or of its `main`.
 *
 * @example Use saved detections in a program
 * ```ts
 * import { readDetections } from "pulumi-edgeguard";
 *
 * export const scripts = readDetections("detections.json").scripts?.length;
 * ```
 *
 * @throws `LookupError` if the file is missing, isn't a snapshot of detections, or was written by a later version.
 */
export function readDetections(file: string): Detections {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new LookupError(
      `can't read ${path.resolve(file)} (${errorCode(error)}). Create it with \`edgeguard detections save --zone <zone ID> --out ${file}\`.`,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new LookupError(
      `${path.resolve(file)} is not valid JSON (${detail}). Resolve any merge conflict, or save it again with \`edgeguard detections save\`.`,
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

/**
 * Sorts records by their properties in the order in which they're written: URL or name first, then host, then the rest.
 */
function sortRecords<T>(records: readonly T[]): T[] {
  return records
    .map((record) => ({ record, key: JSON.stringify(record) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ record }) => record);
}

/**
 * Writes the file atomically. If the write is interrupted, the old file stays.
 *
 * @returns false if the file already had this content.
 * @throws LookupError if it can't be written.
 */
export async function writeDetections(file: string, detections: Detections): Promise<boolean> {
  const text = `${JSON.stringify(detections, undefined, 2)}\n`;
  // If the file can't be read, it's replaced, or the write fails.
  const current = await readFile(file, "utf8").catch(() => undefined);
  if (current === text) return false;
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text);
    await rename(draft, file);
    return true;
  } catch (error) {
    await rm(draft, { force: true });
    throw new LookupError(
      `can't write ${path.resolve(file)} (${errorCode(error)}). Check that its directory exists and that you can write to it.`,
    );
  }
}

function errorCode(error: unknown): string {
  return isJsonObject(error) && typeof error["code"] === "string" ? error["code"] : String(error);
}
