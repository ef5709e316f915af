import type { Comparison, Logical } from "./vocabulary";

/** An expression's syntax tree. `at` is the index of a node's first character. */

export type Index =
  | { readonly kind: "key"; readonly bytes: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "each" };

export interface Field {
  readonly kind: "field";
  readonly name: string;
  readonly indexes: readonly Index[];
  readonly at: number;
}

export interface Call {
  readonly kind: "call";
  readonly name: string;
  readonly args: readonly (Value | Literal | Condition)[];
  readonly indexes: readonly Index[];
  readonly at: number;
}

export type Value = Field | Call;

export interface Literal {
  readonly kind: "literal";
  readonly type: "String" | "Number" | "IP" | "Bytes" | "Boolean";
  /** The bytes of a string, a number in decimal, or an IP address in lowercase. */
  readonly value: string;
  readonly at: number;
}

/** A range from one value to another, inclusive. */
export interface Range {
  readonly kind: "range";
  readonly from: Literal;
  readonly to: Literal;
  readonly at: number;
}

export type Operand =
  | Literal
  | { readonly kind: "set"; readonly items: readonly (Literal | Range)[]; readonly at: number }
  | { readonly kind: "list"; readonly name: string; readonly at: number };

export type Condition =
  | { readonly kind: "constant"; readonly value: boolean; readonly at: number }
  | { readonly kind: "test"; readonly value: Value; readonly at: number }
  | {
      readonly kind: "comparison";
      readonly value: Value;
      readonly operator: Comparison;
      readonly operand: Operand;
      readonly at: number;
    }
  | { readonly kind: "not"; readonly condition: Condition; readonly at: number }
  | { readonly kind: Logical; readonly conditions: readonly Condition[]; readonly at: number };
