import { omitAbsent, ownMember, sameJson, type JsonObject } from "../../basics/json";
import { escapeReferences } from "../../basics/code";
import { applying, inSeries } from "../../basics/words";
import { EXCEPTIONS_APART } from "../../rulesets/live-rule";
import { PAYLOAD_KEY } from "../../rulesets/impact";
import { OTHER_SKIPS } from "../../rulesets/skip-rules";
import { TYPE_PREFIXES } from "../../runtime/type-tokens";
import { UNMANAGED } from "../../runtime/unmanaged";
import { JUDGES } from "../effects";
import { name as nameOf, say, value, words, type Phrase } from "../phrase";
import type { Sides, Step } from "../plan";
import { asList, asNumber, asObject, asText, cell, containsSecret, counted, differences } from "../values";
import { exceptionsOf } from "../judges/ruleset-facts";
import { isUnchanged } from "../judges/sides";
import { adoptedBy, NOTHING } from "../sections/section";
import { DRIFT, MIGRATION_STATE, prunedIn, PRUNES, skippedByOthers, valueOf, type Drifted } from "./by-hand";
import type { DriftChange, DriftedResource } from "./model";

/**
 * Explains a manual change: what was changed, who should know, what `pulumi up --refresh` does about it, and how to keep
 * the change.
 */

/** Lists the manual changes, property by property, each with the program's value if the program changed too. */
export function changesOf(drifted: Drifted): readonly DriftChange[] {
  const { kind, recorded, now, next, names, hidden } = drifted;
  if (now === undefined) return [];
  return names.flatMap((name): readonly DriftChange[] => {
    if (hidden.includes(name)) {
      return [
        { property: name, before: cell(recorded.inputs[name]), now: words("[secret], which has changed") },
      ];
    }
    const drift = IN_WORDS[name]?.(drifted);
    if (drift !== undefined) {
      const [property, before] =
        kind === "KvEntries"
          ? [sourceOf(recorded), `${keysOf(recorded)} as written`]
          : ["no argument", "as declared"];
      return [{ property, before: words(before), now: words(drift) }];
    }
    const part = (side: Sides): JsonObject =>
      name === UNMANAGED ? asObject(valueOf(side, name)) : { [name]: valueOf(side, name) };
    const program =
      next?.new === undefined || [MIGRATION_STATE, UNMANAGED].includes(name) ? recorded : next.new;
    const planned = new Map(
      differences(part(recorded), part(program)).map(([path, , after]) => [path, after]),
    );
    return differences(part(recorded), part(now)).map(([property, before, after]) => {
      const given = planned.get(property);
      // With ignoreChanges, the engine puts what exists in the place of what the program says.
      const isSame = given !== undefined && sameJson(given, after);
      return { property, before, now: after, ...omitAbsent({ planned: isSame ? words(AS_NOW) : given }) };
    });
  });
}

const AS_NOW = "as now, or ignored (ignoreChanges)";

/** What describes a change that's in no argument. */
const IN_WORDS: Readonly<Record<string, (drifted: Drifted) => string | undefined>> = {
  [DRIFT]: ({ now }) => asText(now?.inputs[DRIFT]),
  [OTHER_SKIPS]: (drifted) => skippedByOthers(drifted).join("; "),
  [PRUNES]: (drifted) => prunedIn(drifted)?.toString(),
};

/** Counts the keys that a KvEntries wrote: `12 keys`, or `the keys` if the plan doesn't show how many. */
function keysOf({ inputs }: Sides): string {
  const count = asNumber(inputs["keys"]);
  return count === undefined ? "the keys" : counted(count, "key");
}

/** Returns the argument from which a KvEntries takes its content. */
const sourceOf = ({ inputs }: Sides): string =>
  ["file", "directory"].find((name) => inputs[name] !== undefined) ?? "entries";

