import { isDeepStrictEqual } from "node:util";
import type { Limits } from "../limits";
import type { Zone } from "../state";
import { type CheckedRule, checkRule, type RuleRequest } from "./check";
import { type EntryPoint, PHASE, type ZoneRule } from "./entities";
import { newId } from "./ids";
import { withRuleAt, type Position } from "./position";
import { type Problem, problems, refused } from "./problems";
import type { Place, RulesetStore } from "./store";

/** The zone or account whose entry point changes, and its limits. */
export interface WriteContext {
  readonly store: RulesetStore;
  readonly place: Place;
  readonly limits: Limits;
}

/** Returns the zone's entry point for requests. */
export const requestsOf = ({ id, plan }: Zone): Place => ({ id, plan, kind: "zone", phase: PHASE });

interface EntryPointRequest {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly rules?: readonly RuleRequest[] | undefined;
}

/*
 * Each function returns the new entry point, or throws Cloudflare's refusal. Nothing is written before `store.write`.
 */

/** Replaces all rules, or creates the entry point. An existing entry point keeps its name. */
export function replacedEntryPoint(ctx: WriteContext, request: EntryPointRequest): EntryPoint {
  const old = ctx.store.latest(ctx.place.id, ctx.place.phase);
  return old === undefined ? createEntryPoint(ctx, request) : replaceEntryPoint(ctx, old, request);
}

export function createEntryPoint(
  ctx: WriteContext,
  { name = ctx.place.kind, description = "", rules = [] }: EntryPointRequest,
): EntryPoint {
  const now = ctx.store.now();
  const checked = checkedRules(ctx, rules, []);
  const { kind, phase } = ctx.place;
  return {
    id: newId(),
    ...(kind === "root" ? { kind } : {}),
    ...(phase === PHASE ? {} : { phase }),
    name,
    description,
    version: 1,
    last_updated: now,
    rules: checked.map((rule) => newRule(rule, now)),
  };
}

/**
 * Replaces an entry point's rules. A rule that's sent with its ID keeps the ID. A rule without an ID gets a new one.
 */
function replaceEntryPoint(ctx: WriteContext, old: EntryPoint, request: EntryPointRequest): EntryPoint {
  const now = ctx.store.now();
  // In the OpenAPI schema, the default is no rules. Here, a PUT of a description alone keeps the rules.
  const rules =
    request.rules === undefined
      ? old.rules
      : checkedRules(ctx, request.rules, old.rules).map((rule) => {
          const known = old.rules.find(({ id }) => id === rule.id);
          return known === undefined ? newRule(rule, now) : changedRule(known, rule, now);
        });
  return next(old, rules, now, request.description);
}

export function withRule(
  ctx: WriteContext,
  old: EntryPoint,
  request: RuleRequest,
  position?: Position,
): EntryPoint {
  const now = ctx.store.now();
  const rule = newRule(checkedRule(ctx, request, old.rules), now);
  requireRoom(ctx, old.rules.length + 1);
  return next(old, withRuleAt([...old.rules, rule], rule, position), now);
}

/**
 * Replaces a rule's whole definition. Omitted properties get their defaults. If only a position is given, the rule is
 * only moved.
 */
export function withChangedRule(
  ctx: WriteContext,
  old: EntryPoint,
  rule: ZoneRule,
  request: RuleRequest,
  position?: Position,
): EntryPoint {
  const now = ctx.store.now();
  const { id, ...definition } = request;
  if (id !== undefined && id !== rule.id) throw refused(problems.idUnknown(id, "/id"));
  const onlyMoves = position !== undefined && Object.values(definition).every((each) => each === undefined);
  const others = old.rules.filter((each) => each.id !== rule.id);
  const changed = onlyMoves ? rule : changedRule(rule, checkedRule(ctx, definition, others), now);
  const rules = old.rules.map((each) => (each.id === rule.id ? changed : each));
  return next(old, position === undefined ? rules : withRuleAt(rules, changed, position), now);
}

export function withoutRule({ store }: WriteContext, old: EntryPoint, rule: ZoneRule): EntryPoint {
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

/** Changes a rule. If the definition is equal, the rule keeps its version. */
function changedRule(old: ZoneRule, { ref, definition }: CheckedRule, now: string): ZoneRule {
  const { id, version, last_updated } = old;
  const changed = { ...definition, id, ref: ref ?? id, version, last_updated };
  return isDeepStrictEqual(changed, old) ? old : { ...changed, version: version + 1, last_updated: now };
}

function checkedRule(ctx: WriteContext, request: RuleRequest, others: readonly ZoneRule[]): CheckedRule {
  const result = checkRule(request, ruleContext(ctx), "");
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
  ctx: WriteContext,
  requests: readonly RuleRequest[],
  known: readonly ZoneRule[],
): CheckedRule[] {
  const found: Problem[] = [];
  const rules: CheckedRule[] = [];
  const ids = new Set<string | undefined>();
  const refs = new Set<string | undefined>();
  requests.forEach((request, index) => {
    const pointer = `/rules/${index}`;
    const result = checkRule(request, ruleContext(ctx), pointer);
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
  requireRoom(ctx, rules.length);
  return rules;
}

function requireRoom({ limits, place: { kind, phase } }: WriteContext, wanted: number): void {
  const quota = kind === "zone" ? limits.maxZoneRules : limits.maxAccountRules;
  if (wanted > quota) throw refused(problems.tooManyRules(wanted, quota, phase));
}

function ruleContext({ store, place, limits }: WriteContext) {
  return { catalog: store.catalog, place, limits };
}
