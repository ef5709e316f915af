import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { startLocalApi, type EngineCommand, type LocalApi } from "edgeguard-local";
import { omit } from "../../provider/basics/json";
import { digestFor } from "../migration/support";
import { Project, type RunResult } from "../support/engine";
import { TOKEN } from "../support/scenario";
import { faultsFor, killFor, runAndKill, type Kill } from "./faults";
import { phaseOf, findProblems, stateBefore, type CheckContext } from "./expected";
import { CHALLENGE, type GeneratorContext } from "./generate";
import { keepProgram, plain, textOf, writeProgram, type Args, type Declared, type Program } from "./program";
import { Random } from "./random";
import { applyRemedies, type Allowance } from "./remedies";
import { programsOf, generatorContext } from "./seeds";
import { catalogOf, createOthersObjects } from "./environment";
import { isWrite } from "../support/is-write";

/**
 * Runs one seed: applies a random program while requests fail and processes are killed, then a second program derived from it.
 * After each, an update without faults must leave exactly what the program declares.
 */

export interface SoakResult {
  readonly seed: number;
  readonly runs: number;
  readonly faults: number;
  readonly kills: number;
  /** What a user had to change in the program. */
  readonly remedies: readonly string[];
  /** What differed by design. */
  readonly allowances: readonly Allowance[];
}

const UP = ["up", "--yes", "--skip-preview"];
/** How often a user changes the program because a message says so. */
const MOST_REMEDIES = 3;

export async function runSeed(seed: number, engine: EngineCommand): Promise<SoakResult> {
  // A separate generator: the programs don't depend on how a run goes.
  const random = new Random(seed + 1_000_000);
  const lagMs = random.pick([0, 0, 0, 300, 900]);
  const api = await startLocalApi({
    readLagMs: lagMs,
    kvLagMs: { listing: lagMs, reads: random.pick([0, lagMs]) },
    kvEmptyPages: random.pick([0, 0, 1]),
    waf: { pendingMs: random.pick([0, 200]) },
    // Other tests cover quotas.
    limits: { maxLogpushJobs: { free: 0, pro: 0, business: 0, enterprise: 30 } },
  });
  const project = new Project(engine, "soak");
  const run = new SoakRun({ seed, random, api, project });
  try {
    return await run.execute();
  } catch (error) {
    throw run.describeFailure(error);
  } finally {
    await api.close();
    project.remove();
  }
}

interface Setup {
  readonly seed: number;
  readonly random: Random;
  readonly api: LocalApi;
  readonly project: Project;
}

class SoakRun {
  readonly #texts: string[] = [];
  readonly #remedies: string[] = [];
  readonly #allowances = new Set<Allowance>();
  readonly #confirmed = new Map<string, string>();
  #faults = 0;
  #kills = 0;
  #last = "";
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  async execute(): Promise<SoakResult> {
    const { random, api, project, seed } = this.#setup;
    const othersNamespaces = await createOthersObjects(api);
    api.advance(5_000); // Until the lists show the new objects.
    const generator = generatorContext(seed, api, await catalogOf(api), othersNamespaces);
    const [first, second] = programsOf(generator);
    const before = await stateBefore(api, Object.values(api.zones));
    await this.#configure();
    const kills = seed % 3 === 0;
    const killedFirst = kills && random.chance(0.5);

    const previous = await this.#apply(first, killedFirst);
    const allow = (what: Allowance): void => void this.#allowances.add(what);
    const context = { api, catalog: generator.catalog, before, killed: kills, allow };
    await this.#verify({ ...context, program: previous, previous: undefined }, generator);
    const program = await this.#apply(second, kills && !killedFirst);
    await this.#verify({ ...context, program, previous }, generator);

    api.clearRequests();
    const preview = await this.#run(() => project.run("preview", "--expect-no-changes"));
    const writes = api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);
    if (preview.code !== 0) throw new Error(`the preview shows changes:\n${preview.text}`);
    if (writes.length > 0) throw new Error(`the preview sent writes: ${writes.join(", ")}`);
    this.#assertNoSecrets(generator);
    return {
      seed,
      runs: this.#texts.length,
      faults: this.#faults,
      kills: this.#kills,
      remedies: this.#remedies,
      allowances: [...this.#allowances],
    };
  }

