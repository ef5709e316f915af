import { pluralize } from "../../basics/words";
import type { CheckedScript, FindingKind, InventoryCheck, RequirementStanding } from "./model";

/** Detections that are older say nothing about today's pages: requirement 11.6.1 asks for a check every seven days. */
export const STALE_DAYS = 7;

/** Returns the number of full days between two times. */
export const daysBetween = (earlier: string, later: string | number): number =>
  Math.floor((new Date(later).getTime() - Date.parse(earlier)) / 86_400_000);

/**
 * Returns what a check shows, and what it can't show, about each part of requirements 6.4.3 and 11.6.1 of PCI DSS
 * 4.0.1. Whether a requirement is met is for an assessor to decide.
 */
export function requirementStandings(
  check: Pick<InventoryCheck, "checkedAt" | "findings" | "scripts" | "seen" | "zones">,
): RequirementStanding[] {
  const [day] = check.checkedAt.split("T");
  const gaps = check.findings.flatMap(({ kind, zoneId, host, url }) =>
    url === undefined
      ? [`${host === undefined ? `zone ${zoneId}` : `pages of ${host}`} (${GAPS[kind] ?? kind})`]
      : [],
  );
  const { hosts } = check.seen;
  const external = `external scripts that Page Shield has seen${hosts === undefined ? "" : ` on ${hosts.join(", ")}`}`;
  return [
    ...ELEMENTS_6_4_3.flatMap(({ element, judge }): RequirementStanding[] => [
      {
        requirement: "6.4.3",
        element,
        scope: external,
        ...limited(judge(check.scripts), gaps),
      },
      {
        requirement: "6.4.3",
        element,
        scope: "other scripts: inline, not in the sample, or in third-party frames",
        standing: "not",
        why: `${INLINE} ${SAMPLING}`,
      },
    ]),
    {
      requirement: "11.6.1",
      element:
        "Alerts on unauthorized changes to security-impacting HTTP headers as the browser receives them",
      scope: "HTTP headers",
      standing: "not",
      why: HEADERS,
    },
    {
      requirement: "11.6.1",
      element: CONTENT_ALERTS,
      scope: external,
      ...limited(contentAlerts(check.scripts), gaps),
    },
    {
      requirement: "11.6.1",
      element: CONTENT_ALERTS,
      scope: "inline scripts",
      standing: "not",
      why: INLINE,
    },
    {
      requirement: "11.6.1",
      element: "Evaluates the HTTP headers and payment pages as they are received",
      scope: "HTTP headers and whole pages",
      standing: "not",
      why: `${HEADERS} Page Shield sees the URLs of a page's scripts, not the page itself.`,
    },
    {
      requirement: "11.6.1",
      element: "Runs at least every seven days, or as often as the targeted risk analysis requires",
      scope: "this run",
      ...limited(frequency(check, day), gaps),
    },
  ];
}

/** Descriptions of findings about a zone, if different from the finding's kind. */
const GAPS: Readonly<Partial<Record<FindingKind, string>>> = {
  off: "Page Shield is off",
  stale: `nothing seen for more than ${STALE_DAYS} days`,
};

type Judged = Pick<RequirementStanding, "standing" | "why">;

const INLINE = "Page Shield doesn't report inline scripts.";
const SAMPLING = "It sees only a sample of page loads, and nothing inside third-party frames.";
const FETCHED = "Cloudflare fetches the content itself, so it may differ from what a browser received.";
const HEADERS = "Page Shield doesn't record the HTTP headers that a browser receives.";

const CONTENT_ALERTS =
  "Alerts on unauthorized changes to the script contents of payment pages as the browser receives them";

const ELEMENTS_6_4_3: readonly {
  readonly element: string;
  readonly judge: (scripts: readonly CheckedScript[]) => Judged;
}[] = [
  { element: "A method confirms that each script is authorized", judge: authorization },
  { element: "A method assures the integrity of each script", judge: integrity },
  { element: "An inventory lists every script with a written justification", judge: justification },
];

function authorization(scripts: readonly CheckedScript[]): Judged {
  const isApproved = ({ approval }: CheckedScript): boolean => ["approved", "expiring"].includes(approval);
  const isThreat = ({ threat }: CheckedScript): boolean => threat === "malicious" || threat === "suspicious";
  const malicious = scripts.filter((script) => isThreat(script) && isApproved(script)).length;
  const judged = share(scripts, isApproved, "an approval that's valid today");
  return malicious === 0
    ? judged
    : {
        ...judged,
        why: `${judged.why} Of these, ${malicious} ${malicious === 1 ? "looks" : "look"} malicious or suspicious.`,
      };
}

/**
 * Assesses what a check shows about integrity. A hash is never complete evidence, because Cloudflare fetches the
 * content itself.
 */
function integrity(scripts: readonly CheckedScript[]): Judged {
  const count = (content: CheckedScript["content"]): number =>
    scripts.filter((script) => script.content === content).length;
  const { standing, why } = share(
    scripts,
    ({ content }) => content === "unchanged",
    "the content that the inventory expects",
  );
  const others = (["changed", "not watched", "expected to change"] as const)
    .filter((content) => count(content) > 0)
    .map((content) => `${count(content)} ${content}`);
  const whole = others.length === 0 ? why : `${why} The others: ${others.join(", ")}.`;
  return standing === "not" ? { standing, why: whole } : { standing: "partly", why: `${whole} ${FETCHED}` };
}

function justification(scripts: readonly CheckedScript[]): Judged {
  return share(
    scripts,
    ({ entry }) => entry?.justification !== undefined,
    "an entry with a written justification",
  );
}

/**
 * Assesses what a check shows about alerts on changed content. A changed hash fails the check, but it's never complete
 * evidence, because Cloudflare fetches the content itself.
 */
function contentAlerts(scripts: readonly CheckedScript[]): Judged {
  const watched = scripts.filter(({ content }) => content === "unchanged" || content === "changed").length;
  const why = `The check fails when the content of a watched script changes. It watches ${watched} of ${pluralize(scripts.length, "script")}.`;
  return watched === 0
    ? { standing: "not", why }
    : {
        standing: "partly",
        why: `${why} ${FETCHED}`,
      };
}

function frequency({ findings, zones }: Pick<InventoryCheck, "findings" | "zones">, day = ""): Judged {
  const blind = new Set(findings.flatMap(({ kind, zoneId }) => (isBlind(kind) ? [zoneId] : [])));
  const run = `This is a single check, made on ${day}.`;
  return blind.size === zones.length
    ? { standing: "not", why: `${run} It couldn't check any zone.` }
    : {
        standing: "partly",
        why: `${run} Keep the evidence from every run: together, the files show how often the check ran.`,
      };
}

function isBlind(kind: FindingKind): boolean {
  return kind === "not read" || kind === "off";
}

function share(
  scripts: readonly CheckedScript[],
  matches: (script: CheckedScript) => boolean,
  what: string,
): Judged {
  const count = scripts.filter(matches).length;
  const standing = count === 0 ? "not" : count === scripts.length ? "evidenced" : "partly";
  return {
    standing,
    why: `${count} of ${pluralize(scripts.length, "script")} ${count === 1 ? "has" : "have"} ${what}.`,
  };
}

/** Lowers the standing if a zone couldn't be checked, because the evidence then has a gap. */
function limited({ standing, why }: Judged, gaps: readonly string[]): Judged {
  if (gaps.length === 0) return { standing, why };
  return {
    standing: standing === "evidenced" ? "partly" : standing,
    why: `${why} Gaps: ${gaps.join(", ")}.`,
  };
}
