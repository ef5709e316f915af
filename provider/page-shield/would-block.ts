import { compareText, firstFew, firstOf, pluralize } from "../basics/words";
import { PAGE_SHIELD } from "../limits/index";
import { formatNumber } from "../limits/workers";
import { LISTED } from "../runtime/impact";
import type { Context } from "../runtime/lifecycle";
import { coveredHosts, coversOnHost } from "./covered-hosts";
import { allows, decidingSources, parseCsp, parseForeignCsp, type Load, type Reported } from "./csp";
import type { Blocked, WouldBlock } from "./impact";
import { withoutUser } from "./inventory/script-pattern";
import { newlyUnreported, unreportedText, type PolicyText } from "./newly-allowed";
import { isScoredBelow, threatMark, threatOf, type Listed, type ScoredScript } from "./threat";
import { CONNECTIONS, listDetected, SCRIPTS } from "./wire";

export interface EnforcedPolicy extends PolicyText {
  readonly zoneId: string;
  readonly description: string;
  /** The same policy as it was before the change. Absent if it was disabled or didn't exist. */
  readonly before?: PolicyText & { readonly isEnforced: boolean };
}

/** A script or connection that Page Shield has seen. Connections have no score. */
type Detected = Load & Listed & ScoredScript;

/** What Page Shield has seen on a zone's pages. Undefined for what wasn't read. */
type Active = Readonly<Record<Reported, readonly Detected[] | undefined>>;

const SHOWN_URLS = 5;
const SHOWN_HOSTS = 5;

/**
 * Computes what an enforced policy would block and prints it for the reviewer. Undefined if the scripts can't be read.
 * `isComplete` says whether everything was compared that Page Shield reports.
 */
export async function computeWouldBlock(
  ctx: Context,
  args: EnforcedPolicy,
): Promise<{ readonly wouldBlock: WouldBlock; readonly isComplete: boolean } | undefined> {
  const { zoneId, before } = args;
  const policy = `policy ${JSON.stringify(args.description)}`;
  const active = {
    zoneId,
    status: "active",
    complete: true, // A detection that can't be read may be one that the policy would block.
  };
  const script = await ctx.once(`active scripts of ${zoneId}`, () =>
    ctx.unlessForbidden(() => listDetected(ctx.api, SCRIPTS, { ...active, filters: SCRIPTS.includeAll })),
  );
  if (script === undefined) return undefined;
  const readsConnections = restrictsConnections(args);
  const connection = readsConnections
    ? await ctx.once(`active connections of ${zoneId}`, () =>
        ctx.unlessForbidden(() =>
          listDetected(ctx.api, CONNECTIONS, { ...active, filters: CONNECTIONS.includeAll }),
        ),
      )
    : undefined;

  const hosts = ctx.isSecret("expression") ? undefined : coveredHosts(args.expression); // For messages.
  const unseen = unseenHostWarning(zoneId, hosts, script);
  if (unseen !== undefined) ctx.say.warn(`${policy}: ${unseen}`);
  const computed = wouldBlockOf(args, { script, connection }, before);
  const isHidden = ctx.isSecret("value") && computed.unreported.length > 0;
  const wouldBlock = isHidden ? { ...computed, unreported: ["some directives"] } : computed;
  const { seen, scripts, connections, unreported } = wouldBlock;
  if (scripts === undefined)
    ctx.say.warn(
      `${policy}: with 'strict-dynamic', only a browser can tell which scripts the policy would block.`,
    );
  if (unreported.length > 0) ctx.say.warn(`${policy}: ${unreportedText(unreported)}.`);
  const where = hosts === undefined ? "the zone's pages" : firstOf([...hosts], SHOWN_HOSTS);
  const sentences = describeImpact(wouldBlock, where);
  if (seen > 0 || (connections?.count ?? 0) > 0)
    for (const sentence of sentences) ctx.say.info(`${policy}: ${sentence}`);
  return {
    wouldBlock,
    isComplete: scripts !== undefined && (connections !== undefined || !readsConnections),
  };
}

const restrictsConnections = ({ value }: PolicyText): boolean =>
  decidingSources(parseCsp(value), "connection") !== undefined;

/**
 * Returns what an enforced policy would block of the given scripts and connections.
 *
 * @param before the same policy before the change, if it blocked or logged.
 */
export function wouldBlockOf(
  policy: PolicyText,
  active: Active,
  before?: EnforcedPolicy["before"],
): WouldBlock {
  const kinds = restrictsConnections(policy) ? (["script", "connection"] as const) : (["script"] as const);
  const [script, connection] = kinds.map((kind) => blockedBy(policy, kind, active));
  const inForce = before?.isEnforced === true ? before : undefined;
  // Nobody knows which of a host's pages load it, so the earlier policy must have covered all that this one does.
  const already = new Set(
    kinds
      .flatMap((kind) => (inForce === undefined ? [] : (blockedBy(inForce, kind, active) ?? [])))
      .filter(({ host }) => coversOnHost(inForce?.expression ?? "", policy.expression, host)),
  );
  const newly = [script, connection].map((blocked) => blocked?.filter((each) => !already.has(each)) ?? []);
  return {
    seen: new Set(covered(policy, active.script ?? []).map(({ url }) => url)).size,
    ...(script === undefined ? {} : { scripts: summaryOf(script) }),
    ...(connection === undefined ? {} : { connections: summaryOf(connection) }),
    newly: summaryOf(...newly),
    unreported: newlyUnreported(before, policy),
  };
}

