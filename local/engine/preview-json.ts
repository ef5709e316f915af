/** The output of `preview --json`, in the CLI's format. */
import type { Diagnostic, Events } from "./events";
import { isInternal, type Counts } from "./execute";
import type { Config } from "./project";
import type { ResourceState } from "./state";
import { writeResource } from "./state-json";
import { isLogical, subjectOf, type Op, type Step } from "./steps";
import { isRootStack, type Urn } from "./urn";
import { sorted, type JsonMap } from "./values";

interface PreviewStep {
  readonly op: Op;
  readonly urn: Urn;
  readonly provider?: string | undefined;
  readonly oldState?: JsonMap | undefined;
  readonly newState?: JsonMap | undefined;
  readonly diffReasons?: readonly string[] | undefined;
  readonly replaceReasons?: readonly string[] | undefined;
  /** Always null: only the CLI shows it, and only for a provider without a `diff`. */
  readonly detailedDiff: null;
}

export class Digest implements Events {
  readonly #steps: PreviewStep[] = [];
  readonly #diagnostics: { urn?: Urn; message: string; severity: string }[] = [];

  constructor(
    readonly config: Config,
    readonly flags: { readonly showSames?: boolean; readonly showReplacementSteps?: boolean },
  ) {}

  diagnostic({ urn, severity, message }: Diagnostic): void {
    if (severity === "debug") return;
    const prefix = severity === "error" || severity === "warning" ? `${severity}: ` : "";
    this.#diagnostics.push({ ...(urn !== "" && { urn }), message: `${prefix}${message}\n`, severity });
  }

  /** Records states as planned, before the step changes them. */
  before(step: Step): void {
    if (this.#isShown(step)) this.#steps.push(describe(step, step.op));
  }

  /** Records that a refresh found nothing, which is known only afterwards. */
  after(step: Step, op: Op): void {
    if (step.op !== "refresh" || op !== "delete") return;
    const index = this.#steps.findIndex(({ urn }) => urn === step.old.urn);
    if (index >= 0) this.#steps[index] = describe(step, op);
  }

  failed(): void {
    // The diagnostics give the reason.
  }

  toJson(counts: Counts, seconds: number): string {
    const config = Object.fromEntries(
      [...this.config].map(([key, { secret, value }]) => [key, secret ? "[secret]" : value]),
    );
    const digest = {
      ...(this.config.size > 0 && { config }),
      ...(this.#steps.length > 0 && { steps: this.#steps }),
      ...(this.#diagnostics.length > 0 && { diagnostics: this.#diagnostics }),
      duration: Math.round(seconds * 1e9),
      ...(counts.size > 0 && { changeSummary: sorted(Object.fromEntries(counts)) }),
    };
    return JSON.stringify(digest, undefined, 4);
  }

  #isShown(step: Step): boolean {
    if (isInternal(step)) return false;
    if (isRootStack(subjectOf(step).urn)) return true;
    const { showSames = false, showReplacementSteps = false } = this.flags;
    if (step.op === "same") return showSames || (step.old?.protect ?? false) !== step.new.protect;
    return isLogical(step) || step.op === "refresh" || showReplacementSteps;
  }
}

function describe(step: Step, op: Op): PreviewStep {
  const { urn, provider } = subjectOf(step);
  return {
    op,
    urn,
    provider: provider === "" ? undefined : provider,
    oldState: redacted(step.old),
    newState: redacted(step.new),
    diffReasons: nonEmpty(step.changedKeys),
    replaceReasons: nonEmpty(step.replaceKeys),
    detailedDiff: null,
  };
}

/** Formats a state without secrets. Includes aliases, which the state file never contains. */
function redacted(state: ResourceState | undefined): JsonMap | undefined {
  if (state === undefined) return undefined;
  const written = writeResource(state, () => "[secret]");
  return state.aliases.length === 0 ? written : { ...written, aliases: [...state.aliases] };
}

const nonEmpty = (keys: readonly string[] | undefined): readonly string[] | undefined =>
  keys === undefined || keys.length === 0 ? undefined : keys;
