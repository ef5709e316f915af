import { InvalidArgumentError, Option, type Command } from "commander";
import { KV } from "../limits";
import { printToStderr, type Io } from "../terminal/io";
import { hexId, wholeNumber } from "./option-values";
import type * as Bulk from "./kv/bulk";
import type * as Key from "./kv/key";
import type * as Namespace from "./kv/namespace";
import type { KvOptions } from "./kv/session";

/** Registers `edgeguard kv`: the commands of `wrangler kv`, with the same arguments and options. */
export function register(program: Command, io: Io): void {
  const kv = program.command("kv").description("inspect and edit Workers KV data");
  registerNamespace(kv, io);
  registerKey(kv, io);
  registerBulk(kv, io);
}

/* eslint-disable @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it */
const bulks = (): typeof Bulk => require("./kv/bulk") as typeof Bulk;
const keys = (): typeof Key => require("./kv/key") as typeof Key;
const namespaces = (): typeof Namespace => require("./kv/namespace") as typeof Namespace;
/* eslint-enable @typescript-eslint/no-require-imports */

function registerNamespace(kv: Command, io: Io): void {
  const namespace = kv.command("namespace").description("manage the account's namespaces");

  inProject(namespace.command("create"))
    .description("create a namespace and print its binding, to append to wrangler.toml")
    .argument(
      "<NAMESPACE>",
      "its title; --env adds the environment's name as a prefix, and --preview appends _preview",
    )
    .option("--preview", "create the preview namespace")
    .addHelpText("after", example("kv namespace create CATALOG --preview"))
    .action((title: string, options: KvOptions) => namespaces().createNamespace(io, title, options));

  inProject(namespace.command("list"))
    .description("print the account's namespaces as a JSON array of { id, title, jurisdiction? }")
    .addHelpText("after", example("kv namespace list"))
    .action((options: KvOptions) => namespaces().listNamespaces(io, options));

  selected(namespace.command("rename"))
    .description("rename a namespace")
    .argument("[OLD_NAME]", "its current title, instead of --binding or --namespace-id")
    .requiredOption("--new-name <name>", "its new title")
    .addHelpText("after", example("kv namespace rename catalog --new-name products"))
    .action((title: string | undefined, options: KvOptions) =>
      namespaces().renameNamespace(io, title, options),
    );

  confirmed(selected(namespace.command("delete")))
    .description("delete a namespace and all its keys, after asking for confirmation")
    .addHelpText("after", example("kv namespace delete --binding CATALOG --preview"))
    .action((options: KvOptions) => namespaces().deleteNamespace(io, options));
}

function registerKey(kv: Command, io: Io): void {
  const key = kv.command("key").description("read, write or delete single keys");

  onData(key.command("put"))
    .description("write one entry, replacing its value, expiration and metadata")
    .argument("<KEY>", `1 to ${KV.MAX_KEY_BYTES} bytes of printable characters without whitespace`)
    .argument("[VALUE]", "the value, as text")
    .option("--path <path>", "read the value from a file, as bytes, instead of VALUE")
    .option(
      "--ttl <seconds>",
      `expire after this many seconds, at least ${KV.MIN_TTL_SECONDS}; overrides --expiration`,
      ttl,
    )
    .option("--expiration <seconds>", "expire at this Unix time, in seconds", seconds)
    .option("--metadata <json>", `a JSON object of at most ${KV.MAX_METADATA_BYTES} bytes`)
    .addHelpText(
      "after",
      example(
        `kv key put banner --path=banner.png --ttl 3600 --metadata '{"owner":"shop"}' --binding CATALOG`,
      ),
    )
    .action((name: string, value: string | undefined, options: KvOptions) =>
      keys().putKey(io, name, value, options),
    );

  onData(key.command("list"))
    .description("print keys as a JSON array of { name, expiration?, metadata? }")
    .option("--prefix <text>", "only keys with this prefix")
    .addHelpText("after", example("kv key list --binding CATALOG --prefix product/"))
    .action((options: KvOptions) => keys().listKeys(io, options));

  onData(key.command("get"))
    .description("write one value to stdout, byte for byte")
    .argument("<KEY>", "the key")
    .option("--text", "decode the value as UTF-8, and fail if it isn't valid")
    .addHelpText("after", example("kv key get banner --binding CATALOG > banner.png"))
    .action((name: string, options: KvOptions) => keys().getKey(io, name, options));

  confirmed(onData(key.command("delete")))
    .description("delete one key, after asking for confirmation")
    .argument("<KEY>", "the key")
    .addHelpText("after", example("kv key delete banner --binding CATALOG"))
    .action((name: string, options: KvOptions) => keys().deleteKey(io, name, options));
}

