import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { MIGRATION } from "../limits/index";
import { advance, arrivalText } from "./advance";
import { assess, assessmentText, type MigrationAssessment, type MigrationRequest } from "./assessment";
import type { ConcurrentChange } from "./concurrent";
import type { Finding } from "./findings";
import { computed, recordOf, stateOf, withArrival, type HistoryEntry } from "./record";
import { migrationMessages, migrationRecord, type MigrationImpact } from "./impact";
import { configuration, toWire, type MigrationRule } from "./rules";
import { readEntryPoint, readState } from "./api";
import { isDeployed, observe, type Observation } from "./observation";
import { isFurther, stateText, stepIn, TARGETS, type Target } from "./state";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { defineResource } from "../runtime/resource";
import { hasUnknown, UNKNOWN } from "../runtime/engine-values";
import { isJsonObject, omitAbsent, pick, sameJson } from "../basics/json";
import { pluralize } from "../basics/words";
import { CompositeId } from "../runtime/composite-id";
import { ID, type LiteralUnion } from "../runtime/fields";
import { previousTraffic } from "../rulesets/traffic";
import { LOCK } from "../runtime/locks";

const MAX_WAIT_SECONDS = 86_400;

const args = z.object({
  zoneId: ID.zone,
  plan: z.enum(["pro", "business", "enterprise"]).exactOptional(),
  target: z.enum(TARGETS),
  configuration: configuration.exactOptional(),
  confirm: z
    .string()
    .transform((given) => given.trim().toLowerCase())
    .refine((given) => /^[0-9a-f]{64}$/.test(given), {
      error: ({ input }) =>
        `must be the digest that the preview shows (64 hex digits), but has ${pluralize(String(input).length, "character")}`,
    })
    .exactOptional(),
  waitFor: z.strictObject({ timeout: z.int().min(0).max(MAX_WAIT_SECONDS).exactOptional() }).exactOptional(),
  quiet: z.boolean().exactOptional(),
});
type MigrationArgs = z.output<typeof args>;

/** Arguments that the confirmation covers. If one of them changes, the confirmation is checked again. */
const CONFIRMED_ARGS = ["zoneId", "target", "confirm"] as const;

