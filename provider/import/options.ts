import type { Surface } from "../runtime/type-tokens";
import type { Language } from "./target";

/** Products that can be imported. */
export const PRODUCTS = ["page-shield", "rulesets", "logpush", "kv"] as const;
export type Product = (typeof PRODUCTS)[number];

/** The command's options, as returned by the parser. */
export interface ImportOptions {
  readonly zone: readonly string[];
  readonly account?: string;
  readonly only?: readonly Product[];
  readonly withValues: boolean;
  /** The file with the old state that lists what to import. `-` is standard input. */
  readonly from?: string;
  readonly out: string;
  readonly project?: string;
  readonly force: boolean;
  readonly for: Surface;
  /** The program's language. Defaults to the language of the project in the output directory. */
  readonly language?: Language;
}

/** Whether the options explicitly include namespaces, which need an account. */
export function asksForNamespaces({ only, withValues }: ImportOptions): boolean {
  return only?.includes("kv") === true || withValues;
}
