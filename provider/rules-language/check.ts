import { RULES_LANGUAGE } from "../limits/index";
import { nearest } from "../basics/nearest";
import { indexText } from "./equivalence";
import { parseExpression, type Diagnostic } from "./parse";
import type { Call, Condition, Field, Index, Literal, Operand, Value } from "./tree";
import { COMPARISONS, FIELDS, FUNCTIONS, NAMESPACES, type ValueType } from "./vocabulary";

/** Checks an expression: its syntax, and its fields, functions and types against what Cloudflare documents. */

export interface Findings {
  /** What Cloudflare rejects. Messages show these texts after the argument's name. */
  readonly errors: readonly string[];
  /** What Cloudflare may reject, such as an undocumented name that may be new. */
  readonly warnings: readonly string[];
}

/** Lists an expression's problems with their positions. If the expression doesn't parse, lists only the first error. */
export function checkExpression(expression: string): Findings {
  const { MAX_CHARACTERS } = RULES_LANGUAGE;
  const length = Array.from(expression).length;
  if (length > MAX_CHARACTERS) {
    const error = `has ${length} characters, but Cloudflare allows at most ${MAX_CHARACTERS}. Move values into a list (in $name), or split the rule`;
    return { errors: [error], warnings: [] };
  }
  const parsed = parseExpression(expression);
  if ("error" in parsed) return { errors: [withPosition(expression, parsed.error)], warnings: [] };
  const checker = new ExpressionChecker();
  checker.root(parsed.condition);
  const sentences = (diagnostics: readonly Diagnostic[]): string[] => [
    ...new Set(diagnostics.map((diagnostic) => withPosition(expression, diagnostic))),
  ];
  return { errors: sentences(checker.errors), warnings: sentences(checker.warnings) };
}

function withPosition(expression: string, { at, reason }: Diagnostic): string {
  const before = expression.slice(0, at).split("\n");
  const column = Array.from(before.at(-1) ?? "").length + 1;
  const line = expression.trim().includes("\n")
    ? `line ${before.length}, column ${column}`
    : `column ${column}`;
  return `${line}: ${reason}`;
}

/** The type of a value. Undefined if it's unknown. */
type MaybeType = ValueType | undefined;

/** Checks a syntax tree. A value with `[*]` produces an array of results, one per element. */
class ExpressionChecker {
  readonly errors: Diagnostic[] = [];
  readonly warnings: Diagnostic[] = [];

  root(condition: Condition): void {
    const each = this.#condition(condition);
    if (each !== undefined) {
      const reason = "[*] produces one result per element. Wrap the comparison in any(…) or all(…)";
      this.errors.push({ at: each, reason });
    }
  }

  /** Returns the position of the `[*]` that makes the result an array. Undefined for a plain condition. */
  #condition(condition: Condition): number | undefined {
    switch (condition.kind) {
      case "constant":
        return undefined;
      case "not":
        return this.#condition(condition.condition);
      case "test":
        return this.#test(condition.value);
      case "comparison":
        return this.#comparison(condition);
      default: {
        const each = condition.conditions.map((part) => this.#condition(part));
        return each.find((at) => at !== undefined);
      }
    }
  }

