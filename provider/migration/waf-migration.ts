import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { MIGRATION } from "../limits";
import { advance, arrivalText } from "./advance";
import { assess, type MigrationRequest } from "./assessment";
import type { ConcurrentChange } from "./concurrent";
import type { Finding } from "./findings";
import { computed, recordOf, stateOf, withArrival, type HistoryEntry } from "./record";
import { configuration, toWire, type MigrationRule } from "./rules";
import { readEntryPoint, readState } from "./api";
import { isDeployed, observe, type Observation } from "./observation";
import { isFurther, stateText, TARGETS, type Target } from "./state";
import { defineLifecycle, PartialFailure, type Context } from "../runtime/lifecycle";
import { claimOnce, edgeResource } from "../runtime/resource";
import { pick, sameJson } from "../runtime/values";
import { zoneId, type LiteralUnion } from "../runtime/fields";
import { LOCK } from "../runtime/locks";

/** Seconds, or a text of hours, minutes and seconds; the canonical form is seconds. */
const timeout = z
  .union([z.number(), z.string()], 'has to be seconds, or a text such as "30m" or "1h"')
  .transform((given, ctx) => {
    const [, h, m, s] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(String(given)) ?? [];
    const text = [h, m, s].some((part) => part !== undefined);
    const seconds =
      typeof given === "number"
        ? given
        : text
          ? Number(h ?? 0) * 3600 + Number(m ?? 0) * 60 + Number(s ?? 0)
          : NaN;
    if (Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_WAIT_SECONDS) return seconds;
    ctx.addIssue({
      code: "custom",
      message: `has to be 0 to ${MAX_WAIT_SECONDS} seconds, or a text such as "30m" or "1h"; it is ${JSON.stringify(given)}`,
    });
    return z.NEVER;
  });

const MAX_WAIT_SECONDS = 86_400;

const args = z.object({
  zoneId,
  plan: z.enum(["pro", "business", "enterprise"]).exactOptional(),
  target: z.enum(TARGETS),
  configuration: configuration.exactOptional(),
  confirm: z
    .string()
    .transform((given) => given.trim().toLowerCase())
    .refine((given) => /^[0-9a-f]{64}$/.test(given), {
      error: ({ input }) =>
        `has to be the digest that the preview shows, 64 hexadecimal digits; it is ${String(input).length} characters`,
    })
    .exactOptional(),
  waitFor: z.strictObject({ timeout: timeout.exactOptional() }).exactOptional(),
  quiet: z.boolean().exactOptional(),
});
type MigrationArgs = z.output<typeof args>;

/** What a confirmation is judged by: where none of them changes, there is nothing new to confirm. */
const CONFIRMED_ARGS = ["zoneId", "target", "confirm"] as const;

