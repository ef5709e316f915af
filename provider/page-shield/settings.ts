import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { mayHaveBeenApplied } from "../api/errors";
import { CompositeId } from "../runtime/composite-id";
import { ID, type LiteralUnion } from "../runtime/fields";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { omitAbsent, pick, type JsonObject } from "../basics/json";
import { defineResource } from "../runtime/resource";
import type { Unmanaged } from "../runtime/unmanaged";
import { SEEN, settingsRecord, type SettingsImpact } from "./impact";
import { readSettings, type SettingsAnswer } from "./wire";

/** A zone's Page Shield settings. */
export interface PageShieldValues {
  /** Whether Page Shield monitors the zone's pages. */
  readonly enabled: boolean;
  /** Whether browsers report to Cloudflare's endpoint. Absent if Cloudflare doesn't report it. */
  readonly useReportingEndpoint?: boolean;
  /**
   * Whether Page Shield records the path of a connection's URL, not only the host. Absent if Cloudflare doesn't report
   * it.
   */
  readonly useConnectionUrlPath?: boolean;
}

const settingsShape = z.object({
  enabled: z.boolean(),
  useReportingEndpoint: z.boolean().exactOptional(),
  useConnectionUrlPath: z.boolean().exactOptional(),
}) satisfies z.ZodType<PageShieldValues>;
type Values = z.infer<typeof settingsShape>;

const args = z.object({
  zoneId: ID.zone,
  ...settingsShape.shape,
  onDestroy: z.enum(["restore", "keep"]).exactOptional(),
});

const computed = z.object({ updatedAt: z.string().exactOptional(), previous: settingsShape });
type Computed = z.infer<typeof computed>;

const SETTINGS = ["enabled", "useReportingEndpoint", "useConnectionUrlPath"] as const;

export const pageShieldSettings = defineResource({
  type: "PageShieldSettings",
  compositeId: new CompositeId(["<zone ID>"]),
  importedWith: "--only page-shield",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  record: settingsRecord,
  replaceOn: ["zoneId"],
  claims: [
    {
      by: ["zoneId"],
      of: ({ zoneId }) => [
        { key: zoneId, clash: `both manage Page Shield in zone ${zoneId}. Keep one of them` },
      ],
    },
  ],
  lostOnHandOver:
    "The zone's original settings are no longer known, so a destroy will keep the current values. An alias would have preserved the original ones.",
  lock: ({ zoneId }) => LOCK.pageShield(zoneId),

  async current({ ctx, olds }) {
    const id = String(olds["zoneId"]);
    const { values } = await cachedSettings(ctx, id);
    return { id, args: pickSettings(values, Object.keys(declaredSettings(olds))) };
  },

  // Fails the preview if the zone doesn't exist, its plan lacks Page Shield, or the token may not read it.
  async live({ ctx, args }) {
    const current = await cachedSettings(ctx, args.zoneId);
    // A zone always has settings, so these show the reviewer what a new resource, or a new argument, changes.
    const settings = pickSettings(
      current.values,
      SETTINGS.filter((key) => !ctx.isSecret(key)),
    );
    return { seen: [SEEN.settings], found: { settings } };
  },

  async create({ ctx, args }) {
    const original = await readZoneSettings(ctx, args.zoneId);
    const settings = await applySettings(ctx, args.zoneId, declaredSettings(args), original, original.values);
    if (settings === original && args.onDestroy !== "keep") {
      ctx.say.info(
        `the Page Shield settings of zone ${args.zoneId} already match the program. A destroy will leave them unchanged.`,
      );
    }
    return { id: args.zoneId, computed: { previous: original.values, ...updatedAt(settings) } };
  },

  async read({ ctx, state }) {
    const current = await readZoneSettings(ctx, state.zoneId);
    // Compares only declared settings: the resource doesn't own the others.
    const values = pickSettings(current.values, Object.keys(declaredSettings(state)));
    const drifted = SETTINGS.some((key) => values[key] !== declaredSettings(state)[key]);
    return { ...state, ...values, ...(drifted ? updatedAt(current) : {}) }; // A new timestamp alone isn't drift.
  },

  async existing({ ctx, address: { id } }) {
    return { id, outputs: await existingSettings(ctx, id) };
  },

  async update({ ctx, state, args }) {
    const current = await readZoneSettings(ctx, args.zoneId);
    const wanted = declaredSettings(args);
    const managed = declaredSettings(state);
    const previous: Values = { ...state.previous };
    const removed = SETTINGS.filter((key) => wanted[key] === undefined && managed[key] !== undefined);
    for (const key of SETTINGS) {
      if (key === "enabled") continue;
      const value = current.values[key];
      // 1. Newly declared: remember the current value, so that it can be restored once the argument is removed.
      if (wanted[key] !== undefined && managed[key] === undefined && value !== undefined)
        previous[key] = value;
      // 2. No longer declared: restore the value from before we first set it.
      const before = previous[key];
      if (wanted[key] !== undefined || managed[key] === undefined) continue;
      if (before === undefined) ctx.say.warn(originalUnknown(args.zoneId, key, value));
      else wanted[key] = before;
    }
    // 3. If that fails, removed arguments stay recorded, so that the next update still knows what to restore.
    const settings = await applySettings(
      ctx,
      args.zoneId,
      wanted,
      current,
      previous,
      pickSettings(managed, removed),
    );
    return { previous, ...updatedAt(settings) };
  },

  async delete({ ctx, state }) {
    if (state.onDestroy === "keep") {
      ctx.say.info(`Page Shield in zone ${state.zoneId} stays as it is (onDestroy: "keep").`);
      return;
    }
    const current = await readZoneSettings(ctx, state.zoneId);
    const managed = Object.keys(declaredSettings(state));
    const unknown = SETTINGS.filter((key) => managed.includes(key) && state.previous[key] === undefined);
    for (const key of unknown) ctx.say.warn(originalUnknown(state.zoneId, key, current.values[key]));
    await applySettings(
      ctx,
      state.zoneId,
      pickSettings(state.previous, managed),
      current,
      state.previous,
      {},
      RESTORE_ADVICE,
    );
  },
});

