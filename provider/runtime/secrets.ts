/**
 * The input that names a program's secret arguments. The engine's displays leave out what begins like this, and it is
 * part of every state: its name never changes.
 */
export const SECRETS = "__secrets";

/** What a lifecycle says of secrets. */
export interface SecretRules {
  readonly secret?: readonly string[];
  readonly secretOutputs?: readonly string[];
  readonly computedInputs?: readonly string[];
  readonly derivedFrom?: Readonly<Record<string, readonly string[]>>;
}
