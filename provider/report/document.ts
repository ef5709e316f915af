import { countsLine, dangerLines } from "./lines";
import { OPERATION, type InventorySummary, type Message, type Report, type Section } from "./model";
import type { Phrase } from "./phrase";
import { counted } from "./values";

/** A report's content in reading order, before it's formatted as Markdown or text. */
export interface Document {
  /** The first word of the marker that lets a pipeline find its comment. */
  readonly kind: "report" | "drift";
  /** The stack's name: `project/stack`. */
  readonly title: string;
  readonly headline: string;
  readonly notes: readonly Phrase[];
  readonly errors: readonly Message[];
  /** The lines to read first, such as dangers, each with its kind. */
  readonly first: readonly (readonly [kind: string, line: Phrase])[];
  /** The resources that `first` is about, such as `KvEntries products`. Their sections get space before the others. */
  readonly urgent: ReadonlySet<string>;
  readonly digest: string | undefined;
  readonly warnings: readonly Message[];
  readonly newVersions: readonly Message[];
  readonly inventory: InventorySummary | undefined;
  readonly sections: readonly Section[];
  readonly lists: readonly DocumentList[];
  /** The command that shows what the comment leaves out. */
  readonly command: string;
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
  const { title, notes, errors, dangers, digest, warnings, newVersions, inventory, sections, others } =
    report;
  return {
    kind: "report",
    title,
    headline: countsLine(report),
    notes,
    errors,
    first: dangerLines(dangers),
    urgent: new Set(dangers.map(({ type, name }) => `${type} ${name}`)),
    digest,
    warnings,
    newVersions,
    inventory,
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
