import { join, resolve } from "node:path";
import { rm } from "node:fs/promises";
import { ApiError, CancelledError } from "../api/errors";
import { Staging } from "../import/staging";
import { formatNumber } from "../limits/workers";
import { digestOf } from "../basics/digest";
import { inOrder } from "../kv/in-order";
import type { Host } from "../runtime/host";
import { withMachineLock } from "../runtime/machine-lock";
import { codeOf } from "../basics/files";
import { applying, firstOf, pluralize } from "../basics/words";
import { CommandError, InterruptedError, UnfinishedError, UsageError } from "../terminal/errors";
import type * as InventoryFile from "../page-shield/inventory/file";
import type * as Judge from "../page-shield/inventory/judge";
import { makeFolder, readText } from "../terminal/files";
import { printToStderr, type Io } from "../terminal/io";
import type { StatusLine } from "../terminal/status-line";
import { VERSION } from "../version";
import { Cells } from "./cells";
import { linesOf, type TaskRow } from "./equal-tasks";
import { Journal } from "./journal";
import type { Head, Zone } from "./model";
import type { SurveyOptions } from "./options";
import { durationText, forecast, ratesFor } from "./pace";
import { PaymentPages } from "./payment-pages";
import { readAccount } from "./read-account";
import { eventReader } from "./read-events";
import { readZone, type Reading } from "./read-zone";
import { readStacks, type Stacks } from "./stacks";
import { headOf, MOST_FIRST } from "./totals";
import { FILE_NAMES, writeFiles } from "./write";
import { listZones } from "./zones";

/** How long to wait for another survey that uses the same journal. It's short, because that survey may take hours. */
const LOCK_MS = 1_000;

const JOURNAL = ".edgeguard-survey.jsonl";

/** How many zones are read at the same time. A zone takes several requests, so more wouldn't be faster. */
const AT_ONCE = 4;

/**
 * Reads zones and their accounts, and writes the survey's files. Changes nothing through the API. If the survey ends
 * early, its journal is kept, and `--resume` continues from there.
 */
export async function survey(io: Io, options: SurveyOptions): Promise<void> {
  const staging = new Staging(io.cwd, options.out, options.force);
  staging.refuseExisting(...FILE_NAMES);
  const wanted = options.zones === undefined ? undefined : await readZoneFile(io, options.zones);
  const stacks = await readStacks(io, options.stack);
  const inventory = options.inventory === undefined ? undefined : readApprovals(io, options.inventory);
  const paymentPages = new PaymentPages(options.paymentPages, inventory?.isListed);
  const path = join(resolve(io.cwd, options.out), JOURNAL);
  const open = async (host: Host): Promise<Journal> => {
    const beginning = {
      tool: `pulumi-edgeguard ${VERSION}`,
      options: digestOf([
        host.settings.baseUrl,
        options.account ?? null,
        wanted ?? null,
        options.paymentPages,
        inventory?.sha256 ?? null,
      ]),
    };
    if (options.resume) return await Journal.resume(path, beginning);
    makeFolder(staging.folder);
    return await Journal.create(path, { ...beginning, at: new Date().toISOString() });
  };
  await staging.use(io, { account: options.account }, async (host, status, stop) => {
    const ctx = host.context("survey");
    const lock = { pause: (ms: number) => ctx.pause(ms), say: host.say, patienceMs: LOCK_MS };
    await withMachineLock(path, lock, async () => {
      const journal = await open(host);
      try {
        const given = { host, journal, stacks, inventory, paymentPages, options, wanted, status };
        const head = await collect(io, given);
        status.show("writing the files");
        await writeFiles(staging, head, () => zonesIn(journal, stacks));
        const files = await staging.finish(io.cwd, []);
        await rm(path);
        status.clear();
        for (const line of summary(head, files, stacks)) printToStderr(io, line);
      } catch (error) {
        status.clear();
        throw ended(error, journal, stop.aborted);
      } finally {
        await journal.close();
      }
    });
  });
}

interface Collecting {
  readonly host: Host;
  readonly journal: Journal;
  readonly stacks: Stacks | undefined;
  readonly inventory: Reading["inventory"];
  readonly paymentPages: PaymentPages;
  readonly options: SurveyOptions;
  /** The IDs and names of the zones to read. Undefined for all zones. */
  readonly wanted: readonly string[] | undefined;
  readonly status: StatusLine;
}

