import { rulesetName } from "../../migration/words";
import type { RulesetExpansion } from "../../rulesets/effective";
import type { Block } from "../model";
import { joined, say, value, words, type Phrase } from "../phrase";
import { escapeInvisible } from "../../api/printable";
import { sameJson } from "../../runtime/values";
import { bag, cell, counted, list, shown, text } from "../values";
import {
  argumentTable,
  isGone,
  isFresh,
  isNew,
  lineChanges,
  standing,
  tableOf,
  textBlock,
  type Teller,
  type Told,
} from "./section";

export const managedRuleset: Teller = {
  summary: (all) => {
    const { expansion, ruleset, enabled } = standing(all).inputs;
    const { ruleset: known, paranoiaLevel, scoreThreshold } = bag(expansion);
    const level = text(paranoiaLevel)?.split(":")[0];
    const parts: readonly (Phrase | undefined)[] = [
      cell(text(known)?.replace(/ \([0-9a-f]{32}\)$/, "") ?? nameOf(ruleset), 80),
      level === undefined ? undefined : words(`paranoia level ${level}`),
      scoreThreshold === undefined ? undefined : say`threshold ${words(shown(scoreThreshold))}`,
      enabled === false ? words("switched off") : undefined,
    ];
    return joined(parts.filter((part) => part !== undefined));
  },
  blocks: (all) => (isGone(all.step) ? afterwards(all) : changes(all)),
};

function nameOf(ruleset: unknown): unknown {
  const { name, id } = bag(ruleset);
  return name ?? (text(id) === undefined ? id : rulesetName(text(id)));
}

/** What a destroy does, which depends on whose rule it was. */
function afterwards({ old }: Told): readonly Block[] {
  const mode = modeOf(old);
  if (mode === "keep")
    return [textBlock(words("The rule stays as it is, managed by nobody (onDestroy: keep)."))];
  return mode === "restore"
    ? [textBlock(words("The rule was taken over; it is put back as it was found."))]
    : [];
}

/** As the resource decides it: what becomes of the rule. */
export function modeOf({ inputs, outputs }: Pick<Told["old"], "inputs" | "outputs">): string {
  const wasOthers = outputs["previous"] !== undefined;
  const mode = text(inputs["onDestroy"]) ?? (wasOthers ? "restore" : "remove");
  return mode === "restore" && !wasOthers ? "remove" : mode;
}

function changes(all: Told): readonly Block[] {
  const drift = text(all.before.inputs["drift"]);
  return [
    ...(drift === undefined
      ? []
      : [
          textBlock(
            say`Changed outside of the program, in ways that no argument has; it is put right: ${escapeInvisible(drift)}.`,
          ),
        ]),
    ...expansionTable(all),
    ...overrideTable(all),
    ...exceptionChanges(all),
    ...argumentTable(all, ["expansion", "drift", "rules", "categories", "owasp", "exceptions", "ruleset"]),
  ];
}

/** What the declaration amounts to. */
function expansionTable(all: Told): readonly Block[] {
  const { before: was, new: next } = all;
  const [before, after] = [bag(was.inputs["expansion"]), bag(next.inputs["expansion"])];
  const rows = Object.entries(MEANING)
    .filter(([name]) => shown(before[name]) !== shown(after[name]))
    .map(([name, what]): [Phrase, Phrase, Phrase] => [words(what), cell(before[name]), cell(after[name])]);
  const conflicts = list(after["conflicts"]).map((conflict) => words(shown(conflict, 300)));
  const isTold = !isNew(all.step) && sameJson(before, after);
  const compared = isTold ? [] : comparison(bag(after["compared"]));
  return [
    ...compared,
    ...tableOf(all, "what it amounts to", rows),
    ...(conflicts.length === 0 ? [] : [{ is: "list", items: conflicts } as const satisfies Block]),
  ];
}

/** What changes against what runs now. */
function comparison(compared: Readonly<Record<string, unknown>>): readonly Block[] {
  const items = ["weaker", "stronger", "moved"].flatMap((how) =>
    list(compared[how]).map((line) => say`${words(how)}: ${words(shown(line, 300))}`),
  );
  return items.length === 0 ? [] : [textBlock(words("Against what runs now:")), { is: "list", items }];
}

const MEANING: Readonly<Record<Exclude<keyof RulesetExpansion, "conflicts" | "compared">, string>> = {
  ruleset: "ruleset",
  version: "version",
  paranoiaLevel: "paranoia level",
  scoreThreshold: "score threshold",
  action: "action",
  rules: "rules",
  switched: "switched against the defaults",
  otherActions: "actions against the defaults",
};

/** The overrides one by one, so that one that goes reads as clearly as one that comes. */
function overrideTable(all: Told): readonly Block[] {
  const { before: was, new: next } = all;
  const [before, after] = [overrides(was.inputs), overrides(next.inputs)];
  const rows = [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name): [Phrase, Phrase, Phrase] => [value(name), cell(before.get(name)), cell(after.get(name))]);
  return tableOf(all, "override", rows);
}

/** In the order that decides: OWASP's words, tags as given, rules by id. */
function overrides(inputs: Readonly<Record<string, unknown>>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [member, given] of Object.entries(bag(inputs["owasp"])))
    found.set(`owasp.${member}`, shown(given));
  for (const [index, category] of list(inputs["categories"]).entries()) {
    const { tag, ...rest } = bag(category);
    found.set(`${index + 1}. tag ${shown(tag)}`, settings(rest));
  }
  const rules = Object.entries(bag(inputs["rules"])).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [id, rule] of rules) found.set(`rule ${shown(id)}`, settings(bag(rule)));
  return found;
}

function settings(override: Readonly<Record<string, unknown>>): string {
  return Object.entries(override)
    .map(([member, given]) =>
      member === "enabled" && typeof given === "boolean"
        ? given
          ? "on"
          : "off"
        : `${member} ${shown(given)}`,
    )
    .join(", ");
}

/** Requests that managed rules leave alone: all where they are new, else what goes and what comes. */
function exceptionChanges(all: Told): readonly Block[] {
  const { before: was, new: next } = all;
  const after = list(next.inputs["exceptions"]).map(exceptionWords);
  const before = list(was.inputs["exceptions"]).map(exceptionWords);
  if (isFresh(all) && after.length > 0)
    return [textBlock(words("Exceptions:")), { is: "code", language: "text", lines: after }];
  const lines = lineChanges(before, after);
  return lines.length === 0 ? [] : [textBlock(words("Exceptions:")), ...lines];
}

function exceptionWords(exception: unknown, index: number): string {
  const { expression, description, skip } = bag(exception);
  const why = description === undefined ? "" : ` (${shown(description)})`;
  return `${index + 1}. ${shown(expression, 300)}: skips ${skipped(skip)}${why}`;
}

export function skipped(skip: unknown): string {
  const { rulesets, rules } = bag(skip);
  if (skip === "all") return "all managed rules behind it";
  if (skip === "this") return THIS_RULESET;
  if (rulesets !== undefined)
    return list(rulesets)
      .map((name) => skippedRuleset(text(name)))
      .join(", ");
  if (rules === undefined) return shown(skip);
  return Object.entries(bag(rules))
    .map(([name, some]) => `${counted(list(some).length, "rule")} of ${skippedRuleset(name)}`)
    .join(", ");
}

const THIS_RULESET = "this ruleset";

/** By the name that the program gives, or by the one that its ID is known for. */
function skippedRuleset(name: string | undefined): string {
  if (name === "this") return THIS_RULESET;
  return name === undefined || /^[0-9a-f]{32}$/.test(name) ? rulesetName(name) : shown(name);
}
