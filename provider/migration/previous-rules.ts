import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { missingPermission } from "../api/credential";
import { ApiError } from "../api/errors";
import { byPage } from "../api/pages";
import { MIGRATION } from "../limits";
import { RetiredError } from "./api";

/**
 * The parts of a zone's previous rules that matter for its migration. Cloudflare is removing these API paths, and the
 * migration guide doesn't cover firewall rules and page rules. Data that can't be read is reported, never guessed.
 */

/** A list, or the reason why it couldn't be read. `isGone` if Cloudflare has removed the path (410). */
export type Listing<T> =
  { readonly items: readonly T[] } | { readonly unread: string; readonly isGone?: boolean };

export interface PreviousRules {
  readonly packages: Listing<Package>;
  /** Groups in the OWASP package that are off or contain changed rules. */
  readonly owaspGroups: Listing<Group>;
  /** Rules of the OWASP package that are off. */
  readonly owaspRules: Listing<Rule>;
  /** The zone's URI-based overrides. */
  readonly overrides: Listing<Override>;
  readonly firewallRules: Listing<FirewallRule>;
  readonly pageRules: Listing<PageRule>;
}

const text = z.string().nullish();

const packageWire = z.looseObject({
  id: z.string(),
  name: text,
  detection_mode: text,
  sensitivity: text,
  action_mode: text,
});
export type Package = z.infer<typeof packageWire>;

const group = z.looseObject({
  id: z.string(),
  name: text,
  mode: text,
  modified_rules_count: z.number().nullish(),
});
export type Group = z.infer<typeof group>;

const rule = z.looseObject({ id: z.string(), mode: text, default_mode: text });
export type Rule = z.infer<typeof rule>;

const override = z.looseObject({ id: z.string(), urls: z.array(z.string()).nullish() });
export type Override = z.infer<typeof override>;

const firewallRule = z.looseObject({
  id: z.string(),
  action: text,
  products: z.array(z.string()).nullish(),
  expression: text,
  filter: z.looseObject({ expression: text }).nullish(),
});
export type FirewallRule = z.infer<typeof firewallRule>;

const pageRule = z.looseObject({
  id: z.string(),
  status: text,
  targets: z.array(z.looseObject({ constraint: z.looseObject({ value: text }).nullish() })).nullish(),
  actions: z.array(z.looseObject({ id: z.string(), value: z.unknown().optional() })).nullish(),
});
export type PageRule = z.infer<typeof pageRule>;

/**
 * Reads the zone's previous settings, overrides, firewall rules and page rules. If Cloudflare rejects a request, that
 * list is reported as unread.
 *
 * @throws RetiredError if Cloudflare has removed all paths of the previous WAF. One of them alone proves nothing.
 * @param onlyBlockers whether to read only the lists that can block the migration. The others are then empty.
 */
