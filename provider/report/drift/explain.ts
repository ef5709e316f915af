import { omitAbsent } from "../../runtime/members";
import { isJsonObject, ownMember, sameJson, type JsonObject } from "../../runtime/values";
import { EFFECTS } from "../effects";
import { joined, name as nameOf, say, series, value, words, type Phrase } from "../phrase";
import type { Sides, Step } from "../plan";
import { asNumber, asText, cell, containsSecret, counted, differences } from "../values";
import { argumentsOf, DRIFT, MIGRATION_STATE, valueOf, type Drifted } from "./by-hand";
import type { DriftChange, DriftedResource } from "./model";

/**
 * Explains a manual change: what was changed, who should know, what `pulumi up` does about it, and how to keep the
 * change.
 */

const UP = nameOf("pulumi up");

/** Lists the manual changes, property by property, each with the program's value if the program changed too. */
export function changesOf(drifted: Drifted): readonly DriftChange[] {
  const { recorded, now, next, names, isHidden } = drifted;
  if (now === undefined) return [];
  if (isHidden)
    return names.map((name) => ({
      property: name,
      before: cell(recorded.inputs[name]),
      now: words(`[secret], which ${hasChanged({ ...drifted, names: [name] })}`),
    }));
  return names.flatMap((name): readonly DriftChange[] => {
    const drift = name === DRIFT ? asText(valueOf(now, name)) : undefined;
    if (drift !== undefined) return outsideArguments(drifted, drift);
    const part = (side: Sides): JsonObject => ({ [name]: byIndex(valueOf(side, name)) });
    const program = next?.new === undefined || name === MIGRATION_STATE ? recorded : next.new;
    const planned = new Map(
      differences(part(recorded), part(program)).map(([path, , after]) => [path, after]),
    );
    return differences(part(recorded), part(now)).map(([property, before, after]) => ({
      property,
      before,
      now: after,
      ...omitAbsent({ planned: planned.get(property) }),
    }));
  });
}

/** Converts a list of objects to an object by index, so that the elements are compared property by property. */
function byIndex(given: unknown): unknown {
  return Array.isArray(given) && given.length > 0 && given.every(isJsonObject)
    ? Object.fromEntries(given.entries())
    : given;
}

const hasChanged = ({ now, names }: Drifted): string =>
  now?.outputs[DRIFT] === undefined
    ? "may have changed"
    : names.length === 1
      ? "has changed"
      : "have changed";

/** Describes drift that no argument can show: a KvEntries' keys, or how a rule deploys its ruleset. */
function outsideArguments({ kind, recorded }: Drifted, drift: string): readonly DriftChange[] {
  if (kind !== "KvEntries")
    return [{ property: "no argument", before: words("as declared"), now: words(drift) }];
  const keys = keysOf(recorded);
  return drift.split("; ").map((part) => ({
    property: sourceOf(recorded.inputs),
    before: words(`${keys} as written`),
    now: words(part),
  }));
}

/** Counts the keys that a KvEntries wrote: `12 keys`, or `the keys` if the plan doesn't show how many. */
function keysOf({ inputs }: Drifted["recorded"]): string {
  const count = asNumber(inputs["keys"]);
  return count === undefined ? "the keys" : counted(count, "key");
}

/** Returns the argument from which a KvEntries takes its content. */
const sourceOf = (inputs: Readonly<Record<string, unknown>>): string =>
  ["file", "directory"].find((name) => inputs[name] !== undefined) ?? "entries";

/**
 * Finds losses that `EFFECTS` doesn't cover: lost data, a migration that can't be undone, and changes that the plan
 * doesn't show.
 */
export function furtherLosses(drifted: Drifted): readonly Phrase[] {
  const { kind, recorded, now, isHidden, names } = drifted;
  const drift = now === undefined ? undefined : asText(now.inputs[DRIFT]);
  if (isHidden)
    return [
      names.length === 1
        ? say`${joined(names.map(value))} ${words(hasChanged(drifted))}; the plan hides it`
        : say`${series(names.map(value))} ${words(hasChanged(drifted))}; the plan hides them`,
    ];
  if (kind === "KvNamespace" && now === undefined)
    return [say`namespace ${cell(recorded.inputs["title"], 60)} is gone, along with every key in it`];
  if (kind === "KvEntries" && drift !== undefined && names.includes(DRIFT))
    return [say`Workers don't read the values that the program wrote: ${words(drift)}`];
  if (kind === "KvEntries" && now === undefined)
    return [words(`${keysOf(recorded)} that the program wrote can't be read`)];
  if (kind === "WafMigration")
    return [
      say`the state of the zone's WAF migration changed from ${cell(valueOf(recorded, MIGRATION_STATE), 40)} to ${cell(now && valueOf(now, MIGRATION_STATE), 40)}; Cloudflare can't undo it`,
    ];
  if (drift !== undefined && names.includes(DRIFT)) return [say`it may protect less: ${words(drift)}`];
  return [];
}

