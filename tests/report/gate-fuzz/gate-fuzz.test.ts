import { managedRulesets, OWASP_SCORE_RULE, startLocalApi, type LocalApi } from "edgeguard-local";
import { report } from "../../../provider/report";
import { Random } from "../../soak/random";
import { Operation, rawGet, type Recorded } from "../../support/operation";
import { diagnostic, type MadePlan, type MadeStep } from "../plans";
import { effectOf, losses, type Loss } from "./effect";
import { changed, program, type Declared, type KnownRules, type World } from "./generate";
import { LONG } from "../../support/long";

/** Compares the report's dangers with what the local API does after the update. */

const PAIRS = LONG ? 500 : 20;

interface Outcome {
  readonly seed: number;
  readonly names: readonly string[];
  readonly losses: readonly Loss[];
  readonly unprotects: readonly { readonly kind: string; readonly text: string }[];
  /** What changed, as JSON: `before -> after`. */
  readonly changes: readonly string[];
}

test(`reports an unprotect danger whenever one of ${PAIRS} random changes makes the zone block or log less`, async () => {
  const outcomes: Outcome[] = [];
  for (let seed = 1; outcomes.length < PAIRS; seed += 1) {
    if (seed > 3 * PAIRS) throw new Error(`only ${outcomes.length} of ${seed} changes were applied`);
    const outcome = await runChange(seed);
    if (outcome !== undefined) outcomes.push(outcome);
  }
  expect(outcomes.flatMap(missedLosses)).toEqual([]);

  const alarms = outcomes.filter((each) => each.losses.length === 0 && each.unprotects.length > 0);
  const losing = outcomes.filter((each) => each.losses.length > 0).length;
  process.stdout.write(
    `gate: ${PAIRS} changes, ${losing} lose protection, ${alarms.length} false alarms\n${tally(alarms)}`,
  );
  expect(losing).toBeGreaterThan(PAIRS / 4); // With fewer losses, the sample proves little.
  expect(alarms.length).toBeLessThan(PAIRS / 4);
});

/** Counts false alarms by what changed in the resource that they name. */
function tally(alarms: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const { names, unprotects } of alarms) {
    const named = names.filter((name) => unprotects.some(({ kind }) => name.startsWith(kind)));
    const cause = [...new Set(named)].sort().join(" + ");
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([cause, count]) => `  ${count} ${cause}\n`).join("");
}

/** Losses without a danger for the same kind of resource. */
function missedLosses({ losses: all, unprotects, ...rest }: Outcome): object[] {
  const unsaid = all.filter(({ kind }) => !unprotects.some((each) => each.kind === kind));
  return unsaid.length === 0 ? [] : [{ ...rest, losses: unsaid.slice(0, 3).map(({ what }) => what) }];
}

/** Undefined if the update refuses the first program or the change. */
async function runChange(seed: number): Promise<Outcome | undefined> {
  const api = await startLocalApi();
  try {
    const world: World = {
      random: new Random(seed),
      zone: api.zones.empty,
      otherZone: api.zones.blog,
      account: api.accounts.main,
    };
    const rules = await knownRules(api);
    const before = program(world, rules);
    const recorded = await applied(api, before, new Map());
    if (recorded === undefined) return undefined;
    const was = await effectOf(api, [world.zone, world.otherZone]);
    const { after, names, notInState } = changed(world, rules, before);
    const known = new Map([...recorded].filter(([name]) => !notInState.includes(name)));
    // Only live checks show what's adopted.
    const plan = await planned(api, after, known, notInState.length > 0 || world.random.chance(0.7));
    if (plan === undefined || (await applied(api, after, known)) === undefined) return undefined;
    const is = await effectOf(api, [world.zone, world.otherZone]);
    const { dangers } = report(JSON.stringify(plan), "json");
    const unprotects = dangers
      .filter(({ kind }) => kind === "unprotect")
      .map(({ type, name, sentence }) => ({ kind: type, text: `${name} ${sentence.toString()}` }));
    return { seed, names, losses: losses(was, is), unprotects, changes: changes(before, after) };
  } finally {
    await api.close();
  }
}

function changes(before: readonly Declared[], after: readonly Declared[]): string[] {
  return before.flatMap(({ name, inputs }) => {
    const next = after.find((each) => each.name === name);
    const [was, is] = [JSON.stringify(inputs), JSON.stringify(next?.inputs)];
    return was === is ? [] : [`${name} ${was} -> ${is}`];
  });
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

type State = ReadonlyMap<string, Recorded & { readonly type: string }>;

async function applied(api: LocalApi, wanted: readonly Declared[], state: State): Promise<State | undefined> {
  const operation = new Operation(api, { inNoTime: api });
  const next = new Map<string, Recorded & { readonly type: string }>();
  try {
    for (const { type, name, inputs } of wanted)
      next.set(name, { type, ...(await operation.up(type, inputs, state.get(name))) });
    for (const [name, recorded] of state)
      if (!next.has(name)) await operation.destroy(recorded.type, recorded);
  } catch {
    return undefined;
  }
  return next;
}

/** The plan as `pulumi preview --json --show-sames` writes it, with or without a credential. */
async function planned(
  api: LocalApi,
  wanted: readonly Declared[],
  state: State,
  withCredential: boolean,
): Promise<MadePlan | undefined> {
  const config = withCredential ? {} : { "edgeguard:apiToken": "" };
  const operation = new Operation(api, { inNoTime: api, config });
  const steps: MadeStep[] = [];
  for (const { type, name, inputs } of wanted) {
    const previous = state.get(name);
    const { inputs: news, failures } = await operation.check(type, inputs, previous);
    if (failures.length > 0) return undefined;
    const { step } = await operation.preview(type, inputs, previous);
    steps.push({
      op: step,
      urn: urnOf(type, name),
      ...(previous === undefined ? {} : { oldState: { custom: true, ...previous } }),
      newState: { custom: true, inputs: news },
    });
  }
  for (const [name, { type, ...recorded }] of state) {
    if (wanted.some((each) => each.name === name)) continue;
    steps.push({ op: "delete", urn: urnOf(type, name), oldState: { custom: true, ...recorded } });
  }
  const lines = [...operation.said, ...operation.warned];
  return { steps, diagnostics: lines.map((line) => diagnostic(line, "info#err")) };
}

const urnOf = (type: string, name: string): string =>
  `urn:pulumi:dev::edge::pulumi-nodejs:dynamic/edgeguard:${type}::${name}`;
