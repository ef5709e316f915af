import { failures } from "../envelope";
import type { Connection, Cookie, Detected, Script } from "./entities";
import { newConnection, newCookie, newScript } from "./seed";

/**
 * Detections that a test or a person adds to a zone. A record with an existing ID changes only the given properties.
 * Any other record is new, and its omitted properties are derived from its URL or name.
 */
export interface Detection {
  readonly scripts?: readonly Partial<Script>[] | undefined;
  readonly connections?: readonly Partial<Connection>[] | undefined;
  readonly cookies?: readonly Partial<Cookie>[] | undefined;
}

/** "merge" keeps the existing records, "replace" removes them. */
export type DetectMode = "merge" | "replace";

export function detect(detected: Detected, zone: string, detection: Detection, mode: DetectMode): Detected {
  const host = `www.${zone}`;
  return {
    scripts: upsert(detected.scripts, detection.scripts, mode, (patch, known) => {
      const old = known ?? newScript(zone, { host, score: 90, ...patch, url: required(patch.url, "url") });
      return withVersion({ ...old, ...patch }, patch);
    }),
    connections: upsert(detected.connections, detection.connections, mode, (patch, known) => {
      const old =
        known ?? newConnection(zone, "connection", { host, ...patch, url: required(patch.url, "url") });
      return { ...old, ...patch };
    }),
    cookies: upsert(detected.cookies, detection.cookies, mode, (patch, known) => {
      const old = known ?? newCookie(zone, { host, ...patch, name: required(patch.name, "name") });
      return { ...old, ...patch };
    }),
  };
}

function upsert<T extends { readonly id: string }>(
  records: T[],
  patches: readonly Partial<T>[] | undefined,
  mode: DetectMode,
  apply: (patch: Partial<T>, known: T | undefined) => T,
): T[] {
  if (patches === undefined) return records;
  const changed = patches.map((patch) =>
    apply(
      patch,
      records.find(({ id }) => id === patch.id),
    ),
  );
  if (mode === "replace") return changed;
  return [...records.filter(({ id }) => !changed.some((each) => each.id === id)), ...changed];
}

/** Adds a version if a script's content or score changed. The newest version comes first. */
function withVersion(changed: Script, patch: Partial<Script>): Script {
  const newest = changed.versions[0];
  const same = newest?.hash === changed.hash && newest.js_integrity_score === changed.js_integrity_score;
  if (patch.versions !== undefined || same) return changed;
  const { hash, js_integrity_score, obfuscation_score, dataflow_score } = changed;
  const { cryptomining_score, magecart_score, malware_score, fetched_at } = changed;
  const scores = { obfuscation_score, dataflow_score, cryptomining_score, magecart_score, malware_score };
  return { ...changed, versions: [{ hash, js_integrity_score, ...scores, fetched_at }, ...changed.versions] };
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined) return value;
  throw failures.bodyInvalid(`a new record needs a ${name}`);
}
