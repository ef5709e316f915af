import { z } from "zod";
import { MIGRATION } from "../limits";
import { expressionOf, isMigrated, isOwasp, switchOf, urlOf, type Legacy, type Listing } from "./legacy";
import type { Situation } from "./situation";
import { sendingOf } from "./situation";
import type { WireRule } from "./rules";
import {
  mappedAction,
  mappedSensitivity,
  owaspOf,
  OWASP_RULESET,
  plural,
  ruleWords,
  thresholdWords,
} from "./words";

/** One thing to know before a zone migrates. */
export const finding = z.object({
  /**
   * `blocks`: nothing is sent while it holds. `notCounted`: could not be read, look by hand. `lost`: not carried over.
   * `changes`: is so from then on. `note`: everything else.
   */
  weight: z.enum(["blocks", "notCounted", "lost", "changes", "note"]),
  /** What it is about, in one word. */
  about: z.string(),
  text: z.string(),
});
export type Finding = z.infer<typeof finding>;

const DASHBOARD = "Security > WAF > Managed rules";

/** Everything that is to be known, the gravest first. */
export function findingsOf(situation: Situation, configured?: readonly WireRule[]): Finding[] {
  const { state, open, zoneId } = situation;
  if (state.phase === "retired") {
    return [
      note(
        "retired",
        "the vendor has retired the migration: it can be neither assessed nor made here any more",
      ),
    ];
  }
  if (state.phase === "finished" || open === undefined) return [note("finished", FINISHED)];
  const { legacy, compatible } = open;
  const blocks = [...uriOverrides(zoneId, legacy), ...supportNeeded(legacy)];
  const incompatible = compatible !== true && blocks.length === 0;
  return [
    ...blocks,
    ...(incompatible
      ? [
          block(
            "compatibility",
            compatible === undefined
              ? "the check gave no verdict, so nothing may be sent"
              : "the check says that the zone is not compatible, and nothing that was read tells why: ask the vendor's support",
          ),
        ]
      : []),
    ...contradiction(situation),
    ...notCounted(legacy),
    ...owaspMapping(legacy, open.proposed?.rules ?? []),
    ...lost(legacy),
    ...pageRules(legacy),
    ...sendingFindings(situation, configured),
    ...(state.phase === "other"
      ? [
          note(
            "state",
            `the service's state is one that nobody has documented: nothing is sent while it lasts`,
          ),
        ]
      : []),
    { weight: "changes", about: "code", text: CODE },
    note("dashboard", `in the dashboard: ${DASHBOARD}`),
  ];
}

const FINISHED =
  "the previous rules are off and the new ones on; their settings, groups and rules are managed with ManagedRulesetOverride now";
const CODE =
  "infrastructure code for the previous packages, groups and rules stops working: use ManagedRulesetOverride";

export function blocking(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ weight }) => weight === "blocks");
}

function block(about: string, text: string): Finding {
  return { weight: "blocks", about, text };
}

function note(about: string, text: string): Finding {
  return { weight: "note", about, text };
}

function itemsOf<T>(list: Listing<T>): readonly T[] {
  return "items" in list ? list.items : [];
}

function uriOverrides(zone: string, { overrides }: Legacy): Finding[] {
  return itemsOf(overrides).map(({ id, urls }) =>
    block(
      "uriOverride",
      `URI-based override ${id}${urls?.[0] === undefined ? "" : ` (${urls.slice(0, 2).join(", ")}${urls.length > 2 ? ", …" : ""})`}: delete it first, with DELETE /zones/${zone}/firewall/waf/overrides/${id}`,
    ),
  );
}

/** Beyond the documented measures the vendor's support has to migrate the zone (seed 001, "Errors"). */
function supportNeeded({ firewallRules }: Legacy): Finding[] {
  const all = itemsOf(firewallRules);
  const migrated = all.filter(isMigrated);
  const most = MIGRATION.MAX_FIREWALL_RULES;
  const tooMany =
    migrated.length > most
      ? [
          block(
            "firewallRules",
            `${migrated.length} firewall rules bypass the managed rules and would be migrated (of ${plural(all.length, "firewall rule")}); without support it is at most ${most}: contact the vendor's support`,
          ),
        ]
      : [];
  const tooLong = migrated.flatMap((rule) => {
    const bytes = Buffer.byteLength(expressionOf(rule));
    const limit = MIGRATION.MAX_EXPRESSION_BYTES;
    const text = `the expression of firewall rule ${rule.id} is ${bytes} bytes; without support it is at most ${limit}: contact the vendor's support`;
    return bytes > limit ? [block("firewallExpression", text)] : [];
  });
  return [...tooMany, ...tooLong];
}

/** From validation the entry point is sent as it stands; where the zone is at its start, that would lose the proposal. */
function contradiction({ state }: Situation): Finding[] {
  if (state.phase !== "validation" || state.raw?.trim().toLowerCase() !== "start") return [];
  return [
    block(
      "state",
      `the service shows both versions enabled and yet says "${state.raw}": what a step would do is not clear, so none is sent; look in the dashboard (${DASHBOARD})`,
    ),
  ];
}

