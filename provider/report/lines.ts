import { DANGERS, type Danger, type JudgedDanger, type Report } from "./model";
import { formatNumber } from "../limits/workers";
import { joined, name, say, words, type Phrase } from "./phrase";
import { counted, truncate } from "./values";

/** Lines that the Markdown and text formats share. */

/** Summarizes the plan in one line. For a failed preview, says how far it got. */
export function countsLine({ counts, errors }: Pick<Report, "counts" | "errors">): string {
  const listed = Object.entries(counts)
    .map(([what, count]) => counted(count, what, what))
    .join(", ");
  if (errors.length > 0) return listed === "" ? "There is no plan." : `Before the failure: ${listed}`;
  if (Object.keys(counts).every((what) => what === "unchanged")) {
    return listed === "" ? "No changes." : `No changes: ${listed}`;
  }
  return listed;
}

/** The heading above the effects of new versions of managed rulesets. */
export const NEW_VERSIONS = "New versions of managed rulesets";

/** The title of the section on a script inventory's check. */
export const INVENTORY = "Script inventory";

const MOST_NAMED = 20;

/**
 * Writes a line for each danger. All replacements share one line, and so do all deletions. Accepted dangers come last.
 */
export function dangerLines(
  dangers: readonly JudgedDanger[],
): readonly (readonly [kind: string, line: Phrase])[] {
  const isAccepted = ({ verdict }: JudgedDanger): boolean => verdict === "accepted";
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
    const more = those.length > MOST_NAMED ? ` and ${formatNumber(those.length - MOST_NAMED)} more` : "";
    const named = those.slice(0, MOST_NAMED).map(resource);
    return [[kind, say`${joined(named)}${words(more)}`]];
  });
}

/** Shows the digest that `--accept` takes. */
export const digestLine = (digest: string): Phrase => say`Digest of these dangers: ${digest}`;

const resource = (danger: Danger): Phrase => name(truncate(`${danger.type} ${danger.name}`, 120));
