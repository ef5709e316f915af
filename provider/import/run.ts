import { join, relative } from "node:path";
import { ApiError } from "../api/errors";
import { CommandError, UnfinishedError, UsageError } from "../terminal/errors";
import { printToStderr, type Io } from "../terminal/io";
import type { StatusLine } from "../terminal/status-line";
import type { Host } from "../runtime/host";
import { Drafter } from "./draft";
import { configScript, importFile } from "./import-file";
import { asksForNamespaces, type ImportOptions, type Product } from "./options";
import { format, installCommands } from "./tools";
import { typescriptProgram } from "./printing/typescript";
import { yamlProgram } from "./printing/yaml";
import { programOf, type Program } from "./program";
import { PROJECT, projectFor, type Project } from "./project";
import { asSentence, Inventory } from "./inventory";
import { readNamespaces } from "./reading/kv";
import { ENTRIES_FOLDER, readEntries } from "./reading/kv-entries";
import { readJobs, readTransformers } from "./reading/logpush";
import { readPageShield } from "./reading/page-shield";
import { PASS_ACCOUNT, readRulesets } from "./reading/rulesets";
import { verify } from "./verify";
import { SECRET_MODE, Staging } from "./staging";
import { summary, type Outcome } from "./summary";
import { PROGRAM_FILES, type Language, type Target } from "./target";
import type { Scope } from "../runtime/composite-id";
import { readOldState } from "./old-state/read";
import { Selection } from "./old-state/selection";
import { accountOf, readZone, type Account, type Zone } from "./zones";

const STATE = "import.json";
const CONFIG = "import-config.sh";

/**
 * Reads the objects of zones and an account. Writes a program that declares them and a file that imports them into a
 * stack. Changes nothing through the API.
 *
 * @throws CommandError if a read fails for a reason other than a plan or permission. In that case, nothing is written.
 */
export async function importExisting(io: Io, options: ImportOptions): Promise<void> {
  const staging = new Staging(io.cwd, options.out, options.force);
  const project = projectFor(io.cwd, staging.folder, options);
  const target: Target = { surface: options.for, language: project.language };
  staging.refuseExisting(PROGRAM_FILES[target.language], STATE);
  const unfinished = "Nothing was written.";
  const selection =
    options.from === undefined
      ? undefined
      : new Selection(await readOldState(io, options.from), options.withValues);
  await staging.use(io, { account: options.account, unfinished }, async (host, status) => {
    try {
      const everything = await readEverything(host, { ...options, selection }, staging, status);
      status.show("writing the program");
      const outcome = await write(io, everything, staging, project, target);
      status.clear();
      for (const line of summary(outcome)) printToStderr(io, line);
    } catch (error) {
      throw error instanceof ApiError ? new UnfinishedError(error, unfinished) : error;
    }
  });
}

interface ImportedParts {
  readonly inventory: Inventory;
  readonly zones: readonly Zone[];
  readonly accounts: readonly Account[];
}

