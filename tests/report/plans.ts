import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../provider/runtime/values";

/** Plans: the recorded ones, and small ones that are made where a case cannot be recorded. */

const FIXTURES = join(__dirname, "fixtures");

/** Refused by the report, as it does not say what was found. */
export const REFRESHED = "refreshed";

export const RECORDED = readdirSync(FIXTURES)
  .filter((file) => file.endsWith(".json") && !file.endsWith(".report.json")) // These are expectations.
  .map((file) => file.replace(/\.json$/, ""))
  .filter((name) => name !== REFRESHED);

export const pathOf = (file: string): string => join(FIXTURES, file);
export const read = (file: string): string => readFileSync(pathOf(file), "utf8");

export interface MadeStep {
  readonly op: string;
  readonly urn: string;
  readonly oldState?: JsonObject;
  readonly newState?: JsonObject;
}

export interface MadePlan {
  readonly steps: readonly MadeStep[];
  readonly diagnostics?: readonly JsonObject[];
  readonly changeSummary?: Readonly<Record<string, number>>;
}

export const recorded = (name: string): MadePlan => JSON.parse(read(`${name}.json`)) as MadePlan;

interface Sides {
  readonly old?: JsonObject;
  readonly new?: JsonObject;
  /** Outputs of what is recorded. */
  readonly outputs?: JsonObject;
  /** Members of the recorded state besides: `retainOnDelete`. */
  readonly state?: JsonObject;
}

/** A step of a resource of this package: inputs before and after. */
export function stepOf(
  op: string,
  kind: string,
  name: string,
  { old, new: next, outputs, state }: Sides,
): MadeStep {
  return {
    op,
    urn: `urn:pulumi:dev::edge::pulumi-nodejs:dynamic/edgeguard:${kind}::${name}`,
    ...(old === undefined
      ? {}
      : {
          oldState: {
            custom: true,
            id: `id of ${name}`,
            inputs: old,
            outputs: { ...old, ...outputs },
            ...state,
          },
        }),
    ...(next === undefined ? {} : { newState: { custom: true, inputs: next } }),
  };
}

export const planJson = (...steps: readonly MadeStep[]): string => JSON.stringify({ steps });

export const diagnostic = (message: string, severity = "info"): JsonObject => ({
  message: `${message}\n\n`,
  severity,
});

/** Shuffles in an order that depends only on the seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const left = [...items];
  const out: T[] = [];
  for (let state = seed; left.length > 0;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    out.push(...left.splice(state % left.length, 1));
  }
  return out;
}
