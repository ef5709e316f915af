import { managedRulesets, type FirewallEventInput } from "edgeguard-local";
import type { Traffic } from "../../provider/rulesets/impact";
import { Random } from "../soak/random";
import { LONG, ofRound, ROUND_CREDENTIALS } from "../support/long";
import { RulesetsBench, TYPE } from "./support";

/**
 * Plays random requests through random rulesets before and after random changes, by rules of its own, and compares what the
 * preview counts with what happened and with what would happen.
 */

const ALL = 300;
const PROGRAMS = LONG ? ALL : 15;
const ACTIONS = ["log", "block", "managed_challenge", "off"] as const;
type Action = (typeof ACTIONS)[number];

interface Visit {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly ip: string;
  readonly country: string;
  /** The indexes of the rules that it matches, in order. */
  readonly matches: readonly number[];
}

/** An expression, and what it selects. Undefined where the events don't tell. */
interface Selection {
  readonly text: string;
  readonly selects: (visit: Visit) => boolean | undefined;
}

/** How many programs use the same token. */
const ROUND = 2;
/** Every third program's events are sampled. */
const SAMPLED = 3;

const bench = new RulesetsBench({ options: { credentials: ROUND_CREDENTIALS } });

test(
  `the preview counts exactly the events of the rules that change, and never fewer than would be stopped; of sampled events, it knows the range (${PROGRAMS} programs${LONG ? "" : `; ${ALL} in the long run`})`,
  async () => {
    const rules = (await bench.managedRules(managedRulesets.managed))
      .filter((rule) =>
        JSON.stringify(rule["allowed_override_actions"] ?? "managed_challenge").includes("challenge"),
      )
      .slice(0, 8)
      .map(({ id }) => id);
    let [counted, selected] = [0, 0];
    const ranges: boolean[] = [];
    for (let seed = 1; seed <= PROGRAMS; seed += 1) {
      const random = new Random(seed);
      const [before, after] = [random, random].map((from) => rules.map(() => from.pick(ACTIONS)));
      const exception = random.chance(0.7) ? selection(random, 2) : undefined;
      const interval = seed % SAMPLED === 0 ? random.pick([2, 10]) : 1;
      const visits = Array.from({ length: interval === 1 ? 40 : 400 }, () => visit(random, rules.length));
      const happened = visits.flatMap((each) => eventsOf(each, before ?? [], rules));
      const stored = happened.filter(() => interval === 1 || random.chance(1 / interval));
      const config = ofRound(Math.ceil(seed / ROUND));
      const operation = () => bench.operation({ config });

      const declared = (actions: readonly Action[], more: object = {}) =>
        bench.declareManaged({
          ref: `fuzz/${seed}`,
          expression: `http.host eq "${seed}.example"`,
          rules: Object.fromEntries(
            rules.map((id, i) => [
              id,
              actions[i] === "off" ? { enabled: false } : { enabled: true, action: actions[i] },
            ]),
          ),
          ...more,
        });
      const recorded = await operation().up(TYPE, declared(before ?? []));
      const state = bench.api.snapshot();
      bench.api.restore({ ...state, firewallEvents: {} });
      bench.api.addFirewallEvents(
        bench.zone,
        stored.map(({ event }) => ({ ...event, sampleInterval: interval })),
      );
      const exceptions = exception && [{ expression: exception.text, skip: "this" }];
      const { inputs } = await operation().preview(
        TYPE,
        declared(after ?? [], exceptions && { exceptions }),
        recorded,
      );
      const { traffic } = inputs["impact"] as { readonly traffic?: Traffic };

      for (const from of ACTIONS)
        for (const to of ACTIONS) {
          const changed = rules.flatMap((_, i) => (before?.[i] === from && after?.[i] === to ? [i] : []));
          const shown = traffic?.changes.find((each) => each.from === from && each.to === to);
          if (from === to || from === "off" || changed.length === 0) {
            expect({ seed, from, to, shown }).toEqual({ seed, from, to, shown: undefined });
            continue;
          }
          const events = happened.filter(({ rule }) => changed.includes(rule)).length;
          if (interval > 1) {
            expect({ seed, from, to, ...shown }).toMatchObject({ rules: changed.length });
            ranges.push((shown?.least ?? Infinity) <= events && events <= (shown?.events ?? 0));
            continue;
          }
          expect({ seed, from, to, ...shown }).toMatchObject({
            seed,
            from,
            to,
            events,
            rules: changed.length,
          });
          counted += events;
          if (from !== "log" || to === "off") continue;
          const newly = visits.filter((each) => {
            const stopper = stoppedBy(each, after ?? []);
            return (
              stopper !== undefined &&
              changed.includes(stopper) &&
              stoppedBy(each, before ?? []) === undefined
            );
          });
          expect(shown?.events).toBeGreaterThanOrEqual(newly.length);
        }
      if (exception !== undefined) {
        const results = stored.map(({ of }) => exception.selects(of));
        const [matching, undecided] = [true, undefined].map(
          (one) => results.filter((each) => each === one).length * interval,
        );
        expect({ seed, text: exception.text, shown: traffic?.exceptions }).toEqual({
          ...{ seed, text: exception.text },
          shown: [{ index: 0, events: stored.length * interval, matching, undecided }],
        });
        selected += matching ?? 0;
      }
      const off = rules.filter((_, i) => before?.[i] === "off" && after?.[i] !== "off").length;
      expect(traffic?.off ?? 0).toBe(off);
      await operation().destroy(TYPE, recorded);
    }
    const held = ranges.filter((each) => each).length / ranges.length;
    expect([ranges.length > PROGRAMS, held >= 0.95]).toEqual([true, true]);
    expect(counted).toBeGreaterThan(PROGRAMS * 5);
    expect(selected).toBeGreaterThan(PROGRAMS);
  },
  LONG ? 1_800_000 : 120_000,
);

