import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { MANAGED_RULES } from "../limits";
import { expression, expressionWarning, isSameExpression } from "../rules-language/argument";
import { canonicalExpression } from "../rules-language/equivalence";
import { accountId, adopt, zoneId, type Adopt, type LiteralUnion } from "../runtime/fields";
import type { Adopted } from "../runtime/adopted";
import { defineLifecycle, type Context, type Review } from "../runtime/lifecycle";
import type { CheckFailure } from "../runtime/inputs";
import { LOCK } from "../runtime/locks";
import { omitAbsent } from "../runtime/members";
import { claimOnce, edgeResource } from "../runtime/resource";
import { canonicalJson, pick, sameJson, type JsonObject } from "../runtime/values";
import { compareLive } from "./compare-live";
import { adoptionOf, chooseExisting, recordingHalf, takeOver, twins } from "./adoption";
import * as declared from "./arguments";
import {
  computed,
  exceptionIds,
  findOwn,
  outputsOf,
  prepare,
  prepareStrictly,
  readVersion,
  REF_PREFIX,
  tagsOf,
  toRequest,
  undeclared,
  wantedOf,
  type Computed,
  type Prepared,
  type Previous,
} from "./deployment";
import { expand, type RulesetExpansion } from "./effective";
import { foundRule, knownRuleset, type KnownRuleset } from "./found";
import { goneFrom, scoreRuleMoved } from "./outdated";
import {
  ensureEntryPoint,
  otherManagedRules,
  readEntryPoint,
  RuleWriter,
  seenEntryPoint,
  type OtherManagedRule,
} from "./entry-point";
import { removeExceptions, sameExceptions } from "./exceptions";
import { contradictions, judge } from "./judge";
import { findManagedRuleset, UnknownRulesetError } from "./managed";
import { sameCategories, thresholdName } from "./overrides";
import { missingAnchor, placementOf, violated } from "./position";
import { reconcileRule, stillThere, withdraw } from "./reconcile";
import { inDeclaredWords } from "./skip";
import type { ManagedRuleset, ZoneRule } from "./wire";

const args = z.object({
  zoneId,
  accountId,
  ruleset: declared.ruleset,
  version: declared.version.exactOptional(),
  expression: expression.default("true"),
  description: z.string().exactOptional(),
  enabled: z.boolean().default(true),
  ref: declared.ref,
  position: declared.position.exactOptional(),
  owasp: declared.owasp.exactOptional(),
  categories: declared.categories.exactOptional(),
  rules: declared.rules.exactOptional(),
  action: declared.action.exactOptional(),
  exceptions: declared.exceptions.exactOptional(),
  adopt: adopt.exactOptional(),
  onDestroy: z.enum(["restore", "remove", "keep"]).exactOptional(),
});
type OverrideArgs = z.output<typeof args>;
type OverrideState = OverrideArgs & Computed;

/** What was declared; undefined of a new resource, and of what somebody has made of it that no program may declare. */
const recorded = (olds: JsonObject): OverrideArgs | undefined => args.safeParse(olds).data;

