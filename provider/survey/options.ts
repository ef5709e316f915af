/** The options of `edgeguard survey`. */
export interface SurveyOptions {
  readonly account?: string;
  /** A file with a zone's ID or name on each line. */
  readonly zones?: string;
  readonly stack: readonly string[];
  readonly paymentPages: readonly string[];
  /** A script inventory to compare the zones' scripts with. */
  readonly inventory?: string;
  /** The share of the rate limit to use, in percent. */
  readonly budget: number;
  readonly out: string;
  readonly resume: boolean;
  readonly force: boolean;
}
