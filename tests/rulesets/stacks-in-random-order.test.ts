import { managedRulesets } from "edgeguard-local";
import { omit } from "../../provider/basics/json";
import { LONG, ofRound, ROUND_CREDENTIALS } from "../support/long";
import type { Recorded } from "../support/operation";
import { Random } from "../soak/random";
import { REF, RulesetsBench, TYPE, type Declaration, type Rule } from "./support";

/** Stacks of different teams whose projects, stacks and resources have the same names, in one zone. */

const ROUNDS = LONG ? 200 : 3;
if (LONG) jest.setTimeout(3_600_000);
const STEPS = 8;
const REFS = [REF, "waf", "waf-2"];

const bench = new RulesetsBench({ shared: true, options: { credentials: ROUND_CREDENTIALS } });

/** A rule without what Cloudflare sets. */
const content = (rule: Rule): unknown => omit(rule, ["version", "last_updated"]);

test(`no stack changes or deletes a rule that it doesn't own (${ROUNDS} of 200 rounds)`, async () => {
  let refused = 0;
  let done = 0;
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const random = new Random(seed);
    bench.api.reset();
    for (const ref of ["waf/exception/3", `${REF}/exception/3`])
      await bench.addRule({
        action: "execute",
        action_parameters: { id: managedRulesets.free },
        expression: "ssl",
        ref,
      });
    const stacks = Array.from({ length: random.pick([2, 3]) }, () => new Map<string, Recorded>());
    for (let step = 0; step < STEPS; step += 1) {
      const number = random.int(0, stacks.length - 1);
      const stack = stacks[number] ?? new Map<string, Recorded>();
      const ref = random.pick(REFS);
      const recorded = stack.get(ref);
      const before = await bench.rules();
      const isOwn = (rule: Rule): boolean =>
        recorded !== undefined &&
        (rule.id === recorded.id || (rule["action"] === "skip" && rule.ref.startsWith(`${ref}/exception/`)));
      const others = before.filter((rule) => !isOwn(rule)).map(content);
      const operation = bench.operation({
        config: { ...ofRound(seed), "edgeguard:liveChecks": random.pick(["true", "false"]) },
      });
      if (recorded !== undefined && random.chance(0.3)) {
        await operation.destroy(TYPE, recorded);
        stack.delete(ref);
      } else {
        const declaration: Declaration = bench.declare({
          ref,
          expression: `http.host eq "${ref.length}.example"`,
          owasp: { paranoiaLevel: random.pick([1, 2]) },
          description: `stack ${number}`,
          enabled: random.pick([true, false]),
          exceptions: random.pick([[], [HOOK], [HOOK, { ...HOOK, skip: "this" }]]),
        });
        const now = await operation.up(TYPE, declaration, recorded).catch((error: unknown) => {
          expect(String(error)).toMatch(/but differs in/);
        });
        if (now === undefined) refused += 1;
        else stack.set(ref, now);
      }
      done += 1;
      const after = new Set((await bench.rules()).map((rule) => JSON.stringify(content(rule))));
      const lost = others.filter((rule) => !after.has(JSON.stringify(rule)));
      expect({ seed, step, lost }).toEqual({ seed, step, lost: [] });
    }
  }
  expect(refused).toBeGreaterThan(ROUNDS / 2);
  expect(done - refused).toBeGreaterThan(ROUNDS);
});

const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };
