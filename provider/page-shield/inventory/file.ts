import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type * as Yaml from "yaml";
import { z } from "zod";
import { readErrorReason } from "../../basics/files";
import { checkInputs, type CheckFailure } from "../../runtime/inputs";
import { LookupError } from "../../runtime/lookup";
import { omitAbsent, isJsonObject } from "../../basics/json";
import { members } from "../../basics/published";
import { applying, pluralize } from "../../basics/words";
import { parsePattern, PatternError } from "./script-pattern";

/** Version of the file format. */
export const VERSION = 1;

/** The value of `hash` for a script whose content is expected to change. */
export const CHANGES = "changes";

const DATE_FORM = "must be a date, as YYYY-MM-DD";
const date = z.string(DATE_FORM).refine(isDate, {
  error: ({ input }) => `${DATE_FORM}, not ${JSON.stringify(input)}`,
});
/** Whether a text is a valid date, as YYYY-MM-DD. */
export function isDate(text: string): boolean {
  return z.iso.date().safeParse(text).success;
}

const HASH_FORM = `must be the SHA-256 of the script's content (64 hex digits) or "${CHANGES}"`;

const approval = members({
  by: z.string().min(1, "is empty. Set it to the approver's name").describe("Who approved the script."),
  on: date.describe("The day of the approval: YYYY-MM-DD."),
  until: date
    .optional()
    .describe("The last day of the approval: YYYY-MM-DD. If omitted, the approval doesn't expire."),
}).refine(({ on, until }) => until === undefined || on <= until, {
  path: ["until"],
  error: "is before the date of the approval. Swap the two dates, or remove this one",
});

const entry = members({
  script: z
    .string()
    .describe(
      "An exact URL, a host (`cdn.example.com`, `*.example.com`), or every URL below a path (`https://cdn.example.com/lib/*`).",
    ),
  justification: z
    .string()
    .nullish()
    .describe("Why the pages need the script: a business or technical reason."),
  owner: z.string().nullish().describe("Who in your organization is responsible for the script."),
  approval: approval
    .nullish()
    .describe("Who approved the script, and when. If null or omitted, the script isn't approved."),
  hash: z
    .string(HASH_FORM)
    .refine((hash) => hash === CHANGES || /^[0-9a-f]{64}$/i.test(hash), HASH_FORM)
    .nullish()
    .describe(
      `The SHA-256 of the expected content (exact URLs only), or \`${CHANGES}\` if the content is expected to change. If omitted, the content isn't watched.`,
    ),
  falsePositive: z
    .number()
    .nullish()
    .describe(
      "The lowest score that this script may have (exact URLs only). Until the approval ends, such a score is a false positive and no finding; a lower one is. Needs a justification, and an approval with `until`.",
    ),
}).refine(
  ({ falsePositive, justification, approval: given }) =>
    (falsePositive ?? undefined) === undefined ||
    (textIn(justification) !== undefined && given?.until !== undefined),
  {
    path: ["falsePositive"],
    error: "needs a justification, and an approval with until. Say why, who decided it, and until when",
  },
);

/** The file that `edgeguard inventory` reads. */
export const inventoryDocument = members({
  $schema: z.string().optional().describe("This schema's URL, for editors."),
  version: z.literal(VERSION).describe("The version of the file format."),
  scripts: z.array(entry).describe("The scripts that your pages may load."),
});

/** The approval of a script. */
export interface ScriptApproval {
  /** Who approved the script. */
  readonly by: string;
  /** The day of the approval: YYYY-MM-DD. */
  readonly on: string;
  /** The last day of the approval: YYYY-MM-DD. If absent, the approval doesn't expire. */
  readonly until?: string;
}

/** An entry of a script inventory. */
export interface InventoryEntry {
  /** An exact URL, a host, or every URL below a path: `https://cdn.example.com/lib/*`. */
  readonly script: string;
  /** Why the pages need the script. */
  readonly justification?: string;
  /** Who is responsible for the script. */
  readonly owner?: string;
  /** The approval. Absent if nobody has approved the script. */
  readonly approval?: ScriptApproval;
  /** The SHA-256 of the expected content, or `"changes"`. If absent, the content isn't watched. */
  readonly hash?: string;
  /** The lowest score that counts as a false positive. */
  readonly falsePositive?: number;
  /** The entry's line in the file, counted from 1. */
  readonly line: number;
}

/** A script inventory as returned by `readScriptInventory`. */
export interface ScriptInventory {
  /** The file's name, as given. */
  readonly file: string;
  /** The SHA-256 of the file: 64 hex digits. */
  readonly sha256: string;
  /** The entries, in the order of the file. */
  readonly entries: readonly InventoryEntry[];
}

/**
 * Reads a script inventory: a YAML or JSON file that lists the scripts that your pages may load, with their
 * justification, owner and approval. Sends no requests.
 *
 * @param file - Relative to the working directory: in a program, the directory of Pulumi.yaml or of its `main`.
 *
 * @example List the scripts that nobody has approved yet
 * ```ts
 * import { readScriptInventory } from "pulumi-edgeguard";
 *
 * const { entries } = readScriptInventory("script-inventory.yaml");
 *
 * export const toReview = entries.filter(({ approval }) => approval === undefined).map(({ script }) => script);
 * ```
 *
 * @throws `LookupError` if the file is missing or invalid. The error lists every mistake with its line.
 */
export function readScriptInventory(file: string): ScriptInventory {
  return readInventory(resolve(file), file);
}

