import { z } from "zod";
import { rulesetName } from "../../migration/words";
import * as declared from "../../rulesets/arguments";
import { compareDeclared } from "../../rulesets/compare-effects";
import { compileOverrides } from "../../rulesets/overrides";
import { resolveSkip, skip } from "../../rulesets/skip";
import { entryPoint } from "../../rulesets/wire";
import { omitAbsent } from "../../runtime/members";
import { pick, sameJson, type JsonObject } from "../../runtime/values";
import { joined, say, words, type Phrase } from "../phrase";
import type { Plan } from "../plan";
import { isGone, oncePerPlan, told } from "../sections/section";
import { modeOf, skipped } from "../sections/managed-ruleset";
import { bag, cell, list, text } from "../values";
import { selectsNoLess } from "./requests";
import {
  changesOf,
  isHidden,
  judging,
  stays,
  type Change,
  type Comparison,
  type Fate,
  type Side,
} from "./sides";

/** What the deployment of a managed ruleset protects before and after. */

const fate: Fate = {
  scope: ["zoneId"],
  isSole: false,
  leaves: (old) => (modeOf(old) === "remove" ? undefined : modeOf(old) === "keep" ? old : asFound(old)),
  // Another rule has another place among the zone's rules; what a rename declares anew is the same rule.
  mayReplace: (gone, { step, new: next }) =>
    step.op === "create" && sameJson(gone.inputs["position"], next.inputs["position"]),
};

/** A deployment that acted, and doesn't any more. Another ruleset doesn't replace it. */
const stopped: Comparison = ({ before, after }) => {
  if (before === undefined || !mayAct(before) || (after !== undefined && surelyActs(after))) return [];
  const how = after === undefined ? "is removed" : mayAct(after) ? "may be switched off" : "is switched off";
  const on = /(\d+) on/.exec(text(bag(before.inputs["expansion"])["rules"]) ?? "")?.[1];
  const rules = on === undefined ? "" : `: ${on} of its rules were on`;
  return [say`${nameOf(before)} of zone ${cell(before.inputs["zoneId"], 40)} ${words(`${how}${rules}`)}`];
};

function andLeft(sentence: Phrase, { inputs, outputs }: Side, plan: Plan): Phrase {
  const { zoneId } = inputs;
  const { acting, leaving } = deploymentsOf(plan);
  const declared = acting.filter((other) => other.inputs["zoneId"] === zoneId).map(nameOf);
  if (declared.length > 0) {
    const byName = new Map(declared.map((one) => [JSON.stringify(one.parts), one]));
    return say`${sentence}; what else runs there doesn't replace it: ${joined([...byName.values()])}`;
  }
  // What this program is about to take away doesn't count as left.
  const left = list(outputs["otherManagedRules"])
    .map(bag)
    .filter(({ ruleId }) => !leaving.has(ruleId))
    .map(({ description, ref }) => cell(text(description) === "" ? ref : (description ?? ref), 60));
  return left.length === 0
    ? say`${sentence}; the zone is left without a managed ruleset`
    : say`${sentence}; when the zone was last looked at, there were also ${joined(left)}`;
}

/** Deployments that act afterwards, and rules that no longer do. */
const deploymentsOf = oncePerPlan((plan) => {
  const all = plan.steps
    .filter(({ kind }) => kind === "ManagedRulesetOverride")
    .map((step) => told(step, plan));
  const leaving = all.filter((each) =>
    changesOf(each, fate, COMPARISONS).some((change) => stopped(change).length > 0),
  );
  return {
    acting: all.filter(({ step, new: next }) => !isGone(step) && mayAct(next)).map(({ new: next }) => next),
    leaving: new Set(leaving.map(({ old }) => old.outputs["ruleId"])),
  };
});

