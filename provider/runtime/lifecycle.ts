import type { z } from "zod";
import type { EdgeApi } from "../api/client";
import type { Redactor } from "../api/redact";
import type { Adoption } from "./adopted";
import type { CheckFailure } from "./inputs";
import type { Holding } from "./ledger";
import type { Settings } from "./settings";
import type { JsonObject } from "./values";

/** What a context knows of the resource that it is for. */
export interface AboutResource {
  /** Its name in the program. */
  readonly name?: string | undefined;
  /** Arguments that are secret. */
  readonly secrets?: readonly string[];
}

/** What every hook is given besides its own request. */
export interface Context {
  /** The resource's name in the program, for messages. */
  readonly name: string | undefined;
  readonly api: EdgeApi;
  readonly settings: Settings;
  /** Lines that people see under the stack. Keep them few: they are shown on every run. */
  readonly say: { info(line: string): void; warn(line: string): void };
  /** A warning that an operation gives once, however many resources have it to say. */
  warnOnce(line: string): void;
  /** A text from outside without the secrets of this call: for what is recorded; what is said or thrown is redacted anyway. */
  redact(text: string): string;
  /** Whether the program, or the type itself, makes an argument secret: no value of it may be shown, not the API's either. */
  isSecret(argument: string): boolean;
  /** Something that all resources of the operation share. */
  shared<T>(key: string, make: () => T): T;
  /** Reads a thing once per operation, however many resources ask for it. */
  once<T>(key: string, read: () => Promise<T>): Promise<T>;
  /** How another resource of this operation holds an object of this type, if one does. */
  holding(id: string): Holding | undefined;
  /** Waits; ends with the operation. */
  pause(ms: number): Promise<void>;
}

/** What a preview finds out: inputs computed from what exists, refusals that an answer proves, and work to come. */
export interface Findings {
  readonly computed?: JsonObject;
  readonly failures?: readonly CheckFailure[];
  /** Something an update has to do although nothing recorded tells of a change; said to the reviewer. */
  readonly pendingWork?: string;
  /** The existing object that the create adopts: said to the reviewer, and the input `adopted`. */
  readonly adopts?: Adoption;
}

/** What the review of a resource that exists finds out. */
export interface Review extends Pick<Findings, "failures" | "pendingWork"> {
  /** Why the object has to be deleted before its replacement is created; said to the reviewer. */
  readonly deleteFirst?: string;
}

/** A rule over several arguments. It waits while one of those it `needs` is not known yet. */
export interface Rule<Args> {
  readonly needs: readonly (keyof Args & string)[];
  /** Those of which a finding quotes a piece: while one of them is a secret, there is none. */
  readonly quotes?: readonly (keyof Args & string)[];
  /** A failure, or a warning that does not stop anything. `given` is what the user wrote, before it was made canonical. */
  check(args: Args, given: JsonObject): CheckFailure | { readonly warning: string } | undefined;
}

export type Args<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Recorded outputs: every argument that was declared, and what was computed. */
export type State<Shape extends z.ZodRawShape, Computed extends object> = Args<Shape> & Computed;

/**
 * All that the runtime knows of a resource: what it is, then its hooks in the order in which they are called. `args` is what
 * is wanted, in canonical form; `state` are the recorded outputs; `olds` are the recorded inputs, empty for a new resource.
 */
export interface Lifecycle<Shape extends z.ZodRawShape, Computed extends object>
  extends Data<Shape, Computed>, Hooks<Shape, Computed> {}

