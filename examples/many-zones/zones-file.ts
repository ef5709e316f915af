import { readFileSync } from "node:fs";
import { z } from "zod";

export interface Zone {
  readonly stack: string;
  readonly zoneId: string;
}

const zone = z.strictObject({
  stack: z
    .string()
    .regex(
      /^([\w.-]+\/){0,2}[\w.-]{1,100}$/,
      "is not a stack name (letters, digits, ., _ and -, optionally after organization/ or organization/project/)",
    ),
  zoneId: z
    .string()
    .regex(/^[0-9a-f]{32}$/i, "is not a zone ID (32 hex digits). Find it on the zone's Overview page"),
});

/** @throws Error with every mistake in the file, one per line. */
export function readZones(file: string): Zone[] {
  const read = z.array(zone).min(1, "is empty").safeParse(parse(file), { reportInput: true });
  if (!read.success) throw mistakes(file, read.error.issues.map(sentence));
  const twice = (["stack", "zoneId"] as const).flatMap((key) => duplicates(read.data, key));
  if (twice.length > 0) throw mistakes(file, twice);
  return read.data;
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(
      `${file} can't be read (${codeOf(error)}). List the zones there: [{ "stack": "shop", "zoneId": "…" }]`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);

function sentence({ path, message, input }: z.core.$ZodIssue): string {
  const given = typeof input === "string" ? `${JSON.stringify(input)} ` : "";
  return `${place(path)}: ${given}${message}`;
}

/** A mistake for each zone that repeats another one's value. */
function duplicates(zones: readonly Zone[], key: keyof Zone): string[] {
  return zones.flatMap((zone, index) => {
    const first = zones.findIndex((other) => other[key] === zone[key]);
    return first === index
      ? []
      : [
          `${place([index, key])}: ${JSON.stringify(zone[key])} is also in zone ${first + 1}. Keep one of them`,
        ];
  });
}

/** The place of a mistake, with zones counted from 1. */
const place = ([index, ...rest]: readonly PropertyKey[]): string =>
  index === undefined ? "the list" : [`zone ${Number(index) + 1}`, ...rest.map(String)].join(", ");

const mistakes = (file: string, lines: readonly string[]): Error =>
  new Error([`${file}:`, ...lines].join("\n  "));