export const managedRulesetOverride = defineLifecycle({
  type: "ManagedRulesetOverride",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["expansion", "drift"],
  compared: { ignore: [], also: ["drift"] },
  equal: {
    expression: isSameExpression,
    exceptions: sameExceptions,
    categories: (before, after, recorded) => {
      const [one, other] = [before, after].map((given) => declared.categories.safeParse(given));
      const known = computed.shape.known.safeParse(recorded["known"]);
      return (
        one?.data !== undefined &&
        other?.data !== undefined &&
        known.success &&
        sameCategories(one.data, other.data, known.data.sharedTags)
      );
    },
  },
  replaceOn: ["zoneId"],
  fromSettings: { accountId: ({ accountId }) => accountId },
  lostOnHandOver:
    "If it was somebody else's at first, how it was then is no longer known, and a destroy will put back what it is today; an alias would have kept it.",
  lock: ({ zoneId }) => LOCK.managedRules(zoneId),

  rules: [
    { needs: ["owasp", "categories"], check: (known) => contradictions(known)[0] },
    {
      needs: ["position", "ref"],
      check: ({ position, ref }) => {
        const [side, other] = typeof position === "object" ? (Object.entries(position)[0] ?? []) : [];
        if (side === undefined || other !== ref) return undefined;
        return { property: `position.${side}`, reason: `names the rule itself, ${JSON.stringify(ref)}` };
      },
    },
    {
      needs: ["expression", "exceptions", "ref"],
      quotes: ["expression", "exceptions"],
      check: ({ expression, exceptions = [], ref }) => {
        const places = exceptions.map(
          (each, index) => [`exceptions[${index}].expression`, each.expression] as const,
        );
        const all = { expression, ...Object.fromEntries(places) };
        return expressionWarning(`managed ruleset ${JSON.stringify(ref)}`, all);
      },
    },
    {
      needs: ["owasp", "rules", "ref"],
      check: ({ owasp, rules = {}, ref }) => {
        const scores = [owasp?.scoreThreshold, ...Object.values(rules).map((r) => r.scoreThreshold)];
        const odd = scores.filter((score) => score !== undefined && thresholdName(score) === undefined);
        if (odd.length === 0) return undefined;
        return {
          warning: `managed ruleset ${JSON.stringify(ref)}: the threshold ${odd.join(", ")} is none of those that have a name: 25 (high), 40 (medium), 60 (low).`,
        };
      },
    },
    {
      needs: ["owasp", "enabled", "ref"],
      check: ({ owasp, enabled, ref }) =>
        owasp === undefined || enabled
          ? undefined
          : {
              warning: `managed ruleset ${JSON.stringify(ref)}: enabled is false, so paranoia level ${owasp.paranoiaLevel} has no effect.`,
            },
    },
  ],

  derive({ ctx, args }) {
    deploymentsOf(ctx).set(`${args.zoneId} ${args.ref}`, args);
    return Promise.resolve({});
  },

  async live({ ctx, args, olds }) {
    let prepared: Prepared;
    try {
      prepared = await prepare(ctx, args);
    } catch (error) {
      if (error instanceof UnknownRulesetError)
        return { failures: [{ property: error.property, reason: error.reason }] };
      throw error;
    }
    const { managed, overrides } = prepared;
    const found = await seenEntryPoint(ctx, args.zoneId);
    // The rule that is named may be made by this same `up`, before this one.
    const missing = missingAnchor(args.position, found, args.zoneId);
    if (missing !== undefined)
      ctx.say.warn(
        `managed ruleset ${JSON.stringify(args.ref)}: ${missing}. An \`up\` needs it to be there.`,
      );
    // New, or a replacement in another zone.
    const isNew = olds["zoneId"] !== args.zoneId;
    const existing = isNew ? await chooseExisting(ctx, args, prepared, found) : undefined;
    const other = sameInOtherWords(ctx, args, prepared);
    const isOther = ({ id, ref }: ZoneRule): boolean =>
      ref !== olds["ref"] && id !== existing?.rule.id && ctx.holding(id) === undefined; // The program's own are told of by the class.
    const twin = twins(args, prepared, found).find(isOther);
    const runsToo =
      other === undefined
        ? twin && `rule ${twin.id} (${twin.ref}) of zone ${args.zoneId} executes`
        : `${JSON.stringify(other.ref)} of this program executes`;
    if (runsToo !== undefined)
      ctx.say.warn(
        `managed ruleset ${JSON.stringify(args.ref)}: ${runsToo} ${JSON.stringify(managed.name)} for the same requests: it runs twice.`,
      );
    const compared = await compareLive(ctx, { args, prepared, found, olds: recorded(olds), existing });
    const expansion: RulesetExpansion = { ...expand(managed, args, overrides), ...omitAbsent({ compared }) };
    const adopts = existing === undefined ? {} : adoptionOf(ctx, args, prepared, found, existing);
    return {
      computed: { expansion },
      failures: [...judge(args, managed), ...doubled(args, other)],
      ...adopts,
    };
  },

  // What a version has changed, an update finds in what its check has read.
  review({ ctx, state, args, change }) {
    if (args === undefined || change !== "update") return Promise.resolve([]);
    const version = async (): Promise<Review> => {
      const { managed } = await prepare(ctx, args);
      const { rulesetId, known } = state;
      for (const line of scoreRuleMoved(managed, { ...args, rulesetId, known })) ctx.say.warn(line);
      return {};
    };
    return Promise.resolve([version]);
  },

  async create({ ctx, args }) {
    const prepared = await prepareStrictly(ctx, args);
    const seen = await readEntryPoint(ctx, args.zoneId);
    placementOf(args.position, seen, args.zoneId); // Refuses before anything is made.
    const rules = new RuleWriter(ctx, args.zoneId, seen ?? (await ensureEntryPoint(ctx, args.zoneId)));
    const existing = await chooseExisting(ctx, args, prepared, rules.now);
    if (existing !== undefined) return await takeOver(rules, args, prepared, existing);

    const wanted = wantedOf(args, prepared);
    const position =
      args.position === "last" ? undefined : placementOf(args.position, rules.now, args.zoneId);
    // Nothing is blocked that is to be excepted: with exceptions, the rule acts when they are in place.
    const waits = args.exceptions !== undefined && wanted.enabled;
    const definition = toRequest({ ...wanted, enabled: wanted.enabled && !waits });
    const rule = await rules.add(args.ref, { ...definition, ...omitAbsent({ position }) });
    const outputs = (): Computed => outputsOf(rules.now, stillThere(rules.now, rule), prepared);
    await recordingHalf(rule.id, outputs(), () =>
      reconcileRule(rules, args, prepared, { rule, wanted, placing: "none" }),
    );
    return { id: rule.id, computed: outputs() };
  },

  async read({ ctx, state }) {
    const found = await readEntryPoint(ctx, state.zoneId);
    const rule = findOwn(found, state);
    if (found === undefined || rule === undefined) return undefined;
    const { deploys } = rule;
    const managed = await lookAgain(ctx, state, rule);
    const isMoved = deploys !== undefined && deploys.rulesetId !== state.rulesetId;
    if (managed !== undefined && !isMoved)
      for (const line of [...goneFrom(managed, state), ...scoreRuleMoved(managed, state)]) ctx.say.warn(line);
    const { scoreRule, sharedBy }: KnownRuleset =
      managed === undefined ? { sharedBy: () => state.known.sharedTags } : knownRuleset(managed);
    const known = {
      sharedBy,
      scoreRule: isMoved ? state.known.scoreRule : (scoreRule ?? state.known.scoreRule),
    };
    const live = foundRule(state, known, found, rule, { ref: state.ref, adopted: exceptionIds(state) });
    const skipped = (state.exceptions ?? []).map(({ skip }) => skip);
    const now = {
      ...state,
      ...live,
      ruleset: isMoved ? { id: deploys.rulesetId } : state.ruleset,
      version: readVersion(state, deploys?.version),
      exceptions: live.exceptions?.map((each) => ({
        ...each,
        skip: inDeclaredWords(each.skip, skipped, state.rulesetId, state.known.rulesets ?? {}),
      })),
      ruleId: rule.id,
      ruleRef: rule.ref,
      entryPointId: found.id,
      rulesetId: deploys?.rulesetId ?? state.rulesetId,
      rulesetVersion: managed?.version ?? state.rulesetVersion,
      otherManagedRules: otherManagedRules(found, rule.id),
      known: { ...state.known, sharedTags: sharedBy(tagsOf(state)) },
    };
    // A zone may hold what no program may declare: it is recorded as it is. Members without a value are left out.
    return now as unknown as OverrideState;
  },

  async update({ ctx, state, args }) {
    const prepared = await prepareStrictly(ctx, args);
    const found = await readEntryPoint(ctx, args.zoneId);
    const rule = findOwn(found, state);
    if (found === undefined || rule === undefined) {
      throw new Error(
        `The rule ${state.ruleId} of zone ${args.zoneId} is gone. If it was deleted elsewhere, run \`pulumi refresh\`; the next \`pulumi up\` makes it anew.`,
      );
    }
    const wanted = {
      ...wantedOf(args, prepared),
      ...undeclared(args, state, rule),
      ref: state.previous === undefined ? args.ref : rule.ref,
    };
    const isAsked = !sameJson(state.position, args.position);
    const isWrong = violated(args.position, found, rule) !== undefined;
    const placing = isAsked ? "asked" : isWrong ? "wrong side" : "none";
    const rules = new RuleWriter(ctx, args.zoneId, found);
    const adopted = exceptionIds(state);
    await reconcileRule(rules, args, prepared, { rule, wanted, adopted, formerRef: state.ref, placing });
    const outputs = outputsOf(rules.now, stillThere(rules.now, rule), prepared);
    return { ...outputs, ...omitAbsent({ previous: state.previous }) };
  },

  async delete({ ctx, state }) {
    const { zoneId } = state;
    const mode = state.onDestroy ?? (state.previous === undefined ? "remove" : "restore");
    if (mode === "keep") {
      ctx.say.info(`Rule ${state.ruleId} of zone ${zoneId} is left as it is (onDestroy: "keep").`);
      return;
    }
    const found = await readEntryPoint(ctx, zoneId);
    if (found === undefined) return;
    const rule = findOwn(found, state);
    const kept = rule === undefined ? undefined : holderOf(ctx, state, rule);
    if (kept !== undefined) {
      ctx.say.info(`Rule ${rule?.id} of zone ${zoneId} is kept: ${kept}`);
      return;
    }
    const rules = new RuleWriter(ctx, zoneId, found);
    // The rule goes before its exceptions: nothing is blocked meanwhile that was excepted.
    if (rule !== undefined) await withdraw(rules, state, rule, mode);
    const adopted = exceptionIds(state);
    await removeExceptions(rules, { ref: state.ref, adopted }, mode === "restore" ? adopted : []);
    if (otherManagedRules(rules.now).length === 0) {
      ctx.say.warn(
        `zone ${zoneId} is left without a managed ruleset: no enabled rule executes one any more.`,
      );
    }
  },
});

