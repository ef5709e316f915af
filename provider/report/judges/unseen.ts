import { SEEN as KV } from "../../kv/impact";
import { SEEN as LOGPUSH } from "../../logpush/impact";
import { SEEN as PAGE_SHIELD } from "../../page-shield/impact";
import { SEEN as RULESETS } from "../../rulesets/impact";
import { hasUnknown } from "../../runtime/engine-values";
import { newsOf, UNMANAGED } from "../../runtime/unmanaged";
import { ownMember, sameJson } from "../../basics/json";
import { joined, say, value, words, type Phrase } from "../phrase";
import { impactOf } from "../impact";
import {
  adoptedBy,
  isDeleted,
  isNew,
  isReplaced,
  losesObject,
  NOTHING,
  oncePerPlan,
  othersOf,
  PLACES,
  viewOf,
  type StepView,
} from "../sections/section";
import { asNumber, asObject, cell, isHidden } from "../values";
import { selectsNothing } from "./requests";
import type { Judge } from "./sides";

/** Something that only a look at the zone or account can rule out. */
interface Risk {
  /** The member of `seen` that says that the preview looked. */
  readonly seen: string;
  /** Whether the update may act even if no argument changes. */
  readonly always?: true;
  /** Returns what the update could lose. Undefined if nothing. */
  loses(all: StepView): Phrase | undefined;
}

/** What a preview has to look at, by class. Whatever isn't among what it has seen may be lost. */
export const RISKS: Readonly<Record<string, readonly Risk[]>> = {
  PageShieldSettings: [
    {
      seen: PAGE_SHIELD.settings,
      loses: (all) => {
        const { before, new: next } = all;
        const off = ["useReportingEndpoint", "useConnectionUrlPath"].filter(
          (name) =>
            next.inputs[name] !== undefined &&
            next.inputs[name] !== true &&
            (isReplaced(all) || before.inputs[name] === undefined),
        );
        if (off.length === 0) return undefined;
        return say`may turn off ${joined(off.map(value))}: the zone's settings weren't read`;
      },
    },
  ],
  PageShieldPolicy: [
    takesOver(PAGE_SHIELD.existingPolicy, "policy"),
    {
      seen: PAGE_SHIELD.wouldBlock,
      loses: (all) => {
        const { before, new: next } = all;
        const { action, enabled, expression } = next.inputs;
        const mayBlock = enabled !== false && mayBe(action, "allow") && !selectsNothing(expression);
        const isSame = ["action", "enabled", "expression", "value"].every(
          (name) => sameJson(before.inputs[name], next.inputs[name]) && !isHidden(next.inputs[name]),
        );
        if (!mayBlock || (isSame && !isReplaced(all))) return undefined;
        return words("may block scripts that the zone's pages load: the policy wasn't compared with them");
      },
    },
  ],
  ManagedRulesetOverride: [takesOver(RULESETS.existingRule, "rule")],
  LogpushJob: [takesOver(LOGPUSH.existingJob, "job")],
  LogpushTransformer: [takesOver(LOGPUSH.existingTransformer, "transformer")],
  KvEntries: [
    {
      seen: KV.prunedKeys,
      always: true,
      loses: (all) => {
        const { prune } = all.new.inputs;
        if (prune === undefined || isNewNamespace(all)) return undefined;
        const prefix = asObject(prune)["prefix"];
        const under = prefix === undefined ? words("") : say` under ${cell(prefix)}`;
        return say`may delete keys that others wrote${under}: ${value("prune")} wasn't compared with the namespace`;
      },
    },
    {
      seen: KV.existingKeys,
      loses: (all) =>
        mayBe(all.new.inputs["adopt"], "takeOver") && !isNewNamespace(all)
          ? words(
              'may overwrite keys that others wrote: adopt: "takeOver" wasn\'t compared with the namespace',
            )
          : undefined,
    },
    {
      seen: KV.ownKeys,
      loses: (all) =>
        isNew(all.step) || isReplaced(all)
          ? undefined
          : words("may delete keys that it wrote: the preview couldn't compare them with the program"),
    },
  ],
};

/** Finds what the plan could lose where its preview didn't look. */
export const unseen: Judge = (all) => {
  const { step, old, impact, plan } = all;
  if (step.op === "import" || (step.op === "same" && impact.skipped.length === 0)) return [];
  const said = (sentence: string | undefined): ReturnType<Judge> =>
    sentence === undefined ? [] : [["unseen", words(sentence)]];
  const losses = said(lossOf(all));
  if (isDeleted(step)) return losses;
  const { recorded = old } = refreshes(plan).get(step.oldUrn) ?? {};
  const found = impact.unmanaged ?? old.outputs[UNMANAGED];
  const news = step.op === "update" ? newsOf(recorded.outputs[UNMANAGED], found) : undefined;
  const risks = (ownMember(RISKS, step.kind ?? "") ?? []).flatMap((risk) => {
    if (step.op === "same" && risk.always !== true) return [];
    const sentence = impact.seen.has(risk.seen) ? undefined : risk.loses(all);
    return sentence === undefined ? [] : [["unseen", sentence] as const];
  });
  return [
    ...losses,
    ...said(news && `is written, although it was ${news}`),
    ...(step.op === "update" ? said(takenBack(all, risks.length > 0)) : []),
    ...risks,
  ];
};

