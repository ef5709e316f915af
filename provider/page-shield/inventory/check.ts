import { z } from "zod";
import { ApiError } from "../../api/errors";
import { ID, type LiteralUnion } from "../../runtime/fields";
import type { Host } from "../../runtime/host";
import { describe } from "../../basics/json";
import { ask, LookupError, readArgs, unlessSkipped, type LookupOptions } from "../../runtime/lookup";
import { pluralize } from "../../basics/words";
import type { Script } from "../records";
import { filterShape, listDetected, readSettings, SCRIPTS } from "../wire";
import { parseThreshold } from "../threshold";
import type { MaliciousOptions } from "../malicious";
import { readScriptInventory, type ScriptInventory } from "./file";
import { judgeInventory, newestOf, type ZoneReading } from "./judge";
import type { InventoryCheck } from "./model";
import { daysBetween, STALE_DAYS } from "./requirements";

/** Arguments of `checkScriptInventory`. */
export interface CheckScriptInventoryArgs extends MaliciousOptions {
  /** The inventory, or its file's path, relative to the working directory. */
  readonly inventory: ScriptInventory | string;
  /** The IDs of the zones to check (32 hex digits each). */
  readonly zoneIds: readonly string[];
  /** Compares only scripts seen on these hosts; `*` at the start or end matches anything. By default, all hosts. */
  readonly hosts?: string | readonly string[];
  /**
   * Reports an approval as a finding if it expires in fewer than this many days. `0` turns that off.
   *
   * @defaultValue `14`
   */
  readonly expiringDays?: number;
}

/** Arguments of `assertScriptInventory`. */
export interface AssertScriptInventoryArgs extends CheckScriptInventoryArgs {
  /**
   * What happens if there are findings: `"fail"` fails the preview and the update, `"warn"` shows a warning.
   *
   * @defaultValue `"fail"`
   */
  readonly onFindings?: LiteralUnion<"fail" | "warn">;
}

/** Thrown if scripts don't match the inventory. The message lists the findings. */
export class ScriptInventoryError extends LookupError {
  override readonly name = "ScriptInventoryError";

  constructor(
    message: string,
    /** The complete result. */
    readonly check: InventoryCheck,
  ) {
    super(message);
  }
}

/** The default of `expiringDays`: an approval that expires in fewer days is a finding. */
const EXPIRING_DAYS = 14;

/**
 * Compares a script inventory with the active and infrequent scripts that Page Shield has seen.
 *
 * Findings don't make it fail: see `passed`. It's also a finding if a zone can't be read, if Page Shield is turned off,
 * or if nothing was seen on the zone's pages, ever or in the last seven days. The command `edgeguard inventory check` does the same.
 *
 * @example A test that fails when a page loads an unapproved script
 * ```ts
 * import { checkScriptInventory } from "pulumi-edgeguard";
 *
 * async function everyScriptIsApproved(): Promise<void> {
 *   const { findings } = await checkScriptInventory({
 *     inventory: "script-inventory.yaml",
 *     zoneIds: ["0da42c8d2132a9ddaf714f9e7c920711"],
 *   });
 *   if (findings.length > 0) throw new Error(findings.map(({ message }) => message).join("\n"));
 * }
 * void everyScriptIsApproved();
 * ```
 *
 * @example Check only the payment pages
 * ```ts
 * import { checkScriptInventory } from "pulumi-edgeguard";
 *
 * export const check = checkScriptInventory({
 *   inventory: "script-inventory.yaml",
 *   zoneIds: ["0da42c8d2132a9ddaf714f9e7c920711"],
 *   hosts: ["checkout.shop.example"],
 * });
 * ```
 *
 * @throws `LookupError` if an argument or the inventory is invalid.
 * @throws If there are no credentials.
 * @see https://developers.cloudflare.com/client-side-security/detection/
 * @see `GET /zones/{zone_id}/page_shield`
 * @see `GET /zones/{zone_id}/page_shield/scripts`
 */
export function checkScriptInventory(
  args: CheckScriptInventoryArgs,
  opts: LookupOptions = {},
): Promise<InventoryCheck> {
  return ask(opts, (host) => runCheck(host, "checkScriptInventory", args));
}

/**
 * Fails the preview and the update, or warns, if a zone's scripts don't match a script inventory.
 *
 * Without credentials, an update fails and a preview warns. To stop a program before it declares any resources, await
 * the assertion.
 *
 * @example Stop an update as long as a script isn't approved
 * ```ts
 * import { assertScriptInventory } from "pulumi-edgeguard";
 *
 * void assertScriptInventory({
 *   inventory: "script-inventory.yaml",
 *   zoneIds: ["0da42c8d2132a9ddaf714f9e7c920711"],
 * });
 * ```
 *
 * @example Only warn
 * ```ts
 * import { assertScriptInventory } from "pulumi-edgeguard";
 *
 * void assertScriptInventory({
 *   inventory: "script-inventory.yaml",
 *   zoneIds: ["0da42c8d2132a9ddaf714f9e7c920711"],
 *   onFindings: "warn",
 * });
 * ```
 *
 * @throws `ScriptInventoryError` with the findings. In a program, the engine shows its message.
 * @throws `LookupError` if an argument or the inventory is invalid.
 * @see https://developers.cloudflare.com/client-side-security/detection/
 * @see `GET /zones/{zone_id}/page_shield/scripts`
 */
