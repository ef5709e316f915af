import { isDeepStrictEqual } from "node:util";
import type { Limits } from "../limits";
import type { Zone } from "../state";
import { type CheckedRule, checkRule, type RuleRequest } from "./check";
import { type EntryPoint, PHASE, type ZoneRule } from "./entities";
import { newId } from "./ids";
import { placed, type Position } from "./position";
import { type Problem, problems, refused } from "./problems";
import type { RulesetStore } from "./store";

/** Where and by what an entry point changes. */
export interface Workplace {
  readonly store: RulesetStore;
  readonly zone: Zone;
  readonly limits: Limits;
}

interface EntryPointRequest {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly rules?: readonly RuleRequest[] | undefined;
}

/*
 * Each function gives the entry point as it would be, or throws what the service refuses; nothing is written before
 * `store.write`. Products in this process use `putEntryPoint`, which writes too.
 */

/** Replaces all rules of the zone, or makes its entry point; the name is that of the first time (facts D24). */
export function putEntryPoint(place: Workplace, request: EntryPointRequest): EntryPoint {
  const old = place.store.latest(place.zone.id);
  const next = old === undefined ? created(place, request) : replaced(place, old, request);
  place.store.write(place.zone.id, next);
  return next;
}

export function created(
  place: Workplace,
  { name = "zone", description = "", rules = [] }: EntryPointRequest,
) {
  const now = place.store.now();
  const checked = checkedRules(place, rules, []);
  return {
    id: newId(),
    name,
    description,
    version: 1,
    last_updated: now,
    rules: checked.map((rule) => newRule(rule, now)),
  };
}

/** A rule whose id is sent stays the rule it was; one without is new, whatever it holds (facts 5.2). */
export function replaced(place: Workplace, old: EntryPoint, request: EntryPointRequest): EntryPoint {
  const now = place.store.now();
  // INV: the schema says that no rules is the default; a PUT of a description alone should cost nobody their rules.
  const rules =
    request.rules === undefined
      ? old.rules
      : checkedRules(place, request.rules, old.rules).map((rule) => {
          const known = old.rules.find(({ id }) => id === rule.id);
          return known === undefined ? newRule(rule, now) : changedRule(known, rule, now);
        });
  return next(old, rules, now, request.description);
}

export function withRule(
  place: Workplace,
  old: EntryPoint,
  request: RuleRequest,
  position?: Position,
): EntryPoint {
  const now = place.store.now();
  const rule = newRule(checkedRule(place, request, old.rules), now);
  requireRoom(place, old.rules.length + 1);
  return next(old, placed([...old.rules, rule], rule, position), now);
}

/** The whole definition is replaced; what is not sent goes back to its default. A position alone only moves. */
export function withChangedRule(
  place: Workplace,
  old: EntryPoint,
  rule: ZoneRule,
  request: RuleRequest,
  position?: Position,
): EntryPoint {
  const now = place.store.now();
  const { id, ...definition } = request;
  if (id !== undefined && id !== rule.id) throw refused(problems.idUnknown(id, "/id"));
  const onlyMoves = position !== undefined && Object.values(definition).every((each) => each === undefined);
  const others = old.rules.filter((each) => each.id !== rule.id);
  const changed = onlyMoves ? rule : changedRule(rule, checkedRule(place, definition, others), now);
  const rules = old.rules.map((each) => (each.id === rule.id ? changed : each));
  return next(old, position === undefined ? rules : placed(rules, changed, position), now);
}

export function withoutRule({ store }: Workplace, old: EntryPoint, rule: ZoneRule): EntryPoint {
  return next(
    old,
    old.rules.filter(({ id }) => id !== rule.id),
    store.now(),
  );
}

function next(old: EntryPoint, rules: ZoneRule[], now: string, description = old.description): EntryPoint {
  return { ...old, description, rules, version: old.version + 1, last_updated: now };
}

function newRule({ ref, definition }: CheckedRule, now: string): ZoneRule {
  const id = newId();
  return { ...definition, id, ref: ref ?? id, version: 1, last_updated: now };
}

/** An equal definition leaves the rule as it was. */
function changedRule(old: ZoneRule, { ref, definition }: CheckedRule, now: string): ZoneRule {
  const { id, version, last_updated } = old;
  const changed = { ...definition, id, ref: ref ?? id, version, last_updated };
  return isDeepStrictEqual(changed, old) ? old : { ...changed, version: version + 1, last_updated: now };
}

function checkedRule(place: Workplace, request: RuleRequest, others: readonly ZoneRule[]): CheckedRule {
  const result = checkRule(request, judgement(place), "");
  const found = "problems" in result ? [...result.problems] : [];
  if (request.id !== undefined) found.push(problems.idUnknown(request.id, "/id"));
  const { ref } = request;
  if (ref !== undefined && others.some((other) => other.ref === ref)) {
    found.push(problems.refTaken(ref, "/ref"));
  }
  if ("problems" in result || found.length > 0) throw refused(...found);
  return result.rule;
}

function checkedRules(
  place: Workplace,
  requests: readonly RuleRequest[],
  known: readonly ZoneRule[],
): CheckedRule[] {
  const found: Problem[] = [];
  const rules: CheckedRule[] = [];
  const ids = new Set<string | undefined>();
  const refs = new Set<string | undefined>();
  requests.forEach((request, index) => {
    const pointer = `/rules/${index}`;
    const result = checkRule(request, judgement(place), pointer);
    if ("problems" in result) found.push(...result.problems);
    else rules.push(result.rule);

    const { id, ref = id } = request;
    if (id !== undefined && !known.some((rule) => rule.id === id)) {
      found.push(problems.idUnknown(id, `${pointer}/id`));
    }
    if (id !== undefined && ids.has(id)) found.push(problems.idTwice(id, `${pointer}/id`));
    else if (ref !== undefined && refs.has(ref)) found.push(problems.refTaken(ref, `${pointer}/ref`));
    ids.add(id);
    refs.add(ref);
  });
  if (found.length > 0) throw refused(...found);
  requireRoom(place, rules.length);
  return rules;
}

function requireRoom({ limits }: Workplace, wanted: number): void {
  const quota = limits.maxZoneRules;
  if (wanted > quota) throw refused(problems.tooManyRules(wanted, quota, PHASE));
}

function judgement({ store, zone, limits }: Workplace) {
  return { catalog: store.catalog, plan: zone.plan, limits };
}