export const wafMigration = defineLifecycle({
  type: "WafMigration",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["assessmentDigest", "assessment"],
  derivedFrom: { assessment: ["configuration"] },
  // A changed observation is a change to see, although an update does no more than record it.
  compared: { ignore: [], also: ["assessmentDigest"] },
  // What was not looked at is no change.
  equal: { assessmentDigest: (_recorded, now) => now === undefined },
  replaceOn: ["zoneId"],
  lostOnHandOver: "Its history begins anew; an alias would have kept it.",
  // The same as of the rules of its entry point, which a step replaces as a whole.
  lock: ({ zoneId }) => LOCK.managedRules(zoneId),

  rules: [
    {
      needs: ["plan", "target"],
      check: ({ plan, target }) =>
        target === "validation" && plan !== undefined && plan !== "enterprise"
          ? {
              property: "target",
              reason: `is "validation", which is for Enterprise zones only; plan is "${plan}". Set target: "finished", which goes there at once`,
            }
          : undefined,
    },
  ],

  deriveWithout: ["plan", "configuration", "confirm", "waitFor", "quiet"],

  derive({ args, olds }) {
    if (olds["zoneId"] !== args.zoneId) return Promise.resolve({});
    const failure = loweredTarget(args, olds["target"]);
    // What was assessed before holds until it is looked at again.
    const computed = pick(olds, ["assessmentDigest", "assessment"]);
    return Promise.resolve({ computed, ...(failure === undefined ? {} : { failures: [failure] }) });
  },

  // Others change what would be migrated: only a look at Cloudflare can show a reviewer what is so today.
  liveAlways: ({ target }) => target === "assessed",

  async live({ ctx, args, olds }) {
    if (args.target !== "assessed" && sameJson(pick(olds, CONFIRMED_ARGS), pick(args, CONFIRMED_ARGS)))
      return {};
    const observation = await observe(ctx.api, args.zoneId);
    observations(ctx).set(args.zoneId, observation);
    const { next, lines, assessmentDigest } = assess(observation, requestOf(args));
    // Whether it was finished before the paths went away is recorded, which the update knows.
    const isDeclared = olds["zoneId"] === args.zoneId && olds["target"] === args.target;
    if (observation.state.phase === "retired" && args.target !== "assessed" && isDeclared) return {};
    const findings = { computed: assessmentOutputs(observation, args) };
    if (next.kind === "refuse") {
      const { property, reason } = next;
      return { ...findings, failures: [{ property, reason }] };
    }
    const isUnchanged =
      isDeclared && olds["plan"] === args.plan && olds["assessmentDigest"] === assessmentDigest;
    if (!isUnchanged) ctx.say.info(lines.join("\n"));
    else if (args.quiet !== true) ctx.say.info(unchangedText(lines));
    return findings;
  },

  // A step that failed is still to be made, also where a refresh has cleared the failure.
  review({ state, args, change }) {
    if (args === undefined || change === "replacement") return Promise.resolve([]);
    const { zoneId, target } = args;
    const last = state.history.filter(({ step }) => step === target).at(-1);
    const at = `the zone was last seen at ${state.migrationState}`;
    const isOpen = last?.event === "sent" || last?.event === "unclear";
    if (!isOpen || state.migrationState === "retired") return Promise.resolve([]);
    const what =
      last.event === "sent"
        ? `the step to ${target} was sent at ${last.at}, and ${at}: the update waits for it`
        : `the answer to the step to ${target} was lost, and ${at}: the update looks first, and sends the step only if the zone has not gone on`;
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
      ctx.say.info(`WafMigration of zone ${state.zoneId}: the vendor has retired the migration.`);
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
    // Recorded as a whole, so that the next preview finds nothing new in it.
    const observation = await observe(ctx.api, state.zoneId);
    const record = recordOf(
      observation,
      assess(observation, requestOf(state)),
      history,
      computed.parse(state),
    );
    return { ...state, ...withoutSecrets(ctx, record), ...assessmentOutputs(observation, state) };
  },

  // There is nothing to ask for: a migration has no way back.
  delete({ ctx, state }) {
    if (state.target !== "assessed") {
      ctx.say.warn(
        `WafMigration of zone ${state.zoneId} is forgotten, and nothing was sent: the zone stays as it is, last seen ${state.migrationState}. A migration cannot be undone.`,
      );
    }
    return Promise.resolve();
  },
});

export interface WafMigrationArgs {
  /** The zone, 32 hexadecimal digits. Replaces: the other zone's migration begins, the old zone stays as it is. */
  readonly zoneId: pulumi.Input<string>;
  /**
   * The zone's plan. With `"pro"` and `"business"` the target `"validation"` is refused in the preview. Default: not
   * known, and Cloudflare judges. In place, without a write. Source: seed 001, "States and transitions".
   */
  readonly plan?: pulumi.Input<LiteralUnion<"pro" | "business" | "enterprise">>;
  /**
   * How far the zone is to go, at least. `"assessed"` only reads, in every preview, and prints what would happen: in full
   * where that is new or has changed since the last update, else in one line (see `quiet`).
   * `"validation"` (Enterprise) enables both versions, the new one first. `"finished"` enables the new rules and turns the
   * previous ones off. There is no way back: a lower target for the same zone is refused. In place.
   * Source: seed 001, "API migration sequence".
   */
  readonly target: pulumi.Input<LiteralUnion<Target>>;
  /**
   * The complete list of rules to send in place of the proposed one; the output `proposedConfiguration` is what to start
   * from. From start they come after the entry point's own rules; from validation they replace the entry point. A rule
   * that exists (same action, expression and ruleset) keeps its id and ref. At least one rule, none twice. Sent with the
   * next step only. In place.
   */
  readonly configuration?: pulumi.Input<readonly pulumi.Input<MigrationRule>[]>;
  /**
   * The digest that the preview shows for the next step: without it nothing is sent. It stands for the zone, the target,
   * what Cloudflare proposes, the previous settings and overrides, and the rules to be sent; it stops fitting when any
   * of them changes. It is judged only while something is still to be sent. In place, without a write once the zone is there.
   */
  readonly confirm?: pulumi.Input<string>;
  /**
   * How long an `up` waits for the switch: seconds, or a text such as `"30m"`; at most a day. When the time is up the
   * `up` fails with what is known, and the next one waits on. Default `{ timeout: "1h" }`. In place, without a write.
   */
  readonly waitFor?: pulumi.Input<{ timeout?: pulumi.Input<number | string> }>;
  /** Whether an assessment that hasn't changed since the last update prints nothing at all. Default: one line. Updates in place, without a write. */
  readonly quiet?: pulumi.Input<boolean>;
}