/**
 * Finds losses that `JUDGES` doesn't cover: lost data, a migration that can't be undone, and changes that the plan
 * doesn't show.
 */
export function furtherLosses(drifted: Drifted): readonly Phrase[] {
  const { kind, recorded, now, hidden, names } = drifted;
  const unseenNames = hidden.map((name) => say`${value(name)} has changed; the plan hides it`);
  if (kind === "WafMigration") {
    // The refresh records a step that this program sent as reached.
    const isOwn = asObject(asList(now?.outputs["history"]).at(-1))["event"] === "reached";
    return [
      say`${words(isOwn ? "a step of this program" : "someone outside this program")} moved the zone's WAF migration from ${cell(valueOf(recorded, MIGRATION_STATE), 40)} to ${cell(now && valueOf(now, MIGRATION_STATE), 40)}; Cloudflare can't undo it`,
    ];
  }
  if (now === undefined) {
    if (kind === "KvNamespace")
      return [say`namespace ${cell(recorded.inputs["title"], 60)} is gone, along with every key in it`];
    return kind === "KvEntries" ? [words(`${keysOf(recorded)} that the program wrote can't be read`)] : [];
  }
  const drift = names.includes(DRIFT) ? asText(now.inputs[DRIFT]) : undefined;
  const ofOthers = [...unseenNames, ...skippedByOthers(drifted).map(words), ...applying(prunedIn(drifted))];
  if (drift === undefined) return ofOthers;
  const what = words(kind === "KvEntries" ? VALUES_LOST : "it may protect less");
  return [say`${what}: ${words(drift)}`, ...ofOthers];
}

const VALUES_LOST = "Workers don't read these keys as the program wrote them";

/** The people who should know about a change, by class. */
const CONCERNS: Readonly<Record<string, string>> = {
  PageShieldSettings: "whoever watches the zone's Page Shield alerts",
  PageShieldPolicy: "whoever owns the pages that the policy covers, and whoever reviews its violations",
  ManagedRulesetOverride: "your security team, and whoever runs the zone's sites",
  WafMigration: "your security team, and whoever plans the zone's migration",
  LogpushJob: "whoever reads these logs",
  LogpushTransformer: "whoever reads the logs of the jobs that use it",
  KvNamespace: "whoever runs the Workers that are bound to the namespace",
  KvEntries: "whoever runs the Workers that read these keys",
};

export function concernsOf({ kind, now }: Drifted, changes: readonly DriftChange[]): Phrase {
  const who = words(ownMember(CONCERNS, kind) ?? "whoever owns the resource");
  const isNeutral = now !== undefined && changes.every(({ property }) => isNeutralIn(kind, property));
  return isNeutral ? say`${who}; the change loses no protection, log lines or keys` : who;
}

/** Whether changing the argument, or any part of it, has no effect on protection. */
function isNeutralIn(kind: string, property: string): boolean {
  const rows = Object.entries(ownMember(JUDGES, kind) ?? {});
  const own = rows.filter(([path]) => `${path}.`.startsWith(`${property}.`));
  return own.length > 0 && own.every(([, judges]) => judges.length === 0);
}

type Outcome = Pick<DriftedResource, "update" | "keep">;

/** Without it, an update compares the program with the state, and leaves every manual change as it is. */
export const UNDO = nameOf("pulumi up --refresh");