export const wafMigration = defineResource({
  type: "WafMigration",
  compositeId: new CompositeId(["<zone ID>"]),
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["assessmentDigest", "assessment"],
  record: migrationRecord,
  messages: (found, { args: { zoneId } }) => migrationMessages(found, zoneId),
  pending: () => ["assessmentDigest", "assessment"],
  derivedFrom: { assessment: ["configuration"] },
  // A change in the zone shows in the preview, even though the update only records it.
  compared: { ignore: [], also: ["assessmentDigest"] },
  // A zone that wasn't read is not a change.
  equal: { assessmentDigest: (_recorded, now) => now === undefined || now === UNKNOWN },
  replaceOn: ["zoneId"],
  claims: [
    {
      by: ["zoneId"],
      of: ({ zoneId }) => [{ key: zoneId, clash: `both migrate zone ${zoneId}. Keep one of them` }],
    },
    {
      by: ["zoneId", "target"],
      of: ({ zoneId, target }) => (target === "assessed" ? [] : [{ key: stepIn(zoneId) }]),
    },
  ],
  lostOnHandOver: "The migration's history starts over; an alias would have kept it.",
  // The lock of the entry point's rules, which a step replaces as a whole.
  lock: ({ zoneId }) => LOCK.managedRules(`zone ${zoneId}`),

  rules: [
    {
      needs: ["plan", "target"],
      check: ({ plan, target }) =>
        target === "validation" && plan !== undefined && plan !== "enterprise"
          ? {
              property: "target",
              reason: `"validation" works only on Enterprise zones, and plan is "${plan}". Set target: "finished", which skips validation`,
            }
          : undefined,
    },
  ],

  deriveWithout: ["plan", "configuration", "confirm", "waitFor", "quiet"],

  derive({ args, olds }) {
    if (olds["zoneId"] !== args.zoneId) return Promise.resolve({});
    const failure = loweredTarget(args, olds["target"]);
    // The previous assessment stays until the zone is read again, which takes known arguments.
    const computed = hasUnknown(args) ? {} : pick(olds, ["assessmentDigest", "assessment"]);
    return Promise.resolve({ computed, ...(failure === undefined ? {} : { failures: [failure] }) });
  },

  // Others may change what would be migrated, so every preview reads the zone.
  liveAlways: ({ target }) => target === "assessed",

  async live({ ctx, args, olds }) {
    if (args.target !== "assessed" && sameJson(pick(olds, CONFIRMED_ARGS), pick(args, CONFIRMED_ARGS)))
      return {};
    const observation = await observe(ctx.api, args.zoneId);
    observations(ctx).set(args.zoneId, observation);
    const { next, shown, assessmentDigest } = assess(observation, requestOf(args));
    const isDeclared = olds["zoneId"] === args.zoneId && olds["target"] === args.target;
    const isUnchanged =
      isDeclared && olds["plan"] === args.plan && olds["assessmentDigest"] === assessmentDigest;
    const turnsOff = !isUnchanged && shown.steps.some(({ target }) => target === "finished");
    const findings = {
      computed: { assessment: shown, assessmentDigest },
      found: async () =>
        omitAbsent({ traffic: turnsOff ? await previousTraffic(ctx, args.zoneId) : undefined }),
    };
    // What was finished before Cloudflare retired the migration stays as it's recorded. The update knows that.
    const { assessment } = olds;
    const wasFinished =
      args.target !== "assessed" || (isJsonObject(assessment) && assessment["state"] === "finished");
    if (observation.state.phase === "retired" && isDeclared && wasFinished) return {};
    if (next.kind === "refuse") {
      const { property, reason } = next;
      return { ...findings, failures: [{ property, reason }] };
    }
    const { zoneId } = args;
    if (!isUnchanged) ctx.say.info(assessmentText(zoneId, shown.lines));
    else if (args.quiet !== true)
      ctx.say.info(`${assessmentText(zoneId, shown.lines.slice(0, 1))} ${UNCHANGED}`);
    return findings;
  },

  // A failed step is still pending, even if a refresh cleared the failure.
  review({ state, args, change }) {
    if (args === undefined || change === "replacement") return Promise.resolve([]);
    const { zoneId, target } = args;
    const last = state.history.filter(({ step }) => step === target).at(-1);
    const at = `the zone was last seen at ${state.migrationState}`;
    const isOpen = last?.event === "sent" || last?.event === "unclear";
    if (!isOpen || state.migrationState === "retired") return Promise.resolve([]);
    const what =
      last.event === "sent"
        ? `the step to ${target} was sent at ${last.at}, and ${at}. The update waits for that step`
        : `it's unclear whether Cloudflare accepted the step to ${target}, because the response was lost; ${at}. The update reads the zone first, and sends the step only if the zone hasn't moved on`;
    const pendingWork = `WafMigration of zone ${zoneId}: ${what}.`;
    return Promise.resolve([() => Promise.resolve({ pendingWork })]);
  },

  async create({ ctx, args }) {
    return { id: args.zoneId, computed: await runMigration(ctx, args, undefined) };
  },

  async update({ ctx, state, args }) {
    return await runMigration(ctx, args, computed.parse(state), state.target);
  },

  async read({ ctx, state }) {
    const now = await readState(ctx.api, state.zoneId);
    const text = stateText(now);
    if (now.phase === "retired") {
      ctx.say.info(`WafMigration of zone ${state.zoneId}: Cloudflare has retired the migration.`);
      return state.migrationState === "finished" ? state : { ...state, ...stateOf(now, undefined) };
    }
    const entryPoint = now.newRulesEnabled === true ? await readEntryPoint(ctx.api, state.zoneId) : undefined;
    const switches = stateOf(now, isDeployed(entryPoint));
    if (text === state.migrationState) return { ...state, ...switches };
    const history = [...withArrival(state.history, now)];
    if (history.length > state.history.length)
      ctx.say.info(`WafMigration of zone ${state.zoneId}: ${arrivalText(history, now)}`);
    if (state.target !== "assessed" || !isFurther(state.target, now))
      return { ...state, ...switches, history };
    // Recorded completely, so that the next preview finds nothing new.
    const observation = await observe(ctx.api, state.zoneId);
    const record = recordOf(
      observation,
      assess(observation, requestOf(state)),
      history,
      computed.parse(state),
    );
    return { ...state, ...withoutSecrets(ctx, record), ...assessmentOutputs(observation, state) };
  },

  async existing({ ctx, address: { id } }) {
    const now = await readState(ctx.api, id);
    ctx.say.info(
      `WafMigration of zone ${id}: WafMigration.get reads only the zone's state, so compatible, proposedConfiguration and configurationDigest stay undefined, and findings and history stay empty. ` +
        'To read these, declare a WafMigration with target: "assessed".',
    );
    const target: Target = now.phase === "validation" || now.phase === "finished" ? now.phase : "assessed";
    return { id, outputs: { zoneId: id, target, ...stateOf(now, undefined), findings: [], history: [] } };
  },

  // A migration can't be undone, so nothing is sent.
  delete({ ctx, state }) {
    const { zoneId, target, migrationState } = state;
    const why = target === "assessed" ? "Nothing was sent" : "A migration can't be undone";
    const line = `WafMigration of zone ${zoneId}: removed from the state. ${why}, so the zone stays as it is (last seen at ${migrationState}).`;
    ctx.tell(target === "assessed" ? { infos: [line] } : { warnings: [line] });
    return Promise.resolve();
  },
});