/** @param file the name of the file in messages. */
export function readInventory(path: string, file: string): ScriptInventory {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new LookupError(
      `the script inventory can't be read: ${readErrorReason(error)} (full path: ${path}). Create it with \`edgeguard inventory propose --zone <zone ID> --file ${file}\`.`,
    );
  }
  return parseInventory(file, bytes);
}

/** @throws LookupError that lists every mistake with its line. */
export function parseInventory(file: string, bytes: Buffer): ScriptInventory {
  const { value, lineOf, problem } = parsed(bytes.toString("utf8"));
  if (problem !== undefined) throw new LookupError(`${file}:${problem}`);
  if (!isJsonObject(value)) {
    throw new LookupError(
      `${file}:1: must contain version and scripts. For an example, create a file with \`edgeguard inventory propose\`.`,
    );
  }
  const { failures } = checkInputs(inventoryDocument.unwrap().shape, value);
  const problems = [...failures, ...entryProblems(value["scripts"], lineOf)]
    .map(({ property, reason }) => ({ property, reason, line: lineOf(pathOf(property)) }))
    .sort((a, b) => a.line - b.line)
    .map(({ property, reason, line }) => `  ${file}:${line}: ${property}: ${reason.replace(/\.$/, "")}.`);
  if (problems.length > 0) {
    throw new LookupError(
      `the script inventory has ${pluralize(problems.length, "mistake")}:\n${problems.join("\n")}`,
    );
  }
  const entries = inventoryDocument
    .parse(value)
    .scripts.map(
      ({ script, justification, owner, approval, hash, falsePositive }, index): InventoryEntry => ({
        ...omitAbsent({
          script,
          justification: textIn(justification),
          owner: textIn(owner),
          approval: approval && omitAbsent(approval),
          hash: hash?.toLowerCase(),
          falsePositive: falsePositive ?? undefined,
        }),
        line: lineOf(["scripts", index]),
      }),
    );
  return { file, sha256: createHash("sha256").update(bytes).digest("hex"), entries };
}

/** Trims a text. Undefined if nothing is left. */
function textIn(given: string | null | undefined): string | undefined {
  const text = given?.trim() ?? "";
  return text === "" ? undefined : text;
}

/** Finds problems that a schema can't express: entries that cover too much, occur twice, or can't have a hash. */
function entryProblems(scripts: unknown, lineOf: Parsed["lineOf"]): CheckFailure[] {
  const lines = new Map<string, number>();
  return (Array.isArray(scripts) ? (scripts as readonly unknown[]) : []).flatMap(
    (given, index): CheckFailure[] => {
      const { script, hash, falsePositive } = isJsonObject(given) ? given : {};
      if (typeof script !== "string") return []; // The schema has refused it.
      try {
        const { text, kind, isWildcard } = parsePattern(script);
        const before = lines.get(text);
        if (before !== undefined) {
          const reason = `${JSON.stringify(script)} covers the same scripts as the entry on line ${before}. Merge the two entries`;
          return [{ property: `scripts[${index}].script`, reason }];
        }
        lines.set(text, lineOf(["scripts", index]));
        if (kind === "url" && !isWildcard) return [];
        const problem = (name: string, what: string, advice = ""): CheckFailure => ({
          property: `scripts[${index}].${name}`,
          reason: `only an exact URL can ${what}, and ${JSON.stringify(script)} may cover several scripts. Write an entry for each script${advice}`,
        });
        return applying(
          typeof hash === "string" &&
            hash !== CHANGES &&
            problem("hash", "have a hash", `, or set hash to "${CHANGES}"`),
          typeof falsePositive === "number" && problem("falsePositive", "be a false positive"),
        );
      } catch (error) {
        if (!(error instanceof PatternError)) throw error;
        return [{ property: `scripts[${index}].script`, reason: error.message }];
      }
    },
  );
}

interface Parsed {
  readonly value: unknown;
  /** Returns the line of a property or, if it's missing, of its nearest existing parent. */
  readonly lineOf: (path: readonly (string | number)[]) => number;
  /** Describes the first syntax error: `3: what's wrong`. */
  readonly problem: string | undefined;
}

/** Parses YAML. That includes JSON, which is also valid YAML. */
function parsed(text: string): Parsed {
  const { LineCounter, parseDocument, isNode } = yaml();
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const lineAt = (offset: number): number => Math.max(1, lineCounter.linePos(offset).line);
  const [error] = [...document.errors, ...document.warnings];
  let value: unknown;
  let problem = error === undefined ? undefined : { line: lineAt(error.pos[0]), message: error.message };
  try {
    if (error === undefined) value = document.toJS();
  } catch (thrown) {
    // An alias without an anchor, or aliases that multiply without end.
    problem = { line: 1, message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  return {
    value,
    lineOf: (path) => {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lineAt(node.range[0]);
      }
      return 1;
    },
    problem:
      problem &&
      `${problem.line}: is not valid YAML or JSON: ${problem.message.replace(/\.$/, "")}. Fix the syntax, and resolve any merge conflict.`,
  };
}

/** Splits a property's path: `scripts[2].approval` becomes `["scripts", 2, "approval"]`. */
function pathOf(property: string): (string | number)[] {
  return [...property.matchAll(/\[(\d+)\]|([^.[\]"]+)/g)].map(([, index, name = ""]) =>
    index === undefined ? name : Number(index),
  );
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: programs without an inventory need none of it
export const yaml = (): typeof Yaml => require("yaml") as typeof Yaml;
