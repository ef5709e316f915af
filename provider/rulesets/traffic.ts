import type { Context } from "../runtime/lifecycle";
import { omitAbsent } from "../basics/json";
import { matcher } from "../rules-language/evaluate";
import { effectOf, pairRules, type RunningRuleset } from "./compare-effects";
import { isSameException, type Exception } from "./exceptions";
import type { ExceptionTraffic, RuleTraffic, Traffic } from "./impact";
import { skippedBy } from "./skip-rules";
import { skippedRulesOf } from "./skip";
import type { EntryPoint } from "./wire";
import { zoneEvents, type RuleEvents } from "./traffic-events";

/** What a change would have meant for the requests of the last hours, for the preview. */

interface Compared {
  readonly before: RunningRuleset;
  readonly after: RunningRuleset & { readonly exceptions: readonly Exception[] };
  /** The zone's rules. */
  readonly found: EntryPoint | undefined;
}

/**
 * Counts the events of the rules whose action changes, and of the rules that a new exception skips. Undefined if events
 * can't tell anything about the change.
 */
export async function trafficOf(
  ctx: Context,
  zoneId: string,
  { before, after, found }: Compared,
): Promise<Traffic | undefined> {
  if (ctx.settings.trafficHours === 0 || before.managed.id !== after.managed.id) return undefined;
  const { counted, off, isScored } = changedRules(before, after);
  const isOld = (exception: Exception): boolean =>
    found?.rules.some((rule) => isSameException(rule, exception)) === true;
  const added = ctx.isSecret("exceptions")
    ? []
    : after.exceptions.flatMap((exception, index) => (isOld(exception) ? [] : [{ exception, index }]));
  const none = {
    changes: [],
    exceptions: [],
    ...omitAbsent({ off: off === 0 ? undefined : off, scored: isScored ? (true as const) : undefined }),
  };
  if (counted.size === 0 && added.length === 0) return off === 0 && !isScored ? undefined : none;
  const read = await zoneEvents(ctx, zoneId, added.length > 0);
  if ("unknown" in read) return { ...none, notAsked: read.unknown };
  const { events, hours, isCut } = read;
  return {
    ...none,
    hours,
    ...flagsOf(isCut, events),
    changes: [...counted.values()].map((rules) => trafficOfRules(ctx, rules, events)),
    exceptions: added.map(({ exception, index }) => trafficOfException(index, exception, after, events)),
  };
}

/** Counts what the previous managed rules stopped. Without them, at most so much would have passed. */
export async function previousTraffic(ctx: Context, zoneId: string): Promise<Traffic | undefined> {
  if (ctx.settings.trafficHours === 0) return undefined;
  const read = await zoneEvents(ctx, zoneId, false, "waf");
  if ("unknown" in read) return { changes: [], exceptions: [], notAsked: read.unknown };
  const { events, hours, isCut } = read;
  const changes = ["block", "challenge"].flatMap((from) => {
    const ids = new Set(events.filter((event) => isOutcomeOf(event, from)).map(({ ruleId }) => ruleId));
    const rules = [...ids].map((id) => ({ id, description: "" }));
    return rules.length > 0 || from === "block"
      ? [trafficOfRules(ctx, { from, to: "off", rules }, events)]
      : [];
  });
  return { hours, ...flagsOf(isCut, events), changes, exceptions: [] };
}

const intervalIn = (events: readonly RuleEvents[]): number =>
  Math.max(1, ...events.map(({ interval }) => interval));

function flagsOf(isCut: boolean, events: readonly RuleEvents[]): Pick<Traffic, "isCut" | "isSampled"> {
  return { ...(isCut && { isCut }), ...(intervalIn(events) > 1 && { isSampled: true }) };
}

/** Rules whose action changes from one to another. */
interface ChangedRules {
  readonly from: string;
  readonly to: string;
  readonly rules: { readonly id: string; readonly description: string }[];
}

