import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { apiPerTest, folderPerFile } from "../support/bench";
import { forwarder } from "../../provider/runtime/forwarder";
import { providerProcess, type ProviderProcess } from "../support/provider-process";
import { bulkWrites, difference, storedValues, sum, writeBulkFile } from "./namespace-values";
import { emptyNamespace } from "./upload-support";
import { LONG } from "../support/long";

/** kill -9 at a random moment of a create. The long run has 20 seeds. */
const SEEDS = LONG ? 20 : 1;
const COUNT = 3_000;
/** The slowest response to a write. Two are in flight at a time, so a create takes several times as long. */
const LONGEST_MS = 300;

const FOLDER = folderPerFile("kill");
const FILE = join(FOLDER, "entries.json");
// Long values: five bulk writes of 8 MiB, and 30 bulk reads to compare them.
const declared = new Map(
  Array.from({ length: COUNT }, (_, i) => [`item-${i}`, `${i} `.padEnd(13_000, String(i % 10))]),
);

const api = apiPerTest();
const running: ProviderProcess[] = [];
const moments: string[] = [];

beforeAll(() => writeBulkFile(FILE, declared));
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill("SIGKILL");
});
afterAll(() => {
  process.stdout.write(`kill -9: ${SEEDS} seeds; entries written by then: ${moments.join(", ")}\n`);
});

/** Repeatable numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An `up` of a stack without this resource, in its own process. */
function up(adopt: string, address: object): ProviderProcess {
  const news = { ...address, file: FILE, adopt, __provider: forwarder("KvEntries") };
  const provider = providerProcess(
    { "edgeguard:baseUrl": api.url, "edgeguard:apiToken": "local-token", "edgeguard:concurrency": "2" },
    `const { inputs, failures } = await runtime.check("KvEntries", {}, ${JSON.stringify(news)});
     if (failures.length > 0) throw new Error(JSON.stringify(failures));
     console.log("CREATING");
     await runtime.create("KvEntries", inputs);
     console.log("CREATED");
     process.exit(0);`,
  );
  running.push(provider);
  return provider;
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 5) {
    if (waited > 20_000) throw new Error("waited for 20 s");
    await delay(5);
  }
}

describe.each(Array.from({ length: SEEDS }, (_, i) => i + 1))("seed %i", (seed) => {
  // The short run tries only one.
  test.each(LONG ? ["ifEqual", "takeOver"] : ["ifEqual"])(
    "with adopt: %j, a second create finishes the work of one that was killed",
    async (adopt) => {
      const address = emptyNamespace(api);
      const next = random(seed * 2 + (adopt === "ifEqual" ? 0 : 1));
      for (let write = 0; write < 5; write += 1)
        api.fault({
          kind: "slow",
          delayMs: Math.floor(next() * LONGEST_MS),
          when: next() < 0.5 ? "before" : "after",
          match: { method: "PUT" },
        });

      const first = up(adopt, address);
      // Anywhere from before the first write to after the last one.
      const writes = Math.floor(next() * 6);
      await until(() => first.output().includes("CREATING"));
      await until(() => bulkWrites(api).length >= writes);
      await delay(next() * (LONGEST_MS / 2));
      first.child.kill("SIGKILL");
      await first.ended;
      // Requests that arrived completely are still applied.
      await until(() => api.requests.every(({ endedAt }) => endedAt !== null));
      await delay(LONGEST_MS);

      api.clearFaults();
      const there = storedValues(api).size;
      moments.push(`${there}`);
      api.clearRequests();
      const second = up(adopt, address);
      if ((await second.ended) !== 0) throw new Error(second.output());
      expect(difference(storedValues(api), declared)).toEqual([]);
      expect(sum(bulkWrites(api))).toBe(adopt === "ifEqual" ? COUNT - there : COUNT);
    },
  );
});
