import { z } from "zod";
import { rulesetRecord } from "../../rulesets/impact";
import { ADOPTED } from "../../runtime/adopted";
import { omit, sameJson } from "../../basics/json";
import {
  byName,
  errorsOf,
  isChange,
  isRead,
  newVersionsOf,
  notesOf,
  resourceSteps,
  titleOf,
  uncomparedIn,
  warningsOf,
} from "../build";
import { impactOf } from "../impact";
import type { Block, Named } from "../model";
import { say, words } from "../phrase";
import { PlanError, type Plan, type Refreshed } from "../plan";
import { comparison } from "../sections/managed-ruleset";
import { isDeleted, viewOf, type StepView } from "../sections/section";
import { sectionWriterOf } from "../sections/writers";
import { ByHand, driftedOf, type Drifted } from "./by-hand";
import { changesOf, concernsOf, furtherLosses, languageOf, outcomeOf, UNDO } from "./explain";
import type { DriftedResource, DriftReport, OtherDrift } from "./model";

/**
 * Builds the report on manual changes, for the person who decides what to do about them.
 *
 * @param unnamed the title for a plan that doesn't name its stack, for example because the preview failed immediately.
 * @throws PlanError if the plan was made without `--refresh`.
 */
export function buildDrift(plan: Plan, unnamed = "plan"): DriftReport {
  const errors = errorsOf(plan.diagnostics);
  if (plan.refreshed === undefined && errors.length === 0)
    throw new PlanError(
      "this plan was made without --refresh, so it doesn't show drift. Use `pulumi preview --refresh --json --show-sames`.",
    );
  if (!plan.complete && errors.length === 0)
    throw new PlanError(
      "this plan was made without --show-sames, so it doesn't show whether unchanged resources still exist. Use `pulumi preview --refresh --json --show-sames`.",
    );
  const refreshed = (plan.refreshed ?? [])
    .filter(({ step, next }) => step.custom && !step.type.startsWith("pulumi:") && !isRead(next))
    .sort((a, b) => byName(a.step, b.step));
  const drifted = refreshed.flatMap((each) => driftedOf(each) ?? []);
  const others = refreshed
    .filter(({ step }) => step.kind === undefined)
    .flatMap((each) => otherDrift(each) ?? []);
  const found = [
    ...drifted.map(({ now }) => now === undefined),
    ...others.map((each) => each.found === "gone"),
  ];
  const gone = found.filter(Boolean).length;
  const uncompared = uncomparedIn(plan).map(({ step }) => step.urn);
  const byHand = new ByHand(
    plan,
    refreshed.filter(({ step }) => step.kind !== undefined),
  );
  const urns = new Set(drifted.map(({ step }) => step.urn));
  const changing = resourceSteps(plan).filter((step) => isChange(step));
  return {
    title: titleOf(plan, unnamed),
    drifted: found.length > 0,
    counts: {
      changed: found.length - gone,
      gone,
      asRecorded: refreshed.length - found.length - uncompared.filter((urn) => !urns.has(urn)).length,
      uncompared: uncompared.length,
    },
    notes: notesOf(plan),
    errors,
    warnings: warningsOf(plan, changing),
    newVersions: newVersionsOf(plan),
    resources: drifted.map((each) => resourceOf(each, byHand)).sort(byHarm),
    others,
    pending: changing
      .filter((step) => !urns.has(step.oldUrn) && !(step.kind === undefined && step.found !== undefined))
      .map(({ op, kind, type, name }): Named => ({ op, type: kind ?? type, name })),
  };
}

/** Sorts changes by what they cost, worst first: what's off or acts less before what covers less. Equal ones stay in their order. */
export const byHarm = (a: DriftedResource, b: DriftedResource): number => harmOf(b) - harmOf(a);

function harmOf({ lost, found, changes }: DriftedResource): number {
  const isOff = found === "gone" || changes.some(({ property }) => ["enabled", "action"].includes(property));
  return lost.length === 0 ? Number(found === "gone") : lost.length + (isOff ? MANY_LOSSES : 0);
}

const MANY_LOSSES = 1_000;

/** Finds drift in another provider's resource. Compares only inputs, because outputs change on their own. */
function otherDrift({ step, recorded, now }: Refreshed): OtherDrift | undefined {
  const { type, name } = step;
  if (now === undefined) return { found: "gone", type, name, properties: [] };
  const properties = Object.keys({ ...recorded.inputs, ...now.inputs })
    .filter((property) => !sameJson(recorded.inputs[property], now.inputs[property]))
    .sort();
  return properties.length === 0 ? undefined : { found: "changed", type, name, properties };
}

function resourceOf(drifted: Drifted, byHand: ByHand): DriftedResource {
  const { kind, step, now } = drifted;
  const writer = sectionWriterOf(kind);
  const view = byHand.viewOf(drifted);
  const changes = changesOf(drifted);
  const { lost, gained } = byHand.effectsOf(drifted);
  return {
    found: now === undefined ? "gone" : "changed",
    kind,
    name: step.name,
    summary: view === undefined ? words("") : writer.summary(asPresent(view)),
    changes,
    lost: [...lost, ...furtherLosses(drifted)],
    gained,
    language: languageOf(step),
    concerns: concernsOf(drifted, changes),
    ...outcomeOf(drifted, changes),
    details: view === undefined ? [] : detailsOf(drifted, view),
  };
}

/** Returns a deleted object as if it were new, so that the report shows it in full. */
function asPresent(view: StepView): StepView {
  if (!isDeleted(view.step)) return view;
  const existing = { ...view.old, inputs: omit(view.old.inputs, [ADOPTED]) };
  return viewOf({ ...view.step, op: "create", old: undefined, new: existing }, view.plan);
}

/** Shows what the table of changed arguments doesn't, such as a policy's directives. */
function detailsOf({ kind, next }: Drifted, view: StepView): readonly Block[] {
  const blocks = sectionWriterOf(kind).blocks(asPresent(view));
  if (isDeleted(view.step)) return blocks;
  if (kind === "KvEntries" || kind === "WafMigration") return []; // `changes` says it all.
  return [
    ...blocks.filter((block) => block.is === "text" || block.is === "code"),
    ...comparison(
      next === undefined ? undefined : z.object(rulesetRecord).parse(impactOf(next).members).compared,
      say`What ${UNDO} changes in the zone's rules:`,
    ),
  ];
}