/** Groups the rules whose action changes, such as `log → block`, and counts those about which events tell nothing. */
function changedRules(
  before: RunningRuleset,
  after: RunningRuleset,
): {
  readonly counted: ReadonlyMap<string, ChangedRules>;
  readonly off: number;
  readonly isScored: boolean;
} {
  const counted = new Map<string, ChangedRules>();
  let off = 0;
  let isScored = false;
  for (const [was, is] of pairRules(before, after)) {
    const [from, to] = [effectOf(was), effectOf(is)];
    const rule = is ?? was;
    if (rule === undefined) continue;
    if (from === to) isScored ||= was?.scoreThreshold !== is?.scoreThreshold;
    else if (from === "score" || to === "score") isScored = true;
    else if (from === "off") off += 1;
    else {
      const kind = `${from} → ${to}`;
      const alike = counted.get(kind) ?? { from, to, rules: [] };
      counted.set(kind, alike);
      alike.rules.push(rule);
    }
  }
  return { counted, off, isScored };
}

/** Cloudflare's names of outcomes, where they differ from the action's. */
const OUTCOMES: Readonly<Record<string, string>> = { js_challenge: "jschallenge" };

/** Whether a rule with this action had the event. A challenge has several outcomes. */
function isOutcomeOf(event: RuleEvents, action: string): boolean {
  const outcome = OUTCOMES[action] ?? action;
  return event.action === outcome || event.action.startsWith(`${outcome}_`);
}

export const total = (events: readonly RuleEvents[]): number =>
  events.reduce((sum, { count }) => sum + count, 0);

function trafficOfRules(
  ctx: Context,
  { from, to, rules }: ChangedRules,
  events: readonly RuleEvents[],
): RuleTraffic {
  const before = events.filter((event) => isOutcomeOf(event, from));
  const counts = rules.map(({ id, description }) => ({
    id,
    description,
    events: total(before.filter((event) => event.ruleId === id)),
  }));
  const [most] = [...counts].sort((a, b) => b.events - a.events);
  const ids = new Set(rules.map(({ id }) => id));
  return omitAbsent({
    from,
    to,
    ...rangeOf(
      before.filter(({ ruleId }) => ids.has(ruleId)),
      intervalIn(events),
    ),
    rules: rules.length,
    top:
      most === undefined || most.events === 0
        ? undefined
        : { ...most, description: ctx.api.quote(most.description) },
  });
}

/** Two standard deviations, which contain the true number 95 times out of 100. */
const DEVIATIONS = 1.96;

/**
 * Counts events. If they're sampled, the count is the upper end of a range (Wilson's, for rare events), which is right for
 * few stored events, too.
 *
 * @param usual how many events a stored one stands for, if none is given.
 */
function rangeOf(events: readonly RuleEvents[], usual: number): Pick<RuleTraffic, "events" | "least"> {
  const count = total(events);
  const each =
    count === 0 ? usual : events.reduce((sum, event) => sum + event.count * event.interval, 0) / count;
  if (each === 1) return { events: count };
  const stored = count / each + DEVIATIONS ** 2 / 2;
  const margin = DEVIATIONS * Math.sqrt(count / each + DEVIATIONS ** 2 / 4);
  return {
    least: Math.max(0, Math.floor(each * (stored - margin))),
    events: Math.ceil(each * (stored + margin)),
  };
}

function trafficOfException(
  index: number,
  { expression, skip }: Exception,
  { managed }: RunningRuleset,
  events: readonly RuleEvents[],
): ExceptionTraffic {
  const isWhole = skippedBy(skip, managed.id) === "all";
  const ids = new Set<unknown>(
    isWhole ? managed.rules.map(({ id }) => id) : (skippedRulesOf(skip, managed.id) ?? []),
  );
  const matches = matcher(expression);
  const concerned = events.filter(({ ruleId }) => ids.has(ruleId));
  const results = concerned.map(({ fields }) => matches(fields));
  const that = (result: boolean | undefined): number =>
    total(concerned.filter((_, at) => results[at] === result));
  return { index, events: total(concerned), matching: that(true), undecided: that(undefined) };
}
