import { own } from "../runtime/values";
import { DANGERS, type Danger, type DangerKind, type RemovalGate } from "./model";
import { joined, say, value, words, type Phrase } from "./phrase";
import type { Plan, Step } from "./plan";
import { pruned, removed } from "./sections/kv";
import { modeOf } from "./sections/managed-ruleset";
import { wouldBlock } from "./sections/page-shield";
import { isGone, isReplaced, leaves, oncePerPlan, successor, told, type Told } from "./sections/section";
import { isAhead, situationOf } from "./sections/waf-migration";
import { bag, cell, compare, counted, list, text } from "./values";

/** What a reviewer must not miss, worst first. */
export function dangersOf(plan: Plan, steps: readonly Step[], gate: RemovalGate): readonly Danger[] {
  const found = steps.flatMap((step) => {
    const all = told(step, plan);
    const judges = [...(own(JUDGES, step.kind ?? "") ?? []), general];
    const judged = judges.flatMap((judge) => judge(all, gate));
    return judged.map(([kind, sentence]): Danger => ({
      kind,
      type: step.kind ?? step.type,
      name: step.name,
      sentence,
    }));
  });
  const sorted = found
    .map((danger) => ({ danger, order: DANGERS.indexOf(danger.kind), text: danger.sentence.toString() }))
    .sort(
      (a, b) =>
        a.order - b.order ||
        compare(a.danger.type, b.danger.type) ||
        compare(a.danger.name, b.danger.name) ||
        compare(a.text, b.text),
    );
  // Two resources may share one consequence: a zone that both leave, say.
  const said = new Set<string>();
  return sorted
    .filter(({ danger, text }) => danger.kind !== "unprotect" || (!said.has(text) && said.add(text)))
    .map(({ danger }) => danger);
}

type Judge = (all: Told, gate: RemovalGate) => readonly (readonly [DangerKind, Phrase])[];

/** What can be dangerous in each kind of resource, besides what `general` says of all. */
const JUDGES: Readonly<Record<string, readonly Judge[]>> = {
  WafMigration: [migration],
  KvNamespace: [namespaceData],
  KvEntries: [prunedKeys, ownKeysRemoved],
  ManagedRulesetOverride: [managedRulesetGone],
  PageShieldPolicy: [policyProtection, policyBlocks],
  PageShieldSettings: [monitorOff],
};

const none = [] as const;

/** Every step forward is one that nobody can take back. */
function migration(all: Told): ReturnType<Judge> {
  if (!isAhead(all)) return none;
  const { now, target } = situationOf(all);
  const zone = cell(all.new.inputs["zoneId"], 40);
  const way =
    now === undefined
      ? `goes to ${target ?? ""}, unless it is there already, which nobody has looked at`
      : `goes from ${now} to ${target ?? ""}`;
  return [["irreversible", say`the WAF migration of zone ${zone} ${words(way)}; there is no way back`]];
}

/** A namespace holds what no program declares. */
function namespaceData(all: Told): ReturnType<Judge> {
  const { step, old } = all;
  if (!leaves(all)) return none;
  const title = cell(old.inputs["title"], 60);
  if (isReplaced(step)) {
    return [
      ["irreversible", say`namespace ${title} is replaced by an empty one; its keys are not carried over`],
    ];
  }
  if (old.inputs["forceDestroy"] !== true) return none; // It is refused while there are keys.
  return successor(all, ["title", "accountId"]) === undefined
    ? [["irreversible", say`namespace ${title} is deleted with every key in it (forceDestroy)`]]
    : none; // Another resource takes it over, or the apply fails before anything is deleted.
}

function prunedKeys(all: Told): ReturnType<Judge> {
  const found = pruned(all);
  return found === undefined ? none : [["irreversible", found.sentence]];
}

/** A deployment that acted, and does not any more. */
function stopsActing(all: Told): boolean {
  const { step, old, new: next } = all;
  if (step.old === undefined || old.inputs["enabled"] === false) return false;
  if (isGone(step) || isReplaced(step)) return leaves(all) && modeOf(old) === "remove";
  return step.op === "update" && next.inputs["enabled"] === false;
}

