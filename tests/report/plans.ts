import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SEEN as KV } from "../../provider/kv/impact";
import { SEEN as PAGE_SHIELD, type WouldBlock } from "../../provider/page-shield/impact";
import { report, reportDrift, type DangerKind } from "../../provider/report/index";
import { SEEN as LOGPUSH } from "../../provider/logpush/impact";
import { SEEN as RULESETS } from "../../provider/rulesets/impact";
import { LISTED, type Listed } from "../../provider/runtime/impact";
import type { JsonObject } from "../../provider/basics/json";

/** Plans: the recorded ones, and small ones that are made where a case cannot be recorded. */

const FIXTURES = join(__dirname, "fixtures");

/** Refused by the report, as it does not say what was found. */
export const REFRESHED = "refreshed";

export const pathOf = (file: string): string => join(FIXTURES, file);

/** The names of the plans in a folder of the fixtures. */
export const plansIn = (folder: string): string[] =>
  readdirSync(pathOf(folder))
    .filter((file) => file.endsWith(".json") && !file.endsWith(".report.json")) // These are expectations.
    .map((file) => file.replace(/\.json$/, ""));

export const RECORDED = plansIn(".").filter((name) => name !== REFRESHED);

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

export const created = (kind: string, name: string, inputs: JsonObject): MadeStep =>
  stepOf("create", kind, name, { new: inputs });

export const deleted = (kind: string, name: string, old: JsonObject, outputs: JsonObject = {}): MadeStep =>
  stepOf("delete", kind, name, { old, outputs });

/** A step that changes some arguments. */
export const changed = (
  kind: string,
  name: string,
  old: JsonObject,
  change: JsonObject,
  outputs: JsonObject = {},
): MadeStep => stepOf("update", kind, name, { old, new: { ...old, ...change }, outputs });

export const kept = (kind: string, name: string, inputs: JsonObject): MadeStep =>
  stepOf("same", kind, name, { old: inputs, new: inputs });

/** Everything that a check can look at. */
export const EVERYTHING: readonly string[] = [
  ...Object.values(KV),
  ...Object.values(PAGE_SHIELD),
  LOGPUSH.existingJob,
  ...Object.values(RULESETS),
];

/** The input with what a check found out after it looked at everything. */
export const found = (members: JsonObject = {}): { readonly impact: JsonObject } => ({
  impact: { operation: "check", revision: 1, seen: EVERYTHING, ...members },
});

/** What a check found that an enforced policy would block, all of it newly. */
export const wouldBlock = (count: number, urls: readonly string[], digest = urls.join()): WouldBlock => {
  const scripts = { count, malicious: 0, urls, digest };
  return { seen: 900, scripts, newly: scripts, unreported: [] };
};

export const list = (...names: string[]): Listed => LISTED.of(names);

/** Names to fill a list. */
export const many = (count: number, prefix = "key/"): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

export const planJson = (...steps: readonly MadeStep[]): string => JSON.stringify({ steps });

/** A plan made with `--refresh`, which found everything as recorded. */
export function refreshedJson(...steps: readonly MadeStep[]): string {
  const found = new Map(
    steps.flatMap(({ urn, oldState }) =>
      oldState === undefined ? [] : [[urn, { op: "refresh", urn, oldState, newState: oldState }] as const],
    ),
  );
  return planJson(...found.values(), ...steps);
}

export const diagnostic = (message: string, severity = "info"): JsonObject => ({
  message: `${message}\n\n`,
  severity,
});

/** The dangers of steps after a refresh that found everything as recorded, by kind and name. */
export const dangersOf = (...steps: readonly MadeStep[]): string[] =>
  report(refreshedJson(...steps), "json").dangers.map(({ kind, name }) => `${kind} ${name}`);

/** The sentences of their dangers of one kind. */
export const sentencesOf = (kind: DangerKind, ...steps: readonly MadeStep[]): string[] =>
  report(refreshedJson(...steps), "json")
    .dangers.filter((danger) => danger.kind === kind)
    .map(({ sentence }) => sentence.toString());

/** All dangers of steps without a refresh, in full. */
export const dangerLines = (...steps: readonly MadeStep[]): string[] =>
  report(planJson(...steps), "json").dangers.map(
    ({ kind, name, sentence }) => `${kind} ${name}: ${sentence.toString()}`,
  );

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

export interface DriftedResource {
  readonly found: "changed" | "gone";
  readonly kind: string;
  readonly name: string;
  readonly changes: readonly {
    readonly property: string;
    readonly before: string;
    readonly now: string;
    readonly planned?: string;
  }[];
  readonly lost: readonly string[];
  readonly gained: readonly string[];
  readonly update: string;
  readonly keep: { readonly how: string; readonly code: readonly string[] };
}

export interface DriftJson {
  readonly drifted: boolean;
  readonly counts: Readonly<Record<"changed" | "gone" | "asRecorded", number>>;
  readonly errors: readonly unknown[];
  readonly resources: readonly DriftedResource[];
  readonly others: readonly unknown[];
  readonly pending: readonly unknown[];
}

/** The report on the drift that plans show. */
export function driftIn(...plans: readonly string[]): DriftJson {
  const named = plans.map((text, index) => ({ name: `plan ${index + 1}`, text }));
  return JSON.parse(reportDrift(named, "json").text) as DriftJson;
}

interface Read {
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

/** What the drift report says about a resource, by what a refresh read and the state has; undefined without drift. */
export function driftOf(
  kind: string,
  recorded: Read,
  refreshed: Read | undefined,
): DriftedResource | undefined {
  const urn = stepOf("same", kind, "own", {}).urn;
  const state = (read: Read): JsonObject => ({ custom: true, id: "id", ...read });
  const old = state(recorded);
  const program: MadeStep =
    refreshed === undefined
      ? { op: "create", urn, newState: old }
      : { op: "update", urn, oldState: state(refreshed), newState: old };
  return driftIn(planJson({ op: "refresh", urn, oldState: old, newState: old }, program)).resources[0];
}
