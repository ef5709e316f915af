import { Redactor } from "../api/redact";
import { pick, type JsonObject } from "./values";

/** Something that only one resource in a program may manage, and the message if two resources claim it. */
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
export interface Claimant<Holder = string> {
  readonly type: string;
  readonly name: string;
  /** Identifies the resource, so that it can make the same claim again. */
  readonly holder: Holder;
}

/** Where claims are recorded. */
export interface ClaimBook<Holder = string> {
  /** Records a claim. Returns the claimant who was first. */
  first(key: string, claimant: Claimant<Holder>): Claimant<Holder>;
}

/**
 * The claims of one program's resources. No two of them may manage the same real object, because each would undo the
 * other's changes.
 */
export class Claims<Holder = string> {
  readonly #book: ClaimBook<Holder>;

  /** @param book by default, one of this process alone. */
  constructor(book: ClaimBook<Holder> = new OwnClaims()) {
    this.#book = book;
  }

  /**
   * Records a resource's claims. Returns a sentence for each claim that another resource has already made.
   *
   * @param secrets arguments whose values don't appear in the sentences.
   */
  enter(
    claimant: Claimant<Holder>,
    rule: ClaimRule,
    known: JsonObject,
    secrets: readonly string[],
  ): { readonly text: string; readonly warnOnly: boolean }[] {
    const redactor = new Redactor((r) => r.addValue(pick(known, secrets)));
    return rule.of(known).flatMap(({ key: own, clash, warnOnly = false }) => {
      const { type, name, holder } = claimant;
      const other = this.#book.first(`${type} ${own}`, claimant);
      if (other.holder === holder) return [];
      const text = `${type} "${other.name}" and "${name}" ${redactor.redact(clash)}.`;
      return [{ text, warnOnly }];
    });
  }
}

class OwnClaims<Holder> implements ClaimBook<Holder> {
  readonly #claimants = new Map<string, Claimant<Holder>>();

  first(key: string, claimant: Claimant<Holder>): Claimant<Holder> {
    const first = this.#claimants.get(key) ?? claimant;
    this.#claimants.set(key, first);
    return first;
  }
}