export interface ManagedRulesetOverrideArgs {
  /** The zone, 32 hexadecimal digits. Replaces: the rule of the old zone goes as `onDestroy` says. */
  readonly zoneId: pulumi.Input<string>;
  /**
   * The account that the managed ruleset is looked up in, 32 hexadecimal digits. Default: `edgeguard:accountId`, else
   * CLOUDFLARE_ACCOUNT_ID. In place, without a write.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The managed ruleset: `{ name }`, `{ id }`, or either as plain text. A ruleset that the account doesn't have is an
   * error. Updates in place: the same rule then executes another ruleset.
   */
  readonly ruleset: pulumi.Input<
    string | { readonly id: pulumi.Input<string> } | { readonly name: pulumi.Input<string> }
  >;
  /**
   * The version to deploy: `"latest"` or a number as text. Never sent unless set, and Cloudflare then takes the latest;
   * a newer one is an output, not a change. In place. Source: seed 001, "Versioning"; the OpenAPI does not know it.
   */
  readonly version?: pulumi.Input<string>;
  /**
   * Which requests it looks at, in Cloudflare's Rules language: `http.host eq "www.example.com"`. Default `"true"`: all.
   * What Cloudflare can't read fails the preview, with its place; a field or function that Cloudflare doesn't document is a
   * warning. Notation alone (white space, `==` for `eq`) is no change. At most 4,096 characters. Updates in place.
   */
  readonly expression?: pulumi.Input<string>;
  /** What the deployment is for. Sent only when set; when removed it is empty again. In place. Source: seed 001, "Rule". */
  readonly description?: pulumi.Input<string>;
  /** Whether the deployment acts at all. Default true, always sent. In place. Source: seed 001, "Rule". */
  readonly enabled?: pulumi.Input<boolean>;
  /**
   * What tells the rule from all others of the zone. Default `edgeguard/<project>/<stack>/<name>`, with a digest in place
   * of the rest where that is longer than 120 characters. A new resource takes a rule with its ref for its own where the
   * ref begins with `edgeguard/`; under any other ref it is somebody's, and `adopt` decides. A rule that was taken over
   * keeps its own ref. A rule with the default ref of another name of this stack is taken over, and gets the new ref, where
   * it equals the declaration and no resource of the program holds it: a rename without an alias deletes nothing. Two of a
   * program may not share one. Updates in place.
   */
  readonly ref?: pulumi.Input<string>;
  /**
   * Where the rule stands among the zone's managed rules; earlier ones run first. Another rule is named by its `ref`, or
   * by its id where it has none. Applied when the rule is made and when this changes. `"first"` and `"last"` are not
   * asserted again; on the wrong side of a rule it was to stand before or after is drift. Default: last when it is made.
   * In place. Source: OpenAPI `createZoneRulesetRule` (`position`).
   */
  readonly position?: pulumi.Input<
    | LiteralUnion<"first" | "last">
    | { readonly before: pulumi.Input<string> }
    | { readonly after: pulumi.Input<string> }
  >;
  /**
   * The OWASP core ruleset in its own words; an error for any other. `categories` or `rules` that say otherwise are an
   * error that names both. In place. Source: seed 001, "Configuration rules".
   */
  readonly owasp?: pulumi.Input<declared.OwaspArgs>;
  /**
   * Overrides of all rules with a tag, in order: of several that match one rule the last wins, and those that `owasp`
   * switches off come last of all. An order that decides nothing is no change. Each has to set `enabled`, `action` or
   * both; what is unset stays as the ruleset has it. In place. Source: seed 001, "Rule" (`overrides.categories`).
   */
  readonly categories?: pulumi.Input<readonly pulumi.Input<declared.CategoryOverrideArgs>[]>;
  /**
   * Overrides of single rules by their id; stronger than those of tags. Their order means nothing. Each has to set
   * something; what is unset stays as the ruleset has it. In place. Source: seed 001, "Rule" (`overrides.rules`).
   */
  readonly rules?: pulumi.Input<Readonly<Record<string, pulumi.Input<declared.RuleOverrideArgs>>>>;
  /**
   * What all rules of the ruleset do instead of their own action; overrides of tags and of rules are stronger. In place.
   * Source: OpenAPI `rulesets_ExecuteRule` (`overrides.action`).
   */
  readonly action?: pulumi.Input<LiteralUnion<declared.RuleAction>>;
  /**
   * Requests that managed rules leave alone: skip rules, kept in this order directly in front of the rule, and removed
   * with it. `skip: "this"` skips the ruleset that this resource deploys; `skip: "all"` skips all managed rules behind the
   * exception, those of others too; `{ rulesets }` and `{ rules }` name rulesets by name or ID. Updates in place.
   * @example [{ expression: 'http.request.uri.path eq "/upload"', skip: "this" }]
   */
  readonly exceptions?: pulumi.Input<readonly pulumi.Input<declared.ExceptionArgs>[]>;
  /**
   * What to do when a rule of the zone executes the same ruleset with the same expression already, as two would run it
   * twice, or has the ref that is declared. `"ifEqual"`: take it over if nothing differs. `"takeOver"`: take it over and change what differs. `"never"`:
   * refuse, also what an earlier run of this resource has left. Several such rules are an error. Default `"ifEqual"`.
   * In place, without a write.
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * What a destroy does: `"remove"` deletes the rule; `"restore"` puts a rule that was taken over back as it was found,
   * and deletes one that was not; `"keep"` leaves rule and exceptions as they are. Default `"remove"` for a rule that this
   * resource made, `"restore"` for one that it took over. In place, without a write.
   */
  readonly onDestroy?: pulumi.Input<LiteralUnion<"restore" | "remove" | "keep">>;
}

