/** `preview`, `up`, `refresh`, `destroy` and `import`: the commands that run the engine. */
import type { Command } from "commander";
import { Display, type Command as DisplayCommand } from "../display";
import { CommandError, EXIT, UnsupportedError } from "../errors";
import type { Events } from "../events";
import { importResources, readImportFile } from "../import";
import { Failed, type Outcome, type Run } from "../run-context";
import { Digest } from "../preview-json";
import { refresh } from "../refresh";
import { Session } from "../session";
import { Targets, type TargetFlags } from "../targets";
import { destroy, update } from "../update";
import { collect, defaultParallel, parseBoolean, resolveFrom, type GlobalFlags, type Io } from "./io";

interface RunFlags extends GlobalFlags, TargetFlags {
  readonly yes?: boolean;
  readonly skipPreview?: boolean;
  readonly expectNoChanges?: boolean;
  readonly refresh?: boolean;
  readonly diff?: boolean;
  readonly json?: boolean;
  readonly showSames?: boolean;
  readonly showReplacementSteps?: boolean;
  readonly clearPendingCreates?: boolean;
  readonly runProgram?: boolean;
  readonly savePlan?: string;
  readonly plan?: string;
  readonly file?: string;
  readonly protect?: boolean;
  readonly generateCode?: boolean;
}

/** Creates the run. Called once for the preview, and again for the actual run. */
type Engine = (run: Run, flags: RunFlags) => Promise<Outcome>;

export function addRunCommands(program: Command, io: Io): void {
  const preview = program.command("preview").alias("pre").description("show what an update would do");
  addCommonFlags(preview)
    .option("-j, --json", "print the plan as JSON, in the CLI's format")
    .option("--save-plan <file>", "not supported");
  preview.action(async (_flags: unknown, command: Command) => {
    const flags = command.optsWithGlobals<RunFlags>();
    await new Runner(io, flags, "update", updateEngine).preview();
  });

  const runCommand = (name: string, what: string, display: DisplayCommand, engine: Engine): Command =>
    addCommonFlags(program.command(name).description(what))
      .option("-y, --yes", "required: the local engine never prompts")
      .option("--skip-preview", "don't show a preview first")
      .action(async (_flags: unknown, command: Command) => {
        await new Runner(io, command.optsWithGlobals<RunFlags>(), display, engine).run();
      });

  runCommand("up", "create or update the stack's resources", "update", updateEngine)
    .alias("update")
    .option("--plan <file>", "not supported");

  runCommand("refresh", "record drift in the state", "refresh", refreshEngine)
    .option("--clear-pending-creates", "forget interrupted creates")
    .option("--run-program [on]", "not supported", parseBoolean);

  runCommand("destroy", "delete all of the stack's resources", "destroy", destroyEngine)
    .alias("down")
    .option("--run-program [on]", "not supported", parseBoolean);

  runCommand("import", "record existing resources in the state", "import", importEngine)
    .requiredOption(
      "-f, --file <path>",
      "the import file; each resource needs its `inputs` and `outputs`",
      resolveFrom(io),
    )
    .option("--protect [on]", "protect the imported resources", parseBoolean, true)
    .option(
      "--generate-code [on]",
      "accepted for compatibility: the local engine generates no code",
      parseBoolean,
      false,
    );
}

function addCommonFlags(command: Command): Command {
  return command
    .option("--expect-no-changes", "fail if anything changes")
    .option("--diff", "also show all inputs of created and deleted resources")
    .option("--show-sames", "also show unchanged resources")
    .option("--show-replacement-steps", "also show how resources are replaced")
    .option("-r, --refresh [on]", "refresh the state first", parseBoolean)
    .option("-t, --target <urn>", "only change this resource; can be repeated", collect)
    .option("--target-replace <urn>", "only replace this resource; can be repeated", collect);
}

