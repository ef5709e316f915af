import { join, relative } from "node:path";
import { ApiError, CancelledError } from "../api/errors";
import { CommandError, InterruptedError, UnfinishedError, UsageError } from "../terminal/errors";
import { printToStderr, type Io } from "../terminal/io";
import { requireCredential, withVariables } from "../terminal/failure";
import { StatusLine } from "../terminal/status-line";
import { Host } from "../runtime/host";
import { Drafting } from "./draft";
import { configScript, importFile } from "./import-file";
import { asksForNamespaces, type ImportOptions, type Product } from "./options";
import { compileProblems, formatted, isInstalled } from "./peers";
import { programText } from "./program";
import { newProject, PROJECT } from "./project";
import { ended, Reading } from "./reading";
import { readNamespaces } from "./reading/kv";
import { ENTRIES_FOLDER, readEntries } from "./reading/kv-entries";
import { readJobs } from "./reading/logpush";
import { readPageShield } from "./reading/page-shield";
import { GIVE_ACCOUNT, readRulesets } from "./reading/rulesets";
import { settle } from "./settle";
import { SECRET_MODE, Staging } from "./staging";
import { summary, type Outcome } from "./summary";
import { accountOf, readZone, type Account, type Zone } from "./zones";

const PROGRAM = "index.ts";
const STATE = "import.json";
const CONFIG = "import-config.sh";

/**
 * Reads what zones and an account have, and writes a program that declares it with a file that imports it into a stack.
 * Sends nothing that changes anything.
 *
 * @throws CommandError when something could not be read for another reason than a plan or a permission; nothing was written.
 */
export async function importExisting(io: Io, options: ImportOptions): Promise<void> {
  const staging = new Staging(io.cwd, options.out, options.force);
  const project = newProject(io.cwd, staging.folder, options.project);
  staging.demandFree(PROGRAM, STATE);
  const stop = io.interrupted();
  const status = new StatusLine(io);
  const host = hostOf(io, options, stop, status);
  try {
    requireCredential(host.settings);
    const everything = await readEverything(host, options, staging, status);
    status.show("writing the program");
    const outcome = await write(io, everything, staging, project);
    status.clear();
    for (const line of summary(outcome)) printToStderr(io, line);
  } catch (error) {
    status.clear();
    if (stop.aborted && error instanceof CancelledError)
      throw new InterruptedError("interrupted. Nothing was written.");
    throw error instanceof ApiError ? new UnfinishedError(error, "Nothing was written.") : error;
  } finally {
    await staging.discard();
    await host.close();
  }
}

function hostOf(io: Io, { account }: ImportOptions, closing: AbortSignal, status: StatusLine): Host {
  const config = new Map(account === undefined ? [] : [["edgeguard:accountId", account]]);
  const warn = (line: string): void => {
    status.clear();
    printToStderr(io, withVariables(line));
  };
  // What a resource says about its reading is meant for a stack; of interest here are warnings.
  const out = { info: () => undefined, warn };
  return new Host({ config: (key) => config.get(key), env: io.env, out, closing });
}

interface Everything {
  readonly reading: Reading;
  readonly zones: readonly Zone[];
  readonly accounts: readonly Account[];
}

async function readEverything(
  host: Host,
  options: ImportOptions,
  staging: Staging,
  status: StatusLine,
): Promise<Everything> {
  const reading = new Reading(host, (line) => status.show(line));
  const wants = (product: Product): boolean => options.only?.includes(product) ?? true;
  const zones: Zone[] = [];
  for (const id of new Set(options.zone)) {
    status.show(`reading zone ${id}`);
    zones.push(await readZone(host, id));
  }
  const accounts = accountsOf(host, options, zones);
  const ofRulesets: string[] = [];
  for (const zone of zones) {
    if (wants("page-shield")) await readPageShield(reading, zone);
    if (wants("rulesets")) {
      const account = zone.accountId ?? host.settings.accountId;
      await readRulesets(reading, zone, account);
      if (account !== undefined) ofRulesets.push(account);
    }
    if (wants("logpush")) await readJobs(reading, { kind: "zone", id: zone.id }, zone.what);
  }
  for (const account of accounts.map(accountOf)) {
    if (wants("logpush") && options.account !== undefined)
      await readJobs(reading, { kind: "account", id: account.id }, account.what);
    const namespaces = wants("kv") ? await readNamespaces(reading, account) : [];
    if (options.withValues) await readEntries(reading, account, namespaces, staging);
  }
  const [first] = reading.skipped;
  if (reading.parts.length === 0 && first !== undefined)
    throw new CommandError(`nothing could be read, and nothing was written. ${ended(first.reason)}`);
  return { reading, zones, accounts: [...new Set([...accounts, ...ofRulesets])].map(accountOf) };
}

/**
 * The accounts whose own objects are read: the one that was given, or where namespaces are asked for by name the zones'
 * own, else the environment's.
 */
function accountsOf(host: Host, options: ImportOptions, zones: readonly Zone[]): readonly string[] {
  if (options.account !== undefined) return [options.account];
  if (!asksForNamespaces(options)) return [];
  const own = zones.flatMap(({ accountId }) => accountId ?? []);
  const known = own.length > 0 ? own : [host.settings.accountId ?? []].flat();
  if (known.length === 0) throw new UsageError(`namespaces belong to an account. ${GIVE_ACCOUNT}`);
  return [...new Set(known)];
}

async function write(
  io: Io,
  { reading, zones, accounts }: Everything,
  staging: Staging,
  project: string | undefined,
): Promise<Outcome> {
  const drafting = new Drafting(reading.found, zones, accounts);
  const settled = await settle(reading, drafting);
  if (settled.length === 0) return { reading, settled, written: undefined };
  const folders = [staging.folder, io.cwd];
  const plain = programText(drafting, settled, reading.leftOut);
  const { text, unformatted } = await formatted(plain, join(staging.folder, PROGRAM), folders);
  await staging.write(PROGRAM, text);
  if (project !== undefined) await staging.write(PROJECT, project);
  await staging.write(STATE, importFile(settled), SECRET_MODE);
  const script = configScript(settled);
  if (script !== undefined) await staging.write(CONFIG, script, SECRET_MODE);
  const problems = compileProblems(await staging.place(PROGRAM), folders);
  const ignored = [
    ...(project === undefined ? [] : ["/node_modules/"]),
    `/${STATE}`,
    ...(script === undefined ? [] : [`/${CONFIG}`]),
    ...(staging.has(ENTRIES_FOLDER) ? [`/${ENTRIES_FOLDER}/`] : []),
  ];
  const files = await staging.finish(io.cwd, ignored);
  return {
    reading,
    settled,
    written: {
      files,
      folder: relative(io.cwd, staging.folder),
      isNewProject: project !== undefined,
      isInstalled: isInstalled(staging.folder),
      unformatted,
      problems,
    },
  };
}
