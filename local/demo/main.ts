import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { ChildProcess } from "node:child_process";
import { Command } from "commander";
import colors from "picocolors";
import { startLocalApi, type LocalApi } from "../api";
import { isolatedEnvironment, LOCAL_ENGINE, pulumiCli, startEngine, type EngineCommand } from "../driver";
import { DEMO_STEPS, type DemoStep } from "./steps";

/**
 * Runs the demo entirely on this machine: the local API on a free port, the Pulumi CLI or the local engine, and the
 * program from examples/edge-site in a temporary directory.
 */

const REPOSITORY = resolve(__dirname, "../../..");
const TOKEN = "local-token";

async function main(): Promise<number> {
  const options = new Command("demo")
    .description(
      "Walks through the life of one site's edge security, from preview to destroy. Nothing leaves this machine.",
    )
    .option("--keep", "keep the project and its state, and print where they are")
    .option("--local-engine", "use the local engine even if the Pulumi CLI is on PATH")
    .parse()
    .opts<{ keep?: true; localEngine?: true }>();

  const started = Date.now();
  const cli = options.localEngine === true ? undefined : pulumiCli();
  const demo = await setUp(cli ?? LOCAL_ENGINE);
  process.once("SIGINT", demo.interrupt);
  process.once("SIGTERM", demo.interrupt);
  try {
    const why = cli === undefined && options.localEngine !== true ? " (no Pulumi CLI on PATH)" : "";
    print(colors.bold("edgeguard demo: one site's edge security, from the first pull request to destroy"));
    print(`engine   ${demo.engine.name}${why}`);
    print(`API      ${demo.api.url} (local: nothing leaves this machine)`);
    for (const [index, step] of DEMO_STEPS.entries())
      await runStep(demo, step, `${index + 1}/${DEMO_STEPS.length}`);
    const seconds = ((Date.now() - started) / 1000).toFixed(0);
    print(`\n${colors.green("Done")} in ${seconds} s. Read the program: examples/edge-site/index.ts`);
    return 0;
  } catch (error) {
    if (demo.interrupted) return 130;
    print(colors.red(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`));
    return 1;
  } finally {
    await demo.api.close();
    if (options.keep === true)
      print(`Kept in ${demo.home}: project, state and PULUMI_HOME. The passphrase is "local".`);
    else rmSync(demo.home, { recursive: true, force: true });
  }
}

interface Demo {
  readonly engine: EngineCommand;
  readonly api: LocalApi;
  readonly home: string;
  readonly project: string;
  readonly zone: string;
  /** The API's state before the first step. */
  readonly initialState: string;
  running: ChildProcess | undefined;
  /** Whether the migration's assessment was printed in full. Every preview repeats it. */
  assessmentShown: boolean;
  interrupted: boolean;
  readonly interrupt: () => void;
}

async function setUp(engine: EngineCommand): Promise<Demo> {
  const api = await startLocalApi();
  const home = mkdtempSync(join(tmpdir(), "edgeguard-demo-"));
  const project = join(home, "edge-site");
  mkdirSync(join(home, "state"));
  cpSync(join(REPOSITORY, "examples/edge-site"), project, { recursive: true });
  symlinkSync(join(REPOSITORY, "node_modules"), join(project, "node_modules"));
  // Plain settings are written to the file: each `pulumi config set` would take about a second.
  const config = {
    "edge-site:zoneId": api.zones.shop,
    "edge-site:oldZoneId": api.zones.migratePro,
    "edgeguard:accountId": api.accounts.main,
    "edgeguard:baseUrl": api.url,
  };
  writeFileSync(join(project, "Pulumi.demo.yaml"), JSON.stringify({ config }));
  const demo: Demo = {
    engine,
    api,
    home,
    project,
    zone: api.zones.shop,
    initialState: stateOf(api, api.zones.shop),
    running: undefined,
    assessmentShown: false,
    interrupted: false,
    interrupt: () => {
      demo.interrupted = true;
      demo.running?.kill("SIGINT");
    },
  };
  await runSilently(demo, "stack", "init", "demo");
  await runSilently(demo, "config", "set", "--secret", "edgeguard:apiToken", TOKEN);
  await runSilently(demo, "config", "set", "--secret", "logToken", "Bearer log-collector-token");
  return demo;
}

async function runStep(demo: Demo, step: DemoStep, number: string): Promise<void> {
  if (demo.interrupted) throw new Error("interrupted");
  print(`\n${colors.bold(colors.cyan(`${number}  ${step.title}`))}`);
  for (const { file = "index.ts", from, to, description = `${from} → ${to}` } of step.edits ?? []) {
    const path = join(demo.project, file);
    const text = readFileSync(path, "utf8");
    if (!text.includes(from)) throw new Error(`${file} doesn't contain ${from}`);
    print(colors.dim(`     ${file}: ${description}`));
    writeFileSync(path, text.replace(from, to));
  }
  for (const { method, path, body } of step.dashboard ?? []) {
    print(colors.dim(`     dashboard: ${method} ${path} ${JSON.stringify(body)}`));
    await editInDashboard(demo, method, path, body);
  }
  if (step.events !== undefined) {
    const { times, ...event } = step.events;
    print(colors.dim(`     traffic: ${times} events of rule ${event.ruleId}: ${event.action}`));
    demo.api.addFirewallEvents(
      demo.zone,
      Array.from({ length: times }, () => event),
    );
  }
  demo.api.clearRequests();
  const command = `pulumi ${step.run.join(" ")}`;
  print(colors.dim(`     $ ${command}`));
  const { code, text } = await run(
    demo,
    step.run,
    abbreviateAssessment(demo, (line) => print(`     ${line}`)),
  );
  if ((code === 0) !== (step.fails !== true)) throw new Error(`\`${command}\` ended with exit code ${code}`);
  for (const words of step.prints ?? [])
    if (!text.includes(words)) throw new Error(`the output doesn't contain "${words}"`);
  for (const words of step.neverPrints ?? [])
    if (text.includes(words)) throw new Error(`the output contains "${words}"`);
  // Bulk reads and GraphQL queries are POSTs.
  const sent = demo.api.requests.filter((r) => r.method !== "GET" && !/\/(bulk\/get|graphql)$/.test(r.path));
  const writes = sent.length;
  const reads = demo.api.requests.length - writes;
  if (step.writes !== writes) {
    const list = sent.map((r) => `${r.method} ${r.path}`).join(", ");
    throw new Error(`expected ${step.writes} writes, but ${writes} were sent: ${list}`);
  }
  const batches = sent.flatMap(({ batch }) => batch?.entries ?? []).join(", ");
  if (step.batches !== undefined && step.batches.join(", ") !== batches)
    throw new Error(`expected batches of ${step.batches.join(", ")} entries, but ${batches} were sent`);
  if (step.restoresEverything === true && stateOf(demo.api, demo.zone) !== demo.initialState)
    throw new Error("destroy left something behind, or didn't restore everything");
  print(colors.green(`     → ${step.summary} (${counted(reads, "read")}, ${counted(writes, "write")})`));
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Prints the migration's assessment in full the first time, and only its first line after that. */
function abbreviateAssessment(demo: Demo, show: (line: string) => void): (line: string) => void {
  const isShort = demo.assessmentShown;
  const indent = (line: string): number => line.search(/\S/);
  let inside = -1;
  let isCut = false;
  return (line) => {
    const isFirst = line.includes("edgeguard: WafMigration");
    if (isFirst) {
      inside = indent(line);
      demo.assessmentShown = true;
    } else if (indent(line) <= inside) inside = -1;
    if (isFirst || inside < 0 || !isShort) show(line);
    else if (!isCut) {
      show(`${" ".repeat(indent(line))}…`);
      isCut = true;
    }
  };
}

/** Returns everything that the program may change, without timestamps. */
function stateOf(api: LocalApi, zone: string): string {
  const { kv, pageShield, rulesets, logpush } = api.snapshot();
  return JSON.stringify(
    [kv, pageShield[zone], rulesets.zones[zone]?.entryPoint?.rules, logpush.jobs],
    (key, value: unknown) => (key === "updated_at" ? undefined : value),
  );
}

async function editInDashboard(demo: Demo, method: string, path: string, body: unknown): Promise<void> {
  const policies = await call(demo, "GET", `/zones/${demo.zone}/page_shield/policies`);
  const own = (policies as { id: string; description: string }[]).find((p) => p.description === "checkout");
  await call(demo, method, path.replace("{zone}", demo.zone).replace("{policy}", own?.id ?? ""), body);
}

async function call(demo: Demo, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(demo.api.url + path, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { success: boolean; result: unknown; errors: unknown };
  if (!answer.success) throw new Error(`${method} ${path} failed: ${JSON.stringify(answer.errors)}`);
  return answer.result;
}

async function runSilently(demo: Demo, ...args: string[]): Promise<void> {
  const { code, text } = await run(demo, args, () => undefined);
  if (code !== 0) throw new Error(`\`pulumi ${args.join(" ")}\` ended with exit code ${code}:\n${text}`);
}

/** Matches lines that only repeat others. */
const NOISE =
  /^\s*$|^(@ |Previewing|Updating|Refreshing|Destroying|Duration|The resources in the stack|If you want to remove)|\[urn=|pulumi:pulumi:Stack|creating \(|updating \(|deleting \(|refreshing( \(|\s*$)/;

/** Matches the local engine's progress lines. Its summary lists the same resources. */
const PROGRESS = / \(\d+\.\ds\)$/;

function run(
  demo: Demo,
  args: readonly string[],
  show: (line: string) => void,
): Promise<{ code: number; text: string }> {
  const env = { ...isolatedEnvironment(demo.home), PULUMI_NODEJS_TRANSPILE_ONLY: "true", NO_COLOR: "1" };
  const child = startEngine(demo.engine, args, { cwd: demo.project, env });
  demo.running = child;
  const lines: string[] = [];
  const printed = new Set<string>();
  const isNoise = (line: string): boolean =>
    NOISE.test(line) || (demo.engine === LOCAL_ENGINE && PROGRESS.test(line));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      // The CLI prints a message beside its resource and again in the diagnostics.
      if (isNoise(line) || printed.has(line.trim())) return;
      printed.add(line.trim());
      show(line);
    });
  }
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => {
      demo.running = undefined;
      if (demo.interrupted) fail(new Error("interrupted"));
      else done({ code: code ?? 1, text: lines.join("\n") });
    });
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

void main().then((code) => {
  process.exitCode = code;
});
