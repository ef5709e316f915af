import { z } from "zod";
import { nearest } from "./nearest";
import { hasUnknown, isBag, unknownAt, type Bag } from "./values";

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
}

/** Holds inputs against one schema per argument. What is not known yet passes and is judged when it is known. */
export function checkInputs(shape: z.ZodRawShape, given: Bag, secret: readonly string[] = []): CheckedInputs {
  const failures: CheckFailure[] = [];
  const inputs: Record<string, unknown> = {};
  const known = new Set<string>();

  for (const key of Object.keys(given)) {
    if (Object.hasOwn(shape, key) || given[key] === undefined) continue;
    const near = nearest(key, Object.keys(shape));
    const names = Object.keys(shape).join(", ");
    failures.push({
      property: key,
      reason: `there is no argument "${key}". ${near === undefined ? `Arguments: ${names}.` : `Did you mean "${near}"?`}`,
    });
  }

  for (const [key, schema] of Object.entries(shape)) {
    const value = given[key] ?? undefined; // The engine writes an unset argument as null in places.
    const one: Bag = value === undefined ? {} : { [key]: value };
    const parsed = z.object({ [key]: schema }).safeParse(one);
    const waiting = hasUnknown(value);
    const issues = (parsed.error?.issues ?? []).filter((issue) => !waiting || !unknownAt(one, issue.path));
    failures.push(
      ...issues.map((issue) => ({
        property: propertyPath(issue.path),
        reason: reasonOf(issue, one, secret.includes(key)),
      })),
    );
    if (waiting) {
      inputs[key] = value;
    } else if (issues.length === 0) {
      known.add(key);
      const canonical: unknown = parsed.data?.[key];
      if (canonical !== undefined) inputs[key] = canonical;
    }
  }
  return { inputs, failures, known };
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
function reasonOf(issue: z.core.$ZodIssue, root: unknown, secret: boolean): string {
  const given = secret ? "a value that is not shown" : describe(valueAt(root, issue.path));
  switch (issue.code) {
    case "invalid_type":
      return valueAt(root, issue.path) === undefined
        ? // A schema that has more to say of what is missing says it itself.
          issue.message.startsWith("is required")
          ? issue.message
          : `is required: ${article(issue.expected)}`
        : `has to be ${article(issue.expected)}; it is ${given}`;
    case "invalid_value":
      return `has to be ${issue.values.map((v) => JSON.stringify(v)).join(" or ")}; it is ${given}`;
    case "unrecognized_keys":
      return `does not know ${issue.keys.map((k) => `"${k}"`).join(", ")}`;
    case "invalid_union": {
      // The branch that came furthest explains best: its issue lies deepest.
      const [deepest] = leaves(issue).sort((a, b) => b.path.length - a.path.length);
      if (deepest === undefined || deepest.path.length === 0) return `${issue.message}; it is ${given}`;
      const inner = { ...deepest, path: [...issue.path, ...deepest.path] };
      return `${propertyPath(deepest.path)} ${reasonOf(inner, root, secret)}`;
    }
    default:
      return issue.message;
  }
}

/** The plain issues of a union's branches, each with its path from the union on. */
function leaves(union: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  return union.errors
    .flat()
    .flatMap((issue) =>
      issue.code === "invalid_union"
        ? leaves(issue).map((leaf) => ({ ...leaf, path: [...issue.path, ...leaf.path] }))
        : [issue],
    );
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (here, key) => (isBag(here) || Array.isArray(here) ? Reflect.get(here, key) : undefined),
    root,
  );
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

const SHOWN_CHARACTERS = 60;

/** A given value, short enough for a sentence. */
export function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isBag(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length <= SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}
