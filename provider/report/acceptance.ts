import { digestOf } from "../runtime/digest";
import type { Danger, DangerKind, Judged, Verdict } from "./model";

/** What a person has to accept, and what somebody accepted already. */
export interface Acceptance {
  /** Stands for all dangers of the plan; undefined when there are none. */
  readonly digest: string | undefined;
  readonly dangers: readonly Judged[];
}

/**
 * A digest stands for the stack and for what the report says of each danger: kind, resource, sentence, and what was compared where the
 * sentence may shorten it. The same plan gives the same digest on every run and every machine.
 *
 * @param title `project/stack`: what was accepted for staging doesn't count for production.
 * @param accepted digests of the whole, or of single dangers.
 */
export function judge(
  title: string,
  dangers: readonly Danger[],
  failOn: readonly DangerKind[],
  accepted: ReadonlySet<string>,
): Acceptance {
  const shown = dangers.map(({ kind, type, name, sentence, compared }) =>
    digestOf({ title, kind, type, name, sentence: sentence.toString(), compared }),
  );
  const times = new Map<string, number>();
  for (const one of shown) times.set(one, (times.get(one) ?? 0) + 1);
  // A second danger that reads the same is more than what was accepted.
  const digests = shown.map((one) => (times.get(one) === 1 ? one : digestOf({ one, times: times.get(one) })));
  const digest = dangers.length === 0 ? undefined : digestOf({ title, dangers: [...digests].sort() });
  const isAllAccepted = digest !== undefined && accepted.has(digest);
  const verdictOf = (kind: DangerKind, own: string): Verdict => {
    if (isAllAccepted || accepted.has(own)) return "accepted";
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