/**
 * The migration of one zone from the previous managed firewall rules to managed rulesets. It cannot be undone,
 * so it is assessed first, confirmed by a digest of everything that would be sent, and sent once. Set `protect: true`. A
 * destroy forgets: nothing is sent. The resource's id is the zone's.
 *
 * The previous OWASP rules (2.x) had a sensitivity and no paranoia levels. The new ones are based on 3.x, which has them: a
 * sensitivity becomes a paranoia level and a score threshold, and what is not set becomes level 2.
 *
 * Phase two, which this is, lets every zone migrate but those with URI-based overrides. It replaced the conditions of
 * phase one: the previous rules disabled, or only Cloudflare's own ruleset enabled; no firewall rule or page rule that
 * bypasses, enables or disables them; no URI-based overrides.
 *
 * A step replaces all rules of the zone's entry point, and Cloudflare offers no condition for that write. So the entry
 * point is read once more right before it and has to equal what was confirmed, and updates on one machine take turns. A
 * rule that somebody adds or changes in the one round trip that remains is overwritten, found in the entry point's
 * earlier versions and put back, with a warning and in `concurrentChanges`. On two machines at the same moment the step
 * may be sent twice, with the same rules.
 *
 * Token permissions: Zone WAF Read, Firewall Services Read and Page Rules Read to preview and refresh; Zone WAF Write,
 * Firewall Services Read and Page Rules Read to update and destroy. Without the two of the previous rules, what they
 * would show is named as not counted.
 *
 * @throws in the preview when something blocks the zone, the confirmation is missing or does not fit, or the target is
 * lower than before; in an up for the same reasons, before anything is sent, or when the switch is not done in time.
 */
export class WafMigration extends edgeResource<WafMigrationArgs>()(wafMigration) {
  /** Whether Cloudflare says that the zone can migrate. Absent where it was not asked: the zone was finished already. */
  declare readonly compatible: pulumi.Output<boolean | undefined>;
  /** `start`, `validation`, `finished`, `retired`; else Cloudflare's own word, or `unknown`. */
  declare readonly migrationState: pulumi.Output<string>;
  /** What Cloudflare proposed when it was last asked, in the form of `configuration`. */
  declare readonly proposedConfiguration: pulumi.Output<readonly MigrationRule[] | undefined>;
  /** What `confirm` has to be for the next step; for `target: "assessed"` that of `"finished"`. */
  declare readonly configurationDigest: pulumi.Output<string | undefined>;
  /** Whether the previous managed rules act on the zone. Absent where Cloudflare does not say. */
  declare readonly previousRulesEnabled: pulumi.Output<boolean | undefined>;
  /**
   * Whether the new rules act on the zone: Cloudflare says that they are on, and an enabled rule of the entry point executes
   * a managed ruleset. Absent where Cloudflare doesn't say.
   */
  declare readonly newRulesEnabled: pulumi.Output<boolean | undefined>;
  /** What is to be known, the gravest first. Each names in `items` all that its text counts. */
  declare readonly findings: pulumi.Output<readonly Finding[]>;
  /** The findings from before the zone was finished: what its migration did not carry over. Absent until then. */
  declare readonly assessedBefore: pulumi.Output<readonly Finding[] | undefined>;
  /** Each step with its time, oldest first. */
  declare readonly history: pulumi.Output<readonly HistoryEntry[]>;
  /**
   * What others wrote to the entry point's rules while a step was sent, with each rule as it was: put back, or lost.
   * Absent where nobody did.
   */
  declare readonly concurrentChanges: pulumi.Output<readonly ConcurrentChange[] | undefined>;
  /** What the last preview that looked has printed. */
  declare readonly assessment: pulumi.Output<readonly string[] | undefined>;
  /** Changes when the observation of the zone does. */
  declare readonly assessmentDigest: pulumi.Output<string | undefined>;

