/** The resources that an operation covers: all, or those in --target and --target-replace. */
import { UnsupportedError } from "./errors";
import type { Urn } from "./urn";

export interface TargetFlags {
  readonly target?: readonly Urn[];
  readonly targetReplace?: readonly Urn[];
}

export class Targets {
  readonly #included: ReadonlySet<Urn>;
  readonly #replaced: ReadonlySet<Urn>;

  constructor(flags: TargetFlags = {}) {
    const { target = [], targetReplace = [] } = flags;
    this.#included = new Set([...target, ...targetReplace]);
    this.#replaced = new Set(targetReplace);
    const pattern = [...this.#included].find((urn) => urn.includes("*"));
    if (pattern !== undefined)
      throw new UnsupportedError(`wildcards in targets (${pattern})`, "pass each URN");
  }

  get named(): readonly Urn[] {
    return [...this.#included];
  }

  includes(urn: Urn): boolean {
    return this.#included.size === 0 || this.#included.has(urn);
  }

  isReplaced(urn: Urn): boolean {
    return this.#replaced.has(urn);
  }
}
