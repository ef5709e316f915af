import type * as pulumi from "@pulumi/pulumi";
import type { FieldsOfType, KnownField } from "./dataset-fields";
import { parseFilter, type Operator } from "./filter-read";
import { compileFilter } from "./filter-text";

/**
 * Builders for Logpush filters, one for each of Cloudflare's operators. Their types include the fields of the main
 * datasets: `startsWith("EdgeResponseStatus", "5")` doesn't compile, because that field is a number. Any other field
 * name compiles, and the preview checks it against the API's list.
 *
 * `in` is a reserved word, so write `filter.in(…)`, or `isIn(…)` after `const { where, and, eq, isIn } = filter;`.
 *
 * @see https://developers.cloudflare.com/logs/logpush/logpush-job/filters/
 */

/** One comparison. Its value may be an output of another resource. Numbers and booleans are sent as strings. */
export interface Condition {
  readonly key: string;
  readonly operator: Operator;
  readonly value: pulumi.Input<string | number | boolean> | readonly pulumi.Input<string | number>[];
}

/** A group of conditions: all of them (`and`) or at least one (`or`) must be true. */
export type ConditionGroup = { readonly and: readonly FilterNode[] } | { readonly or: readonly FilterNode[] };

/** A condition or a group of them. */
export type FilterNode = Condition | ConditionGroup;

/** The filter of a Logpush job: the job pushes the log lines that match it. */
export interface Filter {
  readonly where: FilterNode;
}

type NumberField = FieldsOfType<"int" | "float">;
type TextField = FieldsOfType<"string">;
type FlagField = FieldsOfType<"bool">;
type TimeField = FieldsOfType<"int or string">;
type ListField = FieldsOfType<"array[string]" | "array[int]">;

type Ordered = NumberField | TimeField;
type Comparable = TextField | FlagField | Ordered;

/** Accepts any string, but the editor still suggests the known names. */
type Other = string & {};

/**
 * The field itself if the operator supports its type or the field is unknown. Otherwise, the supported fields, so that
 * the compiler's error lists them.
 */
type Fitting<Field extends string, Good extends string> = Field extends Good
  ? Field
  : Field extends KnownField
    ? Good
    : Field;

/**
 * The type of value to compare a field with. If a field has different types in different datasets, each of them is
 * accepted.
 */
type ValueOf<Field extends string> = Field extends KnownField
  ? | (Field extends NumberField ? number | `${number}` : never)
    | (Field extends FlagField ? boolean | "true" | "false" : never)
    | (Field extends TextField ? string : never)
    | (Field extends TimeField ? number | string : never)
    | (Field extends ListField ? string | number : never)
  : string | number | boolean;

type ElementOf<Field extends string> = Field extends KnownField
  ? | (Field extends NumberField ? number : never)
    | (Field extends TextField ? string : never)
    | (Field extends TimeField ? number | string : never)
  : string | number;

/** Creates a filter from a condition or a group: `where(and(eq("ClientRequestHost", "example.com"), geq("EdgeResponseStatus", 500)))`. */
export function where(node: FilterNode): Filter {
  return { where: node };
}

/** Matches if every condition does. Counts toward the limit of about 30 operators per filter. */
export function and(...conditions: readonly [FilterNode, ...FilterNode[]]): ConditionGroup {
  return { and: conditions };
}

/** Matches if at least one condition does. Counts toward the limit of about 30 operators per filter. */
export function or(...conditions: readonly [FilterNode, ...FilterNode[]]): ConditionGroup {
  return { or: conditions };
}

/**
 * Creates a builder that compares a field of the given types, or an unknown field, with a value of the field's type.
 */
const comparison =
  <Good extends string>(operator: Operator) =>
  <Field extends Good | Other>(field: Fitting<Field, Good>, value: pulumi.Input<ValueOf<Field>>): Condition =>
    condition(operator, field, value);

const affix =
  (operator: Operator) =>
  <Field extends TextField | Other>(
    field: Fitting<Field, TextField>,
    text: pulumi.Input<string>,
  ): Condition =>
    condition(operator, field, text);

const membership =
  (operator: Operator) =>
  <Field extends TextField | Ordered | Other>(
    field: Fitting<Field, TextField | Ordered>,
    values: readonly pulumi.Input<ElementOf<Field>>[],
  ): Condition => ({ key: field, operator, value: values });

/** Matches if the field equals the value: strings exactly, numbers by value, booleans as true or false. */
export const eq = comparison<Comparable>("eq");

/** Matches if the field doesn't equal the value. Cloudflare's `!eq`. */
export const notEq = comparison<Comparable>("!eq");

/** Matches if the field, a number or a time, is less than the value. */
export const lt = comparison<Ordered>("lt");

/** Matches if the field, a number or a time, is less than or equal to the value. */
export const leq = comparison<Ordered>("leq");

/** Matches if the field, a number or a time, is greater than the value. */
export const gt = comparison<Ordered>("gt");

/** Matches if the field, a number or a time, is greater than or equal to the value. */
export const geq = comparison<Ordered>("geq");

/** Matches if the field starts with the string. */
export const startsWith = affix("startsWith");

/** Matches if the field ends with the string. */
export const endsWith = affix("endsWith");

/** Matches if the field doesn't start with the string. Cloudflare's `!startsWith`. */
export const notStartsWith = affix("!startsWith");

/** Matches if the field doesn't end with the string. Cloudflare's `!endsWith`. */
export const notEndsWith = affix("!endsWith");

/** Matches if the field contains the value, as a substring of a string or an element of a list. */
export const contains = comparison<TextField | ListField>("contains");

/**
 * Matches if the field doesn't contain the value, as a substring of a string or an element of a list. Cloudflare's
 * `!contains`.
 */
export const notContains = comparison<TextField | ListField>("!contains");

/**
 * Matches if the field is one of the values: numbers for a numeric field, strings for a string field. Cloudflare's
 * `in`.
 */
export const isIn = membership("in");
export { isIn as in };

/** Matches if the field is none of the values. Cloudflare's `!in`. */
export const notIn = membership("!in");

/**
 * Returns the string that a job sends for a filter: JSON with a top-level `where`, without whitespace. Use it outside a
 * `LogpushJob`. The filter's values can't be outputs.
 *
 * @throws FilterError with every problem and where it is.
 * @example Use a filter outside a LogpushJob
 * ```ts
 * import { filter } from "pulumi-edgeguard";
 *
 * export const text = filter.compile(filter.where(filter.geq("EdgeResponseStatus", 500)));
 * ```
 */
export function compile(given: Filter | string): string {
  return compileFilter(parseFilter(given));
}

export { FilterError, type Operator } from "./filter-read";

/**
 * Builds a comparison. Its value is sent as a string, regardless of the field's type, because Cloudflare expects
 * strings.
 */
function condition(
  operator: Operator,
  key: string,
  value: pulumi.Input<string | number | boolean>,
): Condition {
  const scalar = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  return { key, operator, value: scalar }; // If the value is an output, the check converts it to a string later.
}