/** Reads everything that isn't in the journal yet. */
async function collect(
  io: Io,
  { host, journal, stacks, inventory, paymentPages, options, wanted, status }: Collecting,
): Promise<Head> {
  const { api } = host;
  const { budget } = options;
  let { scope } = journal;
  if (scope === undefined) {
    status.show("listing the zones");
    api.limitRate(...ratesFor(0, budget));
    const account = options.account ?? host.settings.accountId;
    scope = await journal.begin(await listZones(api, { account, wanted }));
  }
  const { zones, accounts } = scope;
  const unread = zones.filter(({ id }) => !journal.has(id));
  status.clear();
  printToStderr(io, `edgeguard: ${forecast(zones.length, unread.length, budget)}.`);
  api.limitRate(...ratesFor(unread.length, budget));

  const cells = new Cells(host.redact);
  for (const account of accounts.filter(({ id }) => !journal.accounts.has(id))) {
    status.show(`reading account ${account.id}`);
    await journal.addAccount(await readAccount({ host, cells }, account));
  }
  const eventsOf =
    host.settings.trafficHours === 0
      ? undefined
      : eventReader(
          host,
          unread.map(({ id }) => id),
        );
  const reading: Reading = { host, cells, accounts: journal.accounts, paymentPages, inventory, eventsOf };
  const [began, sent] = [performance.now(), api.sent];
  let read = 0;
  for await (const zone of inOrder(unread, AT_ONCE, (listed) => readZone(reading, listed))) {
    await journal.addZone(zone);
    read += 1;
    const ms = performance.now() - began;
    const rate = ((api.sent - sent) / (ms / 1000)).toFixed(1);
    const left = unread.length - read;
    const time = durationText((ms / read) * left);
    status.show(
      `${formatNumber(zones.length - left)} of ${formatNumber(zones.length)} zones, ${rate} requests/s, ${time} left`,
    );
  }
  return await headOf(
    {
      at: journal.beginning.at,
      accounts: accounts
        .flatMap(({ id }) => journal.accounts.get(id) ?? [])
        .map((each) => stacks?.markAccount(each) ?? each),
      stacks: stacks?.names ?? [],
      paymentPages: [...options.paymentPages],
    },
    zonesIn(journal, stacks),
  );
}

/** Yields the zones that have been read, marked with the stacks that manage their objects. */
async function* zonesIn(journal: Journal, stacks: Stacks | undefined): AsyncGenerator<Zone, void, undefined> {
  for await (const zone of journal.zones()) yield stacks?.markZone(zone) ?? zone;
}

async function readZoneFile(io: Io, file: string): Promise<string[]> {
  const text = await readText(io, file, `the list of zones in ${file}`);
  const names = text
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, "").trim().toLowerCase())
    .filter((line) => line !== "");
  if (names.length === 0)
    throw new UsageError(`--zones ${file} lists no zones. Write one ID or name per line.`);
  return [...new Set(names)];
}

interface Approvals extends NonNullable<Reading["inventory"]> {
  readonly sha256: string;
  readonly isListed: (url: string) => boolean;
}

function readApprovals(io: Io, file: string): Approvals {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: with the Pulumi SDK, it doubles the memory
  const { readInventory } = require("../page-shield/inventory/file") as typeof InventoryFile;
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- as above
  const judge = require("../page-shield/inventory/judge") as typeof Judge;
  const inventory = readInventory(resolve(io.cwd, file), file);
  const find = judge.entryFinder(inventory);
  const now = new Date();
  return {
    sha256: inventory.sha256,
    isApproved: judge.approver(inventory, now),
    isFalsePositive: (script) => judge.isFalsePositive(find(script.url), script, now),
    isListed: (url) => find(url) !== undefined,
  };
}

/** Converts the error that ended the survey early to one that says how to continue. */
function ended(error: unknown, journal: Journal, isInterrupted: boolean): unknown {
  const total = journal.scope?.zones.length;
  const how =
    total === undefined
      ? "No zones have been read yet. To continue, pass --resume."
      : `Kept the results for ${formatNumber(journal.zoneCount)} of ${pluralize(total, "zone")}. To continue, pass --resume.`;
  if (isInterrupted && error instanceof CancelledError) return new InterruptedError(`interrupted. ${how}`);
  const failed =
    codeOf(error) === undefined
      ? error
      : new CommandError(
          `a file can't be written: ${String(error)}. Check that the disk isn't full and the directory is writable.`,
        );
  return error instanceof ApiError || failed !== error ? new UnfinishedError(failed, how) : error;
}

function summary(head: Head, files: readonly string[], stacks: Stacks | undefined): string[] {
  const { missingRights, first, totals } = head;
  const { managed = 0, unmanaged = 0 } = totals["managed"] ?? {};
  return applying(
    `edgeguard: wrote ${files.join(", ")}: ${pluralize(head.zoneCount, "zone")}.`,
    missingRights.length > 0 && "Not readable with this token:",
    ...missingRights.map((each) => `  - ${each.where}: ${scopeText(each)}`),
    first.length > 0 && "What to do first:",
    ...first.slice(0, SHOWN).flatMap(taskLines),
    first.length > SHOWN &&
      `  - and ${first.length < MOST_FIRST ? "" : "at least "}${first.length - SHOWN} more, which survey.html lists`,
    stacks !== undefined && managedLine(managed, unmanaged),
  );
}

function taskLines(row: TaskRow): string[] {
  const names = row.zones.map(({ name }) => name);
  const all = firstOf(names, NAMED);
  const zones = row.zoneCount === 1 ? all : `${pluralize(row.zoneCount, "zone")} (${all})`;
  return [`  - ${zones}: ${row.text}`, ...linesOf(row).map((line) => `      ${line}`)];
}

/** A row names this many zones. */
const NAMED = 3;

function managedLine(managed: number, unmanaged: number): string {
  const start = `Pulumi manages ${pluralize(managed, "object")}`;
  if (unmanaged === 0) return `${start}; the survey found none that aren't managed.`;
  const [verb, object] = unmanaged === 1 ? ["isn't", "it"] : ["aren't", "those"];
  return `${start}, and ${formatNumber(unmanaged)} ${verb} managed. To import ${object}, run the \`edgeguard import\` commands in survey.json. These write all of a zone's objects, and those that a stack manages already don't belong in the new program.`;
}

const SHOWN = 5;

function scopeText({ zones, accounts }: Head["missingRights"][number]): string {
  return applying(zones > 0 && pluralize(zones, "zone"), accounts > 0 && pluralize(accounts, "account")).join(
    ", ",
  );
}