/** Zones that a deployment of the plan protects afterwards, and rules that stop acting. */
const deploymentsOf = oncePerPlan((plan) => {
  const deployments = plan.steps
    .filter(({ kind }) => kind === "ManagedRulesetOverride")
    .map((step) => told(step, plan));
  const acting = deployments.filter(
    ({ step, new: next }) => !isGone(step) && next.inputs["enabled"] !== false,
  );
  return {
    acting: new Set(acting.map(({ new: next }) => next.inputs["zoneId"])),
    leaving: new Set(deployments.filter(stopsActing).map(({ old }) => old.outputs["ruleId"])),
  };
});

function managedRulesetGone(all: Told): ReturnType<Judge> {
  const { old, plan } = all;
  if (!stopsActing(all)) return none;
  const { zoneId } = old.inputs;
  const { acting, leaving } = deploymentsOf(plan);
  if (acting.has(zoneId)) return none;
  // What this program is about to take away does not count as left.
  const left = list(old.outputs["otherManagedRules"])
    .map(bag)
    .filter(({ ruleId }) => !leaving.has(ruleId))
    .map(({ description, ref }) => cell(text(description) === "" ? ref : (description ?? ref), 60));
  const zone = cell(zoneId, 40);
  return [
    [
      "unprotect",
      left.length === 0
        ? say`zone ${zone} is left without a managed ruleset`
        : say`a managed ruleset of zone ${zone} stops acting; when it was last looked at, there were also ${joined(left)}`,
    ],
  ];
}

function policyProtection(all: Told): ReturnType<Judge> {
  const { step, old, new: next } = all;
  if (step.old === undefined || old.retained) return none;
  if (successor(all, ["zoneId", "description", "action", "expression", "value", "enabled"]) !== undefined)
    return none;
  const enforced = ({ inputs }: Told["old"]): boolean =>
    inputs["action"] === "allow" && inputs["enabled"] !== false;
  const same = next.inputs["zoneId"] === old.inputs["zoneId"];
  return enforced(old) && !(same && enforced(next))
    ? [["unprotect", say`policy ${cell(old.inputs["description"], 60)} no longer blocks anything`]]
    : none;
}

/** Off by declaration, or since a destroy puts back what was there before. */
function monitorOff(all: Told): ReturnType<Judge> {
  const { step, old, new: next } = all;
  if (old.inputs["enabled"] !== true || old.retained) return none;
  const heir = successor(all, ["zoneId"]);
  const restored = old.inputs["onDestroy"] !== "keep" && bag(old.outputs["previous"])["enabled"] === false;
  const stays = heir ?? (isGone(step) || isReplaced(step) ? undefined : next);
  const off = stays === undefined ? restored : stays.inputs["enabled"] === false;
  return off
    ? [["unprotect", say`the page monitor of zone ${cell(old.inputs["zoneId"], 40)} is switched off`]]
    : none;
}

function policyBlocks(all: Told): ReturnType<Judge> {
  const { count, scripts } = wouldBlock(all);
  if (count === 0) return none;
  const more = words(count > scripts.length ? " …" : "");
  const which = scripts.length === 0 ? words("") : say`: ${joined(scripts.map(value))}${more}`;
  return [["blocks", say`${words(counted(count, "active script"))} of the zone would be blocked${which}`]];
}

/** A source that lost entries by mistake looks like any other update. */
function ownKeysRemoved(all: Told, { keys, share }: RemovalGate): ReturnType<Judge> {
  const { count, before } = removed(all);
  if (count === 0 || count < keys || count < share * before) return none;
  const which =
    count === before
      ? counted(count, "key")
      : `${count.toLocaleString("en-US")} of ${counted(before, "key")}`;
  return [
    [
      "removes",
      words(`${count === before ? "all " : ""}${which} it has written ${count === 1 ? "is" : "are"} deleted`),
    ],
  ];
}

/** Replacements and deletions, of any provider. */
function general({ step, old }: Told): ReturnType<Judge> {
  if (!step.custom) return none; // A component is nothing by itself.
  if (isReplaced(step)) {
    const why =
      step.replaceReasons.length === 0
        ? words("")
        : say` because of ${joined(step.replaceReasons.map(value))}`;
    return [["replace", say`is replaced${why}`]];
  }
  if (!isGone(step) || old.retained) return none;
  return [["delete", words("is deleted")]];
}
