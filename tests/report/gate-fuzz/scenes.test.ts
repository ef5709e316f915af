import { managedRulesets, OWASP_SCORE_RULE, startLocalApi, type LocalApi } from "edgeguard-local";
import { Random } from "../../soak/random";
import { LONG } from "../../support/long";
import { rawGet } from "../../support/operation";
import type { KnownRules } from "./generate";
import { dangersIn, passed, play, type Outcome } from "./play";
import { DIMENSIONS, scene } from "./scene";
import { VerbsPlayer } from "./verbs";

const SCENES = Number(process.env["SCENES"] ?? (LONG ? 500 : 40));

test("x", async () => {
  const outcomes: Outcome[] = [];
  let refused = 0;
  const from = Number(process.env["FROM"] ?? 1);
  for (let seed = from; outcomes.length < SCENES; seed += 1) {
    const outcome = await run(seed);
    if (outcome === undefined) { refused += 1; if (process.env["V"]) console.log("refused", seed, (globalThis as any).WHY); }
    else outcomes.push(outcome);
  }
  process.stdout.write(`${outcomes.length} scenes, ${refused} refused, ${outcomes.filter((o) => o.losses.length > 0).length} lose\n`);
  for (const dimension of DIMENSIONS) {
    const having = outcomes.filter(({ has }) => has.has(dimension));
    const losing = having.filter(({ has, losses }) => {
      const names = has.get(dimension) ?? [];
      return losses.some(({ by }) => names === "plan" || by.some(({ name }) => names.includes(name)));
    });
    process.stdout.write(`${dimension}: ${having.length} ${losing.length}\n`);
  }
  const K: any = {};
  for (const outcome of outcomes) {
    const dangers = dangersIn(outcome);
    if (outcome.losses.length === 0) for (const d of new Set(dangers.map((d) => `${d.kind} ${d.type}: ${d.sentence.toString().slice(0, 50)}`))) K[d] = (K[d] ?? 0) + 1;
    const p = passed(outcome, dangers);
    if (p.length > 0) console.log(outcome.seed, JSON.stringify(p.slice(0, 2)), p.length, outcome.changes.join("\n"), JSON.stringify(dangers.map((d) => [d.kind, d.type, d.name, d.sentence.toString()])));
  }
  console.log(K);
}, 1_500_000);

async function run(seed: number): Promise<Outcome | undefined> {
  const api = await startLocalApi();
  try {
    const world = { random: new Random(seed), zone: api.zones.empty, otherZone: api.zones.blog, account: api.accounts.main, shared: api.namespaces.existing };
    return await play(api, scene(seed, world, await knownRules(api)), new VerbsPlayer(api), new VerbsPlayer(api));
  } finally {
    await api.close();
  }
}

async function knownRules(api: LocalApi): Promise<KnownRules> {
  const ids = async (ruleset: string): Promise<string[]> => {
    const { result } = await rawGet(api, `/accounts/${api.accounts.main}/rulesets/${ruleset}`);
    return (result as { rules: { id: string }[] }).rules.slice(0, 20).map(({ id }) => id);
  };
  return { managed: await ids(managedRulesets.managed), owasp: await ids(managedRulesets.owasp), score: OWASP_SCORE_RULE };
}
