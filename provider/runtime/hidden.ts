/**
 * Inputs that carry what the engine doesn't pass on. It doesn't display names that begin with underscores. Every state
 * contains `provider`, `name` and `secrets`, so no name ever changes.
 */
export const HIDDEN = {
  /** The provider's code. */
  provider: "__provider",
  /**
   * The resource's name in the program, for messages. After a rename with an alias, the outputs keep the old name until
   * the next update.
   */
  name: "__resourceName",
  /** The names of arguments that the program made secret. */
  secrets: "__secrets",
  /**
   * The output by which a refresh recognizes an object that the program reads with `get`. The engine passes only the
   * outputs to a refresh.
   */
  read: "__read",
  /** Signals that this preview makes a saved plan. Never recorded, because in an update nothing may be unknown. */
  savedPlan: "__savedPlan",
  /** Tells resources with the same name apart in a check: the URN, or a part of it. Never recorded. */
  holder: "__holder",
} as const;

/** The hidden inputs that are recorded in addition to the arguments. */
export const KEPT = [HIDDEN.secrets, HIDDEN.name, HIDDEN.read] as const;
