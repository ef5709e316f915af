import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { mayHaveBeenApplied } from "../api/errors";
import { zoneId, type LiteralUnion } from "../runtime/fields";
import { defineLifecycle, PartialFailure, type Context } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { omitAbsent } from "../runtime/members";
import { claimOnce, edgeResource } from "../runtime/resource";
import { pick, type JsonObject } from "../runtime/values";
import { pollUntil } from "../runtime/creation";

const settingsShape = z.object({
  enabled: z.boolean(),
  useReportingEndpoint: z.boolean().exactOptional(),
  useConnectionUrlPath: z.boolean().exactOptional(),
});

const args = z.object({
  zoneId,
  ...settingsShape.shape,
  onDestroy: z.enum(["restore", "keep"]).exactOptional(),
});

/** What a zone's page security can be set to. */
export type PageShieldValues = z.infer<typeof settingsShape>;

const computed = z.object({ updatedAt: z.string().exactOptional(), previous: settingsShape });
type Computed = z.infer<typeof computed>;

const SETTINGS = ["enabled", "useReportingEndpoint", "useConnectionUrlPath"] as const;

export const pageShieldSettings = defineLifecycle({
  type: "PageShieldSettings",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["found"],
  replaceOn: ["zoneId"],
  lostOnHandOver:
    "What the zone had before it was first set is no longer known, so a destroy will keep today's values; an alias would have kept it.",
  lock: ({ zoneId }) => LOCK.pageShield(zoneId),

  // Whether the zone is there, its plan has Page Shield, and the token may read it: a create and an update read it first.
  async live({ ctx, args, olds }) {
    const found = await ctx.once(`settings of ${args.zoneId}`, () => readSettings(ctx, args.zoneId));
    // A zone always has settings: a reviewer sees what a new resource changes of them.
    return olds["zoneId"] === args.zoneId ? {} : { computed: { found: found.values } };
  },

  async create({ ctx, args }) {
    const found = await readSettings(ctx, args.zoneId);
    const now = await applySettings(ctx, args.zoneId, declaredSettings(args), found, found.values);
    if (now === found && args.onDestroy !== "keep") {
      ctx.say.info(
        `Page security of zone ${args.zoneId} was as declared already; a destroy will leave it so, as that is what the zone had before.`,
      );
    }
    return { id: args.zoneId, computed: { previous: found.values, ...updatedAt(now) } };
  },

  async read({ ctx, state }) {
    const found = await readSettings(ctx, state.zoneId);
    // Only what was declared is compared: the rest of the zone's settings belongs to others.
    const now = pickSettings(found.values, Object.keys(declaredSettings(state)));
    const drifted = SETTINGS.some((key) => now[key] !== declaredSettings(state)[key]);
    return { ...state, ...now, ...(drifted ? updatedAt(found) : {}) }; // A new time alone is no drift.
  },

  async update({ ctx, state, args }) {
    const found = await readSettings(ctx, args.zoneId);
    const wanted = declaredSettings(args);
    const managed = declaredSettings(state);
    const previous: PageShieldValues = { ...state.previous };
    const removed = SETTINGS.filter((key) => wanted[key] === undefined && managed[key] !== undefined);
    for (const key of SETTINGS) {
      if (key === "enabled") continue;
      const current = found.values[key];
      // 1. Newly declared: what is there now is what a later removal goes back to.
      if (wanted[key] !== undefined && managed[key] === undefined && current !== undefined)
        previous[key] = current;
      // 2. No longer declared: back to what was there before we first set it.
      const before = previous[key];
      if (wanted[key] !== undefined || managed[key] === undefined) continue;
      if (before === undefined) ctx.say.warn(originalUnknown(args.zoneId, key, current));
      else wanted[key] = before;
    }
    // 3. Until that has succeeded it stays recorded as declared: the next update has to know what to take back.
    const now = await applySettings(
      ctx,
      args.zoneId,
      wanted,
      found,
      previous,
      pickSettings(managed, removed),
    );
    return { previous, ...updatedAt(now) };
  },

  async delete({ ctx, state }) {
    if (state.onDestroy === "keep") {
      ctx.say.info(`Page security of zone ${state.zoneId} is left as it is (onDestroy: "keep").`);
      return;
    }
    const found = await readSettings(ctx, state.zoneId);
    const managed = Object.keys(declaredSettings(state));
    const unseen = SETTINGS.filter((key) => managed.includes(key) && state.previous[key] === undefined);
    for (const key of unseen) ctx.say.warn(originalUnknown(state.zoneId, key, found.values[key]));
    await applySettings(
      ctx,
      state.zoneId,
      pickSettings(state.previous, managed),
      found,
      state.previous,
      {},
      RESTORE_ADVICE,
    );
  },
});

