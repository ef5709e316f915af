import { z } from "zod";
import { MIGRATION } from "../limits";
import { canonicalJson } from "../runtime/values";
import { expressionOf, isMigrated, isOwasp, switchOf, urlOf, type Legacy, type Listing } from "./legacy";
import type { Situation } from "./situation";
import { sendingOf } from "./situation";
import { deploys, fromWire, type WireRule } from "./rules";
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
  /** One line; a long list is cut in it. */
  text: z.string(),
  /** All that the text counts, where it counts something. */
  items: z.array(z.string()).exactOptional(),
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
  if (state.phase === "finished" || open === undefined)
    return [
      situation.deploys === false ? { ...NOTHING_ON, text: FINISHED_WITHOUT } : note("finished", FINISHED),
    ];
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
    ...exceptions(situation, configured),
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
const FINISHED_WITHOUT =
  "the previous rules are off, and no enabled rule executes a managed ruleset: no managed rule acts on the zone; deploy one with ManagedRulesetOverride";
const NOTHING_ON = { weight: "changes", about: "nothingOn" } as const;
const CODE =
  "infrastructure code for the previous packages, groups and rules stops working: use ManagedRulesetOverride";

export function blocking(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ weight }) => weight === "blocks");
}

function block(about: string, text: string, items?: readonly string[]): Finding {
  return { weight: "blocks", about, text, ...(items === undefined ? {} : { items: [...items] }) };
}

function note(about: string, text: string, items?: readonly string[]): Finding {
  return { weight: "note", about, text, ...(items === undefined ? {} : { items: [...items] }) };
}

function itemsOf<T>(list: Listing<T>): readonly T[] {
  return "items" in list ? list.items : [];
}

