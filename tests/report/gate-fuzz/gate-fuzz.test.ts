import {
  LOCAL_ENGINE,
  managedRulesets,
  OWASP_SCORE_RULE,
  startLocalApi,
  type LocalApi,
} from "edgeguard-local";
import { Random } from "../../soak/random";
import { cliEngine } from "../../support/engine";
import { describeLong, LONG } from "../../support/long";
import { rawGet } from "../../support/operation";
import { EnginePlayer } from "./engine";
import { changed, program, type KnownRules } from "./generate";
import { mutants } from "./mutants";
import { dangersIn, passed, play, type Outcome } from "./play";
import { DIMENSIONS, scene, type Scene, type SceneWorld } from "./scene";
import { VerbsPlayer } from "./verbs";

/** Compares the report's dangers with what the local API blocks, logs and holds before and after the update. */

const CHANGES = LONG ? 500 : 8;
const SCENES = LONG ? 500 : 12;
const SAMPLE = LONG ? "" : " (500 in the long run)";
const ON_ENGINE = 50;
/** The long run takes this long on a busy machine. */
const PATIENCE = 3_600_000;

type MakeScene = (seed: number, world: SceneWorld, rules: KnownRules) => Scene;

const recorded: Outcome[] = [];

test(
  `names each resource by which one of ${CHANGES} random changes${SAMPLE} makes the zone block or log less`,
  async () => {
    const outcomes = await outcomesOf(CHANGES, sceneOfChange, withVerbs);
    recorded.push(...outcomes);
    expect(outcomes.flatMap(missed)).toEqual([]);
    const { losing, alarms } = printed("changes", outcomes);
    expect(losing).toBeGreaterThan(CHANGES / 4); // With fewer losses, the sample proves little.
    expect(alarms).toBeLessThan(CHANGES / 4);
  },
  PATIENCE,
);

test(
  `names each resource by which one of ${SCENES} updates${SAMPLE} of several resources loses anything, whatever the preview didn't see`,
  async () => {
    const outcomes = await outcomesOf(SCENES, scene, withVerbs);
    recorded.push(...outcomes);
    expect(outcomes.flatMap(missed)).toEqual([]);
    const { losing } = printed("scenes", outcomes);
    expect(losing).toBeGreaterThan(SCENES / 4);
    const rows = DIMENSIONS.map((dimension) => ({ dimension, ...occurrences(outcomes, dimension) }));
    process.stdout.write(
      rows.map(({ dimension, all, lose }) => `  ${dimension}: ${all}, ${lose} lose\n`).join(""),
    );
    if (!LONG) return;
    expect(rows.filter(({ all, lose }) => all < 30 || lose < 10)).toEqual([]);
  },
  PATIENCE,
);

describeLong("the gate's fuzz", () => {
  const engine = cliEngine() ?? LOCAL_ENGINE;

  test(
    `finds no unannounced loss in ${ON_ENGINE} plans that ${engine.name} wrote`,
    async () => {
      const outcomes = await outcomesOf(ON_ENGINE, scene, (api) => new EnginePlayer(api, engine).init());
      printed(`plans of ${engine.name}`, outcomes);
      expect(outcomes.flatMap(missed)).toEqual([]);
    },
    PATIENCE,
  );

  test(
    "finds a loss that passes as soon as any one judge finds nothing",
    () => {
      const losing = recorded.filter(({ losses, deleted }) => losses.length + deleted.length > 0);
      const unnoticed = mutants().filter(
        (mutant) => !mutant.without(() => losing.some((outcome) => passed(outcome).length > 0)),
      );
      expect(unnoticed.map(({ name }) => name).sort()).toEqual([...NOT_PLAYED].sort());
    },
    PATIENCE,
  );
});

/**
 * Judges of what no scene changes, or what the comparison before and after doesn't see: payload logging, logs of exceptions and
 * attack traffic, transformers, and traffic, which the gate judges only if it's asked for.
 * `gate.test.ts`, `unseen.test.ts` and `traffic.test.ts` have a test of each.
 */
const NOT_PLAYED = [
  "ManagedRulesetOverride action (stoppedTraffic)",
  "ManagedRulesetOverride matchedData.publicKey ()",
  "ManagedRulesetOverride exceptions[].logging ()",
  "LogpushJob filterAttackTraffic ()",
  "LogpushJob transformerId ()",
  "LogpushTransformer code ()",
  "LogpushTransformer not seen: existingTransformer",
];

interface ClosingPlayer extends VerbsPlayer {
  close?(): void;
}
type MakePlayer = (api: LocalApi) => Promise<ClosingPlayer>;

const withVerbs: MakePlayer = (api) => Promise.resolve(new VerbsPlayer(api));

/** Plays scenes until enough of them were neither refused by the preview nor by an update. */
async function outcomesOf(count: number, make: MakeScene, player: MakePlayer): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let seed = 1; outcomes.length < count; seed += 1) {
    if (seed > 3 * count) throw new Error(`only ${outcomes.length} of ${seed} updates were applied`);
    const outcome = await outcomeOf(seed, make, player);
    if (outcome !== undefined) outcomes.push(outcome);
  }
  return outcomes;
}

async function outcomeOf(seed: number, make: MakeScene, player: MakePlayer): Promise<Outcome | undefined> {
  const api = await startLocalApi();
  const { zones, accounts, namespaces } = api;
  const world = {
    random: new Random(seed),
    zone: zones.empty,
    otherZone: zones.blog,
    account: accounts.main,
    shared: namespaces.existing,
    migrating: zones.migratePro,
  };
  let own: ClosingPlayer | undefined;
  try {
    own = await player(api);
    return await play(api, make(seed, world, await knownRules(api)), own, new VerbsPlayer(api));
  } finally {
    own?.close?.();
    await api.close();
  }
}

/** One change of a program, with or without a credential. What it takes over belongs to someone else. */
function sceneOfChange(seed: number, world: SceneWorld, rules: KnownRules): Scene {
  const all = program(world, rules);
  const { after, notInState } = changed(world, rules, all);
  const isTheirs = ({ name }: { readonly name: string }): boolean => notInState.includes(name);
  return {
    seed,
    others: all.filter(isTheirs),
    before: all.filter((each) => !isTheirs(each)),
    othersKeys: [],
    after,
    // Only live checks show what's adopted.
    preview: { liveChecks: true, credential: notInState.length > 0 || world.random.chance(0.7), silent: [] },
    has: new Map(),
  };
}

async function knownRules(api: LocalApi): Promise<KnownRules> {
  const ids = async (ruleset: string): Promise<string[]> => {
    const { result } = await rawGet(api, `/accounts/${api.accounts.main}/rulesets/${ruleset}`);
    return (result as { rules: { id: string }[] }).rules.slice(0, 20).map(({ id }) => id);
  };
  return {
    managed: await ids(managedRulesets.managed),
    owasp: await ids(managedRulesets.owasp),
    score: OWASP_SCORE_RULE,
  };
}

/** What's needed to understand a loss that the gate lets pass. */
function missed(outcome: Outcome): object[] {
  const losses = passed(outcome);
  if (losses.length === 0) return [];
  const said = dangersIn(outcome).map(
    ({ kind, type, name, sentence }) => `${kind} ${type} ${name}: ${sentence.toString()}`,
  );
  const { seed, changes, has } = outcome;
  return [{ seed, losses: losses.slice(0, 3), changes, has: [...has.keys()], said }];
}

/** In how many outcomes there is something, and in how many of these what has it loses something. */
function occurrences(
  outcomes: readonly Outcome[],
  dimension: (typeof DIMENSIONS)[number],
): Record<"all" | "lose", number> {
  const having = outcomes.filter(({ has }) => has.has(dimension));
  const losing = having.filter(({ has, losses }) => {
    const names = has.get(dimension) ?? [];
    return losses.some(({ by }) => names === "plan" || by.some(({ name }) => names.includes(name)));
  });
  return { all: having.length, lose: losing.length };
}

/** Prints how many outcomes lose something, and the dangers of those that don't, by kind and type. */
function printed(what: string, outcomes: readonly Outcome[]): Record<"losing" | "alarms", number> {
  const harmless = outcomes.filter(({ losses }) => losses.length === 0);
  const losing = outcomes.length - harmless.length;
  const counts = new Map<string, number>();
  let alarms = 0;
  for (const outcome of harmless) {
    const kinds = new Set(dangersIn(outcome).map(({ kind, type }) => `${kind} of a ${type}`));
    if (kinds.size > 0) alarms += 1;
    for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([kind, count]) => `  ${count} ${kind}\n`);
  process.stdout.write(
    `gate: ${outcomes.length} ${what}, ${losing} lose something, ${alarms} false alarms\n${rows.join("")}`,
  );
  return { losing, alarms };
}