/**
 * One deployment of a managed ruleset in a zone: one execute rule of the zone's entry point, with its overrides and
 * exceptions. All other rules of the zone keep their ids, order and content, whoever made them: each write is
 * of one rule, the entry point is never replaced. The resource's id is the rule's.
 *
 * Token permissions: Zone WAF Read and Account Rulesets Read to preview and refresh; Zone WAF Write and Account Rulesets
 * Read to update and destroy.
 *
 * @throws when the ruleset, a tag or a rule of it does not exist, an existing rule may not be taken over, or the token
 * lacks a permission.
 */
export class ManagedRulesetOverride extends edgeResource<ManagedRulesetOverrideArgs>()(
  managedRulesetOverride,
) {
  /** As declared, or by default; the exceptions are numbered under it. */
  declare readonly ref: pulumi.Output<string>;
  /** With the threshold as a number. */
  declare readonly owasp: pulumi.Output<declared.Owasp | undefined>;
  /** Id of the rule in the zone's entry point. */
  declare readonly ruleId: pulumi.Output<string>;
  /** The rule's own ref: `ref`, but for a rule that was taken over. To name it in another's `position`. */
  declare readonly ruleRef: pulumi.Output<string>;
  /** Id of the zone's entry point. */
  declare readonly entryPointId: pulumi.Output<string>;
  /** Id of the managed ruleset. */
  declare readonly rulesetId: pulumi.Output<string>;
  /** The version that was in use when it was last looked at: what `"latest"` stood for. */
  declare readonly rulesetVersion: pulumi.Output<string>;
  /** Other enabled rules of the zone that executed a managed ruleset when it was last looked at. */
  declare readonly otherManagedRules: pulumi.Output<readonly OtherManagedRule[]>;
  /** The rule that existed and was adopted when the resource was created, with what that changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;
  /** That rule as it was found, unless it was this program's own: what a destroy restores. */
  declare readonly previous: pulumi.Output<Previous | undefined>;
  /** What the declaration amounted to when it was last changed. Absent where the preview could not ask Cloudflare. */
  declare readonly expansion: pulumi.Output<RulesetExpansion | undefined>;

  constructor(name: string, args: ManagedRulesetOverrideArgs, opts?: pulumi.CustomResourceOptions) {
    const ref = args.ref ?? defaultRef(name);
    const { zoneId, ruleset, expression } = args;
    const claim = claimOnce("ManagedRulesetOverride", name, { zoneId, ref, ruleset, expression }, (known) => {
      const { shape } = managedRulesetOverride.args;
      const zone = shape.zoneId.safeParse(known.zoneId);
      const choice = shape.ruleset.safeParse(known.ruleset);
      const requests = shape.expression.safeParse(known.expression);
      if (!zone.success || !choice.success || !requests.success) return []; // The check of the resource says what is wrong with it.
      return [
        {
          key: `${zone.data} ${known.ref}`,
          clash: `both have the ref ${JSON.stringify(known.ref)} in zone ${zone.data}: give one of them another`,
        },
        {
          key: `${zone.data} ${canonicalJson(choice.data)} ${canonicalExpression(requests.data) ?? ""}`,
          clash: `execute the same managed ruleset for the same requests of zone ${zone.data}: it runs twice`,
          warnOnly: true,
        },
      ];
    });
    const equal = claimOnce("ManagedRulesetOverride", name, { ...args, ref: undefined }, (known) => {
      const { data } = WHOLE.safeParse(pick(known, Object.keys(WHOLE.shape)));
      if (data === undefined) return [];
      const clash = `declare the same rule of zone ${data.zoneId}, equal in every argument: keep one of them`;
      return [{ key: canonicalJson(data), clash }];
    });
    const claims = (): void => [claim, equal].forEach((each) => each());
    super(name, { ...args, ref }, opts, claims);
  }
}