  constructor(name: string, args: WafMigrationArgs, opts?: pulumi.CustomResourceOptions) {
    const claim = claimOnce("WafMigration", name, { zoneId: args.zoneId }, (known) => {
      const zone = wafMigration.args.shape.zoneId.safeParse(known.zoneId);
      if (!zone.success) return []; // The check of the resource says what is wrong with it.
      return [{ key: zone.data, clash: `both migrate zone ${zone.data}: keep one of them` }];
    });
    super(name, args, opts, claim);
  }
}

/** The first line of an assessment that is recorded already. */
function unchangedText([head = ""]: readonly string[]): string {
  return `${head.replace(/\.$/, "")} (unchanged since the last update; the output assessment has it all).`;
}

/** As an input, where an engine indents by itself. */
function withoutIndent(lines: readonly string[]): string[] {
  return lines.map((line) => line.trimStart());
}

function requestOf({ target, plan, confirm, configuration }: MigrationArgs): MigrationRequest {
  return { target, plan, confirm, configured: configuration?.map(toWire) };
}

/** What was read in this operation, by zone. */
function observations(ctx: Context): Map<string, Observation> {
  return ctx.shared("readings of migrations", () => new Map<string, Observation>());
}

async function runMigration(
  ctx: Context,
  args: MigrationArgs,
  before: z.infer<typeof computed> | undefined,
  from: Target = "assessed",
) {
  // What is sent is judged by a fresh look; what is only recorded is what the check has just shown.
  const seen =
    args.target === "assessed"
      ? (observations(ctx).get(args.zoneId) ?? (await observe(ctx.api, args.zoneId)))
      : undefined;
  const waitSeconds = args.waitFor?.timeout ?? MIGRATION.MAX_SWITCH_SECONDS;
  try {
    const request = requestOf(args);
    const reached = await advance({ ctx, zoneId: args.zoneId, from, request, waitSeconds, before, seen });
    if (seen === undefined) return withoutSecrets(ctx, reached);
    // A check that could not look left the assessment to this: unrecorded it would be a change in the next preview.
    const { assessment, assessmentDigest } = assessmentOutputs(seen, args);
    return {
      ...withoutSecrets(ctx, reached),
      assessment: assessment.map((line) => ctx.redact(line)),
      assessmentDigest,
    };
  } catch (error) {
    if (!(error instanceof PartialFailure)) throw error;
    const half = withoutSecrets(ctx, computed.parse(error.computed));
    throw new PartialFailure(error.id, half, error.message, error.reached);
  }
}

/** What a reviewer sees of an assessment, and what tells whether it has changed. */
function assessmentOutputs(
  observation: Observation,
  args: Parameters<typeof requestOf>[0],
): { readonly assessment: readonly string[]; readonly assessmentDigest: string } {
  const { lines, assessmentDigest } = assess(observation, requestOf(args));
  return { assessment: withoutIndent(lines), assessmentDigest };
}

const FIXED_WORDS = ["weight", "about", "outcome"];

/** Findings and changes of others quote rules that are sent, whose configuration may be a secret; the outputs are none. */
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

/** A target is a floor, and the ways only lead forward. */
function loweredTarget(
  { target, zoneId }: MigrationArgs,
  before: unknown,
): { readonly property: string; readonly reason: string } | undefined {
  const was = TARGETS.find((each) => each === before);
  if (was === undefined || TARGETS.indexOf(target) >= TARGETS.indexOf(was)) return undefined;
  const instead =
    was === "validation"
      ? 'keep target: "validation", or go on to target: "finished"'
      : `keep target: "${was}", which sends nothing any more`;
  return {
    property: "target",
    reason: `cannot go back from "${was}" to "${target}" for zone ${zoneId}: a migration has no way back. Instead ${instead}; or remove the resource, which forgets it and leaves the zone as it is. After an update that failed, run \`pulumi refresh\` first, which records how far the zone is`,
  };
}
