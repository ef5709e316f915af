import { join, resolve } from "node:path";
import { mkdir, rm } from "node:fs/promises";
import { ApiError, CancelledError } from "../api/errors";
import { Staging } from "../import/staging";
import { formatNumber } from "../limits/workers";
import { digestOf } from "../runtime/digest";
import type { Host } from "../runtime/host";
import { withMachineLock } from "../runtime/machine-lock";
import { pluralize } from "../runtime/values";
import { CommandError, InterruptedError, UnfinishedError, UsageError } from "../terminal/errors";
import { requireCredential } from "../terminal/failure";
import type * as InventoryFile from "../page-shield/inventory/file";
import type * as Judge from "../page-shield/inventory/judge";
import { hostOf } from "../terminal/host";
import { readText } from "../terminal/files";
import { printToStderr, type Io } from "../terminal/io";
import { StatusLine } from "../terminal/status-line";
import { VERSION } from "../version";
import { Cells } from "./cells";
import { Journal } from "./journal";
import type { Head } from "./model";
import type { SurveyOptions } from "./options";
import { durationText, forecast, ratesFor } from "./pace";
import { PaymentPages } from "./payment-pages";
import { readAccount } from "./read-account";
import { readZone, type Reading } from "./read-zone";
import { readStacks, type Stacks } from "./stacks";
import { headOf } from "./totals";
import { FILE_NAMES, writeFiles } from "./write";
import { listZones } from "./zones";

/** Another survey that uses the same journal isn't waited for. */
const LOCK_MS = 1_000;

const JOURNAL = ".edgeguard-survey.jsonl";

/** How many zones are read at the same time. Each takes several requests, so more wouldn't be faster. */
const ZONES_AT_ONCE = 4;

/**
 * Reads zones and their accounts, and writes what it finds. Changes nothing through the API. If it ends early, its
 * journal stays, and `--resume` goes on from there.
 */
export async function survey(io: Io, options: SurveyOptions): Promise<void> {
  const staging = new Staging(io.cwd, options.out, options.force);
  staging.refuseExisting(...FILE_NAMES);
  const wanted = options.zones === undefined ? undefined : await readZoneFile(io, options.zones);
  const stacks = await readStacks(io, options.stack);
  const inventory = options.inventory === undefined ? undefined : readApprovals(io, options.inventory);
  const stop = io.interrupted();
  const status = new StatusLine(io);
  const host = hostOf(io, options, stop, status);
  const path = join(resolve(io.cwd, options.out), JOURNAL);
  const open = async (): Promise<Journal> => {
    const beginning = {
      tool: `pulumi-edgeguard ${VERSION}`,
      options: digestOf([
        host.settings.baseUrl,
        options.account ?? null,
        wanted ?? null,
        stacks?.digest ?? null,
        options.paymentPages,
        inventory?.sha256 ?? null,
      ]),
    };
    if (options.resume) return await Journal.resume(path, beginning, host.redact);
    await mkdir(staging.folder, { recursive: true });
    return await Journal.create(path, { ...beginning, at: new Date().toISOString() }, host.redact);
  };
  try {
    requireCredential(host.settings);
    const ctx = host.context("survey");
    const lock = { pause: (ms: number) => ctx.pause(ms), say: host.say, patienceMs: LOCK_MS };
    await withMachineLock(path, lock, async () => {
      const journal = await open();
      try {
        const head = await collect(io, { host, journal, stacks, inventory, options, wanted, status });
        status.show("writing the files");
        await writeFiles(staging, head, () => journal.zones());
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
  } finally {
    status.clear();
    await staging.discard();
    await host.close();
  }
}

interface Collecting {
  readonly host: Host;
  readonly journal: Journal;
  readonly stacks: Stacks | undefined;
  readonly inventory: Approvals | undefined;
  readonly options: SurveyOptions;
  /** The IDs and names of the zones; undefined for all. */
  readonly wanted: readonly string[] | undefined;
  readonly status: StatusLine;
}

/** Reads what the journal doesn't have yet. */
async function collect(
  io: Io,
  { host, journal, stacks, inventory, options, wanted, status }: Collecting,
): Promise<Head> {
  const { api } = host;
  api.limitRate(...ratesFor(0, options.budget));
  if (journal.scope === undefined) {
    status.show("listing the zones");
    const account = options.account ?? host.settings.accountId;
    await journal.begin(await listZones(api, { account, wanted }));
  }
  const { zones, accounts } = journal.scope ?? { zones: [], accounts: [] };
  const left = zones.filter(({ id }) => !journal.has(id));
  status.clear();
  printToStderr(io, `edgeguard: ${forecast(zones.length, journal.zoneCount, options.budget)}.`);
  api.limitRate(...ratesFor(left.length, options.budget));

  const cells = new Cells(host.redact);
  const paymentPages = new PaymentPages(options.paymentPages);
  const reading: Reading = { host, cells, stacks, paymentPages, isApproved: inventory?.isApproved };
  for (const account of accounts) {
    if (journal.accounts.has(account.id)) continue;
    status.show(`reading account ${account.id}`);
    await journal.addAccount(await readAccount(reading, account));
  }
  const [began, sent] = [performance.now(), api.sent];
  let read = 0;
  await inParallel(left, ZONES_AT_ONCE, async (zone) => {
    await journal.addZone(await readZone(reading, zone));
    read += 1;
    const ms = performance.now() - began;
    const rate = ((api.sent - sent) / (ms / 1000)).toFixed(1);
    const remaining = durationText((ms / read) * (left.length - read));
    status.show(
      `${formatNumber(journal.zoneCount)} of ${formatNumber(zones.length)} zones, ${rate} requests/s, ${remaining} left`,
    );
  });
  if (left.length > 0 && !cells.anyGranted)
    throw new CommandError(
      "the token could read nothing in these zones. Check that it's valid, and grant it one of the permissions that `edgeguard survey --help` lists.",
    );
  return await headOf(
    {
      at: journal.beginning.at,
      accounts: accounts.flatMap(({ id }) => journal.accounts.get(id) ?? []),
      stacks: stacks?.names ?? [],
      paymentPages: [...options.paymentPages],
    },
    journal.zones(),
  );
}

/** Works through the items in order, some at a time. The first failure ends it, once those in progress have ended. */
async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: most }, worker));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
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

