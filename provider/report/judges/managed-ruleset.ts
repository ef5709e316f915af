import { z } from "zod";
import * as declared from "../../rulesets/arguments";
import { compareDeclared } from "../../rulesets/compare-effects";
import { expansionIn } from "../../rulesets/effective";
import { PAYLOAD_KEY, rulesetRecord } from "../../rulesets/impact";
import { compileOverrides } from "../../rulesets/overrides";
import { mergeRuleIds, recordedRuleIds, sameMeanings } from "../../rulesets/resolve-rules";
import { byRuleId, byRuleName, type RuleIds } from "../../rulesets/rule-names";
import { asDeclared } from "../../rulesets/skip";
import { entryPoint, type Overrides } from "../../rulesets/wire";
import { hasUnknown } from "../../runtime/engine-values";
import { shownMember, UNMANAGED } from "../../runtime/unmanaged";
import { omit, omitAbsent, pick, sameJson, type JsonObject } from "../../basics/json";
import { say, someOf, words, type Phrase } from "../phrase";
import { isDeleted, mayDeleteFirst, NOTHING, oncePerPlan } from "../sections/section";
import { modeOf, nameOf, skipWords } from "../sections/managed-ruleset";
import { asObject, cell, asList, asText, SECRET, isHidden } from "../values";
import { selectsNoLess, selectsNothing } from "./requests";
import {
  exceptionsOf,
  mayAct,
  mayNameOthers,
  mayReach,
  mayRun,
  ownId,
  skipsNoMoreRequests,
} from "./ruleset-facts";
import { deploymentOf, deploymentsAfter, newlySkipped, skippedAnew } from "./ruleset-order";
import {
  judgesFor,
  isUnchanged,
  whileActing,
  type Change,
  type Comparison,
  type ObjectTraits,
  type Side,
} from "./sides";

/** Compares what a managed ruleset's deployment protects before and after the update. */

const traits: ObjectTraits = {
  scope: ["zoneId", "accountId", "phase"],
  isSole: false,
  leaves: (old) => (modeOf(old) === "remove" ? undefined : modeOf(old) === "keep" ? old : asFound(old)),
  // A renamed resource declares the same rule. Any other rule has another position in the zone.
  mayReplace: (gone, { step, new: next }) =>
    step.op === "create" && sameJson(gone.inputs["position"], next.inputs["position"]),
};

const whileEnabled = whileActing(mayRun, mayAct);

/** Finds a deployment that's turned off or removed, whatever else runs in the zone. */
const stopped: Comparison = ({ before, after }) => {
  if (before === undefined || !mayRun(before) || (after !== undefined && alwaysActs(after))) return [];
  const how = after === undefined ? "is removed" : mayAct(after) ? "may be disabled" : "is disabled";
  // Of an adopted rule, it says what the program declares.
  const on = before.outputs["ruleId"] === undefined ? undefined : expansionIn(before.inputs).rules?.on;
  const rules = on === undefined ? "" : ` (${on} of its rules ${on === 1 ? "was" : "were"} on)`;
  const { zoneId } = before.inputs;
  const where = zoneId === undefined ? words("") : say` in zone ${cell(zoneId, 40)}`;
  return [say`${nameOf(before)}${where} ${words(`${how}${rules}`)}`];
};

/** Finds a deployment that runs on fewer requests. */
const fewerRequests = whileEnabled((before, after) => {
  const [was, is] = [before.inputs["expression"] ?? "true", after.inputs["expression"] ?? "true"];
  if (isUnchanged(was, is) || selectsNoLess(is, was)) return [];
  return [say`${nameOf(after)} may run on fewer requests: ${cell(was, 300)} → ${cell(is, 300)}`];
});

/**
 * Finds rules that do less than before. Uses the preview's comparison with the live rule or, without live checks,
 * compares the declarations.
 */
const weakerRules = whileEnabled((before, after, change) => {
  const lines = comparedIn(change, "weaker") ?? weakerAsDeclared(before, after);
  if (lines.length === 0) return [];
  const [was, is] = [levelOf(before), levelOf(after)];
  const isLess = was !== is && !(Number(is) > Number(was));
  const level = !isLess ? [] : [`paranoia level ${formatOptional(was)} → ${formatOptional(is)}`];
  return [say`${nameOf(after)} protects less: ${someOf([...lines, ...level].map(words), MOST_LINES)}`];
});

const MOST_LINES = 12;

/** Whether every name still refers to the same rule. */
const sameNames = (before: Side, after: Side): boolean =>
  sameMeanings(recordedRuleIds(before.inputs), recordedRuleIds(after.inputs));

/**
 * Finds a deployment whose position changes. Skip rules before it may exempt requests from it, and its own exceptions
 * may exempt requests from the rules after it.
 */
