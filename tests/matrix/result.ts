import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { REPOSITORY } from "../support/repository";
import { ROWS, type Row } from "./rows";

/** The rows that passed when they were last played: when, where and with which Pulumi CLI. */

const RESULT = join(REPOSITORY, "tests/matrix/passed.json");

const result = z.array(
  z.object({ kind: z.string(), name: z.string(), date: z.string(), platform: z.string(), cli: z.string() }),
);

export type Result = z.infer<typeof result>;

export function readResult(): Result {
  return result.parse(JSON.parse(readFileSync(RESULT, "utf8")));
}

/** Records that a row passed with a version of the Pulumi CLI, or takes out one that didn't. */
export function recordRow(row: Row, cli: string | undefined): void {
  const before = new Map(readResult().map((each) => [keyOf(each), each]));
  before.delete(keyOf(row));
  if (cli !== undefined) {
    const { kind, name } = row;
    const date = new Date().toISOString().slice(0, 10);
    before.set(keyOf(row), { kind, name, date, platform: `${process.platform}-${process.arch}`, cli });
  }
  const inOrder = ROWS.flatMap((each) => before.get(keyOf(each)) ?? []);
  writeFileSync(RESULT, `${JSON.stringify(inOrder, undefined, 2)}\n`);
}

const keyOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  `${kind}: ${name}`;
