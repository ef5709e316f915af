import { type JsonObject, isJsonObject, omit, sameJson } from "../runtime/values";
import { z } from "zod";
import { KEPT } from "../runtime/resource-type";
import { messagesOf, type Diagnostic } from "./diagnostics";
import { SECRET } from "./values";

/** What a step does to a resource, as `pulumi preview --json` names it. */
const OPERATIONS = [
  "same",
  "create",
  "update",
  "delete",
  "replace",
  "create-replacement",
  "delete-replaced",
  "discard",
  "discard-replaced",
  "remove-pending-replace",
  "read",
  "read-replacement",
  "refresh",
  "import",
  "import-replacement",
] as const;
export type Operation = (typeof OPERATIONS)[number];

const state = z.looseObject({
  id: z.string().optional(),
  custom: z.boolean().optional(),
  protect: z.boolean().optional(),
  retainOnDelete: z.boolean().optional(),
  inputs: z.record(z.string(), z.unknown()).optional(),
  outputs: z.record(z.string(), z.unknown()).optional(),
});

const digest = z.strictObject({
  config: z.record(z.string(), z.string()).optional(),
  steps: z
    .array(
      z.strictObject({
        op: z.enum(OPERATIONS),
        urn: z.string(),
        provider: z.string().optional(),
        oldState: state.nullish(),
        newState: state.nullish(),
        diffReasons: z.array(z.string()).nullish(),
        replaceReasons: z.array(z.string()).nullish(),
        detailedDiff: z.record(z.string(), z.unknown()).nullish(),
      }),
    )
    .nullish(),
  diagnostics: z
    .array(
      z.strictObject({
        urn: z.string().optional(),
        prefix: z.string().optional(),
        message: z.string().optional(),
        severity: z.string().optional(),
      }),
    )
    .nullish(),
  duration: z.number().optional(),
  changeSummary: z.record(z.string(), z.number()).nullish(),
  maybeCorrupt: z.boolean().optional(),
});
type Digest = z.output<typeof digest>;

/** One resource in the plan. */
export interface Step {
  readonly op: Operation;
  readonly urn: string;
  /** Of this package: the class, such as `KvEntries`; else undefined. */
  readonly kind: string | undefined;
  /** The whole type, as the engine has it. */
  readonly type: string;
  readonly name: string;
  /** False for a component, which is a group of others and nothing by itself. */
  readonly custom: boolean;
  readonly old: Sides | undefined;
  readonly new: Sides | undefined;
  readonly replaceReasons: readonly string[];
  /** What a refresh before the plan found: that the object is gone, or which arguments somebody else has changed. */
  readonly found?: "gone" | readonly string[];
}