export function assertScriptInventory(
  args: AssertScriptInventoryArgs,
  opts: LookupOptions = {},
): Promise<void> {
  const what = "assertScriptInventory";
  return ask(opts, async (host) => {
    const { onFindings = "fail", ...rest } = args;
    if (!["fail", "warn"].includes(onFindings))
      throw new LookupError(`${what}: onFindings must be "fail" or "warn", not ${describe(onFindings)}.`);
    const check = await unlessSkipped(host, what, () => runCheck(host, what, rest), undefined);
    if (check === undefined || check.passed) return;
    const message = host.presentable(findingsMessage(check));
    if (onFindings === "fail") throw new ScriptInventoryError(message, check);
    host.say.warn(message);
  });
}

const SHOWN_FINDINGS = 20;

function findingsMessage({ inventory, findings }: InventoryCheck): string {
  const lines = findings
    .slice(0, SHOWN_FINDINGS)
    .map(({ kind, zoneId, url, message }) => `  ${kind}: ${url ?? `zone ${zoneId}:`} ${message}`);
  const more = findings.length - lines.length;
  const rest = more > 0 ? [`  and ${more} more. For the full list, run \`edgeguard inventory check\``] : [];
  const found = pluralize(findings.length, "finding");
  return `the scripts don't match ${inventory.file} (${found}):\n${[...lines, ...rest].join("\n")}`;
}

const shape = {
  zoneIds: z.array(ID.zone).min(1, "is empty. List at least one zone ID"),
  hosts: filterShape.hosts,
  expiringDays: z
    .number()
    .refine((days) => Number.isInteger(days) && days >= 0, {
      error: ({ input }) => `must be a whole number of days, 0 or more, not ${describe(input)}`,
    })
    .optional(),
};

/** @param what the calling function's name, for messages. */
export async function runCheck(
  host: Host,
  what: string,
  { inventory: given, threshold, ...rest }: CheckScriptInventoryArgs,
): Promise<InventoryCheck> {
  const below = parseThreshold(threshold);
  const { zoneIds, hosts, expiringDays = EXPIRING_DAYS } = readArgs(what, shape, rest);
  const inventory = typeof given === "string" ? readScriptInventory(given) : given;
  const zones = await readZones(host, zoneIds, hosts);
  return judgeInventory(inventory, zones, {
    now: new Date(),
    threshold: below,
    expiringDays,
    hosts: hosts?.split(","),
  });
}

/** Reads each zone once. If one can't be read, the result says why, and the others are still read. */
export function readZones(
  host: Host,
  zoneIds: readonly string[],
  hosts: string | undefined,
): Promise<ZoneReading[]> {
  return Promise.all([...new Set(zoneIds)].map((zoneId) => readZone(host, zoneId, hosts)));
}

async function readZone(host: Host, zoneId: string, hosts: string | undefined): Promise<ZoneReading> {
  try {
    const { settings } = await readSettings(host.api, zoneId);
    const scripts = await listDetected(host.api, SCRIPTS, {
      zoneId,
      hosts,
      status: "active,infrequent",
      filters: SCRIPTS.includeAll,
      complete: true, // A script that's left out would pass unseen.
    });
    const seen = scripts.length === 0 ? nothingSeen(hosts) : staleness(scripts, host.api.now());
    const problem = settings.enabled ? seen : OFF;
    return { zoneId, scripts, ...(problem && { problem }) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { zoneId, scripts: [], problem: { kind: "not read", message: host.presentable(error.message) } };
  }
}

const OFF = {
  kind: "off",
  message:
    "Page Shield is off, so it sees no new scripts. Turn it on with PageShieldSettings or in the dashboard.",
} as const;

/** Returns a problem if none of the detections is recent, because the check then says nothing about today's pages. */
function staleness(scripts: readonly Script[], now: number): ZoneReading["problem"] {
  const newest = newestOf(scripts.map(({ lastSeenAt }) => lastSeenAt));
  if (newest === undefined) return undefined;
  const days = daysBetween(newest, now);
  if (days <= STALE_DAYS) return undefined;
  return {
    kind: "stale",
    message: `Page Shield last saw a script ${days} days ago, on ${newest.slice(0, 10)}; after ${STALE_DAYS} days, detections are stale. Check that the zone's traffic goes through Cloudflare, and wait until visitors have loaded its pages.`,
  };
}

function nothingSeen(hosts: string | undefined): NonNullable<ZoneReading["problem"]> {
  const message =
    hosts === undefined
      ? "Page Shield has seen no scripts. Wait until visitors have loaded the zone's pages, or leave out the zone."
      : `Page Shield has seen no scripts on ${hosts.replaceAll(",", ", ")}. Check the hosts, or wait until visitors have loaded their pages.`;
  return { kind: "nothing seen", message };
}
