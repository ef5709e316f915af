import type * as pulumi from "@pulumi/pulumi";
import type { FieldsOfType, KnownField } from "./dataset-fields";
import { parseFilter, type Operator } from "./filter-read";
import { compileFilter } from "./filter-text";

/**
 * Builders of a log-push filter, one for each operator of the service (seed 002, "Filter"; the operators and what they
 * apply to: facts 7.3). Fields of the main datasets are known by name and type: `startsWith("EdgeResponseStatus", "5")`
 * does not compile, since that field is a number. Any other name is taken as it is, and checked against the service's
 * own list in the preview.
 *
 * `in` is a word of the language, so it is `filter.in(…)`, or `filter.isIn(…)` where the builders are taken out of the
 * namespace: `const { where, and, eq, isIn } = filter;`.
 */

/** One comparison. Its value may be an output of another resource; a number, true or false is sent as a text. */
export interface Condition {
  readonly key: string;
  readonly operator: Operator;
  readonly value: pulumi.Input<string | number | boolean> | readonly pulumi.Input<string | number>[];
}

/** Conditions of which all (`and`) or at least one (`or`) have to hold. */
export type ConditionGroup = { readonly and: readonly FilterNode[] } | { readonly or: readonly FilterNode[] };

export type FilterNode = Condition | ConditionGroup;

/** The filter of a log-push job: the lines for which it holds are sent, the others are not. */
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

/** Any text, without taking the known names from the editor's list. */
type Other = string & {};

/** The field itself where it fits, or may fit; else the fields that would. */
type Fitting<Field extends string, Good extends string> = Field extends Good
  ? Field
  : Field extends KnownField
    ? Good
    : Field;

/** What a field is compared with; one that has different types in different datasets takes each. */
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

/** The whole filter: `where(and(eq("ClientRequestHost", "example.com"), geq("EdgeResponseStatus", 500)))`. */
export function where(node: FilterNode): Filter {
  return { where: node };
}

/** Holds where every condition holds. Counts as one operator of the service's about 30. */
export function and(...conditions: readonly [FilterNode, ...FilterNode[]]): ConditionGroup {
  return { and: conditions };
}

/** Holds where at least one condition holds. Counts as one operator of the service's about 30. */
export function or(...conditions: readonly [FilterNode, ...FilterNode[]]): ConditionGroup {
  return { or: conditions };
}

/** Compares a field of one of these types, or one that is not known, with a value of its type. */
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

/** Equal: texts letter by letter, numbers by value, flags as true or false. */
export const eq = comparison<Comparable>("eq");

/** Not equal, the service's `!eq`. */
export const notEq = comparison<Comparable>("!eq");

/** Less than, for numbers and times. */
export const lt = comparison<Ordered>("lt");

/** Less than or equal, for numbers and times. */
export const leq = comparison<Ordered>("leq");

/** Greater than, for numbers and times. */
export const gt = comparison<Ordered>("gt");

/** Greater than or equal, for numbers and times. */
export const geq = comparison<Ordered>("geq");

/** Begins with the text. */
export const startsWith = affix("startsWith");

/** Ends with the text. */
export const endsWith = affix("endsWith");

/** Does not begin with the text, the service's `!startsWith`. */
export const notStartsWith = affix("!startsWith");

/** Does not end with the text, the service's `!endsWith`. */
export const notEndsWith = affix("!endsWith");

/** The text holds the other text; or the list holds the element. */
export const contains = comparison<TextField | ListField>("contains");

/** The service's `!contains`: the text does not hold the other text; or the list does not hold the element. */
export const notContains = comparison<TextField | ListField>("!contains");

/** Is one of these, the service's `in`: a list of numbers for a field of numbers, of texts for a field of texts. */
export const isIn = membership("in");
export { isIn as in };

/** Is none of these, the service's `!in`. */
export const notIn = membership("!in");

/**
 * The text that a job sends for a filter: canonical JSON with the top-level `where`, without white space. For use outside
 * of a `LogpushJob`; its values may not be outputs.
 *
 * @throws FilterError naming every place of the filter that is wrong.
 */
export function compile(given: Filter | string): string {
  return compileFilter(parseFilter(given));
}

export { FilterError, type Operator } from "./filter-read";

/** The service compares with texts, whatever the field's type: numbers and flags become texts here. */
function condition(
  operator: Operator,
  key: string,
  value: pulumi.Input<string | number | boolean>,
): Condition {
  const scalar = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  return { key, operator, value: scalar }; // An output's value becomes a text in the check.
}