export interface PageShieldSettingsArgs {
  /**
   * The zone's ID (32 hex digits). Changing it replaces the settings: the old zone gets its original settings back,
   * unless `onDestroy` is `"keep"`.
   */
  readonly zoneId: pulumi.Input<string>;
  /** Whether Page Shield monitors the scripts, connections and cookies of the zone's pages. Updates in place. */
  readonly enabled: pulumi.Input<boolean>;
  /**
   * Whether browsers report to Cloudflare's endpoint instead of one under the zone's own hostname. Sent only if set; if
   * you remove it, the zone's earlier value is restored. Setting it to false requires an entitlement. The API calls it
   * `use_cloudflare_reporting_endpoint` or `use_platform_reporting_endpoint`. Updates in place.
   */
  readonly useReportingEndpoint?: pulumi.Input<boolean>;
  /**
   * Whether Page Shield records the path of a connection's URL, not only the host. Sent only if set; if you remove it,
   * the zone's earlier value is restored. Setting it to true requires an entitlement. Updates in place.
   */
  readonly useConnectionUrlPath?: pulumi.Input<boolean>;
  /**
   * What a destroy does, given that the API can't delete settings. `"restore"` puts back the values from before the
   * first `pulumi up`, for every setting declared here. `"keep"` sends nothing. If the first update is killed before
   * it's recorded, the original values are lost: the next update treats the values that it finds as the original ones.
   * Changing it writes nothing.
   *
   * @defaultValue `"restore"`
   */
  readonly onDestroy?: pulumi.Input<LiteralUnion<"restore" | "keep">>;
}

/**
 * The Page Shield settings of a zone: whether Page Shield monitors the zone, and what it reports and records.
 *
 * Every zone has these settings exactly once, so a program can declare them only once per zone. The resource changes
 * only the settings that the program declares.
 *
 * Token permissions: Page Shield Read to preview and refresh; Page Shield Write to update and destroy.
 *
 * @example Turn on Page Shield
 * ```ts
 * import { PageShieldSettings } from "pulumi-edgeguard";
 *
 * new PageShieldSettings("shop", { zoneId: "0da42c8d2132a9ddaf714f9e7c920711", enabled: true });
 * ```
 *
 * @example Record connection paths, and keep the settings on destroy
 * ```ts
 * import { PageShieldSettings } from "pulumi-edgeguard";
 *
 * const settings = new PageShieldSettings("shop", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   enabled: true,
 *   useConnectionUrlPath: true,
 *   onDestroy: "keep",
 * });
 *
 * export const previous = settings.previous;
 * ```
 *
 * @destroy Puts back the values from before the first update, for every setting declared here. With
 * `onDestroy: "keep"`, it sends nothing. Policies keep working if Page Shield is turned off.
 *
 * @importing The resource's ID is the zone's ID. `edgeguard import --zone <zone ID>` writes the program and the import
 * file. Without it, the next `pulumi up` manages the settings and changes what differs.
 *
 * @throws If the token lacks a permission, or if the zone lacks the plan or entitlement that Page Shield or a value
 * requires.
 * @throws If Cloudflare accepts the update but doesn't keep a value.
 * @throws If another resource of the program manages the same zone's settings.
 *
 * @see https://developers.cloudflare.com/client-side-security/reference/settings/
 * @see `GET /zones/{zone_id}/page_shield`
 * @see `PUT /zones/{zone_id}/page_shield`
 */
