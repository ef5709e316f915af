import type { z } from "zod";
import type { EdgeApi } from "../api/client";
import type { Redactor } from "../api/redact";
import type { Adoption } from "./adopted";
import type { ClaimRule } from "./claims";
import type { CompositeId, ObjectAddress } from "./composite-id";
import type { CheckFailure } from "./inputs";
import type { Holding } from "./ledger";
import type { Settings } from "./settings";
import type { JsonObject } from "./values";

/** The resource that a context is for. */
export interface AboutResource {
  /** The resource's name in the program. */
  readonly name?: string | undefined;
  /** Arguments that are secret. */
  readonly secrets?: readonly string[];
}

/** A resource's name in its program, and whose program it is. */
export interface ProgramName {
  readonly project: string;
  readonly stack: string;
  readonly name: string;
}

/** What every hook gets besides its own request. */
export interface Context {
  /** The resource's name in the program, for messages. */
  readonly name: string | undefined;
  readonly api: EdgeApi;
  readonly settings: Settings;
  /** Prints lines under the stack. Use it sparingly: the lines appear on every run. */
  readonly say: { info(line: string): void; warn(line: string): void };
  /** Warns once per operation, however many resources give the same warning. */
  warnOnce(line: string): void;
  /** Removes this call's secrets from text that will be recorded. Printed and thrown text is always redacted. */
  redact(text: string): string;
  /** Whether the program or the type makes an argument secret. None of its values may be shown, not even the API's. */
  isSecret(argument: string): boolean;
  /** A value shared by all resources of the operation. */
  shared<T>(key: string, make: () => T): T;
  /** Reads once per operation, however many resources ask. */
  once<T>(key: string, read: () => Promise<T>): Promise<T>;
  /** How a resource in this operation holds this type's object with the given ID, if one does. */
  holding(id: string): Holding | undefined;
  /** Whether a resource of this type with another provider holds or reads an object whose ID begins with this prefix.
   */
  othersHold(idPrefix: string): boolean;
  /** Waits; aborts with the operation. */
  pause(ms: number): Promise<void>;
}

/** What a preview finds out: computed inputs, failures, and pending work. */
export interface Findings {
  readonly computed?: JsonObject;
  readonly failures?: readonly CheckFailure[];
  /** Work that the update has to do even though no argument changed. The preview shows it. */
  readonly pendingWork?: string;
  /** The existing object that the create adopts; shown to the reviewer and recorded as the input `adopted`. */
  readonly adopts?: Adoption;
}

/** The result of reviewing an existing resource. */
export interface Review extends Pick<Findings, "failures" | "pendingWork"> {
  /** Why the object must be deleted before its replacement is created; shown to the reviewer. */
  readonly deleteFirst?: string;
}

/** A rule that involves several arguments. It's skipped while an argument that it `needs` is unknown. */
export interface Rule<Args> {
  readonly needs: readonly (keyof Args & string)[];
  /** Arguments that the finding quotes. The rule is skipped if one of them is secret. */
  readonly quotes?: readonly (keyof Args & string)[];
  /** Returns a failure or a warning. `given` is what the user wrote, before it was made canonical. */
  check(args: Args, given: JsonObject): CheckFailure | { readonly warning: string } | undefined;
}

export type Args<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Recorded outputs: every declared argument and the computed outputs. */
export type State<Shape extends z.ZodRawShape, Computed extends object> = Args<Shape> & Computed;

/**
 * Everything the runtime knows about a resource type: its data, then its hooks in the order in which they're called.
 * `args` are the declared arguments in canonical form, `state` the recorded outputs, `olds` the recorded inputs (empty
 * for a new resource).
 */
export interface Lifecycle<Shape extends z.ZodRawShape, Computed extends object>
  extends Data<Shape, Computed>, Hooks<Shape, Computed> {}

/** A declaration whose arguments may be unknown. */
interface Declared {
  readonly inputs: JsonObject;
  readonly olds: JsonObject;
  /** Whether the update creates the object, or may. */
  readonly isNew: boolean;
}

