import { z } from "zod";
import { nearest } from "./nearest";
import { hasUnknown, isJsonObject, ownMember, unknownAt, type JsonObject } from "./values";

/** One refusal, as the engine shows it: on the resource, at a property. */
export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

export interface CheckedInputs {
  /** Canonical where known; as written where not. */
  readonly inputs: Record<string, unknown>;
  readonly failures: readonly CheckFailure[];
  /** Arguments that are wholly known and valid. */
  readonly known: ReadonlySet<string>;
  /** What was given, each misspelt argument under the name that was meant. */
  readonly meant: JsonObject;
}

/**
 * Holds inputs against one schema per argument, and tells every mistake at once. What is not known yet passes and is judged
 * when it is known. A misspelt argument is judged as the one that was meant, so that nothing else is told of that one.
 */
export function checkInputs(
  shape: z.ZodRawShape,
  given: JsonObject,
  secret: readonly string[] = [],
): CheckedInputs {
  const inputs: Record<string, unknown> = {};
  const known = new Set<string>();
  const { failures, meant, spelling } = spelled(shape, given);

  for (const [key, schema] of Object.entries(shape)) {
    const value = meant[key] ?? undefined; // The engine writes an unset argument as null in places.
    const one: JsonObject = value === undefined ? {} : { [key]: value };
    const isSecret = secret.includes(key) || secret.includes(spelling.get(key) ?? key);
    const parsed = z.object({ [key]: schema }).safeParse(one, { error: wording(isSecret) });
    const waiting = hasUnknown(value);
    const problems = withoutEchoes((parsed.error?.issues ?? []).flatMap(innermost), one).filter(
      ({ path }) => !waiting || !unknownAt(one, path),
    );
    for (const issue of problems) {
      failures.push({ property: propertyPath(issue.path), reason: reasonOf(issue, one, isSecret) });
    }
    if (waiting) {
      inputs[key] = value;
    } else if (problems.length === 0) {
      known.add(key);
      const canonical: unknown = parsed.data?.[key];
      if (canonical !== undefined) inputs[key] = canonical;
    }
  }
  return { inputs, failures, known, meant };
}

/** What is given under names that no argument has, and the inputs as they were meant. */
function spelled(
  shape: z.ZodRawShape,
  given: JsonObject,
): {
  readonly failures: CheckFailure[];
  readonly meant: JsonObject;
  readonly spelling: ReadonlyMap<string, string>;
} {
  const names = Object.keys(shape);
  const failures: CheckFailure[] = [];
  const meant: Record<string, unknown> = { ...given };
  const spelling = new Map<string, string>();
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(shape, key) || given[key] === undefined) continue;
    failures.push({ property: key, reason: noSuch("argument", key, names) });
    const near = nearest(key, names);
    if (near === undefined || (given[near] ?? undefined) !== undefined) continue;
    meant[near] = given[key];
    spelling.set(near, key);
  }
  return { failures, meant, spelling };
}

function noSuch(what: "argument" | "option", key: string, names: readonly string[]): string {
  const near = nearest(key, names);
  const advice =
    near === undefined
      ? `${what === "argument" ? "Arguments" : "Options"}: ${names.join(", ")}.`
      : `Did you mean "${near}"?`;
  return `there is no ${what} "${key}". ${advice}`;
}

/** Sentences for what a schema leaves to Zod. A schema's own come first. */
export function wording(isSecret: boolean): z.core.$ZodErrorMap {
  return (issue) => {
    const given = isSecret ? HIDDEN : describe(issue.input);
    switch (issue.code) {
      case "unrecognized_keys": {
        const names = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
        const [first = "", ...more] = issue.keys.map((key) => noSuch("option", key, names));
        return [first, ...more.map((sentence) => sentence.replace("t", "T"))].join(" ");
      }
      case "too_small":
        return `has to be at least ${String(issue.minimum)}; it is ${given}`;
      case "too_big":
        return `has to be at most ${String(issue.maximum)}; it is ${given}`;
      default:
        return undefined;
    }
  };
}