export async function readPreviousRules(
  api: EdgeApi,
  zone: string,
  onlyBlockers = false,
): Promise<PreviousRules> {
  const root = `/zones/${zone}`;
  const pages = async <T extends { readonly id: string }>(
    path: string,
    noun: string,
    schema: z.ZodType<T>,
  ): Promise<T[]> => {
    const items: T[] = [];
    const what = `Listing the ${noun} of zone ${zone}`;
    const list = byPage(api, root + path, {
      what,
      record: schema,
      complete: true, // Must be complete: nobody could confirm what the findings leave out.
      perPage: MIGRATION.MAX_PER_PAGE,
      key: ({ id }) => id,
    });
    for await (const item of list) items.push(item);
    return items;
  };
  const owasp = async (): Promise<Pick<PreviousRules, "packages" | "owaspGroups" | "owaspRules">> => {
    if (onlyBlockers) return { packages: NONE, owaspGroups: NONE, owaspRules: NONE };
    const packages = await listing(() => pages("/firewall/waf/packages", "previous packages", packageWire));
    if ("unread" in packages) return { packages, owaspGroups: packages, owaspRules: packages };
    const id = packages.items.find(isOwasp)?.id;
    if (id === undefined) return { packages, owaspGroups: NONE, owaspRules: NONE };
    const path = `/firewall/waf/packages/${id}`;
    const groups = await listing(() => pages(`${path}/groups`, "previous OWASP groups", group));
    const rules = await listing(() => pages(`${path}/rules`, "previous OWASP rules", rule));
    return {
      packages,
      owaspGroups: only(groups, isChangedGroup),
      owaspRules: only(rules, isChangedRule),
    };
  };
  const [scored, overrides, firewallRules, pageRules] = await Promise.all([
    owasp(),
    listing(() => pages("/firewall/waf/overrides", "URI-based overrides", override)),
    undocumented(() => pages("/firewall/rules", "firewall rules", firewallRule)),
    undocumented(async () => {
      if (onlyBlockers) return [];
      const what = `Listing the page rules of zone ${zone}`;
      return (await api.list(`${root}/pagerules`, { what, record: pageRule, complete: true })).records;
    }),
  ]);
  const asked = [...(onlyBlockers ? [] : [scored.packages]), overrides, firewallRules];
  if (asked.every((list) => "isGone" in list && list.isGone))
    throw new RetiredError(`Cloudflare has removed the previous rules of zone ${zone}.`);
  return { ...scored, overrides, firewallRules, pageRules };
}

const NONE = { items: [] };

/**
 * Reads a list. If Cloudflare rejects the request, returns the reason. Throws after any other failure, because a list
 * that's missing only temporarily would look like a change.
 */
async function listing<T>(read: () => Promise<T[]>): Promise<Listing<T>> {
  try {
    return { items: await read() };
  } catch (error) {
    const status = error instanceof ApiError ? (error.status ?? 0) : 0;
    if (status < 400 || status >= 500 || status === 408 || status === 429) throw error;
    return unread(error);
  }
}

/** Reads a list that Cloudflare's migration guide doesn't mention. After any failure, it counts as unread. */
async function undocumented<T>(read: () => Promise<readonly T[]>): Promise<Listing<T>> {
  try {
    return { items: await read() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return unread(error);
  }
}

function unread(error: unknown): Listing<never> {
  if (!(error instanceof ApiError) || error.status === undefined)
    return { unread: "Cloudflare gave no response", isGone: false };
  const right = missingPermission(error);
  const grant = right === undefined ? "" : `; grant the token ${right}`;
  return { unread: `Cloudflare returned ${error.status}${grant}`, isGone: error.status === 410 };
}

function only<T>(list: Listing<T>, wanted: (item: T) => boolean): Listing<T> {
  return "items" in list ? { items: list.items.filter(wanted) } : list;
}

export function isOwasp({ detection_mode, name }: Package): boolean {
  return detection_mode === "anomaly" || /owasp/i.test(name ?? "");
}

/** Whether a firewall rule bypasses the managed rules. Only such firewall rules are migrated. */
export function isMigrated({ action, products }: FirewallRule): boolean {
  return action === "bypass" && (products === null || products === undefined || products.includes("waf"));
}

export function expressionOf({ filter, expression }: FirewallRule): string {
  return filter?.expression ?? expression ?? "";
}

/** Whether an active page rule turns the previous rules on or off. Undefined if it does neither. */
export function switchOf({ status, actions }: PageRule): "on" | "off" | undefined {
  if (status === "disabled") return undefined;
  const off = actions?.some(
    ({ id, value }) => id === "disable_security" || (id === "waf" && value === "off"),
  );
  if (off === true) return "off";
  return actions?.some(({ id, value }) => id === "waf" && value === "on") === true ? "on" : undefined;
}

export function urlOf({ targets, id }: PageRule): string {
  return targets?.[0]?.constraint?.value ?? `page rule ${id}`;
}

function isChangedGroup({ mode, modified_rules_count }: Group): boolean {
  return mode === "off" || (modified_rules_count ?? 0) > 0;
}

function isChangedRule({ mode }: Rule): boolean {
  return mode !== "on" && mode !== "default";
}