export interface Sides {
  readonly id: string | undefined;
  readonly protect: boolean;
  /** Left in place by a delete. */
  readonly retained: boolean;
  /** Without the serialized provider; secrets are `[secret]`. */
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

export interface Plan {
  readonly stack: string | undefined;
  readonly project: string | undefined;
  readonly steps: readonly Step[];
  readonly diagnostics: readonly Diagnostic[];
  /** False where unchanged resources are left out, as without `--show-sames`. */
  readonly complete: boolean;
  readonly maybeCorrupt: boolean;
}

/** What cannot be read as a plan; the message is the whole story. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/** Type prefix of this package's resources in a program's plan. */
const OWN = "pulumi-nodejs:dynamic/edgeguard:";

/** Reads the output of `pulumi preview --json`; refuses anything else with a sentence. */
export function readPlan(text: string): Plan {
  const parsed = digest.safeParse(parse(text));
  if (!parsed.success) throw new PlanError(sentence(parsed.error));
  const { data } = parsed;
  if (Object.keys(data).length === 0) {
    throw new PlanError(`${NO_PLAN}: it holds nothing at all`);
  }
  const steps = (data.steps ?? []).map(stepOf);
  const diagnostics = messagesOf(data.diagnostics ?? []);
  const failed = diagnostics.some(({ severity }) => severity === "error");
  const roots = steps.filter(({ type }) => type === "pulumi:pulumi:Stack").map(({ op }) => op);
  if (!failed && roots.length > 0 && roots.every((op) => op === "refresh")) {
    throw new PlanError(
      "this is the plan of a refresh, which does not say what was found: use `pulumi preview --refresh --json --show-sames`",
    );
  }
  const urn = steps[0]?.urn ?? diagnostics.find((each) => each.urn !== undefined)?.urn;
  const [stack, project] = urn?.slice("urn:pulumi:".length).split("::") ?? [];
  return {
    stack,
    project,
    steps: applyRefresh(steps),
    diagnostics,
    complete: hasSames(data),
    maybeCorrupt: data.maybeCorrupt ?? false,
  };
}

const NO_PLAN = "this is not a plan of `pulumi preview --json`";

function parse(text: string): unknown {
  const json = text.replace(/^\ufeff/, "");
  if (json.trim() === "") {
    throw new PlanError(
      "there is no plan: the input is empty. Pipe `pulumi preview --json --show-sames` in; what it said instead is on its stderr",
    );
  }
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new PlanError(`${NO_PLAN}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function sentence(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "the top" : issue.path.join(".");
  return (
    `this is not a plan that \`pulumi preview --json\` of a known version writes: at ${place}: ${issue?.message ?? "unknown shape"}. ` +
    "Nothing is guessed: install a newer pulumi-edgeguard, or report the plan's shape"
  );
}

function stepOf({ op, urn, oldState, newState, replaceReasons }: NonNullable<Digest["steps"]>[number]): Step {
  const [stack, , types, ...name] = urn.split("::");
  if (stack?.startsWith("urn:pulumi:") !== true || types === undefined || name.length === 0) {
    throw new PlanError(`${NO_PLAN}: ${quoted(urn)} is not a URN`);
  }
  const type = types.split("$").at(-1) ?? "";
  return {
    op,
    urn,
    kind: type.startsWith(OWN) ? type.slice(OWN.length) : undefined,
    type,
    name: name.join("::"),
    custom: (newState ?? oldState)?.custom ?? true,
    old: sides(oldState),
    new: sides(newState),
    replaceReasons: replaceReasons ?? [],
  };
}

function sides(recorded: z.output<typeof state> | null | undefined): Sides | undefined {
  if (recorded === null || recorded === undefined) return undefined;
  return {
    id: recorded.id,
    protect: recorded.protect ?? false,
    retained: recorded.retainOnDelete ?? false,
    inputs: plain(recorded.inputs),
    outputs: plain(recorded.outputs),
  };
}

/** Arguments that are always secret: hidden here too, whatever options the plan was written with. */
const ALWAYS_SECRET: readonly string[] = [
  "destinationConf",
  "ownershipChallenge",
  "entries",
  "manifest",
  "digest",
  "fileHash",
];

/** Without what only the provider reads, and without anything that is secret. */
function plain(given: JsonObject | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(omit(given ?? {}, ["__provider", ...KEPT])).map(([key, member]) => [
      key,
      ALWAYS_SECRET.includes(key) ? SECRET : withoutSecrets(member),
    ]),
  );
}

/** Marks a secret in the engine's wire format; its plain text may stand beside it. */
const SECRET_MARK = "4dabf18193072939515e22adb298388d";

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isJsonObject(value)) return value;
  if (SECRET_MARK in value) return SECRET;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutSecrets(member)]));
}

/** The engine counts unchanged resources whether it lists them or not. */
function hasSames({ steps, changeSummary }: Digest): boolean {
  const ops = (steps ?? []).map(({ op }) => op);
  if (ops.includes("import")) return true; // An import is not asked for more.
  const listed = ops.filter((op) => op === "same").length;
  return listed >= Math.min(2, changeSummary?.["same"] ?? 0);
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** What a refresh may be told as: older engines put in its place what it has found. */
const REFRESHING: readonly string[] = ["refresh", "update", "delete"];

/**
 * With `--refresh` a plan holds two steps of a resource: the refresh, which knows what was recorded before, and what the
 * program makes of what was found. One is left, and it says what had been changed by others.
 */
function applyRefresh(steps: readonly Step[]): Step[] {
  if (!steps.some(({ op }) => op === "refresh")) return [...steps];
  const recorded = new Map<string, Step>();
  const left: Step[] = [];
  for (const step of steps) {
    const before = recorded.get(step.urn);
    if (before !== undefined) left.push({ ...step, ...foundBy(before, step) });
    else if (REFRESHING.includes(step.op)) recorded.set(step.urn, step);
    else left.push(step);
  }
  return left;
}

function foundBy({ old: before }: Step, { op, old: now, new: next }: Step): Pick<Step, "found"> {
  if (before === undefined) return {};
  if (op === "create") return { found: "gone" };
  if (now === undefined) return {};
  const names = Object.keys({ ...before.inputs, ...now.inputs });
  const changed = names.filter((name) => !sameJson(before.inputs[name], now.inputs[name]));
  return changed.length === 0 || next === undefined ? {} : { found: changed.sort() };
}
