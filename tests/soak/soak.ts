import { LOCAL_ENGINE, pulumiCli, type EngineCommand } from "edgeguard-local";
import { runSeed, type SoakResult } from "./run-seed";
import { ALLOWANCES, REMEDIES } from "./remedies";
import { SEEDS } from "./seeds";
import { LONG } from "../support/long";

/**
 * The long run runs 200 seeds, in shards for the workers; the normal run has one. To run certain seeds:
 * EDGEGUARD_SOAK_SEED=123,456. To use the Pulumi CLI: EDGEGUARD_SOAK_ENGINE=cli.
 */

const SHARDS = 4;
/** The normal run: a short one, with a kill. */
const SHORT = [129];

export function soak(shard: number): void {
  const seeds = seedsOf(shard);
  if (seeds.length === 0) {
    it.todo("runs more seeds with EDGEGUARD_TEST_LONG=1 (npm run test:long)");
    return;
  }
  const engine = chosenEngine();
  const results: SoakResult[] = [];

  afterAll(() => {
    const sum = (of: (each: SoakResult) => number): number =>
      results.reduce((total, each) => total + of(each), 0);
    const counts = REMEDIES.map(
      ({ name }) => `${name}: ${sum(({ remedies }) => remedies.filter((r) => r === name).length)}`,
    );
    const allowed = Object.keys(ALLOWANCES).map(
      (name) => `${name}: ${sum(({ allowances }) => allowances.filter((each) => each === name).length)}`,
    );
    process.stdout.write(
      `soak on ${engine.name}: ${results.length} of ${seeds.length} seeds (${seeds.join(" ")}), ${sum(({ runs }) => runs)} runs, ${sum(({ faults }) => faults)} faults, ${sum(({ kills }) => kills)} kills; changed by the user: ${counts.join("; ")}; different by design: ${allowed.join("; ")}\n`,
    );
  });

  test.each(seeds)(
    "seed %i: ends with exactly what the program declares, leaves everything else alone, and shows no secret",
    async (seed) => {
      results.push(await runSeed(seed, engine));
    },
    180_000,
  );
}

function seedsOf(shard: number): readonly number[] {
  const chosen = process.env["EDGEGUARD_SOAK_SEED"];
  if (chosen !== undefined) return shard === 1 ? chosen.split(",").map(Number) : [];
  if (!LONG) return shard === 1 ? SHORT : [];
  return Array.from({ length: SEEDS / SHARDS }, (_, index) => index * SHARDS + shard);
}

function chosenEngine(): EngineCommand {
  if (process.env["EDGEGUARD_SOAK_ENGINE"] !== "cli") return LOCAL_ENGINE;
  const cli = pulumiCli();
  if (cli === undefined) throw new Error("EDGEGUARD_SOAK_ENGINE=cli: no pulumi on PATH");
  return cli;
}
