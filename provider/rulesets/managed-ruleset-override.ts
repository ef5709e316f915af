import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { expression, expressionWarning, isSameExpression } from "../rules-language/argument";
import { CompositeId, scopeName, scopeOf } from "../runtime/composite-id";
import { ID, adopt, type Adopt, type LiteralUnion } from "../runtime/fields";
import { adoptedId, type Adopted } from "../runtime/adopted";
import type { Context } from "../runtime/lifecycle";
import type { CheckFailure } from "../runtime/inputs";
import { LOCK } from "../runtime/locks";
import { omitAbsent, canonicalJson, pick, sameJson, type JsonObject } from "../basics/json";
import { defineResource } from "../runtime/resource";
import { HIDDEN } from "../runtime/hidden";
import type { Unmanaged } from "../runtime/unmanaged";
import { warnBeforeMigration } from "./before-migration";
import { compareLive, orderWarnings } from "./compare-live";
import { adoptionOf, argumentsOf, chooseExisting, recordOnFailure, takeOver } from "./adoption";
import * as declared from "./arguments";
import {
  computed,
  exceptionIds,
  findOwnRule,
  outputsOf,
  prepare,
  prepareForWrite,
  problemsIn,
  liveVersion,
  tagsOf,
  toRequest,
  valuesOfRemoved,
  desiredRule,
  type Computed,
  type Declared,
  type Prepared,
  type PreviousRule,
} from "./deployment";
import { declaredDeployments, duplicatesOfOtherPrograms, duplicateInProgram } from "./duplicates";
import { expand, expansionIn, OVERRIDING, type RulesetExpansion } from "./effective";
import { readDeployedRuleset, readLiveRule, refreshedFacts } from "./live-rule";
import {
  declaredVersion,
  deploymentIn,
  incomparable,
  missingInVersion,
  newsOfPinned,
  newsOfVersion,
} from "./version-changes";
import {
  ensureEntryPoint,
  findByRef,
  entryPointOf,
  entryPointPath,
  isSameEntryPoint,
  readEntryPoint,
  readWithRule,
  RuleWriter,
  cachedEntryPoint,
} from "./entry-point";
import { checkMessages, rulesetRecord, SEEN, versionMessages, type RulesetImpact } from "./impact";
import { ownExceptions, removeExceptions, sameExceptions } from "./exceptions";
import { readDeployment } from "./existing";
import {
  goneRules,
  OTHER_RULES,
  RUN_REFRESH,
  isWhollyRecorded,
  lookUpRules,
  mayNameRules,
  mergeRuleIds,
  recordedRuleIds,
  resolvedInWords,
  sameMeanings,
  stillNamed,
} from "./resolve-rules";
import type { RuleIds } from "./rule-names";
import { contradictions } from "./validate";
import { UnknownRulesetError } from "./managed";
import { sameCategories, thresholdName } from "./overrides";
import { MANAGED_RULES } from "../limits";
import { notInPlan } from "../runtime/zone-plan";
import { isSamePlace, missingAnchor, placementOf, positionOfNew, positionOnWrongSide } from "./position";
import { areOfOneStack, defaultRef, REF_PREFIX, unfinishedRef } from "./refs";
import { reconcileRule, currentRule, removeOrRestore } from "./reconcile";
import { asDeclared } from "./skip";
import {
  acceptedSkips,
  newlySkippedByOthers,
  OTHER_SKIPS,
  otherSkipRules,
  type ExplainedException,
} from "./skip-rules";
import { type EntryPoint, PHASES, unmanagedOf, type Phase, type ZoneRule } from "./wire";

const args = z.object({
  zoneId: ID.zone.exactOptional(),
  accountId: ID.account,
  phase: declared.phase.exactOptional(),
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
  allRulesEnabled: z.boolean().exactOptional(),
  matchedData: declared.matchedData.exactOptional(),
  exceptions: declared.exceptions.exactOptional(),
  adopt: adopt.exactOptional(),
  onDestroy: z.enum(["restore", "remove", "keep"]).exactOptional(),
});
type OverrideArgs = z.output<typeof args>;
type OverrideState = OverrideArgs & Computed;

/**
 * Returns the recorded arguments. Undefined for a new resource, or if a refresh recorded values that a program can't
 * declare.
 */
const recordedArgs = (olds: JsonObject): OverrideArgs | undefined => args.safeParse(olds).data;

/** Finds the resource's own rule by what's recorded: an adopted one keeps its ref, and an interrupted create another one. */
const recordedRule = (olds: JsonObject, found: EntryPoint | undefined): ZoneRule | undefined =>
  findOwnRule(found, { ruleId: adoptedId(olds) ?? "", ruleRef: String(olds["ref"]) }) ??
  findByRef(found, unfinishedRef(String(olds["ref"])));

/** Returns nothing if the account no longer has the ruleset. */
function ifUnknownRuleset(error: unknown): undefined {
  if (!(error instanceof UnknownRulesetError)) throw error;
}

/** The arguments that say in which entry point the rule is. */
const LOCATION = args.pick({ zoneId: true, accountId: true, phase: true });

/** Two resources are identical if these arguments are equal. */
const COMPARED_ARGS = args.omit({ accountId: true, ref: true, position: true, adopt: true, onDestroy: true });

