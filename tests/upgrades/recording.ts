import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { isJsonObject, sameJson, type JsonObject } from "../../provider/basics/json";
import type { Recorded } from "../support/operation";
import { REPOSITORY } from "../support/repository";

/**
 * What earlier versions left behind: for each resource, what the engine recorded of the class and of the plugin's
 * resource, and what the API has. Until its version is released, a recording is replaced when a form in the state
 * changes; after that, it never changes:
 *
 *     npx ts-node --transpile-only tests/upgrades/record.ts
 */

export const RECORDINGS = join(REPOSITORY, "tests/upgrades/recorded");

export interface RecordedResource {
  /** What the program declares. */
  readonly args: JsonObject;
  readonly state: Recorded;
  /** What the API has beside its seeded data. */
  readonly api: JsonObject;
}

export interface Recording {
  readonly version: string;
  readonly surfaces: Readonly<Record<"classes" | "plugin", Readonly<Record<string, RecordedResource>>>>;
}

export const recordings: readonly Recording[] = readdirSync(RECORDINGS)
  .sort()
  .map((file) => JSON.parse(readFileSync(join(RECORDINGS, file), "utf8")) as Recording); // Our own file.

/** What a destroy sends: it restores a zone's settings, only forgets a migration, and deletes keys in bulk. */
export const DELETES: Readonly<Record<string, readonly string[]>> = {
  PageShieldSettings: ["PUT"],
  WafMigration: [],
  KvEntries: ["POST"],
};

/** Runs work on an API that has what a recorded resource left there. */
export async function onApiOf(
  { api: left }: RecordedResource,
  work: (api: LocalApi) => Promise<void>,
): Promise<void> {
  const api = await startLocalApi();
  try {
    const seeded = api.snapshot();
    const merged = Object.entries(left).map(([part, has]) => {
      const own: unknown = Reflect.get(seeded, part);
      return [part, isJsonObject(own) && isJsonObject(has) ? { ...own, ...has } : has] as const;
    });
    api.restore({ ...seeded, ...Object.fromEntries(merged) });
    await work(api);
  } finally {
    await api.close();
  }
}

/** Returns what the API has beside what a new one has. */
export async function leftIn(api: LocalApi): Promise<JsonObject> {
  const fresh = await startLocalApi();
  const before: JsonObject = { ...fresh.snapshot() };
  await fresh.close();
  const changed = Object.entries(api.snapshot()).filter(([part, has]) => !sameJson(has, before[part]));
  return Object.fromEntries(
    changed.map(([part, has]: [string, unknown]) => {
      const own = before[part];
      if (!isJsonObject(has) || !isJsonObject(own)) return [part, has];
      return [
        part,
        Object.fromEntries(Object.entries(has).filter(([key, value]) => !sameJson(value, own[key]))),
      ];
    }),
  );
}