export class PageShieldSettings extends pageShieldSettings.base<PageShieldSettingsArgs>() {
  /** When the settings were last changed, in ISO 8601. Absent if Cloudflare doesn't report it. */
  declare readonly updatedAt: pulumi.Output<string | undefined>;
  /** The settings from before this resource first changed them. A destroy restores them. */
  declare readonly previous: pulumi.Output<PageShieldValues>;
  /** What the last change found out about the zone. For a new resource, `settings` are those that it changed. */
  declare readonly impact: pulumi.Output<SettingsImpact | undefined>;
  /**
   * Members of the settings on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest stands
   * for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- it has the type of the arguments
  constructor(name: string, args: PageShieldSettingsArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, args, opts);
  }
}

/**
 * Returns a zone's current settings as outputs. They're also recorded as the original settings, so a destroy changes
 * nothing.
 */
export async function existingSettings(
  ctx: Context,
  zone: string,
): Promise<Values & Computed & { readonly zoneId: string }> {
  const settings = await readZoneSettings(ctx, zone);
  return { zoneId: zone, ...settings.values, previous: settings.values, ...updatedAt(settings) };
}

/** The zone's settings as values of this resource. */
interface ZoneSettings extends Pick<SettingsAnswer, "reportingMember"> {
  readonly values: Values;
  readonly updatedAt: string | undefined;
}

const cachedSettings = (ctx: Context, zone: string): Promise<ZoneSettings> =>
  ctx.once(`settings of ${zone}`, () => readZoneSettings(ctx, zone));

async function readZoneSettings(ctx: Context, zone: string): Promise<ZoneSettings> {
  const { settings, reportingMember } = await readSettings(ctx.api, zone);
  ctx.noteUnmanaged(settings.extra ?? {});
  const { enabled, useReportingEndpoint, useConnectionUrlPath, updatedAt } = settings;
  const values = omitAbsent({ enabled, useReportingEndpoint, useConnectionUrlPath });
  return { values, updatedAt, reportingMember };
}

const ENTITLEMENT_ADVICE =
  "Check the zone's plan: every setting needs Page Shield, and useReportingEndpoint: false and useConnectionUrlPath: true need additional entitlements.";

const RESTORE_ADVICE =
  "The plan may no longer allow the original settings. Set onDestroy: \"keep\", run `pulumi up`, then destroy; or remove the resource from the stack with `pulumi state delete '<URN>'`.";

function originalUnknown(zone: string, key: string, current: boolean | undefined): string {
  return `Page Shield in zone ${zone}: the API never reported the original value of ${key}, so it stays ${String(current ?? "as it is")}.`;
}

/**
 * Writes only the settings that differ, and returns the zone's settings afterwards. `previous` is recorded even if the
 * outcome is unknown: without it, a destroy couldn't restore the original settings.
 */
async function applySettings(
  ctx: Context,
  zone: string,
  wanted: Partial<Values>,
  current: ZoneSettings,
  previous: Values,
  reached: Partial<Values> = {},
  advice = ENTITLEMENT_ADVICE,
): Promise<ZoneSettings> {
  if (SETTINGS.every((key) => wanted[key] === undefined || wanted[key] === current.values[key]))
    return current;
  const what = `Updating Page Shield settings of zone ${zone}`;
  const partialFailure = (reason: string): PartialFailure<Computed> =>
    new PartialFailure(zone, { previous, ...updatedAt(current) }, reason, reached);
  try {
    await ctx.api.put(`/zones/${zone}/page_shield`, {
      what,
      schema: z.unknown(), // Responses have two or four fields, so the settings are read back below.
      body: toRequest(wanted, current.reportingMember),
      advice: ({ status }) => (status === 400 ? advice : undefined),
      entitlement: `Page Shield or the entitlement for useReportingEndpoint: false or useConnectionUrlPath: true`,
    });
  } catch (error) {
    if (mayHaveBeenApplied(error)) throw partialFailure(error.message);
    throw error;
  }
  const notKept = ({ values }: ZoneSettings): (keyof Values)[] =>
    SETTINGS.filter((key) => wanted[key] !== undefined && wanted[key] !== values[key]);
  let settings: ZoneSettings;
  try {
    settings = await ctx.pollUntil(
      () => readZoneSettings(ctx, zone),
      (latest) => notKept(latest).length === 0,
      5,
    );
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw partialFailure(
      `Cloudflare accepted the change to Page Shield in zone ${zone}, but the result couldn't be read back. ${error.message}`,
    );
  }
  const ignored = notKept(settings);
  if (ignored.length > 0) {
    throw partialFailure(
      `Cloudflare accepted the change to Page Shield in zone ${zone}, but didn't keep ${ignored.map((key) => `${key}: ${String(wanted[key])}`).join(", ")}. The plan may lack the entitlement.`,
    );
  }
  return settings;
}

function toRequest(values: Partial<Values>, reportingMember: ZoneSettings["reportingMember"]): JsonObject {
  return omitAbsent({
    enabled: values.enabled,
    [reportingMember]: values.useReportingEndpoint,
    use_connection_url_path: values.useConnectionUrlPath,
  });
}

/** Returns only the declared settings. */
function declaredSettings(args: Partial<Values>): Partial<Values> {
  return pickSettings(args, SETTINGS);
}

function pickSettings(values: Partial<Values>, keys: readonly string[]): Partial<Values> {
  return pick(
    values,
    SETTINGS.filter((key) => keys.includes(key)),
  );
}

function updatedAt({ updatedAt }: ZoneSettings): { readonly updatedAt?: string } {
  return omitAbsent({ updatedAt });
}