const movedPosition: Comparison = (change) => {
  const { before, after } = change;
  if (before === undefined || after === undefined) return [];
  const [was, is] = [before.inputs["position"], after.inputs["position"]];
  // Without a position, it stays where it is.
  if (is === undefined || isUnchanged(was, is)) return [];
  const lines = comparedIn(change, "moved");
  if (lines === undefined) {
    const skips =
      isHidden(after.inputs["exceptions"]) ||
      exceptionsOf(after).some(({ expression }) => !selectsNothing(expression));
    // No skip rule can precede the first rule, and the exceptions of the last one have no other rule behind them.
    const isSkipped = is !== "first" && mayRun(before) && mayRun(after);
    if (!isSkipped && !(skips && is !== "last")) return [];
    return [
      say`${nameOf(after)} ${words(isHidden(is) ? "may move" : "moves")}, so exceptions may apply to more rules: position ${cell(was)} → ${cell(is)}`,
    ];
  }
  return lines.map((line) => say`${nameOf(after)} moves: ${words(line)}`);
};

/** Finds what a replaced rule's place may change. If it's deleted first, it's created again there, and otherwise kept. */
const createdAgain = whileEnabled((_, after, change) => {
  const lines = comparedIn(change, "moved") ?? ["exceptions may apply to more rules"];
  return lines.map((line) => say`${nameOf(after)} may be deleted and created again: ${words(line)}`);
});

/** Finds exceptions that skip more rules, in their own ruleset or in later ones, which other programs may have. */
const moreExceptions: Comparison = (change) => {
  const { before, after } = change;
  if (after === undefined) return [];
  const isProtected = before !== undefined && mayRun(before);
  if (isHidden(after.inputs["exceptions"]))
    return [say`${nameOf(after)} gets exceptions that the plan doesn't show`];
  // A new rule goes last, unless its position says otherwise or its exceptions name another deployment's ruleset.
  const position = after.inputs["position"];
  const isLast =
    before === undefined &&
    (position === "last" ||
      (position === undefined && !exceptionsOf(after).some((one) => mayNameOthers(one, after))));
  const outputs = { ...before?.outputs, ...after.outputs };
  const withIds = (ruleIds: RuleIds): Side => ({ inputs: { ...after.inputs, ruleIds }, outputs });
  const [oldIds, nextIds] = idsOfBoth(before, after);
  const [old, next] = [withIds(oldIds), withIds(nextIds)];
  // What a preview saw behind the rule, together with the rule itself.
  const { behind } = z.object(rulesetRecord).parse(change.found);
  const reachable = behind?.map((id): Side => ({ inputs: { ruleset: { id } }, outputs: {} }));
  if (isProtected) reachable?.push(after);
  return exceptionsOf(after)
    .filter((one) => !isLast && !selectsNothing(one["expression"]))
    .filter((one) => reachable?.some((other) => mayReach(one, after, other)) !== false)
    .filter((one) => !skipsNoMoreRequests([one, next], exceptionsOf(before), old))
    .map((one) => {
      const was = exceptionsOf(before).find((known) => skipsNoMoreRequests([known, old], [one], next));
      const how = was === undefined ? words("gets an exception:") : say`widens an exception: ${skips(was)} →`;
      return say`${nameOf(after)} ${how} ${skips(one)}`;
    });
};

const skips = ({ expression, skip }: JsonObject): Phrase =>
  say`${cell(expression, 300)} skips ${skipWords(skip)}`;

/**
 * Returns the rule IDs that names refer to, before and after. A name that's recorded on only one side is resolved with
 * that record.
 */
function idsOfBoth(before: Side | undefined, after: Side): readonly [old: RuleIds, next: RuleIds] {
  const [old, next] = [recordedRuleIds(before?.inputs ?? {}), recordedRuleIds(after.inputs)];
  return [mergeRuleIds(old, next), mergeRuleIds(next, old)];
}

/** Finds payloads that are no longer logged, or that the holder of another key can read. */
const otherKey = whileEnabled((before, after) => {
  const [was, is] = [keyOf(before), keyOf(after)];
  const isSame = isUnchanged(was.digest, is.digest);
  return isSame
    ? []
    : [say`${nameOf(after)} logs what matched for another key, or no longer: ${was.shown} → ${is.shown}`];
});

/** Returns the key for payload logging: the program's, or the one that someone set and the last refresh read. */
function keyOf({ inputs: { matchedData }, outputs }: Side): { shown: Phrase; digest: unknown } {
  const given = isHidden(matchedData) ? matchedData : asObject(matchedData)["publicKey"];
  if (given !== undefined)
    return { shown: cell(given), digest: isHidden(given) ? given : shownMember({ public_key: given }) };
  const found = asObject(outputs[UNMANAGED])[PAYLOAD_KEY];
  return { shown: words(found === undefined ? "none" : "someone's key"), digest: found ?? "none" };
}