interface Data<Shape extends z.ZodRawShape, Computed extends object> {
  readonly type: string;
  /** How `get` names an existing object. */
  readonly compositeId: CompositeId;
  /** The options, besides the zone or account, that make `edgeguard import` include this type. Unset if it can't import
   * it.
   */
  readonly importedWith?: string;
  /** Incremented when the format of the recorded outputs changes. */
  readonly schemaVersion: number;
  /** `upgrades[n]` converts outputs of version n to version n + 1. */
  readonly upgrades: Readonly<Record<number, (outputs: JsonObject) => JsonObject>>;
  /** One schema per argument: checks it and returns its canonical form, which it accepts unchanged. */
  readonly args: z.ZodObject<Shape>;
  /** Outputs that are not arguments. */
  readonly computed: z.ZodType<Computed> & { readonly shape: Readonly<Record<string, unknown>> };
  /** Inputs that `derive` and `live` add. A reviewer sees them, but they don't count as changes by themselves. */
  readonly computedInputs?: readonly string[];
  /**
   * The computed inputs that `derive` or `live` may add once every argument is known. Until then a preview shows them as
   * unknown: a saved plan allows any value for an unknown input, but no input that it lacks.
   */
  readonly pending?: (declared: Declared) => readonly string[];
  /**
   * Computed inputs that only inform the reviewer and may differ at the update, such as what visitors load. A saved plan
   * doesn't pin them.
   */
  readonly informs?: readonly string[];
  /** Exceptions to what counts as a change. By default, every argument counts, and computed inputs don't. */
  readonly compared?: {
    readonly ignore: readonly (keyof Shape & string)[];
    readonly also: readonly string[];
  };
  /**
   * Whether two different values are equivalent, given what is recorded. Must not send requests.
   */
  readonly equal?: Readonly<
    Partial<Record<string, (before: unknown, after: unknown, recorded: JsonObject) => boolean>>
  >;
  /** Inputs besides the arguments that the class passes to the check. Their names begin with underscores, and they
   * aren't recorded.
   */
  readonly hints?: readonly string[];
  /** Arguments that default to a setting. */
  readonly fromSettings?: Readonly<Record<string, (settings: Settings) => unknown>>;
  /** The names that the program wrote for arguments that the class passes under another name. */
  readonly writtenAs?: (given: JsonObject) => Readonly<Record<string, string>>;
  /** Arguments whose change replaces the object. */
  readonly replaceOn: readonly (keyof Shape & string)[];
  /** Arguments that may contain credentials: always secret and never printed. Each value says what to redact. */
  readonly secret?: Readonly<Partial<Record<keyof Shape & string, (hide: Redactor, value: unknown) => void>>>;
  /** Outputs and computed inputs that are always secret. */
  readonly secretOutputs?: readonly string[];
  /** Computed inputs that reveal arguments: secret if one of these is. */
  readonly derivedFrom?: Readonly<Record<string, readonly (keyof Shape & string)[]>>;
  /** Arguments that may be unknown when `derive` is called. It gets them as the engine sends them. */
  readonly deriveWithout?: readonly (keyof Shape & string)[];
  /** Arguments that are set unless the program sets them: names that differ between programs and stacks. */
  readonly named?: (about: ProgramName) => JsonObject;
  /** What only one resource of a program may have. */
  readonly claims?: readonly ClaimRule[];
  /** A sentence that says what is lost if another resource adopts the object without an alias. */
  readonly lostOnHandOver?: string;
  /** The key for work that two verbs of this process must not do at the same time. */
  lock(args: Args<Shape>): string;
}

interface Hooks<Shape extends z.ZodRawShape, Computed extends object> {
  /** 1. check, in a preview and an `up`: rules that involve several arguments. */
  readonly rules?: readonly Rule<Args<Shape>>[];
  /**
   * 2. check: what this machine can compute, such as a file's digest. Called if all arguments are known, other than
   * those in `deriveWithout`. Must not send requests. Inputs listed in `compared` must be the same for the same
   * content.
   */
  derive?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
    /** Inputs from the class besides the arguments; not recorded. */
    readonly hints: JsonObject;
  }): Promise<Findings>;
  /**
   * Compares a valid declaration with the program's others of this type, where no class does. Throws if they contradict
   * each other.
   */
  compare?(request: {
    readonly ctx: Context;
    readonly inputs: JsonObject;
    /** Identifies the resource in its program. */
    readonly holder: string;
  }): Promise<void>;
  /** 3. check: whether `live` is called in every preview, not only for a new or changed resource. */
  liveAlways?(args: Args<Shape>): boolean;
  /**
   * 4. check: live checks, read-only. All arguments are known. An AdoptionError fails the preview. If there's no
   * response, the preview warns "live checks skipped".
   */
  live?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
  }): Promise<Findings>;
  /**
   * 5. diff, for an existing resource that is still declared. Throwing fails the preview. Returns live checks. `args` is
   * undefined while an argument is unknown.
   */
  review?(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape> | undefined;
    /** The computed inputs of the check. */
    readonly inputs: JsonObject;
    readonly change: "none" | "update" | "replacement";
  }): Promise<readonly (() => Promise<Review>)[]>;
  /** 6. create; `inputs` are the computed inputs of the check. `adopts` becomes the output `adopted`. */
  create(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<{ readonly id: string; readonly computed: Computed; readonly adopts?: Adoption }>;
  /** 7. read, in a refresh and an import: the current object, in canonical form; undefined if it no longer exists. */
  read(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<(State<Shape, Computed> & { readonly drift?: string }) | undefined>;
  /**
   * 8. `get`, before its read: the resource's ID and, as outputs, what the read needs to know about an object that no
   * state records. Undefined if there is no such object.
   */
  existing(request: {
    readonly ctx: Context;
    readonly address: ObjectAddress;
  }): Promise<{ readonly id: string; readonly outputs: JsonObject } | undefined>;
  /** 9. update. */
  update(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<Computed>;
  /** 10. delete. */
  delete(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<void>;
}

/**
 * Thrown after an object was created or changed, but not finished. The engine records how far it got, and the next `up`
 * continues from there.
 */
export class PartialFailure<Computed extends object> extends Error {
  override readonly name = "PartialFailure";
  constructor(
    readonly id: string,
    /** The current outputs. */
    readonly computed: Computed,
    reason: string,
    /** Arguments as they are now, if they differ from the declared ones. */
    readonly reached?: JsonObject,
  ) {
    super(reason);
  }
}

/** Infers the types of a lifecycle. */
export function defineLifecycle<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): Lifecycle<Shape, Computed> {
  return lifecycle;
}