  async #configure(): Promise<void> {
    const { random, api, project } = this.#setup;
    const isConfigured = random.chance(0.3);
    project.env = {
      ...(isConfigured ? {} : { CLOUDFLARE_API_TOKEN: TOKEN }),
      ...(random.chance(0.3) ? { EDGEGUARD_DEBUG: "1" } : {}),
    };
    await project.init({
      "edgeguard:baseUrl": api.url,
      "edgeguard:accountId": api.accounts.main,
      "edgeguard:maxRetries": String(random.int(1, 4)),
      "edgeguard:concurrency": String(random.int(1, 8)),
      ...(isConfigured ? { "edgeguard:apiToken": TOKEN } : {}),
    });
  }

  /** Applies with faults, and if that fails, again without. Returns the program with the user's changes. */
  async #apply(declared: Program, isKilled: boolean): Promise<Program> {
    const { random, api, project } = this.#setup;
    const kill = isKilled ? killFor(random, declared.resources.length) : undefined;
    const faults = faultsFor(random);
    let program = await this.#write(declared);
    for (const fault of faults) api.fault(fault);
    this.#faults += faults.length;
    api.clearRequests();
    this.#log.push(
      `-- ${kill === undefined ? "with faults" : `${kill.what} killed`}: ${faults.map((each) => JSON.stringify(each)).join(", ")}`,
    );
    const withFaults = await this.#run(() => this.#applyWithFaults(kill));
    this.#rememberRequests();
    api.clearFaults();
    api.advance(5_000);
    // An assessment that couldn't read everything is made again by the next update.
    if (withFaults.code === 0 && !withFaults.text.includes("Check them manually")) return program;

    for (let attempt = 0; ; attempt += 1) {
      api.clearRequests();
      this.#log.push("-- without faults");
      const { code, text } = await this.#run(() => project.run(...UP));
      this.#rememberRequests();
      if (code === 0) return program;
      const next = attempt < MOST_REMEDIES ? applyRemedies(program, text) : undefined;
      if (next === undefined)
        throw new Error(
          `the update without faults failed:\n${text}\nand the one before it:\n${withFaults.text}`,
        );
      this.#remedies.push(...next.names);
      program = await this.#write(next.program);
    }
  }

  async #applyWithFaults(kill: Kill | undefined): Promise<RunResult> {
    if (kill === undefined) return await this.#setup.project.run(...UP);
    this.#kills += 1;
    return await runAndKill(this.#setup.api, this.#setup.project, UP, kill);
  }

  async #run(command: () => Promise<RunResult>): Promise<RunResult> {
    const result = await command();
    this.#texts.push(result.text);
    this.#last = result.text;
    return result;
  }

  /** Writes the program with what only the API knows: ownership tokens and migrations' digests. */
  async #write(declared: Program): Promise<Program> {
    const resources: Declared[] = [];
    for (const each of declared.resources) {
      const args = { ...each.args };
      if (args["ownershipChallenge"] !== undefined) args["ownershipChallenge"] = await this.#challenge(args);
      if (each.type === "WafMigration") {
        const confirm = await this.#confirmation(args);
        if (confirm !== undefined) args["confirm"] = confirm;
      }
      resources.push({ ...each, args });
    }
    const program = { ...declared, resources };
    writeProgram(this.#setup.project.dir, program);
    this.#current = program;
    return program;
  }

  #current: Program | undefined;

  async #challenge(args: Args): Promise<string> {
    const { api } = this.#setup;
    const scope =
      args["zoneId"] === undefined
        ? `/accounts/${textOf(args["accountId"])}`
        : `/zones/${textOf(args["zoneId"])}`;
    const response = await fetch(`${api.url}${scope}/logpush/ownership`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ destination_conf: plain(args["destinationConf"] ?? "") }),
    });
    const { result: made } = (await response.json()) as { result: { filename: string } };
    const file = api.logpush.files().find(({ path }) => path.endsWith(made.filename));
    if (file === undefined) throw new Error(`${CHALLENGE}: no file ${made.filename}`);
    const token = api.logpush.read(file.path).trim();
    this.#secrets.push(token);
    return token;
  }

  readonly #secrets: string[] = [];

  async #confirmation(args: Args): Promise<string | undefined> {
    const { api } = this.#setup;
    const zone = textOf(args["zoneId"]);
    const target = textOf(args["target"]);
    const order = ["assessed", "start", "validation", "finished"];
    const isReached = order.indexOf(phaseOf(api, zone)) >= order.indexOf(target);
    if (target === "assessed" || isReached) return this.#confirmed.get(zone);
    const digest = await digestFor(api, omit(args, ["confirm", "waitFor"]));
    this.#confirmed.set(zone, digest);
    return digest;
  }

  async #verify(context: CheckContext, generator: GeneratorContext): Promise<void> {
    this.#setup.api.advance(5_000);
    const found = await findProblems(context);
    if (found.length > 0)
      throw new Error(`the API's state isn't what the program declares:\n  ${found.join("\n  ")}`);
    this.#assertNoSecrets(generator);
  }

  readonly #requests: string[] = [];
  readonly #log: string[] = [];

  /** Remembers requests, without bodies that may contain secrets. */
  #rememberRequests(): void {
    const takesSecrets = /\/logpush\/|\/page_shield\/policies|\/storage\/kv\/namespaces(\/[0-9a-f]{32})?$/;
    for (const { method, path, query, body, headers, status, fault } of this.#setup.api.requests) {
      this.#log.push(
        `${method} ${path} ${status ?? "no response"}${fault === undefined ? "" : ` (${fault})`}`,
      );
      const shown = takesSecrets.test(path) && method !== "GET" ? undefined : body;
      this.#requests.push(JSON.stringify([path, query, headers, shown]));
    }
  }

  /** Fails if a secret was printed, written to a file, or sent to the wrong path. */
  #assertNoSecrets({ canaries }: GeneratorContext): void {
    const written = filesBelow(dirname(this.#setup.project.dir))
      .filter((path) => !path.includes("/sources/") && !path.includes("/node_modules"))
      .map((path): [string, string] => [path, readFileSync(path, "utf8")]);
    const places: [string, string][] = [
      ...this.#texts.map((text, index): [string, string] => [`the output of run ${index + 1}`, text]),
      ...written,
      ["a request", this.#requests.join("\n")],
    ];
    for (const [where, text] of places) {
      for (const secret of [...canaries, ...this.#secrets, TOKEN]) {
        const at = text.indexOf(secret);
        if (at >= 0)
          throw new Error(`${secret} is in ${where}: ${text.slice(Math.max(0, at - 200), at + 80)}`);
      }
    }
  }

  describeFailure(error: unknown): Error {
    const kept = join("/tmp", `edgeguard-soak-${this.#setup.seed}.js`);
    if (this.#current !== undefined) keepProgram(this.#setup.project.dir, kept);
    const reason = error instanceof Error ? error.message : String(error);
    const sent = this.#log.slice(-60).join("\n");
    return new Error(
      `seed ${this.#setup.seed}: ${reason}\n\nThe program is in ${kept}. Run it again: EDGEGUARD_SOAK_SEED=${this.#setup.seed} npx jest tests/soak\n\nLast requests:\n${sent}\n\nLast output:\n${this.#last}`,
    );
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink() || entry.name === "sources") return [];
    return entry.isDirectory() ? filesBelow(path) : statSync(path).isFile() ? [path] : [];
  });
}