interface Data<Shape extends z.ZodRawShape, Computed extends object> {
  readonly type: string;
  /** Counts up when the recorded outputs change their form. */
  readonly schemaVersion: number;
  /** `upgrades[n]` turns outputs of version n into outputs of version n + 1. */
  readonly upgrades: Readonly<Record<number, (outputs: JsonObject) => JsonObject>>;
  /** One schema per argument: checks it and gives its canonical form. The canonical form is accepted unchanged. */
  readonly args: z.ZodObject<Shape>;
  /** Outputs that are not arguments. */
  readonly computed: z.ZodType<Computed> & { readonly shape: Readonly<Record<string, unknown>> };
  /** Inputs that `derive` and `live` add. They are shown to a reviewer and do not make a plan dirty by themselves. */
  readonly computedInputs?: readonly string[];
  /** What else counts as a change, and what does not. By default each argument counts, and no computed input. */
  readonly compared?: {
    readonly ignore: readonly (keyof Shape & string)[];
    readonly also: readonly string[];
  };
  /**
   * Where equality of the form is too strict: whether two values of what is compared mean the same, by what is recorded.
   * Asked when they differ; nothing may be requested for it.
   */
  readonly equal?: Readonly<
    Partial<Record<string, (before: unknown, after: unknown, recorded: JsonObject) => boolean>>
  >;
  /** Inputs that the class gives the check beside the arguments; they begin with underscores, and no state keeps them. */
  readonly hints?: readonly string[];
  /** Arguments that a setting gives where the program does not. */
  readonly fromSettings?: Readonly<Record<string, (settings: Settings) => unknown>>;
  /** The names that the program wrote for arguments that the class passes under another name. */
  readonly writtenAs?: (given: JsonObject) => Readonly<Record<string, string>>;
  /** Arguments whose change needs another object. */
  readonly replaceOn: readonly (keyof Shape & string)[];
  /** Arguments that may hold a credential: always secret, and never printed. Each says what of it a message may not show. */
  readonly secret?: Readonly<Partial<Record<keyof Shape & string, (hide: Redactor, value: unknown) => void>>>;
  /** Outputs and computed inputs that are always secret, although no argument of the same name is. */
  readonly secretOutputs?: readonly string[];
  /** Computed inputs that tell of arguments: secret wherever the program makes one of these secret. */
  readonly derivedFrom?: Readonly<Record<string, readonly (keyof Shape & string)[]>>;
  /** Arguments that `derive` can do without: while they are not known yet it is called, and finds them as the engine sends them. */
  readonly deriveWithout?: readonly (keyof Shape & string)[];
  /** What the predecessor knew and its successor does not, when one takes over from the other without an alias. */
  readonly lostOnHandOver?: string;
  /** The key of what two verbs may not touch at the same time within this process. */
  lock(args: Args<Shape>): string;
}

interface Hooks<Shape extends z.ZodRawShape, Computed extends object> {
  /** 1. check, in a preview and an `up`: rules over several arguments. */
  readonly rules?: readonly Rule<Args<Shape>>[];
  /**
   * 2. check: what this machine can tell, a file's digest, say. Called where all arguments are known but those of
   * `deriveWithout`; nothing may be requested. What `compared` names has to be the same for the same content.
   */
  derive?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
    /** What the class gives the check beside the arguments. No state keeps it. */
    readonly hints: JsonObject;
  }): Promise<Findings>;
  /** 3. check: whether `live` is called in every preview, and not for a new or changed resource alone. */
  liveAlways?(args: Args<Shape>): boolean;
  /**
   * 4. check: what only the API can tell before the apply; read-only. All arguments are known. An AdoptionError fails the
   * preview; an answer that does not come is a warning, "live checks skipped".
   */
  live?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
  }): Promise<Findings>;
  /**
   * 5. diff, for a resource that exists and is declared. What it throws fails the preview. What it returns are looks at what
   * exists, each on the terms of `live`. `args` is undefined while something is not known yet.
   */
  review?(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape> | undefined;
    /** The computed ones, as the check gave them. */
    readonly inputs: JsonObject;
    readonly change: "none" | "update" | "replacement";
  }): Promise<readonly (() => Promise<Review>)[]>;
  /** 6. create; `inputs` are the computed ones, as the check gave them. What it adopted becomes the output `adopted`. */
  create(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<{ readonly id: string; readonly computed: Computed; readonly adopts?: Adoption }>;
  /** 7. read, in a refresh and an import: what is there now, with arguments in canonical form; undefined when it is gone. */
  read(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<(State<Shape, Computed> & { readonly drift?: string }) | undefined>;
  /** 8. update. */
  update(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<Computed>;
  /** 9. delete. */
  delete(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<void>;
}

/**
 * Made or changed, but not finished. The engine records what is there, and the next `up` goes on from it.
 */
export class PartialFailure<Computed extends object> extends Error {
  override readonly name = "PartialFailure";
  constructor(
    readonly id: string,
    /** Outputs as far as they are true now. */
    readonly computed: Computed,
    reason: string,
    /** Arguments that were reached, where they differ from those asked for. */
    readonly reached?: JsonObject,
  ) {
    super(reason);
  }
}

/** Keeps the types of one lifecycle together. */
export function defineLifecycle<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): Lifecycle<Shape, Computed> {
  return lifecycle;
}
