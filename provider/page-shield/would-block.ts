import { nearest } from "../basics/nearest";
import { compareText, firstOf, pluralize } from "../basics/words";
import { formatNumber } from "../limits/workers";
import { LISTED } from "../runtime/impact";
import type { Context } from "../runtime/lifecycle";
import { coveredHosts } from "./covered-hosts";
import { allows, decidingSources, parseCsp, type Load, type Reported } from "./csp";
import type { Blocked, WouldBlock } from "./impact";
import { withoutUser } from "./inventory/script-pattern";
import { newlyUnreported, unreportedText, type PolicyText } from "./newly-allowed";
import { isReported, isScoredBelow, type Listed, type ScoredScript } from "./threat";
import { CONNECTIONS, listDetected, SCRIPTS } from "./wire";

export interface EnforcedPolicy extends PolicyText {
  readonly zoneId: string;
  readonly description: string;
  /** The same policy as it was before the change. Absent if it was disabled or didn't exist. */
  readonly before?: PolicyText & { readonly isEnforced: boolean };
}

/** A script or connection that Page Shield has seen. Connections have no score. */
type Detected = Load & Listed & ScoredScript;

/** What Page Shield has seen on a zone's pages. Connections are only read for a policy that restricts them. */
type Active = Readonly<Record<Reported, readonly Detected[]>>;

const SHOWN_URLS = 5;
const SHOWN_HOSTS = 5;

/** Cloudflare calls a script with a lower score malicious: https://developers.cloudflare.com/page-shield/detection/monitor-connections-scripts/ */
const MALICIOUS_BELOW = 10;

/** Computes what an enforced policy would block and prints it for the reviewer. Undefined if unknown. */
export async function computeWouldBlock(ctx: Context, args: EnforcedPolicy): Promise<WouldBlock | undefined> {
  const { zoneId, before } = args;
  const policy = `policy ${JSON.stringify(args.description)}`;
  const unreported = newlyUnreported(before, args);
  if (unreported.length > 0) ctx.say.warn(`${policy}: ${unreportedText(unreported)}.`);
  const active = {
    zoneId,
    status: "active",
    complete: true, // A detection that can't be read may be one that the policy would block.
  };
  const script = await ctx.once(`active scripts of ${zoneId}`, () =>
    ctx.unlessForbidden(() => listDetected(ctx.api, SCRIPTS, { ...active, filters: SCRIPTS.includeAll })),
  );
  const restrictsConnections = decidingSources(parseCsp(args.value), "connection") !== undefined;
  const connection = restrictsConnections
    ? await ctx.once(`active connections of ${zoneId}`, () =>
        ctx.unlessForbidden(() =>
          listDetected(ctx.api, CONNECTIONS, { ...active, filters: CONNECTIONS.includeAll }),
        ),
      )
    : [];
  if (script === undefined || connection === undefined) return undefined;

  const hosts = coveredHosts(args.expression);
  for (const warning of unseenHostWarnings(zoneId, hosts, script)) ctx.say.warn(`${policy}: ${warning}`);
  const inForce = before?.isEnforced === true ? before : undefined;
  const wouldBlock = wouldBlockOf(args, { script, connection }, inForce);
  if (wouldBlock === undefined) {
    ctx.say.warn(
      `${policy}: with 'strict-dynamic', only a browser can tell which scripts the policy would block.`,
    );
    return undefined;
  }
  const where = hosts === undefined ? "the zone's pages" : firstOf([...hosts], SHOWN_HOSTS);
  if (wouldBlock.seen > 0) ctx.say.info(`${policy}: ${describeImpact(wouldBlock, where)}`);
  return wouldBlock;
}

/**
 * Returns which of the given scripts and connections an enforced policy would block. Undefined if only a browser can
 * decide.
 *
 * @param inForce the enforced policy before the change.
 */
export function wouldBlockOf(
  policy: PolicyText,
  active: Active,
  inForce?: PolicyText,
): WouldBlock | undefined {
  const script = blockedBy(policy, "script", active);
  const connection = blockedBy(policy, "connection", active);
  if (script === undefined || connection === undefined) return undefined;
  const already = new Set(
    (["script", "connection"] as const).flatMap((kind) =>
      inForce === undefined ? [] : (blockedBy(inForce, kind, active)?.blocked ?? []),
    ),
  );
  const newly = [...script.blocked, ...connection.blocked].filter((each) => !already.has(each));
  const isRestricted = decidingSources(parseCsp(policy.value), "connection") !== undefined;
  return {
    seen: script.seen,
    scripts: summaryOf(script.blocked),
    ...(isRestricted ? { connections: summaryOf(connection.blocked) } : {}),
    newly: summaryOf(newly),
  };
}

function blockedBy(
  { expression, value }: PolicyText,
  kind: Reported,
  active: Active,
): { readonly blocked: readonly Detected[]; readonly seen: number } | undefined {
  const hosts = coveredHosts(expression);
  const covered = active[kind].filter(({ host }) => hosts?.has(host.toLowerCase()) ?? true);
  const directives = parseCsp(value);
  const verdicts = covered.map((each) => ({ each, isAllowed: allows(directives, kind, each) }));
  if (verdicts.some(({ isAllowed }) => isAllowed === undefined)) return undefined;
  return {
    blocked: verdicts.flatMap(({ each, isAllowed }) => (isAllowed === false ? [each] : [])),
    seen: new Set(covered.map(({ url }) => url)).size,
  };
}

const isMalicious = (detected: Detected): boolean =>
  isScoredBelow(detected, MALICIOUS_BELOW) === true || isReported(detected);

function summaryOf(detected: readonly Detected[]): Blocked {
  const malicious = new Set(detected.filter(isMalicious).map(({ url }) => url));
  const urls = [...new Set(detected.map(({ url }) => url))].sort(
    (a, b) => Number(malicious.has(b)) - Number(malicious.has(a)) || compareText(a, b),
  );
  return {
    count: urls.length,
    malicious: malicious.size,
    urls: urls.slice(0, SHOWN_URLS).map(shownUrl),
    digest: LISTED.of(urls).digest,
  };
}

/**
 * Returns a URL without a fragment, and without its username, password and values of query parameters, which may be
 * credentials.
 */
export function shownUrl(url: string): string {
  const [, address = "", query] = /^([^?#]*)(\?[^#]*)?/.exec(withoutUser(url)) ?? [];
  return query === undefined ? address : `${address}${query.replace(/([?&][^=&]*=|[?&])[^&]+/g, "$1…")}`;
}

function describeImpact({ seen, scripts, connections, newly }: WouldBlock, where: string): string {
  const which = ({ count, urls }: Blocked): string =>
    count === 0 ? "" : `: ${urls.join(", ")}${count > urls.length ? ", …" : ""}`;
  const some =
    seen === 1
      ? `${scripts.count === 0 ? "wouldn't" : "would"} block the only active script`
      : `would block ${scripts.count} of the ${formatNumber(seen)} active scripts`;
  const others =
    connections === undefined || connections.count === 0
      ? ""
      : ` It would block ${pluralize(connections.count, "connection")}${which(connections)}.`;
  const all = scripts.count + (connections?.count ?? 0);
  const already = newly.count < all ? ` ${formatNumber(all - newly.count)} of them are blocked already.` : "";
  return `${some} seen on ${where}${which(scripts)}.${others}${already}`;
}

/** Warns about covered hosts without detections. A policy for a mistyped host blocks nothing and looks safe. */
function unseenHostWarnings(
  zone: string,
  hosts: ReadonlySet<string> | undefined,
  scripts: readonly Load[],
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