/** The people who should know about a change, by class. */
const CONCERNS: Readonly<Record<string, string>> = {
  PageShieldSettings: "whoever watches the zone's Page Shield alerts",
  PageShieldPolicy: "whoever owns the pages that the policy covers, and whoever reviews its violations",
  ManagedRulesetOverride: "your security team, and whoever runs the zone's sites",
  WafMigration: "your security team, and whoever plans the zone's migration",
  LogpushJob: "whoever reads these logs",
  KvNamespace: "whoever runs the Workers that are bound to the namespace",
  KvEntries: "whoever runs the Workers that read these keys",
};

export function concernsOf({ kind, now }: Drifted, changes: readonly DriftChange[]): Phrase {
  const who = words(ownMember(CONCERNS, kind) ?? "whoever owns the resource");
  const isNeutral = now !== undefined && changes.every(({ property }) => isNeutralIn(kind, property));
  return isNeutral ? say`${who}; the change has no effect on protection, logs or data` : who;
}

/** Whether changing the argument, or any part of it, has no effect on protection. */
function isNeutralIn(kind: string, property: string): boolean {
  const rows = Object.entries(ownMember(EFFECTS, kind) ?? {});
  const isWithin = (path: string): boolean => path === property || path.startsWith(`${property}.`);
  const own = rows.filter(([path]) => isWithin(path));
  return own.length > 0 && own.every(([, { is }]) => is === "neutral");
}

export function updateOf(drifted: Drifted, changes: readonly DriftChange[]): Phrase {
  const { kind, now, next } = drifted;
  if (now === undefined) return recreation(drifted);
  if (next === undefined) return say`${UP} changes nothing`;
  if (kind === "WafMigration")
    return next.op === "delete"
      ? say`${UP} only removes the resource from the state. A migration can't be undone`
      : say`${UP} can't undo the change, because migrations are irreversible`;
  switch (next.op) {
    case "delete":
      return next.old?.retained === true
        ? say`${UP} removes the resource from the state and leaves the object in place (retainOnDelete)`
        : say`${UP} deletes the object, because the program no longer declares it`;
    case "replace":
      return say`${UP} replaces the object`;
    case "update":
      return withOtherChanges(
        kind === "KvEntries" && changes.some(({ property }) => property === sourceOf(now.inputs))
          ? say`${UP} writes these keys again`
          : putsBack(changes, drifted.isHidden),
        drifted,
      );
    case "discard":
      return say`${UP} leaves the object as it is, because the program only reads it from now on`;
    default:
      return say`${UP} leaves the object as it is, because the program now declares it this way or ignores the change (ignoreChanges)`;
  }
}

function recreation({ kind, next, recorded }: Drifted): Phrase {
  if (next === undefined)
    return say`${UP} only removes the resource from the state, because the program no longer declares it`;
  if (kind === "KvNamespace")
    return say`${UP} creates an empty namespace with a new ID. The deleted namespace's keys are lost`;
  if (kind !== "KvEntries") return say`${UP} creates the object again`;
  const count = asNumber(recorded.inputs["keys"]);
  const which = count === 1 ? "the key" : count === undefined ? "the keys" : `all ${counted(count, "key")}`;
  return say`${UP} writes ${words(which)} again`;
}

const IT_IS = words("it is");
const THEY_ARE = words("they are");

function putsBack(changes: readonly DriftChange[], isHidden: boolean): Phrase {
  if (isHidden) return say`${UP} writes the program's value`;
  const left = changes.filter(({ planned, now }) => planned?.toString() === now.toString());
  const set = changes.filter((change) => change.planned !== undefined && !left.includes(change));
  const back = changes.filter(({ planned }) => planned === undefined);
  if (back.length === changes.length) return say`${UP} undoes the change`;
  const names = (some: readonly DriftChange[]): Phrase => series(some.map(({ property }) => value(property)));
  const parts = [
    ...(back.length === 0 ? [] : [say`puts back ${names(back)}`]),
    ...(left.length === 0 ? [] : [say`leaves ${names(left)} as ${left.length === 1 ? IT_IS : THEY_ARE}`]),
    ...(set.length === 0 ? [] : [say`sets ${names(set)} to what the program now declares`]),
  ];
  return say`${UP} ${series(parts)}`;
}

