import { DANGERS, type Danger, type Judged, type Report } from "./model";
import { joined, name, say, words, type Phrase } from "./phrase";
import { counted, cut } from "./values";

/** Lines that Markdown and text have in common. */

/** What the plan comes to; a preview that failed is no plan. */
export function countsLine({ counts, errors }: Pick<Report, "counts" | "errors">): string {
  const told = Object.entries(counts)
    .map(([what, count]) => counted(count, what, what))
    .join(", ");
  if (errors.length > 0) return told === "" ? "There is no plan." : `Until it failed: ${told}`;
  if (Object.keys(counts).every((what) => what === "unchanged")) {
    return told === "" ? "Nothing to do." : `Nothing to do: ${told}`;
  }
  return told;
}

const MOST_NAMED = 20;

/**
 * The graver dangers each with its sentence; all replacements, and all deletions, in a line. What was accepted follows what was
 * not.
 */
export function dangerLines(dangers: readonly Judged[]): readonly (readonly [kind: string, line: Phrase])[] {
  const isAccepted = ({ verdict }: Judged): boolean => verdict === "accepted";
  return [
    ...linesOf(dangers.filter((danger) => !isAccepted(danger))),
    ...linesOf(dangers.filter(isAccepted)).map(([kind, line]) => [`${kind} (accepted)`, line] as const),
  ];
}

function linesOf(dangers: readonly Danger[]): readonly (readonly [kind: string, line: Phrase])[] {
  return DANGERS.flatMap((kind): [string, Phrase][] => {
    const those = dangers.filter((danger) => danger.kind === kind);
    if (kind !== "replace" && kind !== "delete")
      return those.map((danger) => [kind, say`${resource(danger)}: ${danger.sentence}`]);
    if (those.length === 0) return [];
    const more =
      those.length > MOST_NAMED ? ` and ${(those.length - MOST_NAMED).toLocaleString("en-US")} more` : "";
    const named = those.slice(0, MOST_NAMED).map(resource);
    return [[kind, say`${joined(named)}${words(more)}`]];
  });
}

/** What `--accept` takes. */
export const digestLine = (digest: string): Phrase => say`Digest of these dangers: ${digest}`;

const resource = (danger: Danger): Phrase => name(cut(`${danger.type} ${danger.name}`, 120));