export const managedRulesetOverride = defineResource({
  type: "ManagedRulesetOverride",
  compositeId: new CompositeId(["<zone ID>/<rule ID>", "account/<account ID>/<rule ID>"]),
  importedWith: "--only rulesets",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["expansion", "drift", "ruleIds", "adopted"],
  derivedFrom: {
    expansion: OVERRIDING,
    known: ["ruleset", "categories", "exceptions"],
    ruleIds: ["rules", "exceptions"],
    ruleRef: ["ref"],
    [OTHER_SKIPS]: ["ref", "description", "position", "expression", "exceptions"],
    previous: ["ref", "description", "expression", "exceptions", "matchedData", ...OVERRIDING],
  },
  watched: { [OTHER_SKIPS]: (before, now) => newlySkippedByOthers(before, now).length > 0 },
  record: rulesetRecord,
  pending: ({ inputs }) => ["expansion", ...(mayNameRules(inputs) ? ["ruleIds"] : [])],
  informs: ["expansion"],
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
  replaceOn: ["zoneId", "accountId", "phase"],
  // A zone's rule stays where it is.
  keptOn: (key, { zoneId }) => key === "accountId" && zoneId !== undefined,
  ofAccount: true,
  named: (about) => ({ ref: defaultRef(about) }),
  claims: [
    {
      by: ["zoneId", "accountId", "phase", "ref"],
      of: ({ ref, ...where }) => [
        {
          key: `${entryPointPath(entryPointOf(where))} ${ref}`,
          clash: `have the same ref ${JSON.stringify(ref)} in ${scopeName(scopeOf(where))}. Change one of the refs`,
        },
      ],
    },
  ],
  lostOnHandOver:
    "If the rule was adopted, its original settings are no longer known, and a destroy will restore the current ones. An alias would have preserved the original ones.",
  lock: (args) => LOCK.managedRules(scopeName(scopeOf(args))),

  rules: [
    {
      needs: ["zoneId", "expression", "exceptions"],
      check: ({ zoneId, expression, exceptions = [] }) => {
        const property = zoneId === undefined ? declared.notOfEnterprise(expression, exceptions) : undefined;
        const reason =
          'must end with `and cf.zone.plan eq "ENT"`, because without zoneId, the rule is deployed in the account, for its Enterprise zones. Put the rest in parentheses, or set zoneId to deploy it in one zone';
        return property === undefined ? undefined : { property, reason };
      },
    },
    {
      needs: ["phase", "matchedData"],
      check: ({ phase, matchedData }) =>
        phase === undefined || matchedData === undefined
          ? undefined
          : {
              property: "matchedData",
              reason: "only requests have payload logging. Remove it from a rule for responses",
            },
    },
    { needs: ["owasp", "categories"], check: (known) => contradictions(known)[0] },
    {
      needs: ["position", "ref"],
      check: ({ position, ref }) => {
        const [side, other] = typeof position === "object" ? (Object.entries(position)[0] ?? []) : [];
        if (side === undefined || other !== ref) return undefined;
        const reason = `${JSON.stringify(ref)} is this rule's own ref. Use the ref of another rule`;
        return { property: `position.${side}`, reason };
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
      quotes: ["owasp", "rules"],
      check: ({ owasp, rules = {}, ref }) => {
        const scores = [owasp?.scoreThreshold, ...Object.values(rules).map((r) => r.scoreThreshold)];
        const odd = scores.filter((score) => score !== undefined && thresholdName(score) === undefined);
        if (odd.length === 0) return undefined;
        return {
          warning: `managed ruleset ${JSON.stringify(ref)}: the score threshold ${odd.join(", ")} will be sent as is, but Cloudflare documents only 25 (high), 40 (medium) and 60 (low).`,
        };
      },
    },
    {
      needs: ["owasp", "enabled", "ref"],
      quotes: ["owasp"],
      check: ({ owasp, enabled, ref }) =>
        owasp === undefined || enabled
          ? undefined
          : {
              warning: `managed ruleset ${JSON.stringify(ref)}: paranoia level ${owasp.paranoiaLevel} will have no effect, because enabled is false.`,
            },
    },
  ],

  // The recorded IDs stay even if a live check isn't possible. A saved plan leaves them open if the update adds others.
  derive({ ctx, args, olds, given }) {
    declaredDeployments(ctx).set(`${entryPointPath(entryPointOf(args))} ${args.ref}`, args);
    const isOpen = given[HIDDEN.savedPlan] === true && !isWhollyRecorded(args, olds);
    return Promise.resolve({
      computed: isOpen ? {} : { ruleIds: stillNamed(args, recordedRuleIds(olds)) },
    });
  },

  async current({ ctx, olds, inputs }) {
    const recorded = recordedArgs(olds);
    if (recorded === undefined) return undefined;
    const found = await cachedEntryPoint(ctx, entryPointOf(recorded));
    const rule = recordedRule(olds, found);
    if (found === undefined || rule === undefined) return undefined;
    const prepared = await prepare(ctx, recorded, recordedRuleIds(olds)).catch(ifUnknownRuleset);
    if (prepared === undefined) return undefined;
    const exists = argumentsOf(recorded, prepared, found, { rule, from: "own" });
    // An update moves the rule only if it's on the wrong side.
    const position = positionOnWrongSide(recorded.position, found, rule) ?? recorded.position;
    // A key that the program declares for the first time replaces someone else's.
    const { publicKey } = rule.deploys ?? {};
    const isFirst = recorded.matchedData === undefined && inputs["matchedData"] !== undefined;
    const matchedData = isFirst && publicKey !== undefined ? { publicKey } : exists["matchedData"];
    return { id: rule.id, args: { ...exists, position, matchedData } };
  },

  async live({ ctx, args, olds }) {
    const { zoneId } = args;
    const recorded = LOCATION.safeParse(olds).data;
    const isNew = recorded === undefined || !isSameEntryPoint(recorded, args);
    let prepared: Prepared;
    try {
      prepared = await prepare(ctx, args, recordedRuleIds(olds));
    } catch (error) {
      if (error instanceof UnknownRulesetError)
        return { failures: [{ property: error.property, reason: error.reason }] };
      throw error;
    }
    const { managed, overrides, ruleIds, unresolved } = prepared;
    if (unresolved.length > 0) {
      const isUnrecorded = !isNew && !isWhollyRecorded(recordedArgs(olds), olds);
      const hint = isUnrecorded
        ? `. If the last update resolved this name without live checks, ${RUN_REFRESH}`
        : "";
      return { failures: unresolved.map((each) => ({ ...each, reason: each.reason + hint })) };
    }
    const problems = [...problemsIn(ctx, args, prepared)];
    if (isNew && problems.length > 0) return { failures: problems }; // Otherwise, the advice would be to adopt a rule that differs.
    const found = await cachedEntryPoint(ctx, entryPointOf(args));
    const missing = missingAnchor(args.position, found, scopeOf(args), args.ref);
    // This is only a warning, because the same update may create that rule first.
    if (missing !== undefined)
      ctx.say.warn(
        `managed ruleset ${JSON.stringify(args.ref)}: ${missing}. The update will fail unless the rule exists by then.`,
      );
    // An adopted rule keeps its own ref until the declared one changes.
    const taken = isNew || args.ref === olds["ref"] ? undefined : findByRef(found, args.ref);
    if (taken !== undefined && findByRef(found, String(olds["ref"])) && ctx.holding(taken.id) === undefined)
      problems.push({
        property: "ref",
        reason: `is already the ref of rule ${taken.id}. Use another one, or delete that rule`,
      });
    const existing = isNew ? await chooseExisting(ctx, args, prepared, found) : undefined;
    const own = existing?.rule ?? (isNew ? undefined : recordedRule(olds, found));
    const isFree = (id: string | undefined): boolean => id === MANAGED_RULES.FREE_RULESET_ID;
    // A zone that deploys another ruleset already may do so.
    const isKnown = found?.rules.some(({ deploys }) => deploys !== undefined && !isFree(deploys.rulesetId));
    if (isNew && zoneId !== undefined && !isFree(managed.id) && isKnown !== true) {
      const failures = await notInPlan(ctx, zoneId, JSON.stringify(managed.name), MANAGED_RULES.PLANS);
      if (failures.length > 0) return { failures };
    }
    if (isNew && existing === undefined) await warnBeforeMigration(ctx, args);
    const other = duplicateInProgram(ctx, args, prepared);
    const isOther = ({ id }: ZoneRule): boolean => id !== own?.id && ctx.holding(id) === undefined;
    const duplicate = duplicatesOfOtherPrograms(args, prepared, found).find(isOther);
    const executor =
      other === undefined
        ? duplicate && `rule ${duplicate.id} (${duplicate.ref}) in ${scopeName(scopeOf(args))}`
        : `${JSON.stringify(other.ref)} of this program`;
    // A later resource of this program may be about to change the rule.
    const isOfStack =
      other === undefined && duplicate !== undefined && areOfOneStack(args.ref, duplicate.ref);
    const unless = isOfStack ? ", unless this update changes or deletes that rule" : "";
    if (executor !== undefined)
      ctx.say.warn(
        `managed ruleset ${JSON.stringify(args.ref)}: ${JSON.stringify(managed.name)} will run twice for the same requests, because ${executor} also executes it${unless}.`,
      );
    const deployed = declaredVersion(args, prepared);
    const since = isNew ? undefined : recordedVersion(args, olds);
    const versions = [
      ...(since === undefined ? [] : await newsOfVersion(ctx, since, deployed)),
      ...(await newsOfPinned(ctx, args, deployed)),
    ];
    const comparison = {
      args,
      prepared,
      found,
      existing,
      own,
      olds: recordedArgs(olds),
      recorded: recordedRuleIds(olds),
    };
    const compared = await compareLive(ctx, comparison);
    for (const line of orderWarnings(ctx, comparison))
      ctx.say.warn(`managed ruleset ${JSON.stringify(args.ref)}: ${line}.`);
    const named = await lookUpRules(ctx, args, { ...prepared, accountId: args.accountId }, ruleIds);
    const gone = goneRules(ctx, named, managed.id);
    const rulesByName = resolvedInWords(ctx, named, managed.id);
    const expansion: RulesetExpansion = {
      ...expand(managed, args, overrides),
      ...omitAbsent({ rulesByName: rulesByName.length === 0 ? undefined : rulesByName }),
    };
    const adopts = existing === undefined ? {} : adoptionOf(ctx, args, prepared, found, existing);
    return {
      computed: { expansion, ...(Object.keys(ruleIds).length === 0 ? {} : { ruleIds }) },
      seen: [SEEN.existingRule],
      found: omitAbsent({ ...compared, versions: versions.length === 0 ? undefined : versions }),
      failures: [...problems, ...gone, ...identicalDuplicate(args, other)],
      ...adopts,
    };
  },

  messages: (found, { args: { ref } }) => checkMessages(found, ref),

  review({ state, args, inputs, change }) {
    if (args === undefined || change !== "update") return Promise.resolve([]);
    const isSame = sameMeanings(state.ruleIds ?? {}, recordedRuleIds(inputs));
    return Promise.resolve([() => Promise.resolve(isSame ? {} : { failures: [OTHER_RULES] })]);
  },

  async create({ ctx, args, inputs }) {
    const prepared = await prepareForWrite(ctx, args, recordedRuleIds(inputs));
    const address = entryPointOf(args);
    const seen = await readEntryPoint(ctx, address);
    placementOf(args.position, seen, address); // Throws before anything is created.
    const rules = new RuleWriter(ctx, address, seen ?? (await ensureEntryPoint(ctx, address)));
    const existing = await chooseExisting(ctx, args, prepared, rules.now);
    if (existing !== undefined) return await takeOver(rules, args, prepared, existing);

    const wanted = desiredRule(args, prepared);
    const declared = positionOfNew(args, prepared, rules.now);
    const position = declared === "last" ? undefined : placementOf(declared, rules.now, address);
    // The rule is enabled only once its exceptions exist, so that it never blocks what they except. Until then, its ref
    // tells the next run that it isn't finished.
    const first =
      args.exceptions === undefined ? wanted : { ...wanted, enabled: false, ref: unfinishedRef(args.ref) };
    const rule = await rules.add(first.ref, { ...toRequest(first), ...omitAbsent({ position }) });
    const outputs = (): Computed => outputsOf(ctx, rules.now, currentRule(rules.now, rule), args, prepared);
    await recordOnFailure(rule.id, outputs(), () =>
      reconcileRule(rules, args, prepared, { rule, wanted, placing: "none" }),
    );
    return { id: rule.id, computed: outputs() };
  },

  async read({ ctx, state }) {
    // An adopted exception keeps its ref until an update writes it, so only its resource tells whose it is, and what changed.
    const ofProgram = ctx.once("adopted exceptions", () => new Set<string>());
    for (const id of exceptionIds(state)) ofProgram.add(id);
    const owned = await readWithRule(ctx, entryPointOf(state), state.entryPointId, (found) =>
      findOwnRule(found, state),
    );
    if (owned === undefined) {
      const left = ownExceptions((await readEntryPoint(ctx, entryPointOf(state))) ?? { rules: [] }, {
        ref: state.ref,
        adopted: exceptionIds(state),
      });
      const ids = left.map(({ id }) => id).join(", ");
      if (ids !== "")
        ctx.say.warn(
          `managed ruleset ${JSON.stringify(state.ref)}: the rule is gone, but its exceptions still skip rules behind them: ${ids}. Deploy it again with \`pulumi up\`, or delete them in the dashboard.`,
        );
      return undefined;
    }
    const { found, rule } = owned;
    const { deploys } = rule;
    ctx.noteUnmanaged(unmanagedOf(rule, state));
    const managed = await readDeployedRuleset(ctx, state.accountId, rule);
    const isOtherRuleset = deploys !== undefined && deploys.rulesetId !== state.rulesetId;
    const versions: string[] = [];
    if (managed !== undefined && !isOtherRuleset) {
      for (const line of missingInVersion(ctx, managed, state)) ctx.say.warn(line);
      const before = found.rules.slice(0, found.rules.indexOf(rule));
      const live = { managed, version: deploys?.version, deployment: deploymentIn(before, rule) };
      versions.push(...(await newsOfVersion(ctx, state, live)), ...(await newsOfPinned(ctx, state, live)));
      ctx.tell(versionMessages(versions, state.ref));
    }
    const facts = refreshedFacts(state.known, managed, { isOtherRuleset });
    const live = readLiveRule(state, facts, found, rule, { ref: state.ref, adopted: exceptionIds(state) });
    const skipped = (state.exceptions ?? []).map(({ skip }) => skip);
    const others = otherSkipRules(found, rule, exceptionIds(state)).flatMap((each) => {
      const before = state.otherSkipRules?.find(({ ruleId }) => ruleId === each.ruleId);
      return ofProgram.has(each.ruleId) ? (before ?? []) : [each];
    });
    warnOfSkips(ctx, state.ref, state.otherSkipRules, others);
    const now = {
      ...state,
      ...live,
      ...(versions.length === 0 ? {} : { impact: { versions } }),
      ruleset: isOtherRuleset ? { id: deploys.rulesetId } : state.ruleset,
      version: liveVersion(state, deploys?.version),
      exceptions: live.exceptions?.map((each, index) => ({
        ...each,
        skip: asDeclared(each.skip, [skipped[index], ...skipped], {
          own: state.rulesetId,
          rulesets: state.known.rulesets ?? {},
          rules: state.ruleIds ?? {},
        }),
      })),
      ruleId: rule.id,
      ruleRef: rule.ref,
      entryPointId: found.id,
      rulesetId: deploys?.rulesetId ?? state.rulesetId,
      // A response may leave the version out.
      rulesetVersion: managed?.version || state.rulesetVersion,
      otherSkipRules: others,
      known: { ...state.known, sharedTags: facts.sharedTagsAmong(tagsOf(state)) },
    };
    const isReadable = managed !== undefined && deploys !== undefined && incomparable(managed) === undefined;
    const expansion = isReadable ? expand(managed, now, deploys.overrides) : undefined;
    const isSame = sameJson(pick(now, OVERRIDING), pick(state, OVERRIDING));
    // Recorded unchanged, even if no program may declare it. Properties without a value are left out.
    return { ...now, ...(isSame ? {} : { expansion }) } as unknown as OverrideState;
  },

  async existing({ ctx, address: { scope, id } }) {
    const outputs = await readDeployment(ctx, scope, id);
    return outputs && { id, outputs };
  },

  async list({ ctx, scope }) {
    const found = await Promise.all(PHASES.map((phase) => readEntryPoint(ctx, { ...scope, phase })));
    const rules = found.flatMap((each) => each?.rules ?? []);
    return rules.flatMap(({ id, description: name, deploys }) =>
      deploys === undefined ? [] : [{ id, name }],
    );
  },

  async update({ ctx, state, args, inputs }) {
    const recorded = mergeRuleIds(state.ruleIds ?? {}, recordedRuleIds(inputs));
    const prepared = await prepareForWrite(ctx, args, recorded);
    const address = entryPointOf(args);
    const found = await readEntryPoint(ctx, address);
    const rule = findOwnRule(found, state);
    if (found === undefined || rule === undefined) {
      throw new Error(
        `Rule ${state.ruleId} in ${scopeName(address)} no longer exists. If it was deleted outside this program, run \`pulumi refresh\`; the next \`pulumi up\` creates it again.`,
      );
    }
    const wanted = {
      ...desiredRule(args, prepared),
      ...valuesOfRemoved(args, state, rule),
      ref: state.previous === undefined || args.ref !== state.ref ? args.ref : rule.ref,
    };
    const isNewPosition =
      !sameJson(state.position, args.position) && !isSamePlace(state.position, args.position, found, rule);
    const isOnWrongSide = positionOnWrongSide(args.position, found, rule) !== undefined;
    const placing = isNewPosition ? "new position" : isOnWrongSide ? "wrong side" : "none";
    const rules = new RuleWriter(ctx, address, found);
    const adopted = exceptionIds(state);
    await reconcileRule(rules, args, prepared, { rule, wanted, adopted, formerRef: state.ref, placing });
    const outputs = outputsOf(ctx, rules.now, currentRule(rules.now, rule), args, { ...prepared, adopted });
    const stood = otherSkipRules(found, rule, adopted);
    const skips = acceptedSkips(state.otherSkipRules, stood, outputs.otherSkipRules);
    warnOfSkips(ctx, state.ref, skips, outputs.otherSkipRules);
    return { ...outputs, ...omitAbsent({ otherSkipRules: skips, previous: state.previous }) };
  },

  async delete({ ctx, state }) {
    const address = entryPointOf(state);
    const where = scopeName(address);
    const mode = state.onDestroy ?? (state.previous === undefined ? "remove" : "restore");
    if (mode === "keep") {
      ctx.say.info(`Rule ${state.ruleId} in ${where} stays as it is (onDestroy: "keep").`);
      return;
    }
    const found = await readEntryPoint(ctx, address);
    if (found === undefined) return;
    const rule = findOwnRule(found, state);
    const whyKept = rule === undefined ? undefined : otherOwner(ctx, state, rule);
    if (whyKept !== undefined) {
      ctx.say.info(`Rule ${rule?.id} in ${where} is kept: ${whyKept}`);
      return;
    }
    const rules = new RuleWriter(ctx, address, found);
    // The rule is deleted before its exceptions, so that it never blocks what they except.
    if (rule !== undefined) await removeOrRestore(rules, state, rule, mode);
    const adopted = exceptionIds(state);
    await removeExceptions(rules, { ref: state.ref, adopted }, mode === "restore" ? adopted : []);
    const isUnprotected = rules.now.rules.every(({ enabled, deploys }) => !enabled || deploys === undefined);
    if (state.phase === undefined && isUnprotected) {
      ctx.say.warn(`${where} now runs no managed ruleset: none of its enabled rules executes one.`);
    }
  },
});

/** The arguments of a `ManagedRulesetOverride`. */
export interface ManagedRulesetOverrideArgs {
  /**
   * The ID of the zone to deploy the ruleset to (32 hex digits). Without it, the ruleset is deployed in the account,
   * for all of the account's Enterprise zones that `expression` selects; that requires an Enterprise plan. Changing it
   * replaces the rule, and `onDestroy` decides what happens to the old one.
   */
  readonly zoneId?: pulumi.Input<string>;
  /**
   * The ID of the account that owns the managed ruleset (32 hex digits). By default, the setting `edgeguard:accountId`,
   * or `CLOUDFLARE_ACCOUNT_ID`. Changing it replaces the rule if it's deployed in the account; a zone's rule stays.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The phase of the ruleset: `"http_request_firewall_managed"`, or `"http_response_firewall_managed"` for Cloudflare
   * Sensitive Data Detection, which looks at responses and only logs. Changing it replaces the rule.
   * @defaultValue `"http_request_firewall_managed"`
   */
  readonly phase?: pulumi.Input<LiteralUnion<Phase>>;
  /**
   * The managed ruleset: `{ name }`, `{ id }`, or either one as a string. The preview fails if the account doesn't have
   * it. Updates in place. If it changes, the same rule executes another ruleset.
   */
  readonly ruleset: pulumi.Input<
    | string
    | {
        /** The ruleset's ID (32 hex digits). */
        readonly id: pulumi.Input<string>;
      }
    | {
        /** The ruleset's name, such as `Cloudflare Managed Ruleset`. */
        readonly name: pulumi.Input<string>;
      }
  >;
  /**
   * The version to deploy: `"latest"` or a version number as a string. It's sent only if you set it; otherwise
   * Cloudflare deploys the latest version. A newer version appears in the output `rulesetVersion` but doesn't count as
   * a change; a refresh reports what it changes in the zone. If you pin a version, a refresh reports what that version
   * lacks. Cloudflare's OpenAPI schema doesn't list this field. Updates in place.
   */
  readonly version?: pulumi.Input<string>;
  /**
   * The requests that the ruleset inspects, in Cloudflare's Rules language, such as `http.host eq "www.example.com"`.
   * Without `zoneId`, it has to end with `and cf.zone.plan eq "ENT"`, as in
   * `(cf.zone.name in {"shop.example" "blog.example"}) and cf.zone.plan eq "ENT"`, and so do those of `exceptions`.
   * At most 4,096 characters. An expression that Cloudflare can't parse fails the preview, and the message says where
   * the mistake is. A field or function that this version doesn't know causes a warning. Differences in notation
   * (whitespace, `==` for `eq`) don't count as changes. The default selects all requests. Updates in place.
   * @defaultValue `"true"`
   */
  readonly expression?: pulumi.Input<string>;
  /**
   * What the deployment is for. It's sent only if you set it. If you remove it, the rule no longer has a description.
   * Updates in place.
   */
  readonly description?: pulumi.Input<string>;
  /**
   * Whether the deployment is active. Always sent. Updates in place.
   * @defaultValue `true`
   */
  readonly enabled?: pulumi.Input<boolean>;
  /**
   * The rule's ref, which identifies it in its entry point. Two resources of a program can't share one. A default ref longer
   * than 120 characters becomes `edgeguard/` and a digest. Updates in place.
   *
   * If a rule with this ref exists, `adopt` decides whether a new resource adopts it: by default, only if it matches the
   * program, because another team may use the same names. A destroy deletes it if the ref begins with `edgeguard/`, and
   * otherwise restores it. A ref can't end in `/exception/1` or another number, or in `/unfinished`.
   *
   * You can rename the resource without an alias. It adopts the old name's rule if the rule still has the default ref,
   * matches the program and belongs to no other resource in it. The rule gets the new ref, and nothing is deleted.
   * @defaultValue `edgeguard/<project>/<stack>/<name>`
   */
  readonly ref?: pulumi.Input<string>;
  /**
   * The rule's position among the managed rules of the zone or account: `"first"`, `"last"`, `{ before: ref }` or `{ after: ref }`.
   * Earlier rules run first. If the other rule has no ref, use its ID. By default, a new rule is added last, but before
   * deployments of the same stack, with default refs, whose rulesets its exceptions name. The position is applied when the
   * rule is created and when this argument changes, but not if the other rule only got another ref. After that, a rule on
   * the wrong side of the other rule counts as drift, but `"first"` and `"last"` aren't enforced again. Updates in place.
   */
  readonly position?: pulumi.Input<
    | LiteralUnion<"first" | "last">
    | { readonly before: pulumi.Input<string> }
    | { readonly after: pulumi.Input<string> }
  >;
  /**
   * The paranoia level, score threshold and action of the OWASP Core Ruleset. The preview fails if it's set for
   * any other ruleset, or if `categories` or `rules` contradict it; the message names both arguments. Updates in place.
   */
  readonly owasp?: pulumi.Input<declared.OwaspArgs>;
  /**
   * Overrides of all rules with a tag. If several of them match a rule, the last one wins; the tags that `owasp` turns
   * off come after all others. Each entry must set `enabled`, `action` or both. What it doesn't set keeps the ruleset's
   * default. Reordering entries doesn't count as a change if it has no effect. Updates in place.
   */
  readonly categories?: pulumi.Input<readonly pulumi.Input<declared.CategoryOverrideArgs>[]>;
  /**
   * Overrides of single rules. They take precedence over `categories`, and their order doesn't matter. Each one must
   * set at least one property. What it doesn't set keeps the ruleset's default. Updates in place.
   *
   * Each key names a rule of the ruleset in the deployed version: by its ID, its OWASP or CVE number (`"920272"`,
   * `"CVE-2021-44228"`), or words of its description. A rule matches if its description has every word of the name as a
   * whole word, in any order and case. A number is a word, and `CVE-2021-44228` also matches `CVE:CVE-2021-44228`. If a
   * description has exactly these words, only that rule matches. The preview fails if a name matches no rule or
   * several, and lists candidates. A CVE often has several rules: name each one. Two entries can't name the same rule.
   *
   * The preview shows each named rule in `expansion`, and the update records its ID in `ruleIds`. If Cloudflare renames
   * the recorded rule or adds another match, the override still applies to the recorded rule, and the next refresh or
   * change warns you. If the ruleset no longer has the rule, a refresh warns you, and the preview of a change fails.
   */
  readonly rules?: pulumi.Input<Readonly<Record<string, pulumi.Input<declared.RuleOverrideArgs>>>>;
  /**
   * The action of all rules in the ruleset, instead of their own. `categories` and `rules` take precedence over it.
   * Updates in place.
   */
  readonly action?: pulumi.Input<LiteralUnion<declared.RuleAction>>;
  /**
   * Turns all rules of the ruleset on or off, instead of their own defaults. `categories`, `rules` and the tags that
   * `owasp` turns off take precedence over it. Updates in place.
   * @defaultValue each rule's own default
   */
  readonly allRulesEnabled?: pulumi.Input<boolean>;
  /**
   * Logs the part of a request that matched a rule, encrypted with your public key: payload logging. It's sent only if
   * you set it; a key that someone else set is kept. Updates in place.
   */
  readonly matchedData?: pulumi.Input<declared.MatchedDataArgs>;
  /**
   * Requests that skip managed rules. Each exception is a skip rule. The skip rules stay in this order, immediately
   * before the deployment, and are removed with it. They apply to this deployment and to those that run after it: the
   * preview warns about an exception that names a ruleset of an earlier one. Updates in place.
   */
  readonly exceptions?: pulumi.Input<readonly pulumi.Input<declared.ExceptionArgs>[]>;
  /**
   * What to do if the zone or account already has a rule with the declared ref, or one that executes the same ruleset with the
   * same expression. A second rule would run the ruleset twice. `"ifEqual"` adopts the rule if it matches the program.
   * `"takeOver"` adopts it and changes what differs. `"never"` always fails, even if an earlier run of this resource
   * left the rule behind. It's an error if there are several such rules. Whatever `adopt` says, a rule that
   * another stack created with this package is left alone, unless this resource declares its ref: the preview only warns
   * that the ruleset will run twice. Changing it writes nothing.
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * What `pulumi destroy` does. `"remove"` deletes the rule. `"restore"` puts an adopted rule back as it was found, and
   * deletes one that this resource created. `"keep"` leaves the rule and its exceptions as they are. By default, a rule
   * that this resource created is removed, and one that it adopted is restored. Changing it writes nothing.
   */
  readonly onDestroy?: pulumi.Input<LiteralUnion<"restore" | "remove" | "keep">>;
}

/**
 * Deploys a managed ruleset to a zone, or to many zones of an account, with overrides and exceptions.
 *
 * The resource owns one execute rule of an entry point ruleset, and the skip rules of its exceptions. Each request writes
 * a single rule and the entry point is never replaced, so all other rules keep their IDs, order and content, no matter
 * who created them.
 *
 * An account's rules run before those of its zones, and its exceptions have no effect on them: a ruleset that both deploy
 * runs twice.
 *
 * In a zone that can still migrate from the previous WAF, migrate first: the migration's exceptions come after the rules
 * that the zone has, and have no effect on them. The preview of a new deployment warns about it.
 *
 * Token permissions: Zone WAF Read and Account Rulesets Read to preview and refresh; Zone WAF Write and Account
 * Rulesets Read to update and destroy. With Zone Read, the preview of a create fails if the zone's plan doesn't include
 * the ruleset. With Analytics Read, the preview of a change counts the firewall events that it concerns. Without `zoneId`,
 * an update needs Account Rulesets Write, and nothing of Zone WAF.
 *
 * @example
 * OWASP Core Ruleset at paranoia level 2, with an exception for webhooks
 * ```ts
 * import { ManagedRulesetOverride } from "pulumi-edgeguard";
 *
 * const owasp = new ManagedRulesetOverride("owasp", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   ruleset: "Cloudflare OWASP Core Ruleset",
 *   owasp: { paranoiaLevel: 2, scoreThreshold: "medium", action: "managed_challenge" },
 *   exceptions: [
 *     {
 *       description: "Signed webhooks",
 *       expression: 'starts_with(http.request.uri.path, "/webhooks/")',
 *       skip: "this",
 *     },
 *   ],
 * });
 *
 * export const owaspVersion = owasp.rulesetVersion;
 * ```
 * @example
 * Cloudflare Managed Ruleset with overrides by tag
 * ```ts
 * import { ManagedRulesetOverride } from "pulumi-edgeguard";
 *
 * new ManagedRulesetOverride("managed", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   ruleset: "Cloudflare Managed Ruleset",
 *   position: "first",
 *   categories: [
 *     { tag: "wordpress", enabled: false },
 *     { tag: "file-upload", action: "log" },
 *   ],
 * });
 * ```
 * @example
 * Overrides and exceptions of single rules
 * ```ts
 * import { ManagedRulesetOverride } from "pulumi-edgeguard";
 *
 * new ManagedRulesetOverride("tuned", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   ruleset: "Cloudflare OWASP Core Ruleset",
 *   rules: { "920272": { enabled: false } },
 *   exceptions: [
 *     {
 *       description: "The search accepts quotes",
 *       expression: 'http.request.uri.path eq "/search"',
 *       skip: { rules: { this: ["942100"] } },
 *     },
 *   ],
 * });
 * ```
 * @example
 * One deployment for many zones of an account
 * ```ts
 * import { ManagedRulesetOverride } from "pulumi-edgeguard";
 *
 * new ManagedRulesetOverride("everywhere", {
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   ruleset: "Cloudflare Managed Ruleset",
 *   expression: '(cf.zone.name ne "legacy.example") and cf.zone.plan eq "ENT"',
 * });
 * ```
 * @example
 * Sensitive data in responses
 * ```ts
 * import { ManagedRulesetOverride } from "pulumi-edgeguard";
 *
 * new ManagedRulesetOverride("leaks", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   phase: "http_response_firewall_managed",
 *   ruleset: "Cloudflare Sensitive Data Detection",
 * });
 * ```
 * @destroy Deletes the rule and its exceptions, or puts an adopted rule back as it was found, depending on `onDestroy`.
 * Warns if the zone or account then runs no managed ruleset.
 * @importing
 * `edgeguard import --zone <zone ID> --only rulesets` writes a program and a file for `pulumi import` with every
 * deployment of the zone, and with `--account <account ID>`, those of the account. The resource's ID is the ID of its
 * execute rule.
 * @reading
 * The rule's exceptions are read with it. A zone's account is the one that owns the zone, and finding it requires Zone Read.
 * Without that permission, the setting `edgeguard:accountId` is used.
 * @throws If the account doesn't have the ruleset or the version, or the ruleset doesn't have a tag or a rule.
 * @throws If a rule's name matches no rule or several, or two overrides name the same rule.
 * @throws If an existing rule can't be adopted: it differs, `adopt` is `"never"`, or there are several.
 * @throws If the rule that `position` names doesn't exist.
 * @throws If the token lacks a permission.
 * @see https://developers.cloudflare.com/ruleset-engine/managed-rulesets/override-managed-ruleset/
 * @see https://developers.cloudflare.com/waf/managed-rules/reference/owasp-core-ruleset/configure-api/
 * @see https://developers.cloudflare.com/waf/managed-rules/waf-exceptions/
 * @see https://developers.cloudflare.com/waf/account/managed-rulesets/
 * @see https://developers.cloudflare.com/waf/managed-rules/reference/sensitive-data-detection/
 * @see `GET /zones/{zone_id}/rulesets/phases/{ruleset_phase}/entrypoint`
 * @see `GET /accounts/{account_id}/rulesets/phases/{ruleset_phase}/entrypoint`
 * @see `GET /accounts/{account_id}/rulesets/{ruleset_id}/versions/{ruleset_version}`
 * @see `POST /zones/{zone_id}/rulesets/{ruleset_id}/rules`
 * @see `POST /accounts/{account_id}/rulesets/{ruleset_id}/rules`
 * @see `PATCH /zones/{zone_id}/rulesets/{ruleset_id}/rules/{rule_id}`
 * @see `DELETE /zones/{zone_id}/rulesets/{ruleset_id}/rules/{rule_id}`
 */
export class ManagedRulesetOverride extends managedRulesetOverride.base<ManagedRulesetOverrideArgs>() {
  /** The ref as declared, or the default one. The exceptions' refs start with it: `<ref>/exception/1`. */
  declare readonly ref: pulumi.Output<string>;
  /** The settings of the OWASP Core Ruleset, with the score threshold as a number. */
  declare readonly owasp: pulumi.Output<declared.Owasp | undefined>;
  /** The ID of the rule in its entry point ruleset. */
  declare readonly ruleId: pulumi.Output<string>;
  /** The rule's own ref, for use in another rule's `position`. An adopted rule keeps its own until `ref` changes. */
  declare readonly ruleRef: pulumi.Output<string>;
  /** The ID of the entry point ruleset of the zone or account. */
  declare readonly entryPointId: pulumi.Output<string>;
  /** The ID of the managed ruleset. */
  declare readonly rulesetId: pulumi.Output<string>;
  /** The version in use at the last update or refresh, even if `"latest"` is declared. */
  declare readonly rulesetVersion: pulumi.Output<string>;
  /**
   * The enabled skip rules in front of the rule that applied to it when it was last created, moved or refreshed and that no
   * program declares. A refresh or update warns if one is new or skips more, and the drift report names it. Of a rule that
   * skips single rules, only the number is compared. Absent in a state of an earlier version.
   */
  declare readonly otherSkipRules: pulumi.Output<readonly ExplainedException[] | undefined>;
  /** The existing rule that the resource adopted when it was created, and what adopting it changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;
  /** The adopted rule as it was found, which a destroy restores. Absent if this program created the rule. */
  declare readonly previous: pulumi.Output<PreviousRule | undefined>;
  /**
   * The IDs of the rules that `rules` and `exceptions` name by words or numbers. Grouped by the ID of their ruleset,
   * then by name. Absent if there are none.
   */
  declare readonly ruleIds: pulumi.Output<RuleIds | undefined>;
  /**
   * The rules and actions that the deployment resolved to when an update or, outside the program, someone else last
   * changed it. Absent if they couldn't be read from Cloudflare.
   */
  declare readonly expansion: pulumi.Output<RulesetExpansion | undefined>;
  /** What the last change found out: what it changed for visitors, and what new versions of the ruleset change. */
  declare readonly impact: pulumi.Output<RulesetImpact | undefined>;
  /**
   * Members of the rule on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest stands
   * for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- it has the type of the arguments
  constructor(name: string, args: ManagedRulesetOverrideArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, args, opts);
  }
}

/** Warns of what other skip rules have skipped since they were recorded. */
function warnOfSkips(ctx: Context, ref: string, recorded: unknown, now: unknown): void {
  for (const line of newlySkippedByOthers(recorded, now))
    ctx.say.warn(`managed ruleset ${JSON.stringify(ref)}: ${line}.`);
}

/** Returns the version that the last update deployed, as its preview recorded it. */
function recordedVersion(
  args: OverrideArgs,
  olds: JsonObject,
): Parameters<typeof newsOfVersion>[1] | undefined {
  const { ruleset, latest } = expansionIn(olds);
  if (ruleset === undefined || latest === undefined) return undefined;
  const version = recordedArgs(olds)?.version;
  return {
    ...args,
    version: undefined,
    rulesetId: ruleset.id,
    rulesetVersion: latest,
    known: omitAbsent({ version }),
  };
}

/** Returns a failure if two resources are identical, because each would adopt the other's rule. */
function identicalDuplicate(args: Declared, other: Declared | undefined): readonly CheckFailure[] {
  const whole = (each: Declared): string =>
    canonicalJson({ ...pick({ ...each }, Object.keys(COMPARED_ARGS.shape)), ruleset: "", expression: "" });
  if (other === undefined || whole(other) !== whole(args)) return [];
  const reason = `is already deployed by ${JSON.stringify(other.ref)} in ${scopeName(scopeOf(args))}, with identical arguments. Remove one of the two resources`;
  return [{ property: "ruleset", reason }];
}

/** Returns why a destroy keeps the rule, if another resource has adopted it in the meantime. Otherwise undefined. */
function otherOwner(ctx: Context, state: OverrideState, { id, ref }: ZoneRule): string | undefined {
  // A rule that was created again under another ID.
  if (ctx.holding(id) === "made") return "another resource has adopted it.";
  // A rule that this resource created, with a ref that this package gave it for another resource.
  const isOwn = ref === state.ref || ref === unfinishedRef(state.ref);
  if (state.previous !== undefined || isOwn || !ref.startsWith(REF_PREFIX)) return undefined;
  return `its ref is ${JSON.stringify(ref)}, so another resource has probably adopted it. If not, delete the rule in the dashboard.`;
}