export interface PageShieldSettingsArgs {
  /** The zone, 32 hexadecimal digits. Replaces: the old zone gets back what it had (see `onDestroy`). */
  readonly zoneId: pulumi.Input<string>;
  /** Whether scripts, connections and cookies of the zone's pages are monitored. In place. Source: seed 000, "Settings". */
  readonly enabled: pulumi.Input<boolean>;
  /**
   * Whether browsers report to Cloudflare's endpoint instead of one under the zone's own host. Sent only when set; when
   * removed, the zone gets back what it had before. Setting it to false needs an entitlement. In place.
   * Source: seed 000, "Settings" (`use_platform_reporting_endpoint`); OpenAPI `page-shield-update-settings`
   * (`use_cloudflare_reporting_endpoint`).
   */
  readonly useReportingEndpoint?: pulumi.Input<boolean>;
  /**
   * Whether the path of a connection's URL is recorded too, not only its host. Sent only when set; when removed, the
   * zone gets back what it had before. Setting it to true needs an entitlement. In place.
   * Source: seed 000, "Settings" (`use_connection_url_path`).
   */
  readonly useConnectionUrlPath?: pulumi.Input<boolean>;
  /**
   * What a destroy does, as the API has no delete: `"restore"` puts back what the zone had before the first `up`, for
   * every setting declared here; `"keep"` sends nothing. A process that is killed between the first write and its record
   * loses what was there: the next `up` then takes its own values for it. Default `"restore"`. In place, without a write.
   */
  readonly onDestroy?: pulumi.Input<LiteralUnion<"restore" | "keep">>;
}

/**
 * Page security of one zone: the on/off setting and what is reported. A zone has one; two in a
 * program are refused.
 *
 * Token permissions: Page Shield Read to preview and refresh; Page Shield Write to update and destroy.
 *
 * @throws when the token lacks a permission, or the plan lacks an entitlement for a value.
 */
export class PageShieldSettings extends edgeResource<PageShieldSettingsArgs>()(pageShieldSettings) {
  /** When Cloudflare last stored settings, ISO 8601. Absent where it does not say. */
  declare readonly updatedAt: pulumi.Output<string | undefined>;
  /** What the zone had before this resource first set it: what a destroy restores. */
  declare readonly previous: pulumi.Output<PageShieldValues>;

  constructor(name: string, args: PageShieldSettingsArgs, opts?: pulumi.CustomResourceOptions) {
    const claim = claimOnce("PageShieldSettings", name, { zoneId: args.zoneId }, (known) => {
      const zone = pageShieldSettings.args.shape.zoneId.safeParse(known.zoneId);
      if (!zone.success) return []; // The check of the resource says what is wrong with it.
      return [
        {
          key: zone.data,
          clash: `both set page security of zone ${zone.data}, which has one: keep one of them`,
        },
      ];
    });
    super(name, args, opts, claim);
  }
}

interface ZoneSettings {
  readonly values: PageShieldValues;
  readonly updatedAt: string | undefined;
  /** How Cloudflare spells the reporting member; the seed and the OpenAPI differ. */
  readonly reportingMember: "use_cloudflare_reporting_endpoint" | "use_platform_reporting_endpoint";
}

const response = z.looseObject({
  enabled: z.boolean(),
  updated_at: z.string().nullish(),
  use_cloudflare_reporting_endpoint: z.boolean().nullish(),
  use_platform_reporting_endpoint: z.boolean().nullish(),
  use_connection_url_path: z.boolean().nullish(),
});

