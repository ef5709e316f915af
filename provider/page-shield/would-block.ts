import { LISTED } from "../runtime/impact";
import { firstOf } from "../basics/words";
import type { Context } from "../runtime/lifecycle";
import { nearest } from "../basics/nearest";
import { formatNumber } from "../limits/workers";
import { coveredHosts } from "./covered-hosts";
import { allowsScript, parseCsp, type LoadedScript } from "./csp";
import type { WouldBlock } from "./impact";
import { withoutUser } from "./inventory/script-pattern";
import { listDetected, SCRIPTS } from "./wire";

interface EnforcedPolicy {
  readonly zoneId: string;
  readonly description: string;
  readonly expression: string;
  /** The policy as CSP text. */
  readonly value: string;
}

const SHOWN_SCRIPTS = 5;
const SHOWN_HOSTS = 5;

/** Computes what an enforced policy would block and prints it for the reviewer. Undefined if unknown. */
export async function computeWouldBlock(ctx: Context, args: EnforcedPolicy): Promise<WouldBlock | undefined> {
  const { zoneId } = args;
  const active = {
    zoneId,
    status: "active",
    filters: SCRIPTS.includeAll,
    complete: true, // A script that can't be read may be one that the policy would block.
  };
  const scripts = await ctx.once(`active scripts of ${zoneId}`, () =>
    ctx.unlessForbidden(() => listDetected(ctx.api, SCRIPTS, active)),
  );
  if (scripts === undefined) return undefined;

  const policy = `policy ${JSON.stringify(args.description)}`;
  const hosts = coveredHosts(args.expression);
  for (const warning of unseenHostWarnings(args.zoneId, hosts, scripts))
    ctx.say.warn(`${policy}: ${warning}`);

  const wouldBlock = wouldBlockOf(args, scripts);
  if (wouldBlock === undefined) {
    ctx.say.warn(
      `${policy}: with 'strict-dynamic', only a browser can tell which scripts the policy would block.`,
    );
    return undefined;
  }
  if (wouldBlock.seen > 0) ctx.say.info(`${policy}: ${describeImpact(wouldBlock, hosts)}`);
  return wouldBlock;
}

/** Returns which of the given active scripts an enforced policy would block. Undefined if only a browser can decide. */
export function wouldBlockOf(
  { expression, value }: Pick<EnforcedPolicy, "expression" | "value">,
  scripts: readonly LoadedScript[],
): WouldBlock | undefined {
  const hosts = coveredHosts(expression);
  const covered = scripts.filter(({ host }) => hosts?.has(host.toLowerCase()) ?? true);
  const directives = parseCsp(value);
  const verdicts = covered.map((script) => ({ script, isAllowed: allowsScript(directives, script) }));
  if (verdicts.some(({ isAllowed }) => isAllowed === undefined)) return undefined;
  const blocked = uniqueUrls(
    verdicts.flatMap(({ script, isAllowed }) => (isAllowed === false ? [script] : [])),
  );
  return {
    count: blocked.length,
    seen: uniqueUrls(covered).length,
    scripts: blocked.slice(0, SHOWN_SCRIPTS).map(shownUrl),
    digest: LISTED.of(blocked).digest,
  };
}

/**
 * Returns a script's URL without a fragment, and without its username, password and values of query parameters, which
 * may be credentials.
 */
export function shownUrl(url: string): string {
  const [, address = "", query] = /^([^?#]*)(\?[^#]*)?/.exec(withoutUser(url)) ?? [];
  return query === undefined ? address : `${address}${query.replace(/([?&][^=&]*=|[?&])[^&]+/g, "$1…")}`;
}

function uniqueUrls(scripts: readonly LoadedScript[]): string[] {
  return [...new Set(scripts.map(({ url }) => url))].sort();
}

function describeImpact(
  { count, seen, scripts }: WouldBlock,
  hosts: ReadonlySet<string> | undefined,
): string {
  const where = hosts === undefined ? "the zone's pages" : firstOf([...hosts], SHOWN_HOSTS);
  const which = count === 0 ? "" : `: ${scripts.join(", ")}${count > scripts.length ? ", …" : ""}`;
  const some =
    seen === 1
      ? `${count === 0 ? "wouldn't" : "would"} block the only active script`
      : `would block ${count} of the ${formatNumber(seen)} active scripts`;
  return `${some} seen on ${where}${which}.`;
}

/** Warns about covered hosts without detections. A policy for a mistyped host blocks nothing and looks safe. */
function unseenHostWarnings(
  zone: string,
  hosts: ReadonlySet<string> | undefined,
  scripts: readonly LoadedScript[],
): string[] {
  const seen = [...new Set(scripts.map(({ host }) => host.toLowerCase()))].sort();
  if (seen.length === 0) {
    return [
      `Page Shield has seen no active scripts on any page of zone ${zone}, so the preview can't tell what the policy would block. Turn on Page Shield and wait for visitors before you enforce the policy.`,
    ];
  }
  const seenHosts = new Set(seen);
  const unseen = [...(hosts ?? [])].filter((host) => !seenHosts.has(host));
  const warning = (where: string, advice: string): string =>
    `Page Shield has seen no active scripts on ${where}, so the preview can't tell what the policy would block there. ${advice}`;
  const elsewhere = `It has seen scripts on ${firstOf(seen, SHOWN_HOSTS)}.`;
  // One line per host, because one may be mistyped. If there are many, a single line for all.
  if (unseen.length > SHOWN_HOSTS)
    return [warning(`${unseen.length} of the policy's hosts (${firstOf(unseen, SHOWN_HOSTS)})`, elsewhere)];
  return unseen.map((host) => {
    const near = nearest(host, seen);
    return warning(host, near === undefined ? elsewhere : `Did you mean ${near}?`);
  });
}