/** Which requests it looks at. */
const fewerRequests: Comparison = (change) => {
  const [before, after] = bothActing(change);
  if (before === undefined || after === undefined) return [];
  const [was, is] = [before.inputs["expression"] ?? "true", after.inputs["expression"] ?? "true"];
  if (stays(was, is) || selectsNoLess(is, was)) return [];
  return [say`${nameOf(after)} may run for fewer requests: ${cell(was, 300)} → ${cell(is, 300)}`];
};

/** What its rules do: as the preview has compared them, or else by what is declared of them. */
const weakerRules: Comparison = (change) => {
  const [before, after] = bothActing(change);
  if (before === undefined || after === undefined) return [];
  if (RULES.every((name) => stays(before.inputs[name], after.inputs[name]))) return [];
  const lines = comparedIn(change, "weaker") ?? declaredLess(before, after);
  if (lines.length === 0) return [];
  const [was, is] = [levelOf(before), levelOf(after)];
  const level = was === is ? [] : [`paranoia level ${wordsOf(was)} → ${wordsOf(is)}`];
  const all = [...lines, ...level];
  const more = all.length > MOST_LINES ? `, and ${all.length - MOST_LINES} more` : "";
  return [say`${nameOf(after)} protects less: ${joined(all.slice(0, MOST_LINES).map(words))}${words(more)}`];
};

const MOST_LINES = 12;

/** Arguments that say which rules run and what they do. */
const RULES = ["ruleset", "version", "accountId", "owasp", "categories", "rules", "action"];

/** Where it stands: a skip rule in front of it takes requests from it, and its own exceptions from what is behind. */
const movedPlace: Comparison = (change) => {
  const { before, after } = change;
  if (before === undefined || after === undefined) return [];
  const [was, is] = [before.inputs["position"], after.inputs["position"]];
  // Without a position it stays where it is.
  if (is === undefined || stays(was, is)) return [];
  const lines = comparedIn(change, "moved");
  if (lines === undefined) {
    // In front of all others, nothing is skipped before it.
    const isSafe = is === "first" && list(after.inputs["exceptions"]).every((one) => isOwn(one, after));
    if (isSafe && !isHidden(after.inputs["exceptions"])) return [];
    return [
      say`${nameOf(after)} moves, and exceptions may reach more rules: position ${cell(was)} → ${cell(is)}`,
    ];
  }
  return lines.map((line) => say`${nameOf(after)} moves: ${words(line)}`);
};

/** Requests that are left alone, by its own rules or by all that stand behind it. */
const moreExceptions: Comparison = (change) => exceptionsIn(change, () => false);

/** @param isShared whether something else runs the same ruleset: what is skipped of it is skipped there, too. */
function exceptionsIn({ before, after }: Change, isShared: (after: Side) => boolean): readonly Phrase[] {
  if (after === undefined) return [];
  const [were, are] = [before?.inputs["exceptions"], after.inputs["exceptions"]];
  const isProtected = before !== undefined && mayAct(before);
  if (isHidden(are) && (isProtected || !isHidden(were)))
    return [say`${nameOf(after)} gets exceptions that the plan doesn't show`];
  // A new rule is put behind all others, unless it is told to stand elsewhere.
  const position = after.inputs["position"];
  const isLast = before === undefined && (position === undefined || position === "last");
  return list(are)
    .map(bag)
    .filter((one) => !isLast && (isProtected || !isOwn(one, after) || isShared(after)))
    .filter(
      (one) =>
        !list(were)
          .map(bag)
          .some((known) => takesNoMore(one, known, after)),
    )
    .map(
      (one) =>
        say`${nameOf(after)} gets an exception: ${cell(one["expression"], 300)} skips ${skipped(one["skip"])}`,
    );
}