/** What a zone has now. */
export async function readSettings(ctx: Context, zone: string): Promise<ZoneSettings> {
  const result = await ctx.api.get(`/zones/${zone}/page_shield`, {
    what: `Reading page security of zone ${zone}`,
    schema: response,
    entitlement: ENTITLEMENT,
  });
  const reporting = result.use_cloudflare_reporting_endpoint ?? result.use_platform_reporting_endpoint;
  return {
    values: omitAbsent({
      enabled: result.enabled,
      useReportingEndpoint: reporting,
      useConnectionUrlPath: result.use_connection_url_path,
    }),
    updatedAt: result.updated_at ?? undefined,
    reportingMember:
      result.use_platform_reporting_endpoint === undefined
        ? "use_cloudflare_reporting_endpoint"
        : "use_platform_reporting_endpoint",
  };
}

const ENTITLEMENT = "Page Shield";

const ENTITLEMENT_ADVICE =
  "The plan may lack an entitlement: useReportingEndpoint: false and useConnectionUrlPath: true need one, and every setting needs a plan with Page Shield.";

const RESTORE_ADVICE =
  "The plan may no longer allow what the zone had before. Set onDestroy: \"keep\", run `pulumi up`, then destroy; or remove the resource from the stack with `pulumi state delete '<URN>'`.";

function originalUnknown(zone: string, key: string, current: boolean | undefined): string {
  return `page security of zone ${zone}: what ${key} was before it was first set was never answered, so it stays ${String(current ?? "as it is")}.`;
}

/**
 * Makes the zone's settings what is wanted; sends nothing when they are. `previous` is recorded even where the end is
 * not known: without it a destroy could not put back what was there.
 */
async function applySettings(
  ctx: Context,
  zone: string,
  wanted: Partial<PageShieldValues>,
  found: ZoneSettings,
  previous: PageShieldValues,
  reached: Partial<PageShieldValues> = {},
  advice = ENTITLEMENT_ADVICE,
): Promise<ZoneSettings> {
  if (SETTINGS.every((key) => wanted[key] === undefined || wanted[key] === found.values[key])) return found;
  const what = `Setting page security of zone ${zone}`;
  const half = (reason: string): PartialFailure<Computed> =>
    new PartialFailure(zone, { previous, ...updatedAt(found) }, reason, reached);
  try {
    await ctx.api.put(`/zones/${zone}/page_shield`, {
      what,
      schema: z.unknown(), // The answer holds two members or four: what counts is read afterwards.
      body: toRequest(wanted, found.reportingMember),
      advice: ({ status }) => (status === 400 ? advice : undefined),
      entitlement: `${ENTITLEMENT}, or what useReportingEndpoint: false and useConnectionUrlPath: true need`,
    });
  } catch (error) {
    if (mayHaveBeenApplied(error)) throw half(error.message);
    throw error;
  }
  const ignoredIn = ({ values }: ZoneSettings): (keyof PageShieldValues)[] =>
    SETTINGS.filter((key) => wanted[key] !== undefined && wanted[key] !== values[key]);
  let now: ZoneSettings;
  try {
    now = await pollUntil(
      ctx,
      () => readSettings(ctx, zone),
      (seen) => ignoredIn(seen).length === 0,
      5,
    );
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw half(`${what} was accepted, but what the zone has now is not known. ${error.message}`);
  }
  const ignored = ignoredIn(now);
  if (ignored.length > 0) {
    throw half(
      `${what} was accepted, yet the service does not keep ${ignored.map((key) => `${key}: ${String(wanted[key])}`).join(", ")}: the plan may lack the entitlement.`,
    );
  }
  return now;
}

function toRequest(
  values: Partial<PageShieldValues>,
  reportingMember: ZoneSettings["reportingMember"],
): JsonObject {
  return omitAbsent({
    enabled: values.enabled,
    [reportingMember]: values.useReportingEndpoint,
    use_connection_url_path: values.useConnectionUrlPath,
  });
}

/** The settings among a declaration's members. */
function declaredSettings(args: Partial<PageShieldValues>): Partial<PageShieldValues> {
  return pickSettings(args, SETTINGS);
}

function pickSettings(values: Partial<PageShieldValues>, keys: readonly string[]): Partial<PageShieldValues> {
  return pick(
    values,
    SETTINGS.filter((key) => keys.includes(key)),
  );
}

function updatedAt({ updatedAt }: ZoneSettings): { readonly updatedAt?: string } {
  return omitAbsent({ updatedAt });
}