function visit(random: Random, rules: number): Visit {
  return {
    host: random.pick(["shop.example", "api.example"]),
    path: random.pick(["/", "/hook", "/hook/1", "/Admin"]),
    method: random.pick(["GET", "POST"]),
    ip: random.pick(["198.51.100.7", "203.0.113.9", "2001:db8::7"]),
    country: random.pick(["NL", "US"]),
    matches: Array.from({ length: rules }, (_, i) => i).filter(() => random.chance(0.2)),
  };
}

/** Which rule stops a request, if any. */
function stoppedBy({ matches }: Visit, actions: readonly Action[]): number | undefined {
  return matches.find((rule) => actions[rule] === "block" || actions[rule] === "managed_challenge");
}

/** The events of a request: of each rule on log that it reaches, and of the one that stops it. */
function eventsOf(of: Visit, actions: readonly Action[], ids: readonly string[]) {
  const last = stoppedBy(of, actions) ?? Infinity;
  return of.matches
    .filter((rule) => rule <= last && actions[rule] !== "off")
    .map((rule) => {
      const event: FirewallEventInput = {
        ruleId: ids[rule] ?? "",
        action: actions[rule] ?? "",
        clientRequestHTTPHost: of.host,
        clientRequestPath: of.path,
        clientRequestHTTPMethodName: of.method,
        clientIP: of.ip,
        clientCountryName: of.country,
      };
      return { rule, of, event };
    });
}

function selection(random: Random, depth: number): Selection {
  if (depth > 0 && random.chance(0.6)) {
    const [one, other] = [selection(random, depth - 1), selection(random, depth - 1)];
    if (random.chance(0.3))
      return { text: `not (${one.text})`, selects: (each) => negated(one.selects(each)) };
    const operator = random.pick(["and", "or"]);
    const decisive = operator === "or";
    return {
      text: `(${one.text} ${operator} ${other.text})`,
      selects: (each) => {
        const results = [one.selects(each), other.selects(each)];
        if (results.includes(decisive)) return decisive;
        return results.includes(undefined) ? undefined : !decisive;
      },
    };
  }
  return random.pick<Selection>([
    { text: 'http.host eq "shop.example"', selects: ({ host }) => host === "shop.example" },
    { text: 'http.request.uri.path contains "hook"', selects: ({ path }) => path.includes("hook") },
    { text: 'starts_with(http.request.uri.path, "/hook")', selects: ({ path }) => path.startsWith("/hook") },
    { text: 'lower(http.request.uri.path) eq "/admin"', selects: ({ path }) => path === "/Admin" },
    { text: 'http.request.method ne "POST"', selects: ({ method }) => method !== "POST" },
    { text: "ip.src in {198.51.100.0/24 2001:db8::/32}", selects: ({ ip }) => ip !== "203.0.113.9" },
    { text: "ip.src eq 203.0.113.9", selects: ({ ip }) => ip === "203.0.113.9" },
    { text: 'ip.src.country in {"NL" "DE"}', selects: ({ country }) => country === "NL" },
    { text: 'http.user_agent contains "bot"', selects: () => undefined },
    { text: 'http.request.uri.path matches "^/hook$"', selects: () => undefined },
  ]);
}

const negated = (result: boolean | undefined): boolean | undefined =>
  result === undefined ? undefined : !result;
