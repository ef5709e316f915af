import { z } from "zod";
import { stringsIn } from "../api/redact";
import { nearest } from "../basics/nearest";
import { errorMessages, insteadOf, unknownName } from "../basics/schemas";
import { hasUnknown, unknownAt } from "./engine-values";
import { inSeries } from "../basics/words";
import { isJsonObject, ownMember, propertyPath, type JsonObject } from "../basics/json";

/** An invalid argument, in the shape the Pulumi engine reports: a property and a reason. */
export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

export interface CheckedInputs {
  /** The inputs. Known values are in canonical form, unknown ones are unchanged. */
  readonly inputs: Record<string, unknown>;
  readonly failures: readonly CheckFailure[];
  /** Arguments that are fully known and valid. */
  readonly known: ReadonlySet<string>;
  /** The given inputs, with misspelled arguments renamed to those that were probably meant. */
  readonly corrected: JsonObject;
}

/**
 * Checks each argument against its schema and reports every mistake at once. Unknown values pass until they're known. A
 * misspelled argument is checked under its correct name, so that the correct name isn't also reported as missing.
 */
export function checkInputs(
  shape: z.ZodRawShape,
  given: JsonObject,
  secret: readonly string[] = [],
): CheckedInputs {
  const inputs: Record<string, unknown> = {};
  const known = new Set<string>();
  const { failures, corrected } = correctSpelling(shape, given);
  // The value of a misspelled secret is checked under another name.
  const mayBeAny = secret.some((name) => !Object.hasOwn(shape, name));

  for (const [key, schema] of Object.entries(shape)) {
    const value = corrected[key] ?? undefined; // The engine sometimes writes an unset argument as null.
    const one: JsonObject = value === undefined ? {} : { [key]: value };
    const isSecret = mayBeAny || secret.includes(key);
    const parsed = z.object({ [key]: schema }).safeParse(one, { error: errorMessages(isSecret) });
    const isUnknown = hasUnknown(value);
    const problems = withoutConsequences((parsed.error?.issues ?? []).flatMap(mostSpecific), one).filter(
      ({ path }) => !isUnknown || !unknownAt(one, path),
    );
    for (const issue of problems) {
      failures.push({ property: propertyPath(issue.path), reason: reasonOf(issue, one, isSecret) });
    }
    if (OUTPUT_AS_TEXT.test(JSON.stringify(one))) {
      const reason =
        "contains Pulumi's error text instead of an output's value, because an output was converted to text. Use pulumi.interpolate or pulumi.jsonStringify, in Python pulumi.Output.format or pulumi.Output.json_dumps";
      failures.push({ property: key, reason });
    }
    if (isUnknown) {
      inputs[key] = value;
    } else if (problems.length === 0) {
      known.add(key);
      const canonical: unknown = parsed.data?.[key];
      if (canonical !== undefined) inputs[key] = canonical;
    }
  }
  return { inputs, failures, known, corrected };
}

/** What the SDKs of Node.js and Python return as the text of an output. */
const OUTPUT_AS_TEXT =
  /Calling (\[to(String|JSON)\] on an \[Output<T>\]|__str__ on an Output\[T\]) is not supported/;

/** Reports unknown arguments, and renames those whose names resemble a valid argument. */
function correctSpelling(
  shape: z.ZodRawShape,
  given: JsonObject,
): Pick<CheckedInputs, "corrected"> & { readonly failures: CheckFailure[] } {
  const names = Object.keys(shape);
  const failures: CheckFailure[] = [];
  const corrected: Record<string, unknown> = { ...given };
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(shape, key) || given[key] === undefined) continue;
    failures.push({ property: key, reason: unknownName("argument", key, names) });
    const near = nearest(key, names);
    if (near !== undefined) corrected[near] ??= given[key];
  }
  return { failures, corrected };
}