/** Finds exceptions whose requests are no longer logged. */
const silentExceptions: Comparison = ({ before, after }) => {
  if (after === undefined) return [];
  const [known, silent] = [before, after].map((side) =>
    exceptionsOf(side).filter(({ logging }) => logging !== undefined && logging !== true),
  );
  return (silent ?? [])
    .filter(({ expression }) => known?.some((each) => isUnchanged(each["expression"], expression)) !== true)
    .map(({ expression }) => say`${nameOf(after)} doesn't log its exception: ${cell(expression, 300)}`);
};

/** All the ways in which one deployment can be weaker than another. */
const COMPARISONS = {
  stopsActing: stopped,
  requests: fewerRequests,
  rules: weakerRules,
  position: movedPosition,
  exceptions: moreExceptions,
  matchedData: otherKey,
  logging: silentExceptions,
};

const orderAfter = oncePerPlan((plan) => deploymentsAfter(plan, (old) => traits.leaves(old)));

export const managed = judgesFor(traits, COMPARISONS, {
  // An update keeps a key that the program doesn't set. If it sets one, only a comparison with what exists tells that none
  // is replaced.
  matchedData: (change, view) => {
    const [was, is] = [change.before, change.after].map((side) => side?.inputs["matchedData"]);
    const isCompared = view.impact.isCompared || change.before !== view.old;
    const isSafe = is === undefined ? view.step.op === "update" : isCompared;
    return was === undefined && isSafe ? [] : otherKey(change);
  },
  // A rule also moves together with another rule of the zone.
  position: (change, view) => {
    const { step, old, plan } = view;
    const { before, after } = change;
    const all = orderAfter(plan);
    const own = deploymentOf(change, step, all);
    const again = before === old && mayDeleteFirst(view) ? createdAgain(change) : [];
    const moved = own?.place === "stays" ? [] : movedPosition(change);
    const alone = moved.length > 0 ? moved : again;
    if (own === undefined || before === undefined || after === undefined) return alone;
    const isPutBack = isDeleted(step) && own.step === step;
    const isOpen = own.place === "open" && (own.isCompared || isPutBack) && alone.length === 0;
    const mayMove = isOpen ? [movesAlong(change, isPutBack)] : alone;
    return mayRun(before) && mayAct(after)
      ? [...mayMove, ...newlySkipped(own, all), ...skippedAnew(own, before, all, step)]
      : mayMove;
  },
});

/** Says why a deployment may move that declares no other position. */
function movesAlong({ before = NOTHING, after = NOTHING }: Change, isPutBack: boolean): Phrase {
  const why = isPutBack
    ? "is put back where it was found"
    : "may move, because the rule that its position names moves or gets another ref";
  const { position } = isPutBack ? before.inputs : after.inputs;
  return say`${nameOf(after)} ${words(why)}, so exceptions may apply to more rules: position ${cell(position)}`;
}

/** Returns the arguments that an adopted rule has after a destroy restores it. */
function asFound(old: Side): Side {
  // What it was is hidden along with an argument that may be secret.
  if (isHidden(old.outputs["previous"])) return { ...old, inputs: { ...old.inputs, enabled: SECRET } };
  const { rule, exceptions } = asObject(old.outputs["previous"]);
  // The state contains the rule as it was sent, without its ID.
  const rules = [rule, ...asList(exceptions).map((one) => asObject(one)["rule"])].map((one) => ({
    id: "",
    ...asObject(one),
  }));
  const [found, ...inFront] = entryPoint.safeParse({ id: "", rules }).data?.rules ?? [];
  if (rule === undefined || found === undefined) return old;
  const { rulesetId, version, overrides } = found.deploys ?? {};
  const same = rulesetId === old.outputs["rulesetId"];
  const skipped = asList(old.inputs["exceptions"]).map((each) => asObject(each)["skip"]);
  const ids = { own: rulesetId ?? "", rulesets: {}, rules: recordedRuleIds(old.inputs) };
  const inputs = {
    ...pick(old.inputs, ["zoneId", "accountId", "phase"]),
    // The rest of the expansion is about the program's overrides.
    ...(same ? { expansion: pick(asObject(old.inputs["expansion"]), ["ruleset"]) } : {}),
    ruleset: same ? old.inputs["ruleset"] : { id: rulesetId },
    expression: found.expression,
    enabled: found.enabled && found.deploys !== undefined && overrides?.enabled !== false,
    ...omitAbsent({
      version: version === "latest" ? undefined : version,
      action: overrides?.action,
      allRulesEnabled: overrides?.enabled,
      categories: overrides?.categories,
      rules: overrides?.rules,
      matchedData:
        found.deploys?.publicKey === undefined ? undefined : { publicKey: found.deploys.publicKey },
      exceptions:
        inFront.length === 0
          ? undefined
          : inFront
              .filter(({ enabled }) => enabled)
              .map(({ expression, skips, logging }) =>
                omitAbsent({ expression, skip: asDeclared(skips, skipped, ids), logging }),
              ),
    }),
  };
  return { inputs, outputs: omit(old.outputs, [UNMANAGED]) };
}

