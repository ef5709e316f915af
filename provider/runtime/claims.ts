import { Redactor } from "../api/redact";
import { stringsIn } from "./secrets";
import { pick, type JsonObject } from "./values";

/** Something that only one resource in a program may have, and the message if two have it. */
export interface Claim {
  readonly key: string;
  /** The rest of the message after `"a" and "b" …`. */
  readonly clash: string;
  /** Whether a clash is a warning instead of an error. */
  readonly warnOnly?: boolean;
}

/** What a resource claims by some of its arguments, once all of them are known. */
export interface ClaimRule {
  /** Arguments that may decide, set or not. */
  readonly by: readonly string[];
  /** Returns none for invalid arguments, which the check reports. */
  of(known: JsonObject): readonly Claim[];
}

/** Who claims. */
interface Claimant {
  readonly type: string;
  readonly name: string;
  /** Identifies the resource, which may claim again. */
  readonly holder: unknown;
}

/** What the resources of one program claim: two of them must not manage the same real object, because each would undo the other. */
export class Claims {
  readonly #holders = new Map<string, Claimant>();

  /**
   * Enters what a resource claims, and returns a sentence for each claim that another resource holds.
   *
   * @param secrets arguments whose values no sentence shows.
   */
  enter(
    claimant: Claimant,
    rule: ClaimRule,
    known: JsonObject,
    secrets: readonly string[],
  ): { readonly text: string; readonly warnOnly: boolean }[] {
    const redactor = new Redactor((r) => r.add(...stringsIn(pick(known, secrets))));
    return rule.of(known).flatMap(({ key: own, clash, warnOnly = false }) => {
      const { type, name, holder } = claimant;
      const key = `${type} ${own}`;
      const other = this.#holders.get(key) ?? claimant;
      this.#holders.set(key, other);
      if (other.holder === holder) return [];
      const text = `${type} "${other.name}" and "${name}" ${redactor.redact(clash)}.`;
      return [{ text, warnOnly }];
    });
  }
}