/** Returns what's allowed and what was given. Values that may be secret aren't shown, not even a word of one. */
function reasonOf(issue: z.core.$ZodIssue, root: unknown, isSecret: boolean): string {
  const value = valueAt(root, issue.path);
  const reason = fullReasonOf(issue, value, isSecret);
  const given = isSecret ? [...stringsIn(value)].join("\n") : "";
  const repeats = reason
    .split(/[\s"'`,;…]+/)
    .some((word) => word.length >= TELLING_CHARACTERS && given.includes(word));
  return repeats ? `is not valid${insteadOf(value, isSecret)}` : reason;
}

/** Shorter words of a secret are in any message. */
const TELLING_CHARACTERS = 8;

function fullReasonOf(issue: z.core.$ZodIssue, value: unknown, isSecret: boolean): string {
  const instead = insteadOf(value, isSecret);
  switch (issue.code) {
    case "invalid_type":
      if (value !== undefined) {
        const isUnquoted = issue.expected === "string" && ["number", "boolean"].includes(typeof value);
        return `must be ${typeName(issue.expected)}${instead}${isUnquoted ? ". Put it in quotes" : ""}`;
      }
      // A schema's own message says more than the type.
      return issue.message.startsWith(REQUIRED)
        ? issue.message
        : `${REQUIRED} and must be ${typeName(issue.expected)}`;
    case "invalid_value": {
      const allowed = inSeries(
        issue.values.map((each) => JSON.stringify(each)),
        "or",
      );
      if (value === undefined) return `${REQUIRED} and must be ${allowed}`;
      // Zod's own message says no more.
      const advice = /^Invalid /.test(issue.message) ? "" : `. ${issue.message}`;
      return `must be ${allowed}${instead}${advice}`;
    }
    case "invalid_union":
      // A union's message says what is allowed: "must be A or B".
      if (value !== undefined) return `${issue.message}${instead}`;
      return issue.message.startsWith(REQUIRED) ? issue.message : `${REQUIRED} and ${issue.message}`;
    case "custom": {
      // A message that quotes the value has a second form for secret values.
      const withoutValue: unknown = issue.params?.["withoutValue"];
      return isSecret && typeof withoutValue === "string" ? withoutValue : issue.message;
    }
    default:
      return issue.message;
  }
}

const REQUIRED = "is required";

/**
 * Picks the issues that best explain why a union failed: those of a branch that has all the given property names, or
 * similar names. Among several such branches, picks the branch that matched the most. If no branch matched anything,
 * returns the union's own issue.
 */
function mostSpecific(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const [best] = issue.errors
    .map((branch) => branch.flatMap(mostSpecific))
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

/**
 * Puts errors about misspelled options first, and drops the errors that they cause: that the correct option is missing,
 * or that none is set.
 */
function withoutConsequences(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
): readonly z.core.$ZodIssue[] {
  const isMisspelled = ({ code }: z.core.$ZodIssue): boolean => code === "unrecognized_keys";
  const misspelled = issues.filter(isMisspelled);
  const messages = new Map(misspelled.map(({ path, message }) => [propertyPath(path), message]));
  const follows = ({ code, path }: z.core.$ZodIssue): boolean => {
    if (messages.has(propertyPath(path))) return code === "custom";
    if (path.length === 0) return false;
    const about = messages.get(propertyPath(path.slice(0, -1)));
    const advice = `Did you mean "${String(path.at(-1))}"?`;
    return about?.includes(advice) === true && valueAt(root, path) === undefined;
  };
  return [...misspelled, ...issues.filter((issue) => !isMisspelled(issue) && !follows(issue))];
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (parent, key) => (isJsonObject(parent) || Array.isArray(parent) ? Reflect.get(parent, key) : undefined),
    root,
  );
}

/** Returns a type's name in plain English, with its article. */
function typeName(type: string): string {
  const name = ownMember(TYPE_NAMES, type) ?? type;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = { array: "list", record: "object", int: "whole number" };