/** Returns what `pulumi up --refresh` does about the change, and how to keep the change. */
export function outcomeOf(drifted: Drifted, changes: readonly DriftChange[]): Outcome {
  const { kind, step, now, next, recorded, hidden, names } = drifted;
  const full = nameOf(`${kind} ${step.name}`);
  const outcome = (update: string, keep: Outcome["keep"] = { how: DO_NOTHING, code: [] }): Outcome => ({
    update: say`${UNDO} ${words(update)}`,
    keep,
  });
  if (now === undefined) {
    if (next === undefined)
      return outcome("only removes the resource from the state, because the program no longer declares it");
    const hasExceptions = asList(recorded.inputs["exceptions"]).length > 0;
    const then = hasExceptions
      ? say`, and run ${nameOf("pulumi up")} without a refresh before it: that also deletes its exceptions`
      : words("");
    const how = say`To keep it deleted, remove ${full} from the program${then}`;
    const adopts =
      next.new !== undefined && adoptedBy({ old: next.old ?? NOTHING, new: next.new }) !== undefined;
    const does = adopts ? "adopts an object that exists already" : ownMember(RECREATED, kind);
    return outcome(does ?? "creates the object again", { how, code: [] });
  }
  if (next === undefined) return outcome("changes nothing");
  const isOfOthers = names.every((name) => [OTHER_SKIPS, UNMANAGED].includes(name));
  if (isOfOthers && names.includes(OTHER_SKIPS) && next.op !== "delete")
    return outcome("records it and leaves it in place", {
      how: say`To keep the change, run ${UNDO}, which records it`,
      code: [],
    });
  if (names.every((name) => name === UNMANAGED) && next.op !== "delete" && !declaresKey(next.new))
    return outcome("leaves it as it is, because the program doesn't set it", keepOf(drifted, IN_PROGRAM));
  if (kind === "WafMigration") {
    const update =
      next.op === "delete"
        ? "only removes the resource from the state. A migration can't be undone"
        : "can't undo the change, because migrations are irreversible";
    const [state, target] = [valueOf(now, MIGRATION_STATE), recorded.inputs["target"]];
    const isKept = target === "assessed" || (state !== "validation" && state !== "finished");
    return isKept
      ? outcome(update)
      : outcome(update, {
          how: say`To keep the change, ${IN_PROGRAM}`,
          code: codeOf(step, { target: state }),
        });
  }
  const keep = keepOf(drifted, IN_PROGRAM);
  switch (next.op) {
    case "delete":
      return outcome(
        next.old?.retained === true || next.old?.inputs["onDestroy"] === "keep"
          ? "removes the resource from the state and leaves the object in place"
          : "destroys the resource, because the program no longer declares it",
        keepOf(drifted, say`declare ${full} again with`),
      );
    case "replace":
      return outcome("replaces the object", keep);
    case "update": {
      const writes = kind !== "KvEntries" || !names.includes(DRIFT) ? [] : ["writes these keys again"];
      const all = names.includes(PRUNES) ? [...writes, "deletes the keys that others wrote"] : writes;
      if (all.length > 0) return outcome(all.join(", and "), keep);
      const isPlain = hidden.length === 0 && changes.every(({ planned }) => planned === undefined);
      const rest = isPlain ? "undoes the change" : "writes the program's values";
      const left = leftAlone(drifted, next.new);
      return left.length === 0
        ? outcome(rest, keep)
        : outcome(`${inSeries(left)}; it undoes whatever else was changed`, keep);
    }
    case "discard":
      return outcome("leaves the object as it is, because the program only reads it from now on");
    default:
      return outcome(
        "leaves the object as it is, because the program now declares it this way or ignores the change (ignoreChanges)",
      );
  }
}

/** Says which of the changes an update leaves as they are. */
function leftAlone({ names, now, hidden }: Drifted, program: Sides | undefined): readonly string[] {
  const ignored = names.filter(
    (name) =>
      !hidden.includes(name) &&
      !NO_ARGUMENT.includes(name) &&
      program !== undefined &&
      now !== undefined &&
      isUnchanged(valueOf(program, name), valueOf(now, name)),
  );
  return applying(
    ignored.length > 0 &&
      `leaves ${inSeries(ignored)} as it is, because the program now declares it this way or ignores the change (ignoreChanges)`,
    names.includes(OTHER_SKIPS) && "leaves the rule that skips in place",
    names.includes(DRIFT) &&
      !names.includes("position") &&
      asText(now?.inputs[DRIFT])?.includes(EXCEPTIONS_APART) === true &&
      "moves the exceptions to the rule, wherever that is now",
    names.includes(UNMANAGED) && !declaresKey(program) && "leaves what the program doesn't set",
  );
}

