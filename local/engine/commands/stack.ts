/** The commands that create and select stacks, and move their state. */
import { readFile, writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { CommandError, EXIT } from "../errors";
import { StackSettings } from "../project";
import { Crypter, readPassphrase } from "../secrets";
import { resolveStackName, openWorkspace, Session, shortName } from "../session";
import { emptyDeployment } from "../state";
import { parseDeployment, sealWith, showSecret, writeDeployment } from "../state-json";
import { isJsonMap, type JsonMap } from "../values";
import { resolveFrom, type GlobalFlags, type Io } from "./io";

interface StackFlags extends GlobalFlags {
  readonly create?: boolean;
  readonly yes?: boolean;
  readonly file?: string;
  readonly showSecrets?: boolean;
}

export function addStackCommands(program: Command, io: Io): void {
  const stack = program.command("stack").description("manage stacks");

  stack
    .command("init")
    .description("create an empty stack and select it")
    .argument("[name]")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      await initStack(io, required(name ?? command.optsWithGlobals<StackFlags>().stack, "a stack name"));
    });

  stack
    .command("select")
    .description("select the stack that other commands use")
    .argument("[name]")
    .option("-c, --create", "create the stack if it doesn't exist")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<StackFlags>();
      await selectStack(io, required(name ?? flags.stack, "a stack name"), flags.create ?? false);
    });

  stack
    .command("export")
    .description("print the stack's state")
    .option("--file <path>", "write the state to this file", resolveFrom(io))
    .option("--show-secrets", "show secrets in plain text")
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<StackFlags>();
      const text = `${JSON.stringify(await exportStack(io, flags), undefined, 4)}\n`;
      if (flags.file === undefined) io.stdout.write(text);
      else await writeFile(flags.file, text, { mode: 0o600 });
    });

  stack
    .command("import")
    .description("replace the stack's state and forget interrupted operations")
    .requiredOption("--file <path>", "a file that `stack export` wrote", resolveFrom(io))
    .action(async (_flags: unknown, command: Command) => {
      await importStack(io, command.optsWithGlobals<StackFlags>());
    });

  program
    .command("cancel")
    .description("remove the lock of an operation that's no longer running")
    .argument("[name]")
    .option("-y, --yes", "required: the local engine never prompts")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<StackFlags>();
      if (flags.yes !== true)
        throw new CommandError("the local engine never prompts: pass --yes to proceed", EXIT.badInvocation);
      const workspace = await openWorkspace(io);
      const stackName = await resolveStackName(workspace, io, name ?? flags.stack);
      await workspace.backend.stack(workspace.project, stackName).breakLocks();
      io.stderr.write(`The currently running update for '${stackName}' has been canceled!\n`);
    });
}

function required(value: string | undefined, what: string): string {
  if (value === undefined) throw new CommandError(`${what} is required`, EXIT.badInvocation);
  return value;
}

async function initStack(io: Io, given: string): Promise<void> {
  const { project, backend } = await openWorkspace(io);
  const name = shortName(given, project);
  const store = backend.stack(project, name);
  if (store.exists) throw new CommandError(`stack '${name}' already exists`);
  const settings = await StackSettings.read(project, name);
  const passphrase = readPassphrase(io.env);
  if (settings.salt === undefined) {
    settings.setSalt((await Crypter.create(passphrase)).salt);
    await settings.save();
  } else {
    await Crypter.open(passphrase, settings.salt);
  }
  await store.save(undefined);
  await backend.select(project, name);
  io.stderr.write(`Created stack '${name}'\n`);
}

async function selectStack(io: Io, given: string, create: boolean): Promise<void> {
  const { project, backend } = await openWorkspace(io);
  const name = shortName(given, project);
  if (backend.stack(project, name).exists) {
    await backend.select(project, name);
  } else if (create) {
    await initStack(io, name);
  } else {
    throw new CommandError(`no stack requested '${name}' found`, EXIT.stackNotFound);
  }
}

async function exportStack(io: Io, flags: StackFlags): Promise<JsonMap> {
  const session = await Session.open(io, flags.stack);
  const crypter = await session.crypter();
  const seal = flags.showSecrets === true ? showSecret : sealWith(crypter);
  return { version: 3, deployment: writeDeployment(await session.deployment(), crypter.salt, seal) };
}

async function importStack(io: Io, flags: StackFlags): Promise<void> {
  const session = await Session.open(io, flags.stack);
  const given: unknown = JSON.parse(await readFile(required(flags.file, "a file"), "utf8"));
  if (!isJsonMap(given) || given["version"] !== 3)
    throw new CommandError("only deployment version 3 is supported");
  const deployment = await session.read(parseDeployment(given["deployment"]));
  await session.withLock(() => session.save({ ...emptyDeployment(), resources: deployment.resources }));
  io.stdout.write("Import complete.\n");
}
