import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { ApiError, isUnroutable, unlessAbsent } from "../api/errors";
import { entryPointOf, entryPointPath, rulesetsPath } from "../rulesets/entry-point";
import { omitAbsent } from "../basics/json";
import { wireRule, type WireRule } from "./rules";
import { decideState, RETIRED, type MigrationState } from "./state";

/** The migration's API calls, and the entry point ruleset that it writes. */

/** The value of the PUT's `waf_migration` parameter: `validation`, or `pending` to finish. */
export type Mode = "validation" | "pending";

/** The entry point's name and rules, as read, proposed or sent. */
export interface Configuration {
  readonly name?: string;
  readonly rules: readonly WireRule[];
}

/** A version of the entry point. */
export interface EntryPoint extends Configuration {
  readonly id?: string;
  /**
   * The version number. Every write increases it by one, no matter who writes. Absent if Cloudflare returns no number.
   */
  readonly version?: number;
}

const PHASE_TWO = { phase_two: 1 };

/** Thrown once Cloudflare has removed the migration's API endpoints, as it has announced. */
export class RetiredError extends Error {
  override readonly name = "RetiredError";
}

const check = z.looseObject({
  compatible: z.boolean().nullish(),
  migration_state: z.string().nullish(),
});

export interface Verdict {
  /** Whether Cloudflare reports the zone as compatible. Undefined if Cloudflare doesn't say. */
  readonly compatible: boolean | undefined;
  readonly state: string | undefined;
}

export async function readCheck(api: EdgeApi, zone: string): Promise<Verdict> {
  const what = `Checking whether zone ${zone} can migrate`;
  const answer = await unlessRetired(api, zone, () =>
    api.get(`/zones/${zone}/waf_migration/check`, { what, schema: check, query: PHASE_TWO }),
  );
  return { compatible: answer.compatible ?? undefined, state: answer.migration_state ?? undefined };
}

const members = { name: z.string().nullish(), rules: z.array(wireRule).nullish() };

const configurationOf = ({ name, rules }: z.infer<z.ZodObject<typeof members>>): Configuration => ({
  ...(name ? { name } : {}),
  rules: rules ?? [],
});

const configuration = z.looseObject(members).transform(configurationOf);

/** The schema of an entry point, with the fields that the migration uses. */
export const entryPoint = z
  .looseObject({
    ...members,
    id: z.string().nullish(),
    version: z.union([z.string(), z.number()]).nullish(),
  })
  .transform(({ id, version, ...raw }): EntryPoint => ({
    ...configurationOf(raw),
    ...(typeof id === "string" ? { id } : {}),
    ...(Number.isInteger(Number(version ?? NaN)) ? { version: Number(version) } : {}),
  }));

/** Reads the new configuration that Cloudflare proposes, based on the zone's previous settings. */
export async function readProposed(api: EdgeApi, zone: string): Promise<Configuration> {
  const what = `Reading the configuration proposed for zone ${zone}`;
  return await unlessRetired(api, zone, () =>
    api.get(`/zones/${zone}/waf_migration/config`, { what, schema: configuration, query: PHASE_TWO }),
  );
}

/** Reads the migration status without parsing it, because Cloudflare documents none of its fields. */
export async function readStatus(api: EdgeApi, zone: string): Promise<unknown> {
  const what = `Reading the migration status of zone ${zone}`;
  return await unlessRetired(api, zone, () =>
    api.get(`/zones/${zone}/waf_migration/status`, { what, schema: z.unknown() }),
  );
}

/** Reads the zone's state. Takes one request, or two if the status doesn't include the state. */
export async function readState(api: EdgeApi, zone: string): Promise<MigrationState> {
  try {
    const status = await readStatus(api, zone);
    const state = decideState(status);
    if (state.phase !== "other" || state.raw !== undefined) return state;
    return decideState(status, (await readCheck(api, zone)).state);
  } catch (error) {
    if (error instanceof RetiredError) return RETIRED;
    throw error;
  }
}

/** Reads the zone's entry point. Undefined if the zone never had one. */
export function readEntryPoint(api: EdgeApi, zone: string): Promise<EntryPoint | undefined> {
  const what = `Reading the entry point of zone ${zone}`;
  return unlessAbsent(() =>
    api.get(entryPointPath(entryPointOf({ zoneId: zone })), { what, schema: entryPoint }),
  );
}

/** Reads the rules of an earlier version (`GET /zones/{zone_id}/rulesets/{ruleset_id}/versions/{ruleset_version}`). */
export async function readVersion(
  api: EdgeApi,
  zone: string,
  id: string,
  version: number,
): Promise<readonly WireRule[]> {
  const { rules } = await api.get(`${rulesetsPath({ kind: "zone", id: zone })}/${id}/versions/${version}`, {
    what: `Reading version ${version} of the entry point of zone ${zone}`,
    schema: entryPoint,
  });
  return rules;
}

/**
 * Sends the configuration once, without retries. The caller reads the zone's state to decide whether to send it again.
 */
export async function putConfiguration(
  api: EdgeApi,
  zone: string,
  mode: Mode,
  { name, rules }: Configuration,
): Promise<void> {
  await unlessRetired(api, zone, () =>
    api.put(entryPointPath(entryPointOf({ zoneId: zone })), {
      what: `Sending the configuration of zone ${zone} with waf_migration=${mode}`,
      schema: z.unknown(), // Cloudflare doesn't document the response to this PUT.
      query: { waf_migration: mode, ...PHASE_TWO },
      body: { ...omitAbsent({ name }), rules },
      immediate: true,
      advice: ({ status }) => (status === 400 ? REFUSED : undefined),
      entitlement: "this step (validation requires an Enterprise zone)",
    }),
  );
}

const REFUSED =
  'Validation requires an Enterprise zone. If it is one, set target: "assessed" and compare its findings with the rules that were sent.';

/** Throws RetiredError if one of the migration's endpoints returns 404 or 410 although the zone exists. */
async function unlessRetired<T>(api: EdgeApi, zone: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const gone = error.status === 404 || error.status === 410 || isUnroutable(error);
    if (!gone) throw error;
    // If the zone or the base URL is wrong, reading the entry point fails the same way.
    if (error.init.foreign === true || isUnroutable(error)) await readEntryPoint(api, zone);
    throw new RetiredError(
      `${error.message} Cloudflare has retired the migration, so zones can no longer be migrated.`,
    );
  }
}