function uriOverrides(zone: string, { overrides }: Legacy): Finding[] {
  return itemsOf(overrides).map(({ id, urls }) =>
    block(
      "uriOverride",
      `URI-based override ${id}${urls?.[0] === undefined ? "" : ` (${urls.slice(0, 2).join(", ")}${urls.length > 2 ? `, ${CUT}` : ""})`}: delete it first, with DELETE /zones/${zone}/firewall/waf/overrides/${id}`,
      urls ?? undefined,
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
            migrated.map(({ id }) => id),
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

/** A line names no more than these. */
const SHOWN_NAMES = 5;

function lost({ owaspGroups, owaspRules }: Legacy): Finding[] {
  const groups = itemsOf(owaspGroups).filter(({ mode }) => mode === "off");
  const rules = itemsOf(owaspRules);
  return [
    ...lostFindings(
      "owaspGroups",
      "OWASP group override",
      groups.map(({ id, name }) => name ?? id),
    ),
    ...lostFindings(
      "owaspRules",
      "OWASP rule override",
      rules.map(({ id }) => id),
    ),
  ];
}

/** How a sentence about what is lost begins. */
export const LOST = "not carried over: ";

function lostFindings(about: string, noun: string, items: readonly string[]): Finding[] {
  if (items.length === 0) return [];
  const text = `${LOST}${plural(items.length, noun)}: ${names(items)}`;
  return [{ weight: "lost", about, text, items: [...items] }];
}

/** How a list that was cut ends. */
const CUT = "…";

function names(all: readonly string[], between = ", "): string {
  return [...all.slice(0, SHOWN_NAMES), ...(all.length > SHOWN_NAMES ? [CUT] : [])].join(between);
}

/** Whether the line does not name all that it counts. */
export function isCut({ text, items }: Finding): boolean {
  return items !== undefined && text.includes(CUT);
}

/**
 * Firewall rules that bypass the previous rules and page rules that turn them off, against the exceptions that are sent
 * (seed 001, "Migration mapping"): Cloudflare converts them, and afterwards they act on the new rules no longer.
 */
function exceptions(situation: Situation, configured: readonly WireRule[] | undefined): Finding[] {
  const { open } = situation;
  if (open === undefined) return [];
  const bypasses = itemsOf(open.legacy.firewallRules).filter(isMigrated);
  const off = itemsOf(open.legacy.pageRules).filter((rule) => switchOf(rule) === "off");
  if (bypasses.length + off.length === 0) return [];
  const sending = sendingOf(situation, configured)?.rules.map(({ rule }) => rule);
  const rules = sending ?? open.proposed?.rules;
  const urls = off.map(urlOf);
  if (rules === undefined) {
    const text = `no longer act on the managed rules: ${plural(bypasses.length, "bypassing firewall rule")} and ${plural(off.length, "disabling page rule")}, unless they become exceptions (skip rules); what is proposed was not read`;
    return [{ weight: "changes", about: "pageRules", text, items: [...bypasses.map(expressionOf), ...urls] }];
  }
  const left = rules.filter(({ action }) => action === "skip");
  /** Each exception stands for one of them. */
  const isConverted = (fits: (skip: WireRule) => boolean): boolean => {
    const at = left.findIndex(fits);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  };
  const missingBypasses = bypasses.filter(
    (rule) => !isConverted(({ expression }) => expression.trim() === expressionOf(rule).trim()),
  );
  const missingPages = urls.filter((url) => !isConverted(({ expression }) => isFor(expression, url)));
  const found: [string, number, number][] = [
    ["bypassing firewall rule", bypasses.length, missingBypasses.length],
    ["disabling page rule", off.length, missingPages.length],
  ];
  const counted = found
    .filter(([, all]) => all > 0)
    .map(([noun, all, missing]) => `${all - missing} of ${plural(all, noun)}`);
  return [
    note("exceptions", `become exceptions to the managed rules (skip rules): ${counted.join(", ")}`),
    ...lostFindings(
      "firewallRules",
      "bypassing firewall rule",
      missingBypasses.map((rule) => `${rule.id} (${expressionOf(rule)})`),
    ),
    ...lostFindings("pageRules", "disabling page rule", missingPages),
  ];
}

/** Whether an expression names the host and the path of a page rule's pattern, however it compares them. */
function isFor(expression: string, url: string): boolean {
  const [, host = "", path = ""] = /^(?:https?:\/\/)?([^/]*)(\/.*)?$/.exec(url) ?? [];
  return [...host.split("*"), ...path.split("*")]
    .filter((part) => part !== "" && part !== "/")
    .every((part) => expression.includes(JSON.stringify(part).slice(1, -1)));
}

/** What becomes of the entry point by the next step. */
function sendingFindings(situation: Situation, configured: readonly WireRule[] | undefined): Finding[] {
  const sending = sendingOf(situation, configured);
  if (sending === undefined) return [];
  const { rules, dropped, overwritten, passedOver } = sending;
  const found: Finding[] = [];
  const changed = rules.filter(({ origin }) => origin === "changed");
  if (changed.length > 0) {
    found.push(
      note(
        "entryPoint",
        `other settings for ${plural(changed.length, "rule")} of the entry point: ${names(changed.map(({ rule }) => ruleWords(rule)))}`,
        overwritten.map(whole),
      ),
    );
  }
  if (dropped.length > 0) {
    const what = names(dropped.map((rule) => `${String(rule["id"])} ${ruleWords(rule)}`));
    found.push({
      weight: "lost",
      about: "entryPoint",
      text: `configuration leaves out ${plural(dropped.length, "rule")} of the entry point: ${what}`,
      items: dropped.map(whole),
    });
  }
  if (passedOver.length > 0) {
    const what = names(passedOver.map(ruleWords), "; ");
    const text = `the service proposes this beside it, which is not sent: ${what}`;
    found.push(note("proposed", text, passedOver.map(whole)));
  }
  if (!rules.some(({ rule }) => deploys(rule))) {
    found.push({
      ...NOTHING_ON,
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
        late.map(({ rule }) => whole(rule)),
      ),
    );
  }
  return found;
}

/** A rule as somebody would write it again. */
function whole(rule: WireRule): string {
  return canonicalJson(fromWire(rule));
}