/** Whether something else in the zone runs the same ruleset, as far as the plan knows; what the plan deletes doesn't. */
const isSharedIn =
  (plan: Plan) =>
  ({ inputs, ...side }: Side): boolean => {
    const all = plan.steps.filter(({ kind }) => kind === "ManagedRulesetOverride");
    const ownIds = all
      .filter((step) => isGone(step) || step.old?.inputs["ref"] === inputs["ref"])
      .map(({ old }) => old?.outputs["ruleId"]);
    const running = all.flatMap(({ old }): JsonObject[] => {
      if (old === undefined || old.inputs["zoneId"] !== inputs["zoneId"]) return [];
      return [...(mayAct(old) ? [old.outputs] : []), ...list(old.outputs["otherManagedRules"]).map(bag)];
    });
    const id = ownId({ inputs, ...side });
    return running.some(({ ruleId, rulesetId }) => rulesetId === id && !ownIds.includes(ruleId));
  };

/** Everything that may be lost between two deployments. */
const COMPARISONS: readonly Comparison[] = [stopped, fewerRequests, weakerRules, movedPlace, moreExceptions];

const judge = judging(fate, COMPARISONS);
/** What stops, with what is left in the zone. */
export const stopsActing = judge((change, { old, plan }) =>
  stopped(change).map((sentence) => andLeft(sentence, change.before ?? old, plan)),
);
export const requests = judge(fewerRequests);
export const rules = judge(weakerRules);
export const place = judge(movedPlace);
export const exceptions = judge((change, { plan }) => exceptionsIn(change, isSharedIn(plan)));

/** A rule that was taken over, as a destroy puts it back, in the form of the arguments. */
function asFound(old: Side): Side {
  const { rule, exceptions } = bag(old.outputs["previous"]);
  // A rule is recorded as it is sent, without its ID.
  const rules = [rule, ...list(exceptions).map((one) => bag(one)["rule"])].map((one) => ({
    id: "",
    ...bag(one),
  }));
  const [found, ...inFront] = entryPoint.safeParse({ id: "", rules }).data?.rules ?? [];
  if (rule === undefined || found === undefined) return old;
  const { rulesetId, version, overrides } = found.deploys ?? {};
  const same = rulesetId === old.outputs["rulesetId"];
  const inputs = {
    ...pick(old.inputs, ["zoneId", "accountId", ...(same ? ["expansion"] : [])]),
    ruleset: same ? old.inputs["ruleset"] : { id: rulesetId },
    expression: found.expression,
    enabled: found.enabled && found.deploys !== undefined && overrides?.enabled !== false,
    ...omitAbsent({
      version: version === "latest" ? undefined : version,
      action: overrides?.action,
      categories: overrides?.categories,
      rules: overrides?.rules,
      exceptions:
        inFront.length === 0
          ? undefined
          : inFront
              .filter(({ enabled }) => enabled)
              .map(({ expression, skips }) => ({ expression, skip: skips })),
    }),
  };
  return { inputs, outputs: old.outputs };
}

/** Whether one exception leaves out no more than another one. */
function takesNoMore(one: Exception, known: Exception, side: Side): boolean {
  return (
    skipsNoMore(reachOf(one["skip"], side), reachOf(known["skip"], side)) &&
    selectsNoLess(known["expression"], one["expression"])
  );
}

type Exception = Readonly<Record<string, unknown>>;

/** What is skipped: everything, or by ruleset some rules or all of them. */
type Reach = "all" | ReadonlyMap<string, "all" | readonly unknown[]>;

/** Undefined where it can't be told. */
function reachOf(given: unknown, side: Side): Reach | undefined {
  const declared = skip.safeParse(given);
  if (!declared.success) return undefined;
  const ids = bag(bag(side.outputs["known"])["rulesets"]);
  const idOf = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, String(id)]));
  const resolved = resolveSkip(declared.data, ownId(side) ?? "this", idOf);
  if (resolved === "all" || "other" in resolved) return resolved === "all" ? "all" : undefined;
  if ("rulesets" in resolved) return new Map(resolved.rulesets.map((id) => [id, "all"]));
  return new Map(Object.entries(resolved.rules));
}