/** The arguments of a {@link WafMigration}. */
export interface WafMigrationArgs {
  /**
   * The zone's ID (32 hex digits). Changing it replaces the migration. The new zone's migration starts, and the old
   * zone stays as it is.
   */
  readonly zoneId: pulumi.Input<string>;
  /**
   * The zone's plan. With `"pro"` and `"business"`, the preview rejects the target `"validation"`, which requires
   * Enterprise. If you leave out the plan, Cloudflare decides whether to accept the target. Updates in place. A change
   * writes nothing to the zone.
   */
  readonly plan?: pulumi.Input<LiteralUnion<"pro" | "business" | "enterprise">>;
  /**
   * The state that the zone must have reached or passed after the update. Setting a lower target for the same zone is
   * an error, because a migration can't be undone.
   *
   * - `"assessed"` only reads. Every preview shows what would happen: in full if that's new or has changed since the
   *   last update, otherwise in one line (see `quiet`).
   * - `"validation"` (Enterprise) turns on both versions; the new rules run first.
   * - `"finished"` turns on the new rules and turns off the previous ones.
   *
   * Updates in place.
   */
  readonly target: pulumi.Input<LiteralUnion<Target>>;
  /**
   * The complete list of rules to send instead of the proposed ones. Start from the output `proposedConfiguration`. At
   * least one rule, and no rule twice.
   *
   * From start, these rules come after the entry point's own. From validation, they replace all rules of the entry
   * point. A rule that already exists (same action, expression and ruleset) keeps its ID and ref. The rules are sent
   * only with the next step. Updates in place.
   */
  readonly configuration?: pulumi.Input<readonly pulumi.Input<MigrationRule>[]>;
  /**
   * The digest of the next step, as the preview shows it. Nothing is sent without it. It covers the zone, the target,
   * Cloudflare's proposal, the previous settings and overrides, and the rules to send. If any of them changes, the
   * digest no longer matches. It's checked only while something is left to send. Updates in place. Once the zone has
   * reached its target, a change writes nothing to the zone.
   */
  readonly confirm?: pulumi.Input<string>;
  /**
   * How long an update waits for Cloudflare to complete the switch. When the time is up, the update fails and reports
   * what's known; the next update continues to wait. Updates in place. A change writes nothing to the zone.
   * @defaultValue `{ timeout: 3600 }`
   */
  readonly waitFor?: pulumi.Input<{
    /**
     * Seconds, at most a day (86,400). Updates in place.
     * @defaultValue `3600`, an hour
     */
    timeout?: pulumi.Input<number>;
  }>;
  /**
   * Whether to print nothing for an assessment that hasn't changed since the last update, instead of one line. Updates
   * in place. A change writes nothing to the zone.
   * @defaultValue `false`
   */
  readonly quiet?: pulumi.Input<boolean>;
}

