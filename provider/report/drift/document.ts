import type { Document, ListItem } from "../document";
import { OPERATION, type Block, type Section } from "../model";
import { name as nameOf, say, value, words, joined, type Phrase } from "../phrase";
import { counted, truncate } from "../values";
import type { DriftedResource, DriftReport } from "./model";

export function driftDocumentOf(report: DriftReport): Document {
  const { title, notes, errors, warnings, newVersions, resources, others, pending } = report;
  return {
    kind: "drift",
    title,
    headline: headlineOf(report),
    notes,
    errors,
    first: resources.flatMap((resource) => [
      ...resource.lost.map((line) => ["lost", aboutResource(resource, line)] as const),
      ...resource.gained.map(
        (line) => ["gained", aboutResource(resource, say`putting it back means that ${line}`)] as const,
      ),
    ]),
    urgent: new Set(
      resources.flatMap(({ kind, name, lost, gained }) =>
        lost.length + gained.length === 0 ? [] : [`${kind} ${name}`],
      ),
    ),
    digest: undefined,
    warnings,
    newVersions,
    inventory: undefined,
    sections: resources.map(sectionOf),
    lists: [
      {
        title: `${counted(others.length, "resource")} from other providers ${verbs(others)} manually`,
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

function verbs(others: DriftReport["others"]): string {
  const has = (one: Found): boolean => others.some(({ found }) => found === one);
  return [...(has("changed") ? ["changed"] : []), ...(has("gone") ? ["deleted"] : [])].join(" or ");
}

function headlineOf({ counts, errors, drifted }: DriftReport): string {
  const { changed, gone, asRecorded } = counts;
  const known = errors.length === 0 ? "" : "Before the failure: ";
  if (!drifted)
    return errors.length === 0
      ? `Nothing was changed manually${asRecorded === 0 ? "" : `: ${counted(asRecorded, "resource")} ${asRecorded === 1 ? "matches" : "match"} the state`}.`
      : "The preview failed before it found any drift.";
  const parts = [
    ...(changed === 0 ? [] : [`${changed} ${WORDS.changed}`]),
    ...(gone === 0 ? [] : [`${gone} ${WORDS.gone}`]),
    ...(asRecorded === 0 ? [] : [`${asRecorded} unchanged`]),
  ];
  return `${known}${parts.join(", ")}`;
}

const aboutResource = ({ kind, name }: DriftedResource, line: Phrase): Phrase =>
  say`${nameOf(truncate(`${kind} ${name}`, 120))}: ${line}`;

function sectionOf({ found, kind, name, summary, ...resource }: DriftedResource): Section {
  const { changes, details, concerns, update, keep } = resource;
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
      ...(found === "gone" ? [text(words("Deleted manually. It was:"))] : [table]),
      ...details,
      { is: "list", items: [say`Who should know: ${concerns}.`, say`${update}.`] },
      text(keep.code.length === 0 ? say`${keep.how}.` : say`${keep.how}:`),
      ...(keep.code.length === 0 ? [] : [{ is: "code", language: "ts", lines: keep.code } as const]),
    ],
  };
}

const text = (phrase: Phrase): Block => ({ is: "text", text: phrase });