function notCounted(legacy: Legacy): Finding[] {
  // Without the packages nothing is known of what is in them; that is said once.
  const inPackages: [string, string, Listing<unknown>][] =
    "unread" in legacy.packages
      ? []
      : [
          ["owaspGroups", "OWASP group overrides, which are not carried over,", legacy.owaspGroups],
          ["owaspRules", "OWASP rule overrides, which are not carried over,", legacy.owaspRules],
        ];
  const lists: [string, string, Listing<unknown>][] = [
    ["firewallRules", "firewall rules", legacy.firewallRules],
    ["pageRules", "page rules", legacy.pageRules],
    ["uriOverride", "URI-based overrides", legacy.overrides],
    ["settings", "previous settings", legacy.packages],
    ...inPackages,
  ];
  return lists.flatMap(([about, noun, list]) =>
    "unread" in list
      ? [
          {
            weight: "notCounted" as const,
            about,
            text: `${noun} not counted: check by hand (the service ${list.unread === "no answer" ? "gave no answer" : list.unread})`,
          },
        ]
      : [],
  );
}

/** The seed's table applied to the old setting, and whether the proposal agrees with it. */
function owaspMapping({ packages }: Legacy, proposed: readonly WireRule[]): Finding[] {
  const owasp = itemsOf(packages).find(isOwasp);
  if (owasp === undefined) return [];
  const sensitivity = owasp.sensitivity ?? "default";
  const mapped = mappedSensitivity(sensitivity);
  const action = owasp.action_mode ?? undefined;
  const became = action === undefined ? "" : `; action ${action} -> ${mappedAction(action)}`;
  const to =
    mapped === undefined
      ? "the OWASP ruleset is not deployed"
      : `paranoia level ${mapped.paranoiaLevel}, ${thresholdWords(mapped.scoreThreshold)}`;
  const text = `OWASP sensitivity ${sensitivity} -> ${to}${mapped === undefined ? "" : became}`;
  const rule = proposed.find((each) => owaspOf(each) !== undefined);
  const offered = rule === undefined ? undefined : owaspOf(rule);
  const agrees =
    proposed.length === 0 ||
    (offered?.paranoiaLevel === mapped?.paranoiaLevel && offered?.scoreThreshold === mapped?.scoreThreshold);
  return [
    { weight: "changes", about: "owasp", text },
    ...(agrees
      ? []
      : [
          note(
            "owasp",
            `the service proposes otherwise than the documented mapping: ${rule === undefined ? `no rule for ruleset ${OWASP_RULESET}` : ruleWords(rule)}`,
          ),
        ]),
  ];
}

const SHOWN_NAMES = 5;

function lost({ owaspGroups, owaspRules }: Legacy): Finding[] {
  const groups = itemsOf(owaspGroups).filter(({ mode }) => mode === "off");
  const rules = itemsOf(owaspRules);
  return [
    ...(groups.length === 0
      ? []
      : [
          lostFinding(
            "owaspGroups",
            `${plural(groups.length, "OWASP group override")}: ${names(groups.map(({ id, name }) => name ?? id))}`,
          ),
        ]),
    ...(rules.length === 0
      ? []
      : [
          lostFinding(
            "owaspRules",
            `${plural(rules.length, "OWASP rule override")}: ${names(rules.map(({ id }) => id))}`,
          ),
        ]),
  ];
}

/** How a sentence about what is lost begins. */
export const LOST = "not carried over: ";

function lostFinding(about: string, what: string): Finding {
  return { weight: "lost", about, text: `${LOST}${what}` };
}

function names(all: readonly string[], between = ", "): string {
  return [...all.slice(0, SHOWN_NAMES), ...(all.length > SHOWN_NAMES ? ["…"] : [])].join(between);
}

function pageRules({ pageRules }: Legacy): Finding[] {
  const off = itemsOf(pageRules).filter((rule) => switchOf(rule) === "off");
  const which = off.length === 0 ? "" : ` (today: ${names(off.map(urlOf))})`;
  return [
    {
      weight: "changes",
      about: "pageRules",
      text: `a page rule's firewall setting Off no longer acts on the new rules${which}: use exceptions (skip rules)`,
    },
  ];
}

/** What becomes of the entry point by the next step. */
function sendingFindings(situation: Situation, configured: readonly WireRule[] | undefined): Finding[] {
  const sending = sendingOf(situation, configured);
  if (sending === undefined) return [];
  const { rules, dropped, passedOver } = sending;
  const found: Finding[] = [];
  const changed = rules.filter(({ origin }) => origin === "changed");
  if (changed.length > 0) {
    found.push(
      note(
        "entryPoint",
        `other settings for ${plural(changed.length, "rule")} of the entry point: ${names(changed.map(({ rule }) => ruleWords(rule)))}`,
      ),
    );
  }
  if (dropped.length > 0) {
    const what = names(dropped.map((rule) => `${String(rule["id"])} ${ruleWords(rule)}`));
    found.push({
      weight: "lost",
      about: "entryPoint",
      text: `configuration leaves out ${plural(dropped.length, "rule")} of the entry point: ${what}`,
    });
  }
  if (passedOver.length > 0) {
    const what = names(passedOver.map(ruleWords), "; ");
    found.push(note("proposed", `the service proposes this beside it, which is not sent: ${what}`));
  }
  const deploys = (rule: WireRule): boolean => rule.action === "execute" && rule["enabled"] !== false;
  if (!rules.some(({ rule }) => deploys(rule))) {
    found.push({
      weight: "changes",
      about: "nothingOn",
      text: "no execute rule that is sent is enabled: no managed rule would act on the zone",
    });
  }
  const first = rules.findIndex(({ rule }) => deploys(rule));
  const late = rules.filter(({ rule }, index) => rule.action === "skip" && first >= 0 && index > first);
  if (late.length > 0) {
    found.push(
      note(
        "order",
        `behind an execute rule, and without effect on it: ${names(late.map(({ rule }) => ruleWords(rule)))}`,
      ),
    );
  }
  return found;
}
