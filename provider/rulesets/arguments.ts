import type * as pulumi from "@pulumi/pulumi";
import type { RuleAction } from "./declared";

/** The OWASP core ruleset in its own words. */
export interface OwaspArgs {
  /**
   * 1 to 4. Rules of every level up to it stay on; the tags of all higher levels are switched off. Source: seed 001,
   * "Configuration rules", 1.
   */
  readonly paranoiaLevel: pulumi.Input<1 | 2 | 3 | 4>;
  /**
   * The score from which the ruleset acts: `"low"` is 60, `"medium"` 40, `"high"` 25; or a whole number from 1, of which
   * any other is warned of. Default: the ruleset's own. Source: seed 001, "Configuration rules", 2.
   */
  readonly scoreThreshold?: pulumi.Input<"low" | "medium" | "high" | number>;
  /** What it does with such a request. Default: the ruleset's own, block. Source: seed 001, "Configuration rules", 2. */
  readonly action?: pulumi.Input<RuleAction>;
}

/** An override of all rules with a tag. */
export interface CategoryOverrideArgs {
  /** A tag that at least one rule of the ruleset has. */
  readonly tag: pulumi.Input<string>;
  /** Switches the rules on or off; unset is neither. */
  readonly enabled?: pulumi.Input<boolean>;
  /** What they do instead; a rule that does not take the action keeps its own. */
  readonly action?: pulumi.Input<RuleAction>;
}

/** An override of one rule. */
export interface RuleOverrideArgs {
  /** Switches the rule on or off; unset is neither. Source: seed 001, "Configuration rules", 3. */
  readonly enabled?: pulumi.Input<boolean>;
  /** What it does instead. */
  readonly action?: pulumi.Input<RuleAction>;
  /** Only of the rule that compares the score; `owasp.scoreThreshold` says the same. */
  readonly scoreThreshold?: pulumi.Input<"low" | "medium" | "high" | number>;
}

/** Requests that managed rules leave alone. */
export interface ExceptionArgs {
  /** Which requests, in the vendor's filter language. */
  readonly expression: pulumi.Input<string>;
  /** What it is for. Default: empty. */
  readonly description?: pulumi.Input<string>;
  /** What they skip: all managed rules behind it, whole rulesets by id, or single rules by the id of their ruleset. */
  readonly skip: pulumi.Input<
    | "all"
    | { readonly rulesets: pulumi.Input<pulumi.Input<string>[]> }
    | { readonly rules: pulumi.Input<Record<string, pulumi.Input<pulumi.Input<string>[]>>> }
  >;
}
