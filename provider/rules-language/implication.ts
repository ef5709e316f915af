/** A condition. A string is an atom: the name of a comparison, which is either true or false. */
export type Formula =
  | boolean
  | string
  | { readonly not: Formula }
  | { readonly and: readonly Formula[] }
  | { readonly or: readonly Formula[] };

/** Whether the first atom being true proves that the second one is, too. */
export type Entails = (atom: string, other: string) => boolean;

/**
 * Whether `to` is true in every row of the truth table in which `from` is true. Rows in which an atom that `entails`
 * another one is true without it can't happen, and don't count. Returns false if there are too many rows to decide.
 */
export function implies(from: Formula, to: Formula, entails: Entails = () => false): boolean {
  const claim = reduce({ or: [{ not: from }, to] }, () => undefined);
  return new TruthTable(entails).isAlwaysTrue(claim);
}

/** The most conditions that are decided. That's enough for every row of 11 atoms, or for far more that decide early. */
const MAX_DECIDED = 4_096;

/**
 * Decides a condition by its rows, one atom at a time. What's left of a condition is decided once, however many rows
 * lead to it.
 */
class TruthTable {
  readonly #decided = new Map<string, boolean>();

  constructor(readonly entails: Entails) {}

  isAlwaysTrue(formula: Formula): boolean {
    if (typeof formula === "boolean") return formula;
    const key = JSON.stringify(formula);
    const known = this.#decided.get(key);
    if (known !== undefined) return known;
    if (this.#decided.size >= MAX_DECIDED) return false;
    this.#decided.set(key, false); // Counts this condition while its parts are decided.
    const atom = firstAtom(formula);
    const result = [false, true].every((value) =>
      this.isAlwaysTrue(reduce(formula, (other) => this.#valueOf(other, atom, value))),
    );
    this.#decided.set(key, result);
    return result;
  }

  /** The value of an atom in the rows in which `atom` has the given value. Undefined if they have both values. */
  #valueOf(other: string, atom: string, value: boolean): boolean | undefined {
    const isKnown = other === atom || (value ? this.entails(atom, other) : this.entails(other, atom));
    return isKnown ? value : undefined;
  }
}

function firstAtom(formula: Formula): string {
  if (typeof formula !== "object") return String(formula);
  const [first] = Object.values(formula).flat() as readonly Formula[];
  return firstAtom(first ?? "");
}

/** Replaces the atoms whose value is known. In the result, only a whole condition is a constant. */
export function reduce(formula: Formula, valueOf: (atom: string) => boolean | undefined): Formula {
  if (typeof formula === "boolean") return formula;
  if (typeof formula === "string") return valueOf(formula) ?? formula;
  if ("not" in formula) {
    const inner = reduce(formula.not, valueOf);
    return typeof inner === "boolean" ? !inner : { not: inner };
  }
  const decisive = "or" in formula;
  const parts = ("or" in formula ? formula.or : formula.and).map((part) => reduce(part, valueOf));
  if (parts.includes(decisive)) return decisive;
  const open = parts.filter((part) => part !== !decisive);
  if (open.length === 0) return !decisive;
  return decisive ? { or: open } : { and: open };
}
