import type { Plan } from "../limits";
import type { Migration, Phase, Step } from "./entities";

/*
 * The states of a migration and every transition. Nothing else decides where a zone may go. `pending` is the undocumented
 * time of the switch, which can take an hour; no request ends it.
 *
 *     start ──validate──▶ validation ──finish──▶ pending ──(the switch is done)──▶ finished
 *       └───────────────────finish─────────────────▲
 */

/**
 * What advances a migration. `validate` is a PUT with `waf_migration=validation`; `finish` is one with `pending`, or
 * the dashboard's last button.
 */
export type Trigger = "validate" | "finish";

const table: Record<Phase, Record<Trigger, Phase | "irreversible">> = {
  start: { validate: "validation", finish: "pending" },
  // Repeating a validation saves another configuration to review.
  validation: { validate: "validation", finish: "pending" },
  pending: { validate: "irreversible", finish: "pending" },
  // This is an ordinary update of the new rules.
  finished: { validate: "irreversible", finish: "finished" },
};

/** Returns the phase that the trigger leads to, or why it's rejected. */
export function decide(
  from: Phase,
  trigger: Trigger,
  plan: Plan,
): { to: Phase } | { refused: "irreversible" | "enterpriseOnly" } {
  const to = table[from][trigger];
  if (to === "irreversible") return { refused: to };
  return to === "validation" && plan !== "enterprise" ? { refused: "enterpriseOnly" } : { to };
}

/** Returns the phase at a given time. A pending migration finishes when its delay is over. */
export function phaseAt({ phase, until }: Migration, now: Date): Phase {
  const done = phase === "pending" && until !== null && now.getTime() >= Date.parse(until);
  return done ? "finished" : phase;
}

/** Returns the migration after a trigger that `decide` allowed. */
export function advance(migration: Migration, step: Omit<Step, "effective">, switchMs: number): Migration {
  const effective = step.from !== step.to;
  const moved = { ...migration, phase: step.to, steps: [...migration.steps, { ...step, effective }] };
  if (!effective || step.to !== "pending") return moved;
  const until = new Date(Date.parse(step.at) + switchMs).toISOString();
  return { ...moved, until: migration.hangs ? null : until, hangs: false };
}

/** Finishes a pending migration now, even if it hangs. */
export function completeSwitch(migration: Migration, now: Date): Migration {
  return migration.phase === "pending" ? { ...migration, until: now.toISOString() } : migration;
}