  #test(value: Value): number | undefined {
    const { type, each } = this.#value(value);
    if (type === undefined || type === "Boolean" || type === "Array<Boolean>") return each;
    this.errors.push({
      at: value.at,
      reason: `${value.name} is ${describeType(type)}. Compare it with a value: ${example(value.name, type)}`,
    });
    return each;
  }

  #comparison({ value, operator, operand }: Condition & { kind: "comparison" }): number | undefined {
    const { type, each } = this.#value(value);
    const wrong = this.#mismatch(value, type, operator, operand) ?? wrongRegex(operator, operand);
    if (wrong !== undefined) this.errors.push(wrong);
    const literal = literalsOf(operand).find((one) => one.type === "String" && one.value.includes("*"));
    if (["eq", "ne", "in"].includes(operator) && NAMES_HOST_OR_PATH.test(value.name) && literal !== undefined)
      this.warnings.push({
        at: literal.at,
        reason: `${operator} takes the asterisk literally, so "${literal.value}" matches nothing but itself. Write ${operator === "ne" ? "not " : ""}${value.name} wildcard "${literal.value}"`,
      });
    return each;
  }

  #mismatch(
    { name, at, indexes }: Value,
    type: MaybeType,
    operator: keyof typeof COMPARISONS,
    operand: Operand,
  ): Diagnostic | undefined {
    if (type === undefined) return undefined;
    if (type === "Boolean") {
      this.warnings.push({
        at,
        reason: `${name} is a Boolean, and Cloudflare may reject a comparison with it. Instead, write just "${name}" or "not ${name}"`,
      });
      return undefined;
    }
    if (type.startsWith("Array") || type.startsWith("Map")) {
      const shown = name + indexes.map(indexText).join("");
      const access = type.startsWith("Map") ? `${shown}["name"]` : shown;
      const inner =
        type.startsWith("Map<Array") || type.startsWith("Array")
          ? `any(${access}[*] ${operator} …)`
          : `${access} ${operator} …`;
      return {
        at,
        reason: `${name} is ${describeType(type)}, but ${operator} compares single values. Write ${inner}`,
      };
    }
    const on: readonly string[] = COMPARISONS[operator].on;
    if (!on.includes(type)) {
      return {
        at,
        reason: `${name} is ${describeType(type)}, which ${operator} can't compare. Use one of: ${operatorsOf(type)}`,
      };
    }
    const mismatch = literalsOf(operand).find((literal) => !fits(literal, type));
    if (mismatch !== undefined) {
      const quotes = mismatch.type === "String" ? " without quotes" : "";
      const advice = fits({ type: "String" }, type)
        ? "Put it in double quotes"
        : `Write ${describeType(type)}${quotes}`;
      return {
        at: mismatch.at,
        reason: `${name} is ${describeType(type)}, but this is ${describeType(mismatch.type)}. ${advice}`,
      };
    }
    if (operand.kind === "literal" && operand.type === "IP" && operand.value.includes("/")) {
      return {
        at: operand.at,
        reason: `${operand.value} is a range of IP addresses. Write ${name} in {${operand.value}}`,
      };
    }
    return undefined;
  }

  #value(value: Value): { readonly type: MaybeType; readonly each: number | undefined } {
    const isEach = value.indexes.some(({ kind }) => kind === "each");
    const whole = value.kind === "field" ? this.#field(value) : this.#call(value);
    const type = elementType(whole, value.indexes);
    if (whole !== undefined && type === undefined) {
      const reason = `${value.name} is ${describeType(whole)}, so this index doesn't work. Use a key for a map (${value.name}["name"]), and a number or * for an array`;
      this.errors.push({ at: value.at, reason });
    }
    return { type, each: isEach ? value.at : undefined };
  }

  #field({ name, at }: Field): MaybeType {
    const type = FIELDS.get(name);
    if (type !== undefined) return type;
    const near = suggestField(name);
    const suggestion = near === undefined ? undefined : `Did you mean ${near}?`;
    const [namespace = ""] = name.split(".");
    if (NAMESPACES.includes(namespace) && name !== namespace) {
      const advice = suggestion ?? "If the field is new, ignore this warning";
      this.warnings.push({ at, reason: `field ${name} is not known to this version. ${advice}` });
      return undefined;
    }
    const advice = FUNCTIONS.has(name)
      ? `It's a function: write ${name}(…)`
      : (suggestion ??
        "Fields have names like http.host, ip.src or cf.waf.score; strings need double quotes");
    this.errors.push({ at, reason: `${name} is not a field. ${advice}` });
    return undefined;
  }

  /**
   * Checks a function call. With `[*]` in its first argument, the function runs once per element and returns an array.
   */
  #call(call: Call): MaybeType {
    const { name, args, at } = call;
    if (!FUNCTIONS.has(name)) {
      const near = nearest(name, [...FUNCTIONS.keys()]);
      const advice =
        near === undefined ? "If the function is new, ignore this warning" : `Did you mean ${near}(…)?`;
      this.warnings.push({ at, reason: `function ${name} is not known to this version. ${advice}` });
    }
    const each = args.map((arg) => this.#argument(arg))[0];
    const returned = FUNCTIONS.get(name);
    if (each === undefined || name === "any" || name === "all" || returned === undefined) return returned;
    return `Array<${returned}>` as ValueType; // Only scalars, because `split` isn't used this way.
  }

  #argument(arg: Call["args"][number]): number | undefined {
    if (arg.kind === "literal") return undefined;
    if (arg.kind === "field" || arg.kind === "call") return this.#value(arg).each;
    return this.#condition(arg);
  }
}

