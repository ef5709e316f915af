import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { byPage } from "../api/pages";
import { PAGE_SHIELD } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { unlessForbidden } from "../runtime/live";
import { nearest } from "../runtime/nearest";
import { pluralize } from "../runtime/values";
import { coveredHosts } from "./covered-hosts";
import { allowsScript, parseCsp, type LoadedScript } from "./csp";
import { SCRIPTS } from "./detected";

/** What an enforced `allow` policy would block, as seen at the preview of the change. Each URL counts once. */
export interface WouldBlock {
  /** Active scripts on the pages the policy covers that it does not allow. */
  readonly count: number;
  /** Active scripts that Page Shield has seen on these pages. With 0, a `count` of 0 tells nothing. */
  readonly seen: number;
  /** The first five URLs of those it would block. */
  readonly scripts: readonly string[];
}

interface EnforcedPolicy {
  readonly zoneId: string;
  readonly description: string;
  readonly expression: string;
  /** CSP text. */
  readonly value: string;
}

const SHOWN_SCRIPTS = 5;
const SHOWN_HOSTS = 5;

/** Finds out what an enforced policy would block, and tells the reviewer. Undefined where nobody can tell. */
export async function computeWouldBlock(ctx: Context, args: EnforcedPolicy): Promise<WouldBlock | undefined> {
  const key = `active scripts of ${args.zoneId}`;
  const scripts = await ctx.once(key, () => unlessForbidden(ctx, () => activeScripts(ctx.api, args.zoneId)));
  if (scripts === undefined) return undefined;

  const policy = `policy ${JSON.stringify(args.description)}`;
  const hosts = coveredHosts(args.expression);
  const covered = scripts.filter(({ host }) => hosts?.has(host.toLowerCase()) ?? true);
  for (const sentence of unseenHostWarnings(args.zoneId, hosts, scripts))
    ctx.warnOnce(`${policy}: ${sentence}`);

  const directives = parseCsp(args.value);
  const verdicts = covered.map((script) => ({ script, isAllowed: allowsScript(directives, script) }));
  if (verdicts.some(({ isAllowed }) => isAllowed === undefined)) {
    ctx.warnOnce(`${policy}: with 'strict-dynamic', only a browser can tell which scripts it would block.`);
    return undefined;
  }
  const blocked = uniqueUrls(
    verdicts.flatMap(({ script, isAllowed }) => (isAllowed === false ? [script] : [])),
  );
  const found = {
    count: blocked.length,
    seen: uniqueUrls(covered).length,
    scripts: blocked.slice(0, SHOWN_SCRIPTS),
  };
  if (found.seen > 0) ctx.say.info(`${policy}: ${describeImpact(found, hosts)}`);
  return found;
}

async function activeScripts(api: EdgeApi, zone: string): Promise<LoadedScript[]> {
  const scripts: LoadedScript[] = [];
  const pages = byPage(api, `/zones/${zone}/page_shield/scripts`, {
    what: `Listing the scripts of zone ${zone}`,
    record: z.looseObject({ id: z.string(), url: z.string(), host: z.string() }),
    // By itself the API leaves out scripts that a policy would stop like any other.
    query: { status: "active", ...SCRIPTS.includeAll, ...PAGE_SHIELD.STEADY_ORDER },
    perPage: PAGE_SHIELD.MAX_PER_PAGE,
    key: ({ id }) => id,
  });
  for await (const { url, host } of pages) scripts.push({ url, host });
  return scripts;
}

function uniqueUrls(scripts: readonly LoadedScript[]): string[] {
  return [...new Set(scripts.map(({ url }) => url))].sort();
}

function describeImpact(
  { count, seen, scripts }: WouldBlock,
  hosts: ReadonlySet<string> | undefined,
): string {
  const where = hosts === undefined ? "the zone's pages" : firstHosts([...hosts]);
  const which = count === 0 ? "" : `: ${scripts.join(", ")}${count > scripts.length ? ", …" : ""}`;
  return `would block ${count} of the ${pluralize(seen, "active script")} seen on ${where}${which}.`;
}

/** Pages on which no script was seen: a mistyped host blocks nothing today, and looks safe. */
function unseenHostWarnings(
  zone: string,
  hosts: ReadonlySet<string> | undefined,
  scripts: readonly LoadedScript[],
): string[] {
  const seen = [...new Set(scripts.map(({ host }) => host.toLowerCase()))].sort();
  if (seen.length === 0) {
    return [
      `no active script has been seen on any page of zone ${zone}, so the preview cannot tell what the policy would block. Turn on Page Shield and wait for visitors before you block.`,
    ];
  }
  const known = new Set(seen);
  const unseen = [...(hosts ?? [])].filter((host) => !known.has(host));
  const sentence = (where: string, advice: string): string =>
    `no active script has been seen on ${where}, so the preview cannot tell what the policy would block there. ${advice}`;
  const elsewhere = `Scripts were seen on ${firstHosts(seen)}.`;
  // A line per host, which may be a mistyped one, unless there are many.
  if (unseen.length > SHOWN_HOSTS)
    return [sentence(`${unseen.length} of its hosts (${firstHosts(unseen)})`, elsewhere)];
  return unseen.map((host) => {
    const near = nearest(host, seen);
    return sentence(host, near === undefined ? elsewhere : `Did you mean ${near}?`);
  });
}

function firstHosts(hosts: readonly string[]): string {
  return `${hosts.slice(0, SHOWN_HOSTS).join(", ")}${hosts.length > SHOWN_HOSTS ? ", …" : ""}`;
}
