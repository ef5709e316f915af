import { partsOf, type Document, type Line, type ListItem } from "../document";
import { OPERATION, type Block, type Section } from "../model";
import { textBlock } from "../sections/section";
import { name as nameOf, say, value, joined } from "../phrase";
import { counted, truncate } from "../values";
import type { DriftedResource, DriftReport } from "./model";

export function driftDocumentOf(report: DriftReport): Document {
  const { title, notes, resources, others, pending } = report;
  return {
    kind: "drift",
    title,
    headline: headlineOf(report),
    notes,
    parts: partsOf({ ...report, first: resources.flatMap(firstLines) }),
    urgent: new Set(
      resources.flatMap(({ kind, name, lost, gained }) =>
        lost.length + gained.length === 0 ? [] : [`${kind} ${name}`],
      ),
    ),
    sections: resources.map(sectionOf),
    lists: [
      {
        title: `${counted(others.length, "resource")} from other providers, changed or deleted manually`,
        items: others.map(({ found, type, name, properties }): ListItem => ({
          sign: SIGNS[found],
          words: WORDS[found],
          type,
          name,
          ...(properties.length === 0 ? {} : { more: joined(properties.map(value)) }),
        })),
      },
      {
        title: `Not drift: ${counted(pending.length, "change")} in the program`,
        items: pending.map(({ op, type, name }): ListItem => ({ ...OPERATION[op], type, name })),
      },
    ],
    command: "edgeguard report --drift --format text",
  };
}

type Found = DriftedResource["found"];
const SIGNS: Readonly<Record<Found, string>> = { changed: "~", gone: "-" };
const WORDS: Readonly<Record<Found, string>> = { changed: "changed manually", gone: "deleted manually" };

function headlineOf({ counts, errors, drifted }: DriftReport): string {
  const { changed, gone, asRecorded, uncompared } = counts;
  const partly = uncompared === 0 ? "" : `, ${uncompared} compared only in part`;
  const known = errors.length === 0 ? "" : "Before the failure: ";
  if (!drifted)
    return errors.length === 0
      ? `${partly === "" ? "Nothing that the program sets was changed manually" : "No manual change was found in what the program sets"}${asRecorded === 0 ? "" : `: ${counted(asRecorded, "resource")} ${asRecorded === 1 ? "matches" : "match"} the state`}${partly}.`
      : "The preview failed before it found any drift.";
  const parts = [
    ...(changed === 0 ? [] : [`${changed} ${WORDS.changed}`]),
    ...(gone === 0 ? [] : [`${gone} ${WORDS.gone}`]),
    ...(asRecorded === 0 ? [] : [`${asRecorded} unchanged`]),
  ];
  return `${known}${parts.join(", ")}${partly}`;
}

function firstLines({ kind, name, lost, gained }: DriftedResource): Line[] {
  const resource = nameOf(truncate(`${kind} ${name}`, 120));
  return [
    ...lost.map((line) => ({ kind: "lost", text: say`${resource}: ${line}` })),
    ...gained.map((line) => ({ kind: "gained", text: say`${resource}: putting it back means that ${line}` })),
  ];
}

function sectionOf({ found, kind, name, summary, ...resource }: DriftedResource): Section {
  const { changes, details, concerns, update, keep, language } = resource;
  const hasPlan = changes.some(({ planned }) => planned !== undefined);
  const table: Block = {
    is: "table",
    head: ["argument", "before", "now", ...(hasPlan ? ["in the program"] : [])],
    rows: changes.map(({ property, before, now, planned = before }) => [
      value(property),
      before,
      now,
      ...(hasPlan ? [planned] : []),
    ]),
  };
  return {
    op: found === "gone" ? "delete" : "update",
    kind,
    name,
    summary,
    blocks: [
      ...(found === "gone" ? [textBlock("Deleted manually. It was:")] : [table]),
      ...details,
      { is: "list", items: [say`Who should know: ${concerns}.`, say`${update}.`] },
      textBlock(keep.code.length === 0 ? say`${keep.how}.` : say`${keep.how}:`),
      ...(keep.code.length === 0 ? [] : [{ is: "code", language, lines: keep.code } as const]),
    ],
  };
}
