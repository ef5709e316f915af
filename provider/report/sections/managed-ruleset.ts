import { z } from "zod";
import { rulesetRecord, trafficLines, type ComparedRules } from "../../rulesets/impact";
import { rulesetName } from "../../migration/rule-text";
import { expansionIn, type RuleCounts, type RulesetExpansion } from "../../rulesets/effective";
import { thresholdLabel } from "../../rulesets/overrides";
import type { Block } from "../model";
import { joined, say, words, type Phrase } from "../phrase";
import { escapeInvisible } from "../../basics/printable";
import { ID } from "../../runtime/fields";
import { inSeries } from "../../basics/words";
import { asObject, cell, counted, asList, formatValue, asText } from "../values";
import {
  argumentTable,
  isDeleted,
  hasNoBefore,
  lineChanges,
  currentSides,
  tableOf,
  codeBlock,
  listBlock,
  textBlock,
  titled,
  type SectionWriter,
  type StepView,
} from "./section";

export const managedRuleset: SectionWriter = {
  summary: (all) => {
    const side = currentSides(all);
    const { inputs } = side;
    const { paranoiaLevel, scoreThreshold } = expansionIn(inputs);
    const parts: readonly (Phrase | undefined)[] = [
      nameOf(side),
      paranoiaLevel === undefined ? undefined : words(`paranoia level ${paranoiaLevel}`),
      scoreThreshold === undefined ? undefined : words(`threshold ${thresholdLabel(scoreThreshold)}`),
      inputs["enabled"] === false ? words("disabled") : undefined,
    ];
    return joined(parts.filter((part) => part !== undefined));
  },
  blocks: (all) => (isDeleted(all.step) ? afterDestroy(all) : changes(all)),
};

/** Returns the ruleset's name, as declared or as found by the preview. Undefined if the plan shows only its ID. */
export function declaredName({ inputs }: Pick<StepView["old"], "inputs">): string | undefined {
  return expansionIn(inputs).ruleset?.name ?? asText(asObject(inputs["ruleset"])["name"]);
}

/**
 * Names the ruleset for a reader: by its name, by the known name for its ID, or by the ID. If it's deployed in an account,
 * says so, because a change there changes many zones.
 */
export function nameOf(side: Pick<StepView["old"], "inputs">): Phrase {
  const { ruleset, zoneId, accountId } = side.inputs;
  const { id } = asObject(ruleset);
  const known = declaredName(side) ?? (id === undefined ? undefined : rulesetName(asText(id)));
  const name = known === undefined ? words(rulesetName(undefined)) : cell(known, 80);
  return zoneId === undefined && accountId !== undefined
    ? say`${name} for all matching zones of account ${cell(accountId, 40)}`
    : name;
}

/** Returns what a destroy does. That depends on where the rule came from. */
function afterDestroy({ old }: StepView): readonly Block[] {
  const mode = modeOf(old);
  if (old.retained) return [];
  if (mode === "keep") return [textBlock("The rule stays as it is, unmanaged (onDestroy: keep).")];
  return mode === "restore"
    ? [textBlock("The rule was adopted, so its original settings will be restored.")]
    : [];
}

/** Returns what a destroy does with the rule, applying the resource's own logic. */
export function modeOf({ inputs, outputs }: Pick<StepView["old"], "inputs" | "outputs">): string {
  const wasOthers = outputs["previous"] !== undefined;
  const mode = asText(inputs["onDestroy"]) ?? (wasOthers ? "restore" : "remove");
  return mode === "restore" && !wasOthers ? "remove" : mode;
}

function changes(all: StepView): readonly Block[] {
  const drift = asText(all.before.inputs["drift"]);
  return [
    ...(drift === undefined
      ? []
      : [
          textBlock(
            say`The update also reverts a manual change that no argument covers: ${escapeInvisible(drift)}.`,
          ),
        ]),
    ...expansionTable(all),
    ...exceptionChanges(all),
    ...argumentTable(all, ["expansion", "drift", "ruleIds", "exceptions", "ruleset"]),
  ];
}