/**
 * Migrates one zone from the previous WAF managed rules to managed rulesets, in reviewed steps.
 *
 * Cloudflare can't undo the migration. So each step is assessed first, confirmed with a digest of everything that would
 * be sent, and sent once. Set `protect: true`. The resource's ID is the zone's ID.
 *
 * The previous OWASP package (2.x) had a sensitivity and no paranoia levels. The OWASP Core Ruleset (3.x) has them: a
 * sensitivity becomes a paranoia level and a score threshold, and an unset one becomes level 2.
 *
 * This is phase 2 of Cloudflare's migration: every zone can migrate unless it has URI-based overrides. Phase 1 also
 * required that the previous rules were off or only Cloudflare's own, and that no firewall rule or page rule bypassed,
 * enabled or disabled them. That no longer applies.
 *
 * A step replaces all rules of the zone's entry point, and Cloudflare offers no conditional write. So the entry point
 * is read again right before the write and must match what was confirmed, and updates on the same machine take turns.
 * If someone adds or changes a rule during the remaining round trip, the step overwrites it. A warning and an entry in
 * `concurrentChanges` then name the rule and the version of the entry point that still has it; nothing is put back.
 * Two machines that update at the same moment may send the step twice, with the same rules.
 *
 * The preview of a step that turns the previous rules off counts the firewall events that they stopped in the last day:
 * at most so many would have passed. What the new rules stop instead isn't known from events. This needs Analytics Read;
 * without it, the preview says so in one line.
 *
 * Token permissions: Zone WAF Read, Firewall Services Read and Page Rules Read to preview and refresh; Zone WAF Write,
 * Firewall Services Read and Page Rules Read to update and destroy. Without Firewall Services Read and Page Rules Read,
 * the assessment lists what it couldn't count.
 *
 * @example Assess a zone
 * ```ts
 * import { WafMigration } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 *
 * const migration = new WafMigration("shop", { zoneId, target: "assessed" }, { protect: true });
 *
 * export const digest = migration.configurationDigest;
 * ```
 *
 * @example Finish the migration once it's reviewed
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { WafMigration } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 * // The digest that the preview shows: pulumi config set wafConfirm <digest>
 * const confirm = new pulumi.Config().get("wafConfirm");
 *
 * new WafMigration(
 *   "shop",
 *   confirm === undefined ? { zoneId, target: "assessed" } : { zoneId, target: "finished", confirm },
 *   { protect: true },
 * );
 * ```
 *
 * @destroy Removes the migration from the state and sends nothing: the zone stays as it is.
 * @importing Not needed: declare the zone with the target it has reached. The next update then records the zone's state
 * and sends nothing. `edgeguard import` skips migrations.
 *
 * @reading Reads only the zone's state: `migrationState`, `previousRulesEnabled` and `newRulesEnabled`. `target` is
 * what the zone has reached. `compatible`, `proposedConfiguration` and `configurationDigest` are undefined, and
 * `findings` and `history` are empty. For these, declare the zone with the target `"assessed"`.
 *
 * @throws in the preview if the zone is blocked, if the confirmation is missing or doesn't match, or if the target is
 * lower than before.
 * @throws in the update for the same reasons, before anything is sent.
 * @throws in the update if Cloudflare's switch takes longer than `waitFor.timeout`.
 *
 * @see https://developers.cloudflare.com/waf/reference/migration-guides/waf-managed-rules-migration/
 * @see `GET /zones/{zone_id}/waf_migration/check`
 * @see `GET /zones/{zone_id}/waf_migration/config`
 * @see `PUT /zones/{zone_id}/rulesets/phases/http_request_firewall_managed/entrypoint`
 */
export class WafMigration extends wafMigration.base<WafMigrationArgs>() {
  /** Whether Cloudflare says that the zone can migrate. Absent if the zone was already finished when first read. */
  declare readonly compatible: pulumi.Output<boolean | undefined>;
  /** The zone's state: `start`, `validation`, `finished` or `retired`, otherwise Cloudflare's own word or `unknown`. */
  declare readonly migrationState: pulumi.Output<string>;
  /** The rules that Cloudflare last proposed, in the format of `configuration`. */
  declare readonly proposedConfiguration: pulumi.Output<readonly MigrationRule[] | undefined>;
  /** The digest that confirms the next step. With `target: "assessed"`, that's the step to `"finished"`. */
  declare readonly configurationDigest: pulumi.Output<string | undefined>;
  /** Whether the previous managed rules are active in the zone. Absent if Cloudflare doesn't report it. */
  declare readonly previousRulesEnabled: pulumi.Output<boolean | undefined>;
  /**
   * Whether the new rules are active in the zone: Cloudflare says that they're on, and an enabled rule in the entry
   * point executes a managed ruleset. Absent if Cloudflare doesn't report it.
   */
  declare readonly newRulesEnabled: pulumi.Output<boolean | undefined>;
  /**
   * What you should know about the migration, the most serious findings first. `items` lists everything that a finding
   * counts.
   */
  declare readonly findings: pulumi.Output<readonly Finding[]>;
  /**
   * The findings from before the zone was finished, such as overrides that weren't carried over. Absent until the zone
   * is finished.
   */
  declare readonly assessedBefore: pulumi.Output<readonly Finding[] | undefined>;
  /** What happened during the migration and when, oldest first. */
  declare readonly history: pulumi.Output<readonly HistoryEntry[]>;
  /**
   * What others wrote to the entry point while a step was being sent: each rule as it was, and the version of the entry
   * point that still has it. Absent if nobody wrote anything.
   */
  declare readonly concurrentChanges: pulumi.Output<readonly ConcurrentChange[] | undefined>;
  /** The assessment that the preview printed when it last read the zone. */
  declare readonly assessment: pulumi.Output<MigrationAssessment | undefined>;
  /** A digest of the assessment, for comparing it with the previous one. */
  declare readonly assessmentDigest: pulumi.Output<string | undefined>;
  /** What the last change found out: what the previous rules stopped in the hours before it. */
  declare readonly impact: pulumi.Output<MigrationImpact | undefined>;

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- it has the type of the arguments
  constructor(name: string, args: WafMigrationArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, args, opts);
  }
}

