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
    ...(isCut && { isCut }),
    ...(events.some(({ isSampled }) => isSampled) && { isSampled: true }),
    changes: [...counted.values()].map((rules) => trafficOfRules(ctx, rules, events)),
    exceptions: added.map(({ exception, index }) => trafficOfException(index, exception, after, events)),
  };
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

const total = (events: readonly RuleEvents[]): number => events.reduce((sum, { count }) => sum + count, 0);

function trafficOfRules(
  ctx: Context,
  { from, to, rules }: ChangedRules,
  events: readonly RuleEvents[],
): RuleTraffic {
  const counts = rules.map(({ id, description }) => ({
    id,
    description,
    events: total(events.filter((event) => event.ruleId === id && isOutcomeOf(event, from))),
  }));
  const [most] = [...counts].sort((a, b) => b.events - a.events);
  return omitAbsent({
    from,
    to,
    events: counts.reduce((sum, each) => sum + each.events, 0),
    rules: rules.length,
    top:
      most === undefined || most.events === 0
        ? undefined
        : { ...most, description: ctx.api.quote(most.description) },
  });
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
