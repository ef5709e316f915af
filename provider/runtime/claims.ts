import { Redactor } from "../api/redact";
import { stringsIn } from "./secrets";
import { pick, type JsonObject } from "./values";

/** Something that only one resource in a program may manage, and the message if two resources do. */
export interface Claim {
  readonly key: string;
  /** The text that follows `"a" and "b" …` in the message. */
  readonly clash: string;
  /** Whether a clash is a warning instead of an error. */
  readonly warnOnly?: boolean;
}

/** Determines what a resource claims from some of its arguments, once all of them are known. */
export interface ClaimRule {
  /** Arguments that the claims depend on, whether or not they're set. */
  readonly by: readonly string[];
  /** Returns the claims. There are none if arguments are invalid, which the check reports. */
  of(known: JsonObject): readonly Claim[];
}

/** The resource that makes a claim. */
interface Claimant {
  readonly type: string;
  readonly name: string;
  /** Identifies the resource, so that it can repeat its own claims. */
  readonly holder: unknown;
}

/**
 * The claims of one program's resources. No two of them may manage the same real object, because each would undo the
 * other's changes.
 */
export class Claims {
  readonly #holders = new Map<string, Claimant>();

  /**
   * Records a resource's claims. Returns a sentence for each claim that another resource has already made.
   *
   * @param secrets arguments whose values don't appear in the sentences.
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