/** Whether the program sets the key for payload logging, which it left to others until now. */
const declaresKey = (program: Sides | undefined): boolean => program?.inputs["matchedData"] !== undefined;

/** Changes that no argument covers. */
const NO_ARGUMENT = [DRIFT, UNMANAGED, OTHER_SKIPS, PRUNES];

const DO_NOTHING = words("To keep the change, do nothing");
const IN_PROGRAM = words("put this in the program");

/** What an update does about a deleted object, by class. */
const RECREATED: Readonly<Record<string, string>> = {
  KvNamespace: "creates an empty namespace with a new ID. The deleted namespace's keys are lost",
  KvEntries: "writes all of its keys again",
};

/** @param declare what to do with the code. */
function keepOf({ kind, step, now, next, names, recorded }: Drifted, declare: Phrase): Outcome["keep"] {
  const isBeside = names.some((name) => NO_ARGUMENT.includes(name));
  if (kind === "KvEntries" && isBeside)
    return {
      how: names.includes(PRUNES)
        ? say`To keep the keys, put them in the program's ${sourceOf(recorded)}, or set a ${nameOf("prune.prefix")} that leaves them out, before any ${nameOf("pulumi up")}`
        : say`To keep the change, the program's ${sourceOf(recorded)} must have these keys as they are now`,
      code: [],
    };
  const declarable = names.filter((name) => !NO_ARGUMENT.includes(name));
  if (declarable.length === 0) {
    const [was, is] = [recorded, now].map((side) => asObject(side?.outputs[UNMANAGED])[PAYLOAD_KEY]);
    const how =
      is === undefined || sameJson(was, is)
        ? words("No argument covers this change, so the program can't keep it")
        : say`To manage the key, declare it as ${nameOf("matchedData")}`;
    return { how, code: [] };
  }
  const differing = declarable.filter((name) => !isUnchanged(next?.new?.inputs[name], now?.inputs[name]));
  // A program can't disable an exception, but leave it out.
  const declared = (name: string): unknown =>
    name === "exceptions" && Array.isArray(now?.inputs[name]) ? exceptionsOf(now) : now?.inputs[name];
  const code = codeOf(step, Object.fromEntries(differing.map((name) => [name, declared(name)])));
  const what = code.length === 0 ? words("do nothing") : declare;
  return {
    how: isBeside
      ? say`To keep the changed arguments, ${what}. No argument covers the rest`
      : say`To keep the change, ${what}`,
    code,
  };
}

/** Returns the language in which the report writes arguments: what a program of the plugin is written in isn't known. */
export const languageOf = ({ type }: Step): "ts" | "yaml" =>
  type.startsWith(TYPE_PREFIXES.plugin) ? "yaml" : "ts";

/** Formats arguments. JSON is also YAML. */
function codeOf(step: Step, args: JsonObject): string[] {
  const isYaml = languageOf(step) === "yaml";
  const [end, note] = isYaml ? ["", "#"] : [",", "//"];
  return Object.entries(args).map(([name, given]) => {
    const also = name === "destinationConf" && !isYaml ? " It replaces `destination`." : "";
    if (containsSecret(given))
      return `${name}: "…"${end} ${note} The current value, which the plan hides.${also}`;
    if (given === undefined) return isYaml ? `# Without ${name}` : `${name}: undefined,`;
    const isBestInSingleQuotes = typeof given === "string" && /^[^'\\\p{Cc}]*"[^'\\\p{Cc}]*$/u.test(given);
    const text = isBestInSingleQuotes ? `'${given}'` : JSON.stringify(given);
    return `${name}: ${isYaml ? escapeReferences(text) : text}${end}`;
  });
}
