import { type JsonObject, isJsonObject, omit, pick, sameJson } from "../basics/json";
import { z } from "zod";
import { Redactor } from "../api/redact";
import { kindOf } from "../runtime/type-tokens";
import { HIDDEN } from "../runtime/hidden";
import { WIRE_SECRET } from "../runtime/engine-values";
import { namesOfSecrets } from "../runtime/secrets";
import { partsOfUrn } from "../runtime/urn";
import { messagesOf, withHostErrors, type Diagnostic } from "./diagnostics";
import { containsSecret, SECRET, truncate } from "./values";

/** The operations that steps can have in `pulumi preview --json`. */
export const OPERATIONS = [
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
  urn: z.string().optional(),
  custom: z.boolean().optional(),
  external: z.boolean().optional(),
  delete: z.boolean().optional(),
  protect: z.boolean().optional(),
  retainOnDelete: z.boolean().optional(),
  inputs: z.record(z.string(), z.unknown()).optional(),
  outputs: z.record(z.string(), z.unknown()).optional(),
  propertyDependencies: z.record(z.string(), z.array(z.string()).nullish()).nullish(),
  initErrors: z.array(z.string()).nullish(),
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
type DigestStep = NonNullable<Digest["steps"]>[number];

/** One step of a plan: what happens to one resource. */
export interface Step {
  readonly op: Operation;
  readonly urn: string;
  /** The URN before the update. An alias may have had another one. */
  readonly oldUrn: string;
  /** The class from this package, such as `KvEntries`. Undefined for other providers' resources. */
  readonly kind: string | undefined;
  /** The resource's full type in the engine. */
  readonly type: string;
  readonly name: string;
  /** Whether this is a custom resource. A component isn't: it only groups other resources. */
  readonly custom: boolean;
  readonly old: Sides | undefined;
  readonly new: Sides | undefined;
  readonly replaceReasons: readonly string[];
  /**
   * What `--refresh` found: `gone` if the object no longer exists, otherwise the arguments that were changed outside
   * the program.
   */
  readonly found?: "gone" | readonly string[];
}

export interface Sides {
  readonly id: string | undefined;
  readonly protect: boolean;
  /** Whether a delete leaves the object on Cloudflare (`retainOnDelete`). */
  readonly retained: boolean;
  /** The inputs without the serialized provider. Secrets are shown as `[secret]`. */
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
  /** The arguments that the program made secret. */
  readonly secrets: readonly string[];
  /** The URNs of the resources that each input comes from. */
  readonly sources: Readonly<Record<string, readonly string[]>>;
  /** Whether the update that wrote this side didn't finish. */
  readonly isUnfinished: boolean;
}

/** What `--refresh` found about one resource, whether or not it had changed. */
export interface Refreshed {
  /**
   * The resource's next step in the program. Undefined if the object no longer exists and the program doesn't declare
   * it.
   */
  readonly next: Step | undefined;
  /** The resource's refresh step. */
  readonly step: Step;
  /** The resource as recorded in the state. */
  readonly recorded: Sides;
  /** The resource as it is on Cloudflare now. Undefined if it no longer exists. */
  readonly now: Sides | undefined;
}

export interface Plan {
  readonly stack: string | undefined;
  readonly project: string | undefined;
  readonly steps: readonly Step[];
  /** What a refresh found. Undefined if the plan was made without `--refresh`. */
  readonly refreshed: readonly Refreshed[] | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Whether the plan includes unchanged resources. It doesn't without `--show-sames`. */
  readonly complete: boolean;
  readonly maybeCorrupt: boolean;
}

/** Thrown for input that isn't a plan. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/**
 * Reads the output of `pulumi preview --json`.
 *
 * @throws PlanError for anything else.
 */
export function readPlan(text: string): Plan {
  const parsed = digest.safeParse(parse(text));
  if (!parsed.success) throw new PlanError(unknownFormat(parsed.error));
  const { data } = parsed;
  if (Object.keys(data).length === 0) {
    throw new PlanError(`${NO_PLAN}: it's an empty object`);
  }
  const given = data.steps ?? [];
  const objectOf = ({ urn, oldState }: DigestStep): string => `${urn} ${oldState?.id}`;
  const replaced = new Set(given.filter(({ op }) => op === "replace").map(objectOf));
  const isLeft = (step: DigestStep): boolean => isMarkedDeleted(step) && !replaced.has(objectOf(step));
  const steps = given.filter((step) => !isLeft(step)).map(stepOf);
  // A refreshed plan may have two steps for such an object.
  const left = new Map(given.filter(isLeft).map((step) => [objectOf(step), step]));
  const pendingDeletes = [...left.values()].map((step): Step => ({ ...stepOf(step), op: "delete" }));
  const said = withoutSecretsOf(data, messagesOf(data.diagnostics ?? []));
  const hasRun = steps.some(({ type, op }) => type !== STACK && !REFRESH_OPERATIONS.includes(op));
  const diagnostics = hasRun ? said : withHostErrors(said);
  const failed = diagnostics.some(({ severity }) => severity === "error");
  const roots = steps.filter(({ type }) => type === STACK).map(({ op }) => op);
  if (!failed && roots.length > 0 && roots.every((op) => op === "refresh")) {
    throw new PlanError(
      "this is the plan of a `pulumi refresh`, or was made without --show-sames, so it doesn't show what the refresh found. Use `pulumi preview --refresh --json --show-sames`.",
    );
  }
  const urn = steps[0]?.urn ?? diagnostics.find((each) => each.urn !== undefined)?.urn;
  const { stack, project } = partsOfUrn(urn ?? "") ?? {};
  const { steps: merged, refreshed } = applyRefresh(steps, failed);
  return {
    stack,
    project,
    refreshed,
    steps: [...merged, ...pendingDeletes],
    diagnostics,
    complete: hasSames(data),
    maybeCorrupt: data.maybeCorrupt ?? false,
  };
}

const STACK = "pulumi:pulumi:Stack";

const NO_PLAN = "this isn't a plan from `pulumi preview --json`";

function parse(text: string): unknown {
  const json = text.replace(/^\ufeff/, "");
  if (json.trim() === "") {
    throw new PlanError(
      "no plan: the input is empty. Pipe in `pulumi preview --json --show-sames`; if that failed, its stderr says why.",
    );
  }
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new PlanError(`${NO_PLAN}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function unknownFormat(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "the top" : issue.path.join(".");
  return (
    `unknown plan format at ${place}: ${issue?.message ?? "unknown format"}. ` +
    "edgeguard doesn't guess what it means. Install a newer pulumi-edgeguard, or open an issue with the plan's format."
  );
}

/**
 * Whether the step is about an object that a replacement leaves behind: one that failed earlier, or one in this plan. Such
 * an object has the same URN as the one that replaces it.
 */
function isMarkedDeleted({ op, oldState }: DigestStep): boolean {
  return oldState?.delete === true && ["delete", "delete-replaced", "refresh"].includes(op);
}

function stepOf({ op, urn, oldState, newState, replaceReasons }: DigestStep): Step {
  const parts = partsOfUrn(urn);
  if (parts === undefined)
    throw new PlanError(`${NO_PLAN}: ${JSON.stringify(truncate(urn, 80))} isn't a URN`);
  const { type, name } = parts;
  const custom = (newState ?? oldState)?.custom ?? true;
  // The engine shows a resource that the program only reads from now on as replaced, or one that it only read until now.
  // Nothing happens to the old object.
  const isReleased = op === "replace" && newState?.external === true && newState.id === oldState?.id;
  const wasOnlyRead = op === "replace" && oldState?.external === true && newState?.external !== true;
  return {
    op: isReleased ? "discard" : wasOnlyRead ? "create" : op,
    urn,
    oldUrn: oldState?.urn ?? urn,
    kind: custom ? kindOf(type) : undefined,
    type,
    name,
    custom,
    old: wasOnlyRead ? undefined : sides(oldState),
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
    inputs: withoutInternals(recorded.inputs),
    outputs: withoutInternals(recorded.outputs),
    secrets: namesOfSecrets(recorded.inputs ?? {}),
    sources: Object.fromEntries(
      Object.entries(recorded.propertyDependencies ?? {}).map(([name, urns]) => [name, urns ?? []]),
    ),
    isUnfinished: (recorded.initErrors ?? []).length > 0,
  };
}

/** Arguments that are always secret. They're hidden even in a plan made with `--show-secrets`. */
const ALWAYS_SECRET: readonly string[] = [
  "destinationConf",
  "ownershipChallenge",
  "entries",
  "manifest",
  "digest",
  "fileHash",
  "index",
];

/** Also what a refresh returns for an argument that the program made secret, because the engine doesn't mark that. */
const secretsOf = (given: JsonObject): readonly string[] => [...ALWAYS_SECRET, ...namesOfSecrets(given)];

/** Drops inputs meant only for the provider, and hides secrets. */
function withoutInternals(given: JsonObject = {}): JsonObject {
  const secrets = secretsOf(given);
  return Object.fromEntries(
    Object.entries(omit(given, Object.values(HIDDEN))).map(([key, member]) => [
      key,
      secrets.includes(key) ? SECRET : withoutSecrets(member),
    ]),
  );
}

/** Hides the plan's secrets in messages, which repeat them in plain text if the plan was made with `--show-secrets`. */
function withoutSecretsOf({ steps, config }: Digest, messages: readonly Diagnostic[]): readonly Diagnostic[] {
  const redactor = new Redactor();
  for (const [key, value] of Object.entries(config ?? {})) if (SECRET_SETTING.test(key)) redactor.add(value);
  for (const { oldState, newState } of steps ?? [])
    for (const members of [oldState?.inputs, oldState?.outputs, newState?.inputs, newState?.outputs]) {
      const secrets = secretsIn(pick(members ?? {}, secretsOf(members ?? {})));
      redactor.add(...secrets, ...markedIn(members));
    }
  return messages.map((message) => ({ ...message, text: redactor.redact(message.text) }));
}

const SECRET_SETTING = /(token|key|secret|password|email)$/i;

/** Returns the texts to hide for a secret, including the values of a URL's parameters. */
function secretsIn(value: unknown): string[] {
  if (typeof value === "string") {
    if (value === SECRET) return [];
    const text = value.replace(/^"(.*)"$/s, "$1"); // The engine writes a marked secret as JSON.
    return [text, ...(URL.canParse(value) ? new URL(value).searchParams.values() : [])];
  }
  return isJsonObject(value) || Array.isArray(value) ? Object.values(value).flatMap(secretsIn) : [];
}

/** Returns the texts in values that the engine marked as secret, at any depth. */
function markedIn(value: unknown): string[] {
  if (!isJsonObject(value) && !Array.isArray(value)) return [];
  if (WIRE_SECRET.member in value) return secretsIn(omit({ ...value }, [WIRE_SECRET.member]));
  return Object.values(value).flatMap(markedIn);
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isJsonObject(value)) return value;
  if (WIRE_SECRET.member in value) return SECRET; // The plain text may stand next to the mark.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutSecrets(member)]));
}

/** Whether unchanged resources are listed. The engine counts them in any case. */
function hasSames({ steps, changeSummary }: Digest): boolean {
  const ops = (steps ?? []).map(({ op }) => op);
  if (ops.includes("import") && !ops.includes("refresh")) return true; // `pulumi import` has no --show-sames.
  const listed = ops.filter((op) => op === "same").length;
  return listed >= Math.min(2, changeSummary?.["same"] ?? 0);
}

/** Instead of `refresh`, older engines write what the refresh found. */
const WRITTEN_BY_REFRESH: readonly Operation[] = ["update", "delete"];
const REFRESH_OPERATIONS: readonly Operation[] = ["refresh", ...WRITTEN_BY_REFRESH];

/**
 * Merges the two steps per resource that a plan with `--refresh` has: the refresh with the recorded state, and the
 * program's own step, whose old side is what the refresh found. The merged step says what was changed outside the
 * program.
 */
function applyRefresh(steps: readonly Step[], failed: boolean): Pick<Plan, "steps" | "refreshed"> {
  if (!steps.some(({ op }) => op === "refresh")) return { steps, refreshed: undefined };
  const refreshes = new Map<string, Step>();
  const left: Step[] = [];
  const next = new Map<string, Step>();
  const last = new Map(steps.map(({ oldUrn }, index) => [oldUrn, index]));
  for (const [index, step] of steps.entries()) {
    const { op, oldUrn } = step;
    const refresh = refreshes.get(oldUrn);
    const isFollowed = last.get(oldUrn) !== index;
    if (refresh === undefined && (op === "refresh" || (isFollowed && WRITTEN_BY_REFRESH.includes(op)))) {
      refreshes.set(oldUrn, step);
      continue;
    }
    const merged = refresh === undefined ? step : withFound(refresh, step);
    left.push(merged);
    if (op === "replace" || !next.has(oldUrn)) next.set(oldUrn, merged);
  }
  const refreshed = [...refreshes.values()].flatMap((step): Refreshed[] => {
    const following = next.get(step.oldUrn);
    if (step.old === undefined) return [];
    if (following === undefined && failed) return []; // The preview didn't get that far.
    const now = following?.op === "create" ? undefined : following?.old;
    return [{ next: following, step, recorded: step.old, now }];
  });
  return { steps: left, refreshed };
}

function withFound({ old: before }: Step, step: Step): Step {
  const { op, kind, old, new: next } = step;
  if (before === undefined) return step;
  if (op === "create") return { ...step, found: "gone" };
  if (old === undefined) return step;
  // What exists as it was written is what the program declares, perhaps in another notation since.
  const isWritten = (name: string): boolean =>
    name in before.outputs &&
    sameJson(old.inputs[name], before.outputs[name]) &&
    !containsSecret(old.inputs[name]);
  const written =
    kind !== undefined && !before.isUnfinished ? Object.keys(before.inputs).filter(isWritten) : [];
  const now = { ...old, inputs: { ...old.inputs, ...pick(before.inputs, written) } };
  const names = Object.keys({ ...before.inputs, ...now.inputs });
  const changed = names.filter((name) => !sameJson(before.inputs[name], now.inputs[name]));
  const isTold = next !== undefined && !before.isUnfinished && changed.length > 0;
  const found = isTold ? { found: changed.sort() } : {};
  return { ...step, old: now, ...found };
}