async function readEverything(
  host: Host,
  options: ImportOptions & { readonly selection: Selection | undefined },
  staging: Staging,
  status: StatusLine,
): Promise<ImportedParts> {
  const { selection } = options;
  const inventory = new Inventory(host, (line) => status.show(line), selection);
  const wants = (product: Product, scope: Scope): boolean =>
    selection?.asksFor(product, scope) ?? options.only?.includes(product) ?? true;
  const byId = new Map<string, Zone>();
  for (const given of new Set(selection?.zones ?? options.zone)) {
    status.show(`reading zone ${given}`);
    const zone = await readZone(host, given, options.account);
    byId.set(zone.id, zone);
  }
  const zones = [...byId.values()];
  const accounts = selection?.accounts ?? accountsOf(host, options, zones);
  const ofRulesets: string[] = [];
  // Before the jobs, which may use them.
  const { account: given, only } = options;
  if (selection === undefined && given !== undefined && only?.includes("logpush") !== false)
    await readTransformers(inventory, accountOf(given));
  for (const zone of zones) {
    const scope = { kind: "zone", id: zone.id } as const;
    if (wants("page-shield", scope)) await readPageShield(inventory, zone);
    if (wants("rulesets", scope)) {
      const account = zone.accountId ?? host.settings.accountId;
      await readRulesets(inventory, scope, zone.what, account);
      if (account !== undefined) ofRulesets.push(account);
    }
    if (wants("logpush", scope)) await readJobs(inventory, scope, zone.what);
  }
  for (const account of accounts.map(accountOf)) {
    const scope = { kind: "account", id: account.id } as const;
    if (options.account !== undefined || selection !== undefined) {
      if (wants("rulesets", scope)) await readRulesets(inventory, scope, account.what, account.id);
      if (wants("logpush", scope)) await readJobs(inventory, scope, account.what);
    }
    const namespaces = wants("kv", scope) ? await readNamespaces(inventory, account) : [];
    if (options.withValues) await readEntries(inventory, account, namespaces, staging);
  }
  const [first] = inventory.skipped;
  if (inventory.parts.length === 0 && first !== undefined)
    throw new CommandError(`nothing could be read, and nothing was written. ${asSentence(first.reason)}`);
  return { inventory, zones, accounts: [...new Set([...accounts, ...ofRulesets])].map(accountOf) };
}

/**
 * Returns the accounts to read: the given one. If none is given and the options ask for namespaces, returns the
 * accounts that own the zones or, without zones, the environment's account.
 */
function accountsOf(host: Host, options: ImportOptions, zones: readonly Zone[]): readonly string[] {
  if (options.account !== undefined) return [options.account];
  if (!asksForNamespaces(options)) return [];
  const own = zones.flatMap(({ accountId }) => accountId ?? []);
  const known = own.length > 0 ? own : [host.settings.accountId ?? []].flat();
  if (known.length === 0) throw new UsageError(`Workers KV namespaces belong to an account. ${PASS_ACCOUNT}`);
  return [...new Set(known)];
}

async function write(
  io: Io,
  { inventory, zones, accounts }: ImportedParts,
  staging: Staging,
  project: Project,
  target: Target,
): Promise<Outcome> {
  const drafting = new Drafter(target, inventory.found, zones, accounts);
  const declarable = await verify(inventory, drafting);
  const { declared: verified, leaving } = inventory.selection?.handOver(declarable) ?? {
    declared: declarable,
    leaving: [],
  };
  if (verified.length === 0) return { inventory, verified, leaving, written: undefined };
  const program = programOf(target.surface, drafting, verified, inventory.leftOut);
  const unformatted = await writeProgram(program, target.language, staging, io.cwd);
  if (project.text !== undefined) await staging.write(PROJECT, project.text);
  await staging.write(STATE, importFile(target.surface, verified), SECRET_MODE);
  const script = configScript(verified);
  if (script !== undefined) await staging.write(CONFIG, script, SECRET_MODE);
  const ignored = [
    ...(project.text === undefined ? [] : ["/node_modules/"]),
    `/${STATE}`,
    ...(script === undefined ? [] : [`/${CONFIG}`]),
    ...(staging.has(ENTRIES_FOLDER) ? [`/${ENTRIES_FOLDER}/`] : []),
  ];
  const files = await staging.finish(io.cwd, ignored);
  return {
    inventory,
    verified,
    leaving,
    written: {
      files,
      folder: relative(io.cwd, staging.folder),
      project,
      installs: installCommands(staging.folder, target),
      unformatted,
    },
  };
}

/** @returns why the program isn't formatted. Undefined if it is. */
async function writeProgram(
  program: Program,
  language: Language,
  staging: Staging,
  cwd: string,
): Promise<string | undefined> {
  const file = PROGRAM_FILES[language];
  const { text, unformatted } =
    language === "yaml"
      ? { text: yamlProgram(program) }
      : await format(typescriptProgram(program), join(staging.folder, file), [staging.folder, cwd]);
  await staging.write(file, text);
  return unformatted;
}