const updateEngine: Engine = (run, flags) => update(run, { refreshFirst: flags.refresh ?? false });
const destroyEngine: Engine = (run, flags) => destroy(run, { refreshFirst: flags.refresh ?? false });
const refreshEngine: Engine = (run) => refresh(run);
const importEngine: Engine = async (run, flags) =>
  importResources(run, await readImportFile(flags.file ?? ""), { protect: flags.protect ?? true });

class Runner {
  constructor(
    readonly io: Io,
    readonly flags: RunFlags,
    readonly command: DisplayCommand,
    readonly engine: Engine,
  ) {
    if (flags.runProgram === true) throw new UnsupportedError("--run-program");
    if (flags.savePlan !== undefined) throw new UnsupportedError("--save-plan");
    if (flags.plan !== undefined) throw new UnsupportedError("--plan");
  }

  async preview(): Promise<void> {
    const session = await this.#open();
    if (this.flags.json === true) await this.#previewAsJson(session);
    else await this.#runWithDisplay(session, true);
  }

  async run(): Promise<void> {
    if (this.flags.yes !== true && this.flags.skipPreview !== true) {
      throw new CommandError(
        "the local engine never prompts: pass --yes or --skip-preview to proceed",
        EXIT.badInvocation,
      );
    }
    const session = await this.#open();
    await session.withLock(async () => {
      if (this.flags.skipPreview !== true) await this.#runWithDisplay(session, true);
      await this.#runWithDisplay(session, false);
    });
  }

  async #open(): Promise<Session> {
    const session = await Session.open(this.io, this.flags.stack);
    // Whoever needs the key awaits it, and reports a wrong passphrase.
    session.crypter().catch(() => undefined);
    return session;
  }

  async #runWithDisplay(session: Session, dryRun: boolean): Promise<void> {
    const { diff: isDetailed = false, showSames = false } = this.flags;
    const write = (text: string): unknown => this.io.stdout.write(text);
    const { stack } = session;
    const display = new Display({ command: this.command, stack, dryRun, isDetailed, showSames, write });
    await this.#runEngine(session, dryRun, display, (...result) => display.finish(...result));
  }

  async #previewAsJson(session: Session): Promise<void> {
    const digest = new Digest(await session.config(), this.flags);
    await this.#runEngine(session, true, digest, ({ counts }, seconds) => {
      this.io.stdout.write(`${digest.toJson(counts, seconds)}\n`);
    });
  }

  /** Runs the engine. Shows the results even if the run failed. */
  async #runEngine(
    session: Session,
    dryRun: boolean,
    events: Events,
    finish: (outcome: Outcome, seconds: number) => void,
  ): Promise<void> {
    const began = performance.now();
    const seconds = (): number => (performance.now() - began) / 1000;
    const run = await this.#prepare(session, dryRun, events);
    let outcome: Outcome;
    try {
      outcome = await this.engine(run, this.flags);
    } catch (error) {
      if (error instanceof Failed) finish(error.outcome, seconds());
      throw error;
    }
    finish(outcome, seconds());
    this.#refuseUnexpectedChanges(outcome, dryRun);
  }

  async #prepare(session: Session, dryRun: boolean, events: Events): Promise<Run> {
    const [config, base] = await Promise.all([session.config(), session.deployment()]);
    if (this.flags.clearPendingCreates === true) {
      base.pendingOperations = base.pendingOperations.filter(({ type }) => type !== "creating");
    }
    return {
      project: session.project,
      stack: session.stack,
      config,
      base,
      dryRun,
      parallel: this.flags.parallel ?? defaultParallel(),
      targets: new Targets(this.flags),
      env: this.io.env,
      events,
      save: (deployment) => session.save(deployment),
      signal: this.io.signal,
    };
  }

  #refuseUnexpectedChanges({ counts }: Outcome, dryRun: boolean): void {
    const hasChanges = [...counts.keys()].some((op) => op !== "same");
    if (this.flags.expectNoChanges !== true || !hasChanges) return;
    throw new CommandError(
      `no changes were expected but changes ${dryRun ? "were proposed" : "occurred"}`,
      EXIT.changesWereNotExpected,
    );
  }
}