const alwaysActs = (side: Side): boolean => mayAct(side) && !isHidden(side.inputs["enabled"]);

const levelOf = ({ inputs: { owasp } }: Side): unknown => asObject(owasp)["paranoiaLevel"] ?? owasp;

const formatOptional = (given: unknown): string =>
  given === undefined ? "not set" : cell(given, 80).toString();

/** Returns what the preview found by comparing with the live rule. Undefined without live checks. */
function comparedIn({ found }: Change, member: "weaker" | "moved"): readonly string[] | undefined {
  const { compared } = z.object(rulesetRecord).parse(found);
  return compared?.[member]?.map((line) => cell(line, 300).toString());
}

const overridesShape = z.object({
  owasp: declared.owasp.optional(),
  categories: declared.categories.optional(),
  rules: declared.rules.optional(),
  action: declared.action.optional(),
  allRulesEnabled: z.boolean().optional(),
});

/** Compares only the declarations. Anything that isn't provably as strong as before counts as weaker. */
function weakerAsDeclared(before: Side, after: Side): readonly string[] {
  const lines: string[] = [];
  const [oldVersion, version] = [before, after].map(
    ({ inputs }) => inputs["version"] ?? asText(asObject(before.outputs["known"])["version"]) ?? "latest",
  );
  const changes = [
    ["ruleset", before.inputs["ruleset"], after.inputs["ruleset"]],
    ["version", oldVersion, version],
  ] as const;
  for (const [name, was, is] of changes)
    if (!isUnchanged(was, is)) lines.push(`${name} ${formatOptional(was)} → ${formatOptional(is)}`);
  const isById = asObject(after.inputs["ruleset"])["id"] !== undefined;
  const [one, other] = [before.inputs["accountId"], after.inputs["accountId"]];
  if (!isById && !isUnchanged(one, other))
    lines.push(`the ruleset's account ${formatOptional(one)} → ${formatOptional(other)}`);
  const names = Object.keys(overridesShape.shape);
  const isSame = names.every((name) => isUnchanged(before.inputs[name], after.inputs[name]));
  if (isSame && sameNames(before, after)) return lines;
  // An unknown tag would pass as text.
  const [old, next] = [before, after].map(({ inputs }) =>
    hasUnknown(pick(inputs, names)) ? undefined : overridesShape.safeParse(inputs).data,
  );
  if (old === undefined || next === undefined) return [...lines, "overrides that the plan doesn't show"];
  const scoreRule = asText(asObject(before.outputs["known"])["scoreRule"]) ?? "that compares the score";
  // The same rule may be declared by its ID on one side and by name on the other.
  const ruleset = ownId(after) ?? asText(before.outputs["rulesetId"]) ?? "";
  const [{ [ruleset]: oldIds = {} }, { [ruleset]: nextIds = {} }] = idsOfBoth(before, after);
  // A rule whose name stands for another rule now is compared, and shown, by its ID.
  const shared = Object.fromEntries(Object.entries(nextIds).filter(([name, id]) => oldIds[name] === id));
  const compile = (side: typeof old, ids: typeof nextIds): Overrides =>
    compileOverrides({ ...side, rules: byRuleId(side.rules, ids) }, scoreRule);
  const [was, is] = [compile(old, oldIds), compile(next, nextIds)];
  const named = ({ rules, ...rest }: Overrides): Overrides => ({
    ...rest,
    rules: byRuleName(rules, {}, shared) ?? {},
  });
  // Of an adopted rule, the expansion says what the program declares.
  const isAdopted = before.outputs["ruleId"] === undefined;
  const earlier = isAdopted ? was : withDefault(was, is, scoreRule, before);
  const later = withDefault(is, was, scoreRule, after);
  return [...lines, ...compareDeclared(named(earlier), named(later))];
}

/** Adds the score threshold that applies by default if only the other side sets one, and the expansion shows it. */
function withDefault(own: Overrides, other: Overrides, scoreRule: string, { inputs }: Side): Overrides {
  const { scoreThreshold } = expansionIn(inputs);
  const [threshold, another] = [own, other].map(({ rules }) => rules[scoreRule]?.scoreThreshold);
  if (threshold !== undefined || another === undefined || scoreThreshold === undefined) return own;
  return { ...own, rules: { ...own.rules, [scoreRule]: { ...own.rules[scoreRule], scoreThreshold } } };
}