/** Shows the deployment's expansion: the ruleset's version, and how many rules are on with which action. */
function expansionTable(all: StepView): readonly Block[] {
  const { before: was, new: next } = all;
  const { compared, traffic } = z.object(rulesetRecord).parse(all.impact.members);
  const [before, after] = [expansionIn(was.inputs), expansionIn(next.inputs)];
  const [left, right] = [before, after].map((each) => EXPANSION_ROWS.map(([, text]) => text(each)));
  const rows = EXPANSION_ROWS.map(([what], index) => [what, left?.[index], right?.[index]] as const)
    .filter(([, one, other]) => one !== other)
    .map(([what, one, other]): [Phrase, Phrase, Phrase] => [words(what), cell(one), cell(other)]);
  const conflicts = (after.conflicts ?? []).map((conflict) => words(formatValue(conflict, 300)));
  const named = (after.rulesByName ?? []).filter((line) => before.rulesByName?.includes(line) !== true);
  return [
    ...comparison(compared),
    ...titled(
      "Firewall events:",
      listBlock(
        (traffic === undefined ? [] : trafficLines(traffic)).map((line) => words(formatValue(line, 300))),
      ),
    ),
    ...tableOf(all, "expansion", rows),
    ...titled("Rules by name:", listBlock(named.map((line) => words(formatValue(line, 300))))),
    ...listBlock(conflicts),
  ];
}

/** Shows what changes compared with the live rule. */
export function comparison(
  compared: ComparedRules | undefined,
  heading: Phrase | string = "Compared with what runs now:",
): readonly Block[] {
  const items = (["weaker", "stronger", "moved"] as const).flatMap((how) =>
    (compared?.[how] ?? []).map((line) => say`${words(how)}: ${words(formatValue(line, 300))}`),
  );
  return titled(heading, listBlock(items));
}

type Row = readonly [what: string, text: (known: Partial<RulesetExpansion>) => string | undefined];

const EXPANSION_ROWS: readonly Row[] = [
  ["ruleset", ({ ruleset }) => ruleset && `${ruleset.name} (${ruleset.id})`],
  ["version", ({ version, latest }) => (latest === undefined ? version : `${version}, now ${latest}`)],
  ["paranoia level", levelText],
  [
    "score threshold",
    ({ scoreThreshold }) => (scoreThreshold === undefined ? undefined : thresholdLabel(scoreThreshold)),
  ],
  ["action", ({ action }) => action],
  ["rules", ({ rules }) => rules && `${rules.on + rules.off}: ${onAndOff(rules)}`],
  ["rules turned on or off, compared with the default", ({ switched }) => switched && onAndOff(switched)],
  ["actions that differ from the default", ({ otherActions }) => otherActions],
];

const onAndOff = ({ on, off }: RuleCounts): string => `${on} on, ${off} off`;

function levelText({ paranoiaLevel, levelsOff: off = [] }: Partial<RulesetExpansion>): string | undefined {
  if (paranoiaLevel === undefined) return undefined;
  return `${paranoiaLevel}: ${off.length === 0 ? "no level is" : `${inSeries(off)} ${off.length === 1 ? "is" : "are"}`} off`;
}

/** Shows the exceptions: all of them for a new list, otherwise those that are removed or added. */
function exceptionChanges(all: StepView): readonly Block[] {
  const { before: was, new: next } = all;
  const after = asList(next.inputs["exceptions"]).map(exceptionWords);
  const before = asList(was.inputs["exceptions"]).map(exceptionWords);
  return titled("Exceptions:", hasNoBefore(all) ? codeBlock(after) : lineChanges(before, after));
}

function exceptionWords(exception: unknown, index: number): string {
  const { expression, description, skip, logging } = asObject(exception);
  const why = description === undefined ? "" : ` (${formatValue(description)})`;
  return `${index + 1}. ${formatValue(expression, 300)}: skips ${skipWords(skip)}${logging === false ? ", not logged" : ""}${why}`;
}

export function skipWords(skip: unknown): string {
  const { rulesets, rules } = asObject(skip);
  if (skip === "all") return "all managed rules after it";
  if (skip === "this") return THIS_RULESET;
  if (rulesets !== undefined)
    return asList(rulesets)
      .map((name) => skippedRuleset(asText(name)))
      .join(", ");
  if (rules === undefined) return formatValue(skip);
  return Object.entries(asObject(rules))
    .map(
      ([name, some]) =>
        `${counted(asList(some).length, "rule")} of ${skippedRuleset(name)}${namesAmong(asList(some))}`,
    )
    .join(", ");
}

/** Returns the rules that the program refers to by name instead of by ID. */
function namesAmong(rules: readonly unknown[]): string {
  const names = rules.filter((rule) => !ID.is(asText(rule) ?? ""));
  const more = names.length > SHOWN_NAMES ? ", …" : "";
  const shown = names.slice(0, SHOWN_NAMES).map((name) => formatValue(name));
  return names.length === 0 ? "" : ` (${shown.join(", ")}${more})`;
}

const SHOWN_NAMES = 5;

const THIS_RULESET = "this ruleset";

/** Returns a ruleset's name: the one in the program, or the known name for its ID. */
function skippedRuleset(name: string | undefined): string {
  if (name === "this") return THIS_RULESET;
  return name === undefined || /^[0-9a-f]{32}$/.test(name) ? rulesetName(name) : formatValue(name);
}
