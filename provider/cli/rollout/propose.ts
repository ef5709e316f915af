import { asCode, keyText } from "../../basics/code";
import { escapeInvisible } from "../../basics/printable";
import { firstFew, pluralize, truncate } from "../../basics/words";
import { readZone } from "../../import/zones";
import { formatNumber } from "../../limits/workers";
import { quoteRule } from "../../rulesets/rule-names";
import { proposals, type JudgedRule, type Proposal, type Verdict } from "../../rulesets/rollout";
import { total } from "../../rulesets/traffic";
import { eventsOfDays } from "../../rulesets/traffic-events";
import { CommandError } from "../../terminal/errors";
import { withHost } from "../../terminal/host";
import { print, type Io } from "../../terminal/io";

export interface RolloutOptions {
  readonly zone: string;
  readonly days: number;
}

/** @throws CommandError if the zone, or the events of so many days, can't be read. */
export async function proposeRollout(io: Io, { zone, days }: RolloutOptions): Promise<void> {
  const needs = { signal: io.interrupted(), unfinished: "Nothing was changed." };
  const lines = await withHost(io, needs, async (host) => {
    const { id, what, accountId, activeSince } = await readZone(host, zone, undefined);
    if (accountId === undefined || activeSince === undefined)
      throw new CommandError(`${what} is paused or not active, or the token lacks Zone Read for it.`);
    const ctx = host.context("rollout");
    const events = await eventsOfDays(ctx, id, days);
    if ("unknown" in events)
      throw new CommandError(`${what}: its firewall events can't be read: ${events.unknown}.`);
    const found = await proposals(ctx, { id, accountId, activeSince }, events);
    return [
      `${what}: ${pluralize(total(events.byRule.events), "event")} of managed rules in the last ${pluralize(days, "day")}`,
      ...(found.length === 0 ? ["The zone deploys no managed rule on log."] : []),
      ...found.flatMap(proposalLines),
    ];
  });
  await print(io, `${lines.join("\n")}\n`);
}

const named = ({ id, description }: Pick<JudgedRule, "id" | "description">): string =>
  escapeInvisible(quoteRule(id, description));

function proposalLines({ rule, managed, judged, declared }: Proposal): string[] {
  const [blocking, staying]: [string[], string[]] = [[], []];
  const unknown = new Map<string, string[]>();
  for (const { verdict, ...each } of judged) {
    const name = named(each);
    if (typeof verdict === "string") unknown.set(verdict, [...(unknown.get(verdict) ?? []), name]);
    else if (verdict.events > 0) staying.push(...stayingLines(name, each.id, verdict));
    else if (verdict.blocked === 0) blocking.push(`${name}: no event`);
    else blocking.push(`${name}: ${pluralize(verdict.blocked, "event")}, ${BLOCKED_ANYWAY}`);
  }
  const reasons = [...unknown].map(([reason, rules]) => `${firstFew(rules, 3)}: ${escapeInvisible(reason)}`);
  const section = (heading: string, lines: readonly string[], indent = "  "): string[] =>
    lines.length === 0 ? [] : ["", heading, ...lines.map((line) => indent + line)];
  return [
    "",
    `${escapeInvisible(managed.name)}, deployed by rule ${named(rule)}:`,
    ...section("Can block:", blocking),
    ...section("Had events, so they stay on log:", staying),
    ...section("Not known:", reasons),
    ...section("Next step, as a change of the arguments:", diffLines(declared), ""),
  ];
}

const BLOCKED_ANYWAY = "only from addresses that other rules blocked";

function stayingLines(name: string, id: string, verdict: Verdict): string[] {
  const { events, addresses, shown, exception: expression } = verdict;
  const left = events - shown.reduce((sum, { count }) => sum + count, 0);
  const skip = { rules: { this: [id] } };
  const exception = asCode({ expression, description: `Requests that rule ${id} logged`, skip });
  return [
    `${name}: ${pluralize(events, "event")} from ${pluralize(addresses, "address")}`,
    ...shown.map(({ count, method, host, path }) =>
      escapeInvisible(`  ${formatNumber(count)} ${truncate(`${method} ${host}${path}`, 300)}`),
    ),
    ...(left > 0 ? [`  ${pluralize(left, "other event")}, which the exception doesn't spare`] : []),
    ...(shown.length > 0 ? ["  Exception, if these requests are legitimate:", `    ${exception}`] : []),
  ];
}

/** Prints which arguments change, each line after `-`, `+` or a space. */
function diffLines([before, after]: Proposal["declared"]): string[] {
  const change = (name: string, was: unknown, is: unknown): string[] => {
    const text = (value: unknown): string => `${name}: ${asCode(value)},`;
    return was === is ? [] : [...(was === undefined ? [] : [`-${text(was)}`]), `+${text(is)}`];
  };
  const { rules = {} } = after;
  const ids = Object.keys(rules);
  const changed = ids.flatMap((id) => change(`  ${keyText(id)}`, before.rules?.[id], rules[id]));
  const mark = before.rules === undefined ? "+" : " ";
  return [
    ...change("owasp", before.owasp, after.owasp),
    ...(changed.length === 0 ? [] : [`${mark}rules: {`, ...changed, `${mark}},`]),
  ];
}