function covered({ expression }: PolicyText, detected: readonly Detected[]): readonly Detected[] {
  const hosts = coveredHosts(expression);
  return detected.filter(({ host }) => hosts?.has(host.toLowerCase()) ?? true);
}

/** Undefined if that isn't known. */
function blockedBy(policy: PolicyText, kind: Reported, active: Active): readonly Detected[] | undefined {
  const directives = parseForeignCsp(policy.value);
  const detected = active[kind];
  if (directives === undefined || detected === undefined) return undefined;
  const verdicts = covered(policy, detected).map((each) => ({
    each,
    isAllowed: allows(directives, kind, each),
  }));
  if (verdicts.some(({ isAllowed }) => isAllowed === undefined)) return undefined;
  return verdicts.flatMap(({ each, isAllowed }) => (isAllowed === false ? [each] : []));
}

/** @param lists the blocked scripts, connections or both. Each counts a URL once. */
function summaryOf(...lists: readonly (readonly Detected[])[]): Blocked {
  const all = lists.flatMap((detected) => {
    const worst = new Map<string, Detected>();
    for (const each of [...detected].sort(byThreat)) if (!worst.has(each.url)) worst.set(each.url, each);
    return [...worst.values()];
  });
  const shown = all.sort(byThreat).slice(0, SHOWN_URLS);
  const scores = shown
    .filter((each) => isScoredBelow(each, PAGE_SHIELD.MALICIOUS_BELOW_SCORE) === true)
    .map(({ url, jsIntegrityScore }) => [shownUrl(url), jsIntegrityScore]);
  return {
    count: all.length,
    malicious: all.filter((each) => rankOf(each) === 0).length,
    urls: shown.map(({ url }) => shownUrl(url)),
    ...(scores.length === 0 ? {} : { scores: Object.fromEntries(scores) as Record<string, number> }),
    digest: LISTED.of(all.map(({ url }) => url)).digest,
  };
}

const rankOf = (detected: Detected): number =>
  ["malicious", "suspicious", undefined].indexOf(threatOf(detected, PAGE_SHIELD.MALICIOUS_BELOW_SCORE));

const byThreat = (a: Detected, b: Detected): number =>
  rankOf(a) - rankOf(b) ||
  compareText(a.url, b.url) ||
  (a.jsIntegrityScore ?? Infinity) - (b.jsIntegrityScore ?? Infinity);

/**
 * Returns a URL without a fragment, and without its username, password and values of query parameters, which may be
 * credentials.
 */
export function shownUrl(url: string): string {
  const [, address = "", query] = /^([^?#]*)(\?[^#]*)?/.exec(withoutUser(url)) ?? [];
  return query === undefined ? address : `${address}${query.replace(/([?&][^=&]*=|[?&])[^&]+/g, "$1…")}`;
}

function describeImpact({ seen, scripts, connections, newly }: WouldBlock, where: string): string[] {
  const which = (blocked: Blocked): string => {
    const urls = blocked.urls.map((url) => url + threatMark(blocked.scores, url));
    return urls.length === 0 ? "" : `: ${urls.join(", ")}${blocked.count > urls.length ? ", …" : ""}`;
  };
  const sentences: string[] = [];
  if (scripts !== undefined && seen > 0) {
    const some =
      seen === 1
        ? `${scripts.count === 0 ? "wouldn't" : "would"} block the only active script`
        : `would block ${scripts.count} of the ${formatNumber(seen)} active scripts`;
    sentences.push(`${some} seen on ${where}${which(scripts)}.`);
  }
  if (connections !== undefined && connections.count > 0)
    sentences.push(`would block ${pluralize(connections.count, "connection")}${which(connections)}.`);
  const already = (scripts?.count ?? 0) + (connections?.count ?? 0) - newly.count;
  if (already > 0) sentences.push(`${formatNumber(already)} of these are blocked already.`);
  return sentences;
}

/** Returns a warning about covered hosts without detections: a policy for a mistyped host blocks nothing and looks safe. */
function unseenHostWarning(
  zone: string,
  hosts: ReadonlySet<string> | undefined,
  scripts: readonly Load[],
): string | undefined {
  const seen = [...new Set(scripts.map(({ host }) => host.toLowerCase()))].sort();
  if (seen.length === 0)
    return `Page Shield has seen no active scripts on any page of zone ${zone}, so the preview can't tell what the policy would block. Wait for visitors, with Page Shield on, before you enforce the policy.`;
  const seenHosts = new Set(seen);
  const unseen = [...(hosts ?? [])].filter((host) => !seenHosts.has(host));
  return unseen.length === 0
    ? undefined
    : `Page Shield has seen no active scripts on ${firstFew(unseen, SHOWN_HOSTS)}, so the preview can't tell what the policy would block there. It has seen scripts on ${firstOf(seen, SHOWN_HOSTS)}.`;
}
