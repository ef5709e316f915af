import { RULES_LANGUAGE } from "../limits";
import { nearest } from "../runtime/nearest";
import { indexText } from "./meaning";
import { parseExpression, type Remark } from "./parse";
import type { Call, Condition, Field, Index, Literal, Operand, Value } from "./tree";
import { COMPARISONS, FIELDS, FUNCTIONS, NAMESPACES, type ValueType } from "./vocabulary";

/** What is wrong with an expression: what it says, held against the fields and functions that Cloudflare documents. */

export interface Findings {
  /** What Cloudflare refuses, in sentences that go on from the argument's name. */
  readonly errors: readonly string[];
  /** What it may refuse: a name that is not documented may be new. */
  readonly warnings: readonly string[];
}

/** What is wrong with an expression, each with its place. A text that can't be read has one error, the first. */
export function checkExpression(expression: string): Findings {
  const { MAX_CHARACTERS } = RULES_LANGUAGE;
  const length = Array.from(expression).length;
  if (length > MAX_CHARACTERS) {
    const error = `has ${length} characters; Cloudflare takes at most ${MAX_CHARACTERS}. Move values into a list (in $name), or split the rule`;
    return { errors: [error], warnings: [] };
  }
  const parsed = parseExpression(expression);
  if ("wrong" in parsed) return { errors: [placed(expression, parsed.wrong)], warnings: [] };
  const check = new Check();
  check.root(parsed.condition);
  const sentences = (remarks: readonly Remark[]): string[] => [
    ...new Set(remarks.map((remark) => placed(expression, remark))),
  ];
  return { errors: sentences(check.errors), warnings: sentences(check.warnings) };
}

function placed(expression: string, { at, reason }: Remark): string {
  const before = expression.slice(0, at).split("\n");
  const column = Array.from(before.at(-1) ?? "").length + 1;
  const line = expression.trim().includes("\n")
    ? `line ${before.length}, column ${column}`
    : `column ${column}`;
  return `${line}: ${reason}`;
}

/** A type as far as it is known. */
type Known = ValueType | undefined;

/** Walks a tree once. A value that is looked at element by element (`[*]`) makes an array of answers. */
class Check {
  readonly errors: Remark[] = [];
  readonly warnings: Remark[] = [];

  root(condition: Condition): void {
    const each = this.#condition(condition);
    if (each !== undefined) {
      const reason =
        "[*] looks at each element, which only any(…) and all(…) make one answer of. Write any(…) around it";
      this.errors.push({ at: each, reason });
    }
  }

  /** Where a `[*]` makes an array of it; undefined for a plain condition. */
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
    const what = inWords(type);
    this.errors.push({
      at: value.at,
      reason: `${value.name} is ${what}: compare it, as in ${example(value.name, type)}`,
    });
    return each;
  }

  #comparison({ value, operator, operand }: Condition & { kind: "comparison" }): number | undefined {
    const { type, each } = this.#value(value);
    const wrong = this.#mismatch(value, type, operator, operand);
    if (wrong !== undefined) this.errors.push(wrong);
    return each;
  }

  #mismatch(
    { name, at, indexes }: Value,
    type: Known,
    operator: keyof typeof COMPARISONS,
    operand: Operand,
  ): Remark | undefined {
    if (type === undefined) return undefined;
    if (type === "Boolean") {
      this.warnings.push({ at, reason: `${name} is true or false by itself: write ${name}, or not ${name}` });
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
        reason: `${name} is ${inWords(type)}, and ${operator} compares one value. Write ${inner}`,
      };
    }
    const on: readonly string[] = COMPARISONS[operator].on;
    if (!on.includes(type)) {
      return {
        at,
        reason: `${operator} does not compare ${inWords(type)}, which ${name} is. Operators for it: ${operatorsOf(type)}`,
      };
    }
    const odd = literalsOf(operand).find((literal) => !fits(literal, type));
    if (odd !== undefined) {
      const advice = type === "String" ? ". Put it in double quotes" : "";
      return {
        at: odd.at,
        reason: `${inWords(odd.type)} stands here, and ${name} is ${inWords(type)}${advice}`,
      };
    }
    if (operand.kind === "literal" && operand.type === "IP" && operand.value.includes("/")) {
      return { at: operand.at, reason: `${operand.value} is a network. Write ${name} in {${operand.value}}` };
    }
    return undefined;
  }

  #value(value: Value): { readonly type: Known; readonly each: number | undefined } {
    const isEach = value.indexes.some(({ kind }) => kind === "each");
    const whole = value.kind === "field" ? this.#field(value) : this.#call(value);
    const type = indexed(whole, value.indexes);
    if (whole !== undefined && type === undefined) {
      const reason = `${value.name} is ${inWords(whole)}, which has no such element`;
      this.errors.push({ at: value.at, reason });
    }
    return { type, each: isEach ? value.at : undefined };
  }

  #field({ name, at }: Field): Known {
    const type = FIELDS.get(name);
    if (type !== undefined) return type;
    const near = meantField(name);
    const meant = near === undefined ? undefined : `Did you mean ${near}?`;
    const [namespace = ""] = name.split(".");
    if (NAMESPACES.includes(namespace) && name !== namespace) {
      const advice = meant ?? "If it is new, ignore this";
      this.warnings.push({ at, reason: `Cloudflare documents no field ${name}. ${advice}` });
      return undefined;
    }
    const advice = FUNCTIONS.has(name)
      ? `It is a function: write ${name}(…)`
      : (meant ?? "Fields are named like http.host, ip.src or cf.waf.score; text needs double quotes");
    this.errors.push({ at, reason: `${name} is no field. ${advice}` });
    return undefined;
  }

  /** A function is called for each element of an array that its first argument unpacks. */
  #call(call: Call): Known {
    const { name, args, at } = call;
    if (!FUNCTIONS.has(name)) {
      const near = nearest(name, [...FUNCTIONS.keys()]);
      const advice = near === undefined ? "If it is new, ignore this" : `Did you mean ${near}(…)?`;
      this.warnings.push({ at, reason: `Cloudflare documents no function ${name}. ${advice}` });
    }
    const each = args.map((arg) => this.#argument(arg))[0];
    const returned = FUNCTIONS.get(name);
    if (each === undefined || name === "any" || name === "all" || returned === undefined) return returned;
    return `Array<${returned}>` as ValueType; // Of a scalar: `split` is not used so.
  }

  #argument(arg: Call["args"][number]): number | undefined {
    if (arg.kind === "literal") return undefined;
    if (arg.kind === "field" || arg.kind === "call") return this.#value(arg).each;
    return this.#condition(arg);
  }
}

/** What is left of a type behind its indexes. */
function indexed(type: Known, indexes: readonly Index[]): Known {
  return indexes.reduce<Known>((now, { kind }) => {
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

function fits({ type }: Literal, of: ValueType): boolean {
  return type === of || (of === "Bytes" && type === "String");
}

/** `host` stands for http.host, however far that is from it by its letters. */
function meantField(name: string): string | undefined {
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

function inWords(type: string): string {
  if (type.startsWith("Map")) return "a map";
  if (type.startsWith("Array")) return "an array";
  return (
    { String: "text", Number: "a number", IP: "an IP address", Boolean: "true or false", Bytes: "bytes" }[
      type
    ] ?? type
  );
}

function example(name: string, type: string): string {
  if (type.startsWith("Map")) return `any(${name}["name"][*] eq "…")`;
  if (type.startsWith("Array")) return `any(${name}[*] eq …)`;
  return `${name} eq ${{ String: '"…"', Number: "1", IP: "192.0.2.1" }[type] ?? "…"}`;
}
