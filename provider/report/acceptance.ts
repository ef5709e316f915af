import { digestOf } from "../basics/digest";
import type { Danger, DangerKind, JudgedDanger, Verdict } from "./model";

/** A plan's dangers, and which of them were accepted. */
export interface Acceptance {
  /** The digest of all dangers in the plan. Undefined if there are none. */
  readonly digest: string | undefined;
  readonly dangers: readonly JudgedDanger[];
}

/**
 * Computes each danger's digest, and whether it was accepted. A digest covers the stack and what the report says about
 * the danger: kind, resource, sentence, and the compared values if the sentence may shorten them. The same plan has the
 * same digests on every run and machine.
 *
 * @param title the stack's name, `project/stack`, because accepting a danger in staging doesn't accept it in
 * production.
 * @param accepted digests of all dangers together, or of individual ones.
 */
export function applyAcceptances(
  title: string,
  dangers: readonly Danger[],
  failOn: readonly DangerKind[],
  accepted: ReadonlySet<string>,
): Acceptance {
  const single = dangers.map(({ kind, type, name, sentence, compared }) =>
    digestOf({ title, kind, type, name, sentence: kind === "traffic" ? "" : sentence.toString(), compared }),
  );
  const times = new Map<string, number>();
  for (const one of single) times.set(one, (times.get(one) ?? 0) + 1);
  // Accepting one danger doesn't accept another one with the same text.
  const digests = single.map((one) =>
    times.get(one) === 1 ? one : digestOf({ one, times: times.get(one) }),
  );
  const digest = dangers.length === 0 ? undefined : digestOf({ title, dangers: [...digests].sort() });
  const isAllAccepted = digest !== undefined && accepted.has(digest);
  const verdictOf = (kind: DangerKind, own: string): Verdict => {
    // Whoever accepts traffic says how much of it: `--fail-on traffic=<n>`.
    if (kind !== "traffic" && (isAllAccepted || accepted.has(own))) return "accepted";
    return failOn.includes(kind) ? "fails" : "passes";
  };
  return {
    digest,
    dangers: dangers.map((danger, index) => {
      const own = digests[index] ?? "";
      return { ...danger, digest: own, verdict: verdictOf(danger.kind, own) };
    }),
  };
}