/** Adds a sentence about the program's own changes. */
function withOtherChanges(sentence: Phrase, { kind, names, recorded, next }: Drifted): Phrase {
  const program = next?.new;
  if (program === undefined) return sentence;
  const others = argumentsOf(kind).filter(
    (name) => !names.includes(name) && !sameJson(valueOf(recorded, name), valueOf(program, name)),
  );
  return others.length === 0
    ? sentence
    : say`${sentence}. The program also changes ${series(others.map(value))}, which isn't drift`;
}

export function keepOf(drifted: Drifted, changes: readonly DriftChange[]): DriftedResource["keep"] {
  const { kind, step, now, next, names, recorded, isHidden } = drifted;
  const nothing = (how: Phrase): DriftedResource["keep"] => ({ how, code: [] });
  const full = nameOf(`${kind} ${step.name}`);
  if (now === undefined)
    return nothing(
      next === undefined ? NOTHING_TO_DO : say`To keep it deleted, remove ${full} from the program`,
    );
  if (kind === "WafMigration") return migrationKeep(drifted);
  if (next?.op === "same" || next?.op === "discard") return nothing(NOTHING_TO_DO);
  if (kind === "KvEntries" && names.includes(DRIFT))
    return nothing(say`To keep the change, update these keys in the program's ${sourceOf(recorded.inputs)}`);
  const declarable = names.filter((name) => name !== DRIFT);
  if (declarable.length === 0)
    return nothing(words("No argument covers this change, so the program can't keep it"));
  const secrets = declarable.filter((name) => isHidden || containsSecret(now.inputs[name]));
  const visible = declarable.filter((name) => !secrets.includes(name));
  const writing = next?.op === "delete" ? say`declare ${full} again with` : words("put this in the program");
  const removed = visible.filter((name) => now.inputs[name] === undefined);
  const written = visible.filter(
    (name) => now.inputs[name] !== undefined && !isProgram(next, now.inputs, name),
  );
  const parts = [
    ...(removed.length === 0 ? [] : [say`remove ${series(removed.map(value))}`]),
    ...(secrets.length === 0
      ? []
      : [
          say`set ${series(secrets.map(value))} to ${words(secrets.length === 1 ? "its current value" : "their current values")}, which the plan hides`,
        ]),
    ...(written.length === 0 ? [] : [writing]),
  ];
  const what = parts.length === 0 || changes.length === 0 ? words("do nothing") : joined(parts, ", and ");
  return {
    how: names.includes(DRIFT)
      ? say`To keep the changed arguments, ${what}. No argument covers the rest`
      : say`To keep the change, ${what}`,
    code: written.map((name) => argument(name, recorded.inputs[name], now.inputs[name])),
  };
}

const NOTHING_TO_DO = words("To keep the change, do nothing");

const isProgram = (next: Step | undefined, now: Readonly<Record<string, unknown>>, name: string): boolean =>
  next?.new !== undefined && sameJson(next.new.inputs[name], now[name]);

function migrationKeep({ now, recorded }: Drifted): DriftedResource["keep"] {
  const [state, target] = [now?.outputs[MIGRATION_STATE], recorded.inputs["target"]];
  if (target === "assessed" || (state !== "validation" && state !== "finished"))
    return { how: NOTHING_TO_DO, code: [] };
  return {
    how: words("To keep the change, put this in the program"),
    code: [argument("target", target, state)],
  };
}

/** Formats an argument as TypeScript. For an object, formats only the properties that differ. */
function argument(name: string, before: unknown, now: unknown): string {
  if (!isJsonObject(before) || !isJsonObject(now)) return `${key(name)}: ${literal(now)},`;
  const members = Object.keys({ ...before, ...now }).filter(
    (member) => !sameJson(before[member], now[member]),
  );
  if (Object.keys(now).every((member) => members.includes(member))) return `${key(name)}: ${literal(now)},`;
  const written = members.map((member) => `${key(member)}: ${literal(now[member])}`);
  return `${key(name)}: { /* … */ ${written.join(", ")} },`;
}

function literal(given: unknown): string {
  if (typeof given === "string" && /^[^'\\\p{Cc}]*"[^'\\\p{Cc}]*$/u.test(given)) return `'${given}'`;
  if (Array.isArray(given)) return `[${given.map(literal).join(", ")}]`;
  if (!isJsonObject(given)) return given === undefined ? "undefined" : JSON.stringify(given);
  const members = Object.entries(given).map(([name, member]) => `${key(name)}: ${literal(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