/** What the program deploys, as far as it was checked: by zone and ref. */
function deploymentsOf(ctx: Context): Map<string, OverrideArgs> {
  return ctx.shared("declared deployments", () => new Map<string, OverrideArgs>());
}

/**
 * Another resource of the program that deploys the same ruleset for the same requests, but names it otherwise: one by its
 * name, the other by its ID. What names it alike is told of by the class.
 */
function sameInOtherWords(ctx: Context, args: OverrideArgs, { managed }: Prepared): OverrideArgs | undefined {
  const meaning = (text: string): string => canonicalExpression(text) ?? text;
  return [...deploymentsOf(ctx).values()].find(
    ({ zoneId, ref, ruleset, expression }) =>
      zoneId === args.zoneId &&
      ref !== args.ref &&
      !sameJson(ruleset, args.ruleset) &&
      (ruleset.id === managed.id || ruleset.name === managed.name) &&
      meaning(expression) === meaning(args.expression),
  );
}

/** As the class refuses two that are equal in every argument and name their ruleset alike. */
function doubled(args: OverrideArgs, other: OverrideArgs | undefined): readonly CheckFailure[] {
  const whole = (each: OverrideArgs): string =>
    canonicalJson({ ...pick(each, Object.keys(WHOLE.shape)), ruleset: "", expression: "" });
  if (other === undefined || whole(other) !== whole(args)) return [];
  const reason = `names the ruleset that ${JSON.stringify(other.ref)} deploys, and both declare the same rule of zone ${args.zoneId}, equal in every argument: keep one of them`;
  return [{ property: "ruleset", reason }];
}

