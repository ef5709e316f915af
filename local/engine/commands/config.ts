/** The commands `config set` and `rm`, which change the stack's settings file. */
import type { Command } from "commander";
import { UnsupportedError } from "../errors";
import { Session } from "../session";
import type { GlobalFlags, Io } from "./io";

interface ConfigFlags extends GlobalFlags {
  readonly secret?: boolean;
}

export function addConfigCommands(program: Command, io: Io): void {
  const config = program.command("config").description("manage a stack's configuration");

  config
    .command("set")
    .description("set a value; the project's name is the default namespace of a key")
    .argument("<key>")
    .argument("[value]")
    .option("--secret", "encrypt the value")
    .action(async (key: string, value: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConfigFlags>();
      if (value === undefined)
        throw new UnsupportedError("reading a configuration value from stdin", "pass it as an argument");
      const { settings, crypter } = await open(io, flags);
      settings.setValue(key, flags.secret === true ? { secure: (await crypter()).encrypt(value) } : value);
      await settings.save();
    });

  config
    .command("rm")
    .description("remove a value")
    .argument("<key>")
    .action(async (key: string, _flags: unknown, command: Command) => {
      const { settings } = await open(io, command.optsWithGlobals<ConfigFlags>());
      settings.removeValue(key);
      await settings.save();
    });
}

async function open(io: Io, flags: ConfigFlags) {
  const session = await Session.open(io, flags.stack);
  return { settings: session.settings, crypter: () => session.crypter() };
}
