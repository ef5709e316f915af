import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { ChildProcess } from "node:child_process";
import { Command } from "commander";
import colors from "picocolors";
import { startLocalApi, type LocalApi } from "../api";
import { isolatedEnvironment, LOCAL_ENGINE, pulumiCli, startEngine, type EngineCommand } from "../driver";
import { STORY, type Scene } from "./story";

/**
 * Tells the product's main story on this machine alone: the local API on a free port, the Pulumi CLI or the local
 * engine, and the program of examples/edge-site in a folder that is gone afterwards.
 */

const REPOSITORY = resolve(__dirname, "../../..");
const TOKEN = "local-token";

async function main(): Promise<number> {
  const options = new Command("demo")
    .description(
      "Previews, applies, drifts, repairs, changes and destroys a site's edge security, on this machine alone.",
    )
    .option("--keep", "keep the project and its state, and say where they are")
    .option("--local-engine", "use the local engine even where the Pulumi CLI is on PATH")
    .parse()
    .opts<{ keep?: true; localEngine?: true }>();

  const started = Date.now();
  const cli = options.localEngine === true ? undefined : pulumiCli();
  const stage = await setUp(cli ?? LOCAL_ENGINE);
  process.once("SIGINT", stage.interrupt);
  process.once("SIGTERM", stage.interrupt);
  try {
    say(colors.bold("edgeguard demo"));
    say(
      `engine   ${stage.engine.name}${cli === undefined && options.localEngine !== true ? " (no pulumi on PATH)" : ""}`,
    );
    say(`API      ${stage.api.url} (local, nothing leaves this machine)`);
    for (const [index, scene] of STORY.entries()) await play(stage, scene, `${index + 1}/${STORY.length}`);
    say(
      `\n${colors.green("Done")} in ${((Date.now() - started) / 1000).toFixed(0)} s. The program is examples/edge-site/index.ts.`,
    );
    return 0;
  } catch (error) {
    if (stage.interrupted) return 130;
    say(colors.red(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}`));
    return 1;
  } finally {
    await stage.api.close();
    if (options.keep === true) say(`Kept: ${stage.home} (project, state, PULUMI_HOME; passphrase "local")`);
    else rmSync(stage.home, { recursive: true, force: true });
  }
}

interface Stage {
  readonly engine: EngineCommand;
  readonly api: LocalApi;
  readonly home: string;
  readonly project: string;
  readonly zone: string;
  /** What the service held before the first scene. */
  readonly before: string;
  running: ChildProcess | undefined;
  /** The first scene has shown the migration's assessment, which every preview prints. */
  assessed: boolean;
  interrupted: boolean;
  readonly interrupt: () => void;
}

async function setUp(engine: EngineCommand): Promise<Stage> {
  const api = await startLocalApi();
  const home = mkdtempSync(join(tmpdir(), "edgeguard-demo-"));
  const project = join(home, "edge-site");
  mkdirSync(join(home, "state"));
  cpSync(join(REPOSITORY, "examples/edge-site"), project, { recursive: true });
  symlinkSync(join(REPOSITORY, "node_modules"), join(project, "node_modules"));
  // What is no secret is written by hand: each command of the engine takes about a second.
  const config = {
    "edge-site:zoneId": api.zones.shop,
    "edge-site:oldZoneId": api.zones.migratePro,
    "edgeguard:accountId": api.accounts.main,
    "edgeguard:baseUrl": api.url,
  };
  writeFileSync(join(project, "Pulumi.demo.yaml"), JSON.stringify({ config }));
  const stage: Stage = {
    engine,
    api,
    home,
    project,
    zone: api.zones.shop,
    before: declarable(api, api.zones.shop),
    running: undefined,
    assessed: false,
    interrupted: false,
    interrupt: () => {
      stage.interrupted = true;
      stage.running?.kill("SIGINT");
    },
  };
  await quietly(stage, "stack", "init", "demo");
  await quietly(stage, "config", "set", "--secret", "edgeguard:apiToken", TOKEN);
  await quietly(stage, "config", "set", "--secret", "logToken", "Bearer log-collector-token");
  return stage;
}

async function play(stage: Stage, scene: Scene, number: string): Promise<void> {
  if (stage.interrupted) throw new Error("interrupted");
  say(`\n${colors.bold(colors.cyan(`${number}  ${scene.title}`))}`);
  for (const { file = "index.ts", replace, by, says = `${replace} becomes ${by}` } of scene.edits ?? []) {
    const path = join(stage.project, file);
    const before = readFileSync(path, "utf8");
    if (!before.includes(replace)) throw new Error(`${file} has no ${replace} to change`);
    say(colors.dim(`     in ${file}: ${says}`));
    writeFileSync(path, before.replace(replace, by));
  }
  for (const { method, path, body } of scene.dashboard ?? []) {
    say(colors.dim(`     ${method} ${path} ${JSON.stringify(body)}`));
    await dashboard(stage, method, path, body);
  }
  stage.api.clearRequests();
  say(colors.dim(`     $ pulumi ${scene.run.join(" ")}`));
  const { code, text } = await run(
    stage,
    scene.run,
    withoutRepetition(stage, (line) => say(`     ${line}`)),
  );
  // A bulk read is a POST.
  const sent = stage.api.requests.filter((r) => r.method !== "GET" && !r.path.endsWith("/bulk/get"));
  const writes = sent.length;
  const reads = stage.api.requests.length - writes;
  if ((code === 0) !== (scene.fails !== true))
    throw new Error(`\`pulumi ${scene.run.join(" ")}\` ended with ${code}`);
  for (const words of scene.shows ?? [])
    if (!text.includes(words)) throw new Error(`"${words}" was expected in what was printed`);
  for (const words of scene.hides ?? [])
    if (text.includes(words)) throw new Error(`"${words}" was printed, and is nobody's business`);
  if (scene.writes !== writes)
    throw new Error(
      `${scene.writes} writes were expected; ${writes} were sent: ${sent
        .map((r) => `${r.method} ${r.path}`)
        .join(", ")}`,
    );
  const batches = sent.flatMap(({ batch }) => batch?.entries ?? []).join(", ");
  if (scene.batches !== undefined && scene.batches.join(", ") !== batches)
    throw new Error(`batches of ${scene.batches.join(", ")} entries were expected; sent were ${batches}`);
  if (scene.logs !== undefined) showLogs(stage.api, scene.logs);
  if (scene.restores === true && declarable(stage.api, stage.zone) !== stage.before)
    throw new Error("something is left of the program, or missing of what was there before");
  say(
    colors.green(
      `     → ${scene.point} (${reads} ${reads === 1 ? "read" : "reads"}, ${writes} ${writes === 1 ? "write" : "writes"} sent)`,
    ),
  );
}

/** Shows the assessment of the migration in full once, and by its first line after that. */
function withoutRepetition(stage: Stage, show: (line: string) => void): (line: string) => void {
  const known = stage.assessed;
  const indent = (line: string): number => line.search(/\S/);
  let inside = -1;
  return (line) => {
    const first = line.includes("edgeguard: WafMigration");
    if (first) inside = indent(line);
    else if (indent(line) <= inside) inside = -1;
    if (first) stage.assessed = true;
    if (inside < 0 || !known) show(line);
    else if (first) show(`${line} …`);
  };
}

/** What a filter lets through, shown on lines that the local API makes up. */
function showLogs(api: LocalApi, { job, lines }: NonNullable<Scene["logs"]>): void {
  const found = api.snapshot().logpush.jobs.find(({ name }) => name.endsWith(`-${job}`));
  if (found === undefined) throw new Error(`there is no job ${job}`);
  const { passed, files } = api.logpush.push(found.id, { count: lines });
  say(`     ${lines} log lines through the filter: ${passed} pass, for example`);
  const [first] = files;
  const text = first === undefined ? "" : api.logpush.read(first);
  for (const line of text.split("\n").slice(0, 2)) say(colors.dim(`       ${line}`));
  if (passed === 0 || passed === lines) throw new Error("the filter lets all lines through, or none");
}

/** All that the program may change, without versions and the times at which it was changed. */
function declarable(api: LocalApi, zone: string): string {
  const { kv, pageShield, rulesets, logpush } = api.snapshot();
  return JSON.stringify(
    [kv, pageShield[zone], rulesets.zones[zone]?.entryPoint?.rules, logpush.jobs],
    (key, value: unknown) => (key === "updated_at" || key === "last_complete" ? undefined : value),
  );
}

/** What somebody does outside of the program. */
async function dashboard(stage: Stage, method: string, path: string, body: unknown): Promise<void> {
  const list = await call(stage, "GET", `/zones/${stage.zone}/page_shield/policies`);
  const own = (list as { id: string; description: string }[]).find((p) => p.description === "checkout");
  await call(stage, method, path.replace("{zone}", stage.zone).replace("{policy}", own?.id ?? ""), body);
}

async function call(stage: Stage, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(stage.api.url + path, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { success: boolean; result: unknown; errors: unknown };
  if (!answer.success) throw new Error(`${method} ${path} was refused: ${JSON.stringify(answer.errors)}`);
  return answer.result;
}

async function quietly(stage: Stage, ...args: string[]): Promise<void> {
  const { code, text } = await run(stage, args, () => undefined);
  if (code !== 0) throw new Error(`\`pulumi ${args.join(" ")}\` ended with ${code}:\n${text}`);
}

/** Lines that tell a person nothing here. */
const NOISE =
  /^\s*$|^(@ |Previewing|Updating|Refreshing|Destroying|Duration|The resources in the stack|If you want to remove)|\[urn=|pulumi:pulumi:Stack|creating \(|updating \(|deleting \(|refreshing( \(|\s*$)/;

function run(
  stage: Stage,
  args: readonly string[],
  show: (line: string) => void,
): Promise<{ code: number; text: string }> {
  const env = { ...isolatedEnvironment(stage.home), PULUMI_NODEJS_TRANSPILE_ONLY: "true", NO_COLOR: "1" };
  const child = startEngine(stage.engine, args, { cwd: stage.project, env });
  stage.running = child;
  const seen: string[] = [];
  const shown = new Set<string>();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      seen.push(line);
      // The CLI repeats a message beside its resource and among the diagnostics.
      if (NOISE.test(line) || shown.has(line.trim())) return;
      shown.add(line.trim());
      show(line);
    });
  }
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => {
      stage.running = undefined;
      if (stage.interrupted) fail(new Error("interrupted"));
      else done({ code: code ?? 1, text: seen.join("\n") });
    });
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

void main().then((code) => {
  process.exitCode = code;
});