const UNCHANGED =
  "The assessment hasn't changed since the last update; for details, see the resource's `assessment` output.";

function requestOf({ target, plan, confirm, configuration }: MigrationArgs): MigrationRequest {
  return { target, plan, confirm, configured: configuration?.map(toWire) };
}

/** Returns the zones read in this operation, by ID. */
function observations(ctx: Context): Map<string, Observation> {
  return ctx.once("observed migrations", () => new Map<string, Observation>());
}

async function runMigration(
  ctx: Context,
  args: MigrationArgs,
  before: z.infer<typeof computed> | undefined,
  from: Target = "assessed",
) {
  // A step is decided by a new read. An assessment records what the check has just shown.
  const seen =
    args.target === "assessed"
      ? (observations(ctx).get(args.zoneId) ?? (await observe(ctx.api, args.zoneId)))
      : undefined;
  const waitSeconds = args.waitFor?.timeout ?? MIGRATION.MAX_SWITCH_SECONDS;
  try {
    const request = requestOf(args);
    const reached = await advance({ ctx, zoneId: args.zoneId, from, request, waitSeconds, before, seen });
    if (seen === undefined) return withoutSecrets(ctx, reached);
    // If the check couldn't read the zone, the assessment is still missing, and the next preview would show it as a
    // change.
    const { assessment, assessmentDigest } = assessmentOutputs(seen, args);
    return {
      ...withoutSecrets(ctx, reached),
      assessment: { ...assessment, lines: assessment.lines.map((line) => ctx.redact(line)) },
      assessmentDigest,
    };
  } catch (error) {
    if (!(error instanceof PartialFailure)) throw error;
    const half = withoutSecrets(ctx, computed.parse(error.computed));
    throw new PartialFailure(error.id, half, error.message, error.reached);
  }
}

function assessmentOutputs(
  observation: Observation,
  args: Parameters<typeof requestOf>[0],
): { readonly assessment: MigrationAssessment; readonly assessmentDigest: string } {
  const { shown, assessmentDigest } = assess(observation, requestOf(args));
  return { assessment: shown, assessmentDigest };
}

/** Properties that never contain a secret, because their set of values is fixed. */
const FIXED_WORDS = ["weight", "about"];

/**
 * Removes secrets from findings and concurrent changes. They may quote rules from a secret `configuration`, but these
 * outputs aren't secret.
 */
function withoutSecrets(ctx: Context, reached: z.infer<typeof computed>): z.infer<typeof computed> {
  const { findings, assessedBefore, concurrentChanges } = reached;
  const quoting = pick({ findings, assessedBefore, concurrentChanges }, [
    "findings",
    "assessedBefore",
    "concurrentChanges",
  ]);
  const redacted: unknown = JSON.parse(JSON.stringify(quoting), (key, member: unknown) =>
    typeof member === "string" && !FIXED_WORDS.includes(key) ? ctx.redact(member) : member,
  );
  return computed.parse({ ...reached, ...(redacted as object) });
}

/** Returns a failure if the target was lowered, because a migration only moves forward. */
function loweredTarget(
  { target, zoneId }: MigrationArgs,
  before: unknown,
): { readonly property: string; readonly reason: string } | undefined {
  const was = TARGETS.find((each) => each === before);
  if (was === undefined || TARGETS.indexOf(target) >= TARGETS.indexOf(was)) return undefined;
  const instead =
    was === "validation"
      ? 'Keep target: "validation", or continue with target: "finished"'
      : `Keep target: "${was}", which no longer sends anything`;
  return {
    property: "target",
    reason: `can't go back from "${was}" to "${target}" for zone ${zoneId}: a migration can't be undone. ${instead}. Or remove the resource, which leaves the zone as it is. After a failed update, run \`pulumi refresh\` first, which records how far the zone got`,
  };
}