/** Classes whose objects people change in the dashboard: updates and deletions overwrite that. */
const EDITED = [
  "PageShieldSettings",
  "PageShieldPolicy",
  "ManagedRulesetOverride",
  "LogpushJob",
  "LogpushTransformer",
];

/** Says what an update may take back, of which the state says nothing. */
function takenBack(all: StepView, isTold: boolean): string | undefined {
  const { isUnfinished } = all.old;
  if (isUnfinished ? isTold : isCompared(all)) return undefined;
  const what = isUnfinished
    ? "an interrupted update, or someone manually, changed"
    : "someone changed manually";
  return `may take back what ${what}: the preview didn't compare the object with what exists. One with --refresh and live checks does`;
}

/** Says what a delete or replacement may lose, of which the state says nothing. */
function lossOf(all: StepView): string | undefined {
  const { step, old, new: next } = all;
  const isLost = losesObject(all);
  const isCounted = asNumber(old.inputs["keys"]) !== undefined && !old.isUnfinished;
  if (isLost && step.kind === "KvEntries" && !isCounted)
    return "may delete keys that it wrote: the state doesn't say how many";
  // A replacement in the same place writes the object that stays.
  const differs = (name: string): boolean =>
    !sameJson(old.inputs[name], next.inputs[name]) && !isHidden(next.inputs[name]);
  const isWritten = isReplaced(all) && step.op !== "update" && !PLACES.some(differs);
  const isDropped = isLost && old.inputs["onDestroy"] !== "keep" && !isTakenOver(all);
  return (isWritten || isDropped) && !isCompared(all)
    ? "may delete what someone changed manually: only a preview with --refresh compares what the update deletes and what stays"
    : undefined;
}

/** Whether a new resource manages the zone's settings, and is compared with them. */
const isTakenOver = (all: StepView): boolean =>
  all.step.kind === "PageShieldSettings" &&
  othersOf(all, ["zoneId"]).some(
    ({ step, impact }) => step.op === "create" && impact.seen.has(PAGE_SHIELD.settings),
  );

/** Whether the old side is what exists. */
function isCompared(all: StepView): boolean {
  const { step, old, new: next, impact } = all;
  if (!EDITED.includes(step.kind ?? "")) return true;
  // No argument shows each override of a rule: only live checks compare them.
  const isWhole = step.kind !== "ManagedRulesetOverride" || impact.seen.has(RULESETS.existingRule);
  const [was, is] = [old, next].map(({ inputs }) => inputs["outputOptions"]);
  // A refresh doesn't compare what the program leaves to others.
  const isFirst = step.kind === "LogpushJob" && was === undefined && is !== undefined;
  return isRefreshed(all) && !isFirst
    ? isWhole || old.inputs["drift"] === undefined
    : impact.isCompared && isWhole;
}

const refreshes = oncePerPlan(
  ({ refreshed = [] }) => new Map(refreshed.map((each) => [each.step.urn, each])),
);

/** Whether the recorded side is what exists, because the plan was made with `--refresh`. */
const isRefreshed = ({ step, plan }: StepView): boolean => refreshes(plan).get(step.oldUrn)?.next === step;

/** A create that takes over whatever object exists. */
function takesOver(seen: string, what: string): Risk {
  return {
    seen,
    loses: (all) =>
      (isNew(all.step) || isReplaced(all)) && mayBe(all.new.inputs["adopt"], "takeOver")
        ? words(`may change an existing ${what}: adopt: "takeOver" wasn't compared with what exists`)
        : undefined,
  };
}

const mayBe = (given: unknown, expected: string): boolean => given === expected || isHidden(given);

/**
 * Whether the entries' namespace is one that this plan creates, and that no other keys can be in. A plan doesn't show
 * whether the program replaces that namespace's ID in an `apply`.
 */
function isNewNamespace({ new: next, plan }: StepView): boolean {
  const urns = next.sources["namespaceId"] ?? [];
  const sources = plan.steps.filter(({ urn }) => urns.includes(urn));
  if (sources.length !== 1 || !hasUnknown(next.inputs["namespaceId"])) return false;
  return sources.every((source) => {
    const { kind, op, old = NOTHING, new: side } = source;
    if (kind !== "KvNamespace" || side === undefined) return false;
    // A replacement with the same title finds the old namespace, with all its keys.
    const isElsewhere = ["accountId", "title", "preview"].some(
      (name) => !sameJson(old.inputs[name], side.inputs[name]),
    );
    if (op !== "create" && !(op === "replace" && isElsewhere)) return false;
    if (adoptedBy(viewOf(source, plan)) !== undefined) return false;
    // Any other mode adopts an empty namespace only.
    return !mayBe(side.inputs["adopt"], "takeOver") || impactOf(source).seen.has(KV.existingNamespace);
  });
}