/** `value.scriptSrc[2]`, as the engine writes property paths. */
export function propertyPath(path: readonly PropertyKey[]): string {
  return path
    .map((key, i) =>
      typeof key === "number"
        ? `[${key}]`
        : i === 0
          ? String(key)
          : /^\w+$/.test(String(key))
            ? `.${String(key)}`
            : `["${String(key)}"]`,
    )
    .join("");
}

/** What was expected and what was given, in words. The given value is left out where it may be a secret. */
function reasonOf(issue: z.core.$ZodIssue, root: unknown, isSecret: boolean): string {
  const value = valueAt(root, issue.path);
  const given = isSecret ? HIDDEN : describe(value);
  switch (issue.code) {
    case "invalid_type":
      if (value !== undefined) return `has to be ${named(issue.expected)}; it is ${given}`;
      // A schema that has more to say of what is missing says it itself.
      return issue.message.startsWith(REQUIRED) ? issue.message : `${REQUIRED}: ${named(issue.expected)}`;
    case "invalid_value": {
      const allowed = issue.values.map((each) => JSON.stringify(each)).join(" or ");
      return value === undefined ? `${REQUIRED}: ${allowed}` : `has to be ${allowed}; it is ${given}`;
    }
    case "invalid_union":
      // The message of a union says what is allowed, and leaves it to this line to say what was given.
      if (value !== undefined) return `${issue.message}; it is ${given}`;
      return issue.message.startsWith(REQUIRED)
        ? issue.message
        : `${REQUIRED}: ${issue.message.replace(/^has to be /, "")}`;
    case "custom": {
      // A sentence that quotes from the value has another form, for a value that is secret.
      const withoutValue: unknown = issue.params?.["withoutValue"];
      return isSecret && typeof withoutValue === "string" ? withoutValue : issue.message;
    }
    default:
      return issue.message;
  }
}

const REQUIRED = "is required";
const HIDDEN = "a value that is not shown";

/**
 * The issues that explain a union best: those of a branch that knows all names, else of one that knows
 * a name like it, and of these of the one that came furthest.
 * The union's own where none came further than its beginning.
 */
function innermost(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const [best] = issue.errors
    .map((branch) => branch.flatMap(innermost))
    .map((issues) => {
      const isNamed = !issues.some(({ code, path }) => code === "unrecognized_keys" && path.length === 0);
      const isNear = issues.some(
        ({ code, message }) => code === "unrecognized_keys" && message.includes("Did you mean"),
      );
      const depth = issues.reduce((most, { path }) => Math.max(most, path.length), 0);
      return { issues, isNamed, isNear, depth };
    })
    .filter(({ isNamed, depth }) => depth > 0 || !isNamed)
    .sort(
      (a, b) =>
        Number(b.isNamed) - Number(a.isNamed) || Number(b.isNear) - Number(a.isNear) || b.depth - a.depth,
    );
  if (best === undefined) return [issue];
  return best.issues.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** A misspelt option comes first. What only follows from it is left out: that the right one is missing, or that none is set. */
function withoutEchoes(issues: readonly z.core.$ZodIssue[], root: unknown): readonly z.core.$ZodIssue[] {
  const isMisspelt = ({ code }: z.core.$ZodIssue): boolean => code === "unrecognized_keys";
  const misspelt = issues.filter(isMisspelt);
  const messages = new Map(misspelt.map(({ path, message }) => [propertyPath(path), message]));
  const follows = ({ code, path }: z.core.$ZodIssue): boolean => {
    if (messages.has(propertyPath(path))) return code === "custom";
    if (path.length === 0) return false;
    const about = messages.get(propertyPath(path.slice(0, -1)));
    const advice = `Did you mean "${String(path.at(-1))}"?`;
    return about?.includes(advice) === true && valueAt(root, path) === undefined;
  };
  return [...misspelt, ...issues.filter((issue) => !isMisspelt(issue) && !follows(issue))];
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (here, key) => (isJsonObject(here) || Array.isArray(here) ? Reflect.get(here, key) : undefined),
    root,
  );
}

/** A type as a person calls it. */
function named(type: string): string {
  const name = ownMember(TYPE_NAMES, type) ?? type;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = { array: "list", record: "object", int: "whole number" };

const SHOWN_CHARACTERS = 60;

/** A given value, short enough for a sentence. */
export function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isJsonObject(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length <= SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}