interface Approvals {
  readonly sha256: string;
  readonly isApproved: (url: string) => boolean;
}

function readApprovals(io: Io, file: string): Approvals {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: with the Pulumi SDK, it doubles the memory
  const { readInventory } = require("../page-shield/inventory/file") as typeof InventoryFile;
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- as above
  const { approver } = require("../page-shield/inventory/judge") as typeof Judge;
  const inventory = readInventory(resolve(io.cwd, file), file);
  return { sha256: inventory.sha256, isApproved: approver(inventory, new Date()) };
}

/** Turns whatever ended the survey early into an error that says how to go on. */
function ended(error: unknown, journal: Journal, isInterrupted: boolean): unknown {
  const total = journal.scope?.zones.length;
  const how =
    total === undefined
      ? "No zones have been read yet. To continue, pass --resume."
      : `Kept the results for ${formatNumber(journal.zoneCount)} of ${pluralize(total, "zone")}. To continue, pass --resume.`;
  if (isInterrupted && error instanceof CancelledError) return new InterruptedError(`interrupted. ${how}`);
  return error instanceof ApiError ? new UnfinishedError(error, how) : error;
}

function summary(head: Head, files: readonly string[], stacks: Stacks | undefined): string[] {
  const { missingRights, first, totals } = head;
  return [
    `edgeguard: wrote ${files.join(", ")}: ${pluralize(head.zoneCount, "zone")}.`,
    ...(missingRights.length === 0
      ? []
      : [
          "Not readable with this token:",
          ...missingRights.map(({ where, zones, accounts }) => `  - ${where}: ${scopeText(zones, accounts)}`),
        ]),
    ...(first.length === 0
      ? []
      : ["First:", ...first.slice(0, SHOWN).map(({ zone, text }) => `  - ${zone}: ${text}`)]),
    ...(stacks === undefined
      ? []
      : [
          `Pulumi manages ${formatNumber(totals["managed"]?.["managed"] ?? 0)} objects, and ${formatNumber(totals["managed"]?.["unmanaged"] ?? 0)} aren't managed. survey.json has the \`edgeguard import\` command for each zone.`,
        ]),
  ];
}

const SHOWN = 5;

function scopeText(zones: number, accounts: number): string {
  const parts = [
    ...(zones === 0 ? [] : [pluralize(zones, "zone")]),
    ...(accounts === 0 ? [] : [pluralize(accounts, "account")]),
  ];
  return parts.join(", ");
}
