import { LOCAL_ENGINE, pulumiCli, type EngineCommand } from "edgeguard-local";
import { play, type Played } from "./play";
import { ALLOWANCES, REMEDIES } from "./remedies";
import { SEEDS } from "./seeds";

/**
 * 200 seeds in the long run, in shards that the workers share; one in the usual run. One seed, or several with commas
 * between: EDGEGUARD_SOAK_SEED=123. On the Pulumi CLI of this machine: EDGEGUARD_SOAK_ENGINE=cli.
 */

const SHARDS = 4;
/** Of the usual run: a short story, with a kill. */
const SHORT = [129];

export function soak(shard: number): void {
  const seeds = seedsOf(shard);
  if (seeds.length === 0) {
    it.todo("more seeds: with EDGEGUARD_TEST_LONG=1 (npm run test:long)");
    return;
  }
  const engine = chosenEngine();
  const played: Played[] = [];

  afterAll(() => {
    const sum = (of: (each: Played) => number): number => played.reduce((total, each) => total + of(each), 0);
    const counts = REMEDIES.map(
      ({ name }) => `${name}: ${sum(({ remedies }) => remedies.filter((r) => r === name).length)}`,
    );
    const allowed = Object.keys(ALLOWANCES).map(
      (name) => `${name}: ${sum(({ allowances }) => allowances.filter((each) => each === name).length)}`,
    );
    process.stdout.write(
      `soak on ${engine.name}: ${played.length} of ${seeds.length} seeds (${seeds.join(" ")}), ${sum(({ runs }) => runs)} runs, ${sum(({ faults }) => faults)} faults, ${sum(({ kills }) => kills)} kills; by hand: ${counts.join("; ")}; otherwise by design: ${allowed.join("; ")}\n`,
    );
  });

  test.each(seeds)(
    "seed %i: what is declared is there in the end, nothing else has changed, and no secret is seen",
    async (seed) => {
      played.push(await play(seed, engine));
    },
    180_000,
  );
}

function seedsOf(shard: number): readonly number[] {
  const chosen = process.env["EDGEGUARD_SOAK_SEED"];
  if (chosen !== undefined) return shard === 1 ? chosen.split(",").map(Number) : [];
  if (process.env["EDGEGUARD_TEST_LONG"] !== "1") return shard === 1 ? SHORT : [];
  return Array.from({ length: SEEDS / SHARDS }, (_, index) => index * SHARDS + shard);
}

function chosenEngine(): EngineCommand {
  if (process.env["EDGEGUARD_SOAK_ENGINE"] !== "cli") return LOCAL_ENGINE;
  const cli = pulumiCli();
  if (cli === undefined) throw new Error("EDGEGUARD_SOAK_ENGINE=cli: there is no pulumi on PATH");
  return cli;
}