function skipsNoMore(one: Reach | undefined, known: Reach | undefined): boolean {
  if (known === "all") return true;
  if (one === undefined || known === undefined || one === "all") return false;
  return [...one].every(([id, some]) => {
    const held = known.get(id);
    return (
      held === "all" || (held !== undefined && some !== "all" && some.every((rule) => held.includes(rule)))
    );
  });
}

/** Whether an exception leaves out rules of its own ruleset only. */
function isOwn(exception: unknown, side: Side): boolean {
  const reach = reachOf(bag(exception)["skip"], side);
  const id = ownId(side) ?? "this";
  return reach !== undefined && reach !== "all" && [...reach.keys()].every((each) => each === id);
}

/** The id of the ruleset, as declared or as the preview found it. */
function ownId({ inputs }: Side): string | undefined {
  const found = /\(([0-9a-f]{32})\)$/.exec(text(bag(inputs["expansion"])["ruleset"]) ?? "")?.[1];
  return text(bag(inputs["ruleset"])["id"]) ?? found;
}

/** What isn't known before the update may be either. */
const mayAct = ({ inputs }: Side): boolean => inputs["enabled"] !== false;
const surelyActs = (side: Side): boolean => mayAct(side) && !isHidden(side.inputs["enabled"]);

/** Both sides where it acts on both: there is nothing to compare otherwise. */
const bothActing = ({ before, after }: Change): readonly (Side | undefined)[] =>
  before !== undefined && after !== undefined && mayAct(before) && mayAct(after) ? [before, after] : [];

function nameOf({ inputs }: Side): Phrase {
  const known = text(bag(inputs["expansion"])["ruleset"])?.replace(/ \([0-9a-f]{32}\)$/, "");
  const { name, id } = bag(inputs["ruleset"]);
  return cell(known ?? name ?? (text(id) === undefined ? id : rulesetName(text(id))), 80);
}

const levelOf = ({ inputs }: Side): unknown => bag(inputs["owasp"])["paranoiaLevel"];

const wordsOf = (given: unknown): string => (given === undefined ? "not set" : cell(given, 80).toString());

/** What the preview has compared with what runs now; undefined where it could not look. */
function comparedIn({ after, wasCompared }: Change, member: string): readonly string[] | undefined {
  const lines = bag(bag(after?.inputs["expansion"])["compared"])[member];
  return wasCompared && Array.isArray(lines) ? lines.map((line) => cell(line, 300).toString()) : undefined;
}

const overridesShape = z.object({
  owasp: declared.owasp.optional(),
  categories: declared.categories.optional(),
  rules: declared.rules.optional(),
  action: declared.action.optional(),
});

/** Nobody has looked at the ruleset: whatever isn't provably as strong counts. */
function declaredLess(before: Side, after: Side): readonly string[] {
  const lines: string[] = [];
  for (const name of ["ruleset", "version"]) {
    const [was, is] = [before.inputs[name], after.inputs[name]];
    if (!stays(was, is)) lines.push(`${name} ${wordsOf(was)} → ${wordsOf(is)}`);
  }
  const isById = bag(after.inputs["ruleset"])["id"] !== undefined;
  const [one, other] = [before.inputs["accountId"], after.inputs["accountId"]];
  if (!isById && !stays(one, other)) lines.push(`account of the ruleset ${wordsOf(one)} → ${wordsOf(other)}`);
  const names = Object.keys(overridesShape.shape);
  if (names.every((name) => stays(before.inputs[name], after.inputs[name]))) return lines;
  const [old, next] = [before, after].map(({ inputs }) => overridesShape.safeParse(inputs).data);
  if (old === undefined || next === undefined) return [...lines, "overrides that the plan doesn't show"];
  const scoreRule = text(bag(before.outputs["known"])["scoreRule"]) ?? "that compares the score";
  const [was, is] = [old, next].map((side) => compileOverrides(side, scoreRule));
  return was === undefined || is === undefined ? lines : [...lines, ...compareDeclared(was, is)];
}