function registerBulk(kv: Command, io: Io): void {
  const bulk = kv.command("bulk").description("write, read or delete the keys listed in a file");

  onData(bulk.command("put"))
    .description("write the entries from a file; the namespace's other keys stay")
    .argument(
      "<FILENAME>",
      "JSON: an array of { key, value, metadata?, expiration?, expiration_ttl?, base64? }",
    )
    .option("--dry-run", "check and count without sending anything")
    .addHelpText("after", example("kv bulk put catalog.json --binding CATALOG --dry-run"))
    .action((file: string, options: KvOptions) => bulks().putBulk(io, file, options));

  onData(bulk.command("get"))
    .description("print entries as a JSON array for bulk put, without expirations")
    .argument("<FILENAME>", KEYS_FILE)
    .addHelpText("after", example("kv bulk get keys.json --binding CATALOG > entries.json"))
    .action((file: string, options: KvOptions) => bulks().getBulk(io, file, options));

  confirmed(onData(bulk.command("delete")))
    .description("delete the keys listed in a file, after asking for confirmation")
    .argument("<FILENAME>", KEYS_FILE)
    .addHelpText("after", example("kv bulk delete keys.json --binding CATALOG"))
    .action((file: string, options: KvOptions) => bulks().deleteBulk(io, file, options));
}

const KEYS_FILE = "JSON: an array of keys, the output of key list, or a file for bulk put";

/** Adds the options that say where the project and its account are. */
function inProject(command: Command): Command {
  return command
    .option("-e, --env <name>", "an environment in the configuration file; default: CLOUDFLARE_ENV")
    .option(
      "--account-id <id>",
      "the account; default: account_id in the configuration file, else CLOUDFLARE_ACCOUNT_ID, else the token's only account",
      hexId,
    )
    .option(
      "-c, --config <path>",
      "the configuration file; default: the nearest wrangler.json, .jsonc or .toml, in this order",
    );
}

/** Adds the options for commands on one namespace. */
function selected(command: Command): Command {
  const one = (flags: string, what: string, others: string[]): Option =>
    new Option(flags, what).conflicts(others);
  return inProject(
    command
      .addOption(
        one("--binding <name>", "the namespace's binding in the configuration file", ["namespaceId"]),
      )
      .option("--namespace-id <id>", "the namespace's ID", hexId)
      .addOption(one("--title <title>", "the namespace's title in the account", ["namespaceId", "binding"]))
      .option("--preview", "the preview namespace of the binding or title, instead of production"),
  );
}

/** Adds the options for commands that delete. */
function confirmed(command: Command): Command {
  return command
    .option("-y, --yes", "don't ask for confirmation")
    .addOption(new Option("-f, --force", "the same as --yes").implies({ yes: true }));
}

/** Adds the options for commands on a namespace's entries. */
function onData(command: Command): Command {
  return selected(command)
    .addOption(new Option("--remote", "use the account's data (default)").conflicts("local"))
    .option("--local", "use the local API's data instead of the account's")
    .option(
      "--persist-to <directory>",
      "the local data's directory; default: .edgeguard/local-api next to the configuration file",
    );
}

function example(command: string): string {
  return `\nExample:\n  $ edgeguard ${command}`;
}

const seconds = wholeNumber(0, undefined, "of seconds");

function ttl(text: string): number {
  const time = seconds(text);
  if (time >= KV.MIN_TTL_SECONDS) return time;
  throw new InvalidArgumentError(`TTL must be at least ${KV.MIN_TTL_SECONDS} seconds.`);
}

const COLON_FORM = /^kv:(namespace|key|bulk)$/;

/** Replaces `kv:key` and similar by `kv key`, the form that Wrangler has used since 3.60.0. */
export function modernized(args: readonly string[], io: Io): readonly string[] {
  const [first = "", ...rest] = args;
  const group = COLON_FORM.exec(first)?.[1];
  if (group === undefined) return args;
  printToStderr(io, `edgeguard: "${first}" is deprecated and will be removed. Use "kv ${group}".`);
  return ["kv", group, ...rest];
}