/** What tells one rule from another. */
const WHOLE = args.omit({ accountId: true, ref: true, position: true, adopt: true, onDestroy: true });

function defaultRef(name: string): string {
  const full = `${REF_PREFIX}${pulumi.getProject()}/${pulumi.getStack()}/${name}`;
  if (full.length <= MANAGED_RULES.MAX_DEFAULT_REF_CHARACTERS) return full;
  return `${REF_PREFIX}${createHash("sha256").update(full).digest("hex").slice(0, 40)}`;
}

/** Why a rule is another resource's by now, so that a destroy keeps it; undefined where it isn't. */
function holderOf(ctx: Context, state: OverrideState, { id, ref }: ZoneRule): string | undefined {
  // A rule that was made anew under another ID.
  if (ctx.holding(id) === "made") return "another resource has taken it over.";
  // One that this resource made, under the ref that this package gives another.
  if (state.previous !== undefined || ref === state.ref || !ref.startsWith(REF_PREFIX)) return undefined;
  return `its ref is ${JSON.stringify(ref)}, so another resource has taken it over. If none has, delete the rule in the dashboard.`;
}

/** The ruleset that the rule executes now; undefined where it cannot be looked at, as a refresh goes on without. */
async function lookAgain(
  ctx: Context,
  { accountId }: OverrideState,
  { deploys }: ZoneRule,
): Promise<ManagedRuleset | undefined> {
  if (deploys === undefined) return undefined;
  try {
    return await findManagedRuleset(ctx, accountId, { id: deploys.rulesetId }, deploys.version);
  } catch (error) {
    if (error instanceof ApiError || error instanceof UnknownRulesetError) return undefined;
    throw error;
  }
}
