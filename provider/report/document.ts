import {
  DANGERS,
  OPERATION,
  type Danger,
  type InventorySummary,
  type JudgedDanger,
  type Message,
  type Report,
  type Section,
} from "./model";
import { name, say, someOf, words, type Phrase } from "./phrase";
import { counted, truncate } from "./values";

/** A report's content in reading order, before it's formatted as Markdown or text. */
export interface Document {
  /** The first word of the marker that lets a pipeline find its comment. */
  readonly kind: "report" | "drift";
  /** The stack's name: `project/stack`. */
  readonly title: string;
  readonly headline: string;
  readonly notes: readonly Phrase[];
  /** What stands above the sections. */
  readonly parts: readonly Part[];
  /** The resources to review first, such as `KvEntries products`. Their sections get space before the others. */
  readonly urgent: ReadonlySet<string>;
  readonly sections: readonly Section[];
  readonly lists: readonly DocumentList[];
  /** The command that shows what the comment leaves out. */
  readonly command: string;
}

/** A list with a title, or a sentence. */
export interface Part {
  readonly title?: string;
  /** A sentence above the list. */
  readonly intro?: Phrase;
  readonly lines: readonly Line[];
  readonly isCollapsed?: boolean;
}

export interface Line {
  /** The kind of danger or drift. */
  readonly kind?: string;
  /** The resource that a message is about. */
  readonly about?: string | undefined;
  readonly text: Phrase;
  /** Further lines of a message. */
  readonly below?: readonly string[];
}

/** Resources that are listed without details. */
export interface DocumentList {
  readonly title: string;
  readonly items: readonly ListItem[];
}

export interface ListItem {
  readonly sign: string;
  /** What happens to the resource, such as `to create`. */
  readonly words: string;
  readonly type: string;
  readonly name: string;
  /** More about the resource, such as its changed properties. Set if any item in the list has more. */
  readonly more?: Phrase;
}

export function documentOf(report: Report): Document {
  const { title, notes, dangers, sections, others } = report;
  return {
    kind: "report",
    title,
    headline: countsLine(report),
    notes,
    parts: partsOf({ ...report, first: dangerLines(dangers) }),
    urgent: new Set(dangers.map(({ type, name }) => `${type} ${name}`)),
    sections,
    lists: [
      {
        title: `${counted(others.length, "change")} to resources from other providers`,
        items: others.map(({ op, type, name }) => ({ ...OPERATION[op], type, name })),
      },
    ],
    command: "edgeguard report --format text",
  };
}

interface PartsGiven {
  readonly errors: readonly Message[];
  readonly first: readonly Line[];
  readonly digest?: string | undefined;
  readonly warnings: readonly Message[];
  readonly newVersions: readonly Message[];
  readonly inventory?: InventorySummary | undefined;
}

/** Returns the parts in reading order, without empty ones. */
export function partsOf(given: PartsGiven): readonly Part[] {
  const { errors, first, digest, warnings, newVersions, inventory } = given;
  const parts: readonly Part[] = [
    { title: "The preview failed", lines: errors.map(lineOf) },
    { title: "Review these first", lines: first },
    { ...(digest !== undefined && { intro: say`Digest of these dangers: ${digest}` }), lines: [] },
    { title: counted(warnings.length, "warning"), lines: warnings.map(lineOf), isCollapsed: true },
    { title: "New versions of managed rulesets", lines: newVersions.map(lineOf) },
    {
      title: "Script inventory",
      ...(inventory !== undefined && { intro: inventory.summary, isCollapsed: inventory.passed }),
      lines: inventory?.findings.map((text) => ({ text })) ?? [],
    },
  ];
  return parts.filter(({ intro, lines }) => intro !== undefined || lines.length > 0);
}

function lineOf({ about, text }: Message): Line {
  const [first = "", ...below] = text.split("\n");
  return { about, text: words(first), below };
}

/** Summarizes the plan in one line. For a failed preview, says how far it got. */
function countsLine({ counts, errors }: Pick<Report, "counts" | "errors">): string {
  const listed = Object.entries(counts)
    .map(([what, count]) => counted(count, what, what))
    .join(", ");
  if (errors.length > 0) return listed === "" ? "There is no plan." : `Before the failure: ${listed}`;
  if (Object.keys(counts).every((what) => what === "unchanged")) {
    return listed === "" ? "No changes." : `No changes: ${listed}`;
  }
  return listed;
}

const MOST_NAMED = 20;

/**
 * Writes a line for each danger. All replacements share one line, and so do all deletions, and dangers that the same
 * sentence tells. Accepted dangers come last.
 */
export function dangerLines(dangers: readonly JudgedDanger[]): readonly Line[] {
  const isAccepted = ({ verdict }: JudgedDanger): boolean => verdict === "accepted";
  return [
    ...linesOf(dangers.filter((danger) => !isAccepted(danger))),
    ...linesOf(dangers.filter(isAccepted)).map((line) => ({ ...line, kind: `${line.kind} (accepted)` })),
  ];
}

function linesOf(dangers: readonly Danger[]): readonly (Line & { readonly kind: string })[] {
  return DANGERS.flatMap((kind): ReturnType<typeof linesOf> => {
    const those = dangers.filter((danger) => danger.kind === kind);
    if (those.length > 0 && (kind === "replace" || kind === "delete"))
      return [{ kind, text: someOf(those.map(resource), MOST_NAMED) }];
    const alike = new Map<string, Danger[]>();
    for (const each of those) {
      const text = each.sentence.toString();
      alike.set(text, [...(alike.get(text) ?? []), each]);
    }
    return [...alike.values()].map((each) => ({
      kind,
      text: say`${someOf(each.map(resource), MOST_NAMED)}: ${each[0]?.sentence ?? words("")}`,
    }));
  });
}

const resource = (danger: Danger): Phrase => name(truncate(`${danger.type} ${danger.name}`, 120));