/** Fields whose values rarely contain an asterisk. */
const NAMES_HOST_OR_PATH = /^(http\.host|cf\.zone\.name|(raw\.)?http\.request\.(full_uri|uri|uri\.path))$/;

/** Finds mistakes in a regular expression: https://docs.rs/regex/latest/regex/#syntax, which Cloudflare refers to. */
function wrongRegex(operator: string, operand: Operand): Diagnostic | undefined {
  if (operator !== "matches" || operand.kind !== "literal") return undefined;
  // A class may begin with a bracket, and contain classes such as [:alpha:].
  const bare = operand.value.replace(/\\\D/g, "_").replace(/\[\^?\]?(?:\[:\^?\w+:\]|[^\]])*\]/g, "_");
  let depth = 0;
  for (const character of bare) if (depth >= 0) depth += character === "(" ? 1 : character === ")" ? -1 : 0;
  if (depth === 0 && !/\(\?<?[=!]|\\[1-9]|\[|(^|[(|])[*+]|(^|\|)\?|\\$/.test(bare)) return undefined;
  return { at: operand.at, reason: WRONG_REGEX };
}

const WRONG_REGEX =
  "invalid regular expression. Check its brackets, and what *, + and ? repeat. Cloudflare supports no lookaround and no backreferences";

/** Returns the type of a value once its indexes are applied. Undefined if an index doesn't fit the type. */
function elementType(type: MaybeType, indexes: readonly Index[]): MaybeType {
  return indexes.reduce<MaybeType>((now, { kind }) => {
    const [, outer, inner] = /^(Array|Map)<(.*)>$/.exec(now ?? "") ?? [];
    const isRight = kind === "each" || (kind === "key") === (outer === "Map");
    return outer !== undefined && isRight ? (inner as ValueType) : undefined;
  }, type);
}

function literalsOf(operand: Operand): readonly Literal[] {
  if (operand.kind === "literal") return [operand];
  if (operand.kind === "list") return [];
  return operand.items.flatMap((item) => (item.kind === "range" ? [item.from, item.to] : [item]));
}

function fits({ type }: Pick<Literal, "type">, expected: ValueType): boolean {
  return type === expected || (expected === "Bytes" && type === "String");
}

/**
 * Suggests a field, such as http.host for `host`. Prefers fields that end with the name to fields with a similar
 * spelling.
 */
function suggestField(name: string): string | undefined {
  const all = [...FIELDS.keys()];
  const endings = all.filter((field) => field.endsWith(`.${name.toLowerCase()}`));
  return endings.sort((a, b) => a.length - b.length)[0] ?? nearest(name, all);
}

function operatorsOf(type: string): string {
  const fitting = Object.entries(COMPARISONS).filter(([, { on }]) =>
    (on as readonly string[]).includes(type),
  );
  return fitting.map(([word]) => word).join(", ");
}

function describeType(type: string): string {
  if (type.startsWith("Map")) return "a map";
  if (type.startsWith("Array")) return "an array";
  return (
    { String: "a string", Number: "a number", IP: "an IP address", Boolean: "a Boolean", Bytes: "bytes" }[
      type
    ] ?? type
  );
}

function example(name: string, type: string): string {
  if (type.startsWith("Map")) return `any(${name}["name"][*] eq "…")`;
  if (type.startsWith("Array")) return `any(${name}[*] eq …)`;
  return `${name} eq ${{ String: '"…"', Number: "1", IP: "192.0.2.1" }[type] ?? "…"}`;
}
