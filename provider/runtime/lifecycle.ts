import type { z } from "zod";
import type { EdgeApi } from "../api/client";
import type { Redactor } from "../api/redact";
import type { Adoption } from "./adopted";
import type { CompositeId, ObjectAddress, Scope } from "./composite-id";
import type { Listed, RecordShape } from "./impact";
import type { Creation } from "./creation";
import type { CheckFailure } from "./inputs";
import type { Holding } from "./operation-record";
import type { Settings } from "./settings";
import type { UnmanagedMembers } from "./unmanaged";
import type { JsonObject } from "../basics/json";

/** The name and the secret arguments of the resource whose hook is called. */
export interface AboutResource {
  /** The resource's name in the program. */
  readonly name?: string | undefined;
  /** Identifies the resource within its program, because resources in different components may have the same name. */
  readonly holder?: string | undefined;
  /** Arguments that are secret. */
  readonly secrets?: readonly string[];
  /** Receives the reasons for skipped live checks. */
  readonly skipped?: string[];
  /** Receives the members of the object that no argument sets. */
  readonly unmanaged?: UnmanagedMembers;
}

/** What every hook receives in addition to its own request. */
export interface Context {
  /** The resource's name in the program, for messages. */
  readonly name: string | undefined;
  /** Identifies the resource within its program. Undefined outside a check. */
  readonly holder: string | undefined;
  readonly api: EdgeApi;
  readonly settings: Settings;
  /** Prints messages for the whole stack, each once per operation. Use it sparingly, because they appear on every run. */
  readonly say: { info(line: string): void; warn(line: string): void };
  /**
   * Removes this call's secrets from a text that will be recorded. Text that's printed or thrown is always redacted.
   */
  redact(text: string): string;
  /**
   * Whether the program or the type makes an argument secret. If so, no value of it may be shown, including the one
   * from the API.
   */
  isSecret(argument: string): boolean;
  /** Hides a text in whatever this call prints, throws or records. */
  hide(text: string): void;
  /** Notes which members of the resource's own object no argument sets. */
  noteUnmanaged(members: JsonObject): void;
  /**
   * Shortens names for the record. If one of the arguments that they come from is secret, no name is recorded, and the
   * digest is keyed by the credential.
   */
  list(names: Iterable<string>, from: readonly string[]): Listed;
  /** Prints messages about findings. */
  tell(messages: Messages): void;
  /** Records that a live check was skipped, and warns once. */
  skip(reason: string): void;
  /** Makes or reads a value once per operation, for all resources. */
  once<T>(key: string, make: () => T): T;
  /** Makes `once` read again, after a write. */
  forget(key: string): void;
  /**
   * Returns what a resource in this operation does with the object of this type and ID. Undefined if none manages it.
   */
  holding(id: string): Holding | undefined;
  /**
   * Whether a create may adopt an object. It may if no other resource in this program manages the object. If an
   * unchanged resource manages it, that's the resource being replaced, because two resources can't have the same
   * declaration.
   */
  isUnclaimed(id: string): boolean;
  /** Whether a resource of this type with another provider manages or reads the object with this ID, or a part of it. */
  othersHold(id: string): boolean;
  /** Whether a resource of another type has made this claim so far. */
  isClaimed(type: string, key: string): boolean;
  /** Waits. Ends early if the operation is aborted. */
  pause(ms: number): Promise<void>;
  /**
   * Reads repeatedly, with growing pauses, until the result is sufficient. Returns the last result either way.
   *
   * @param maxReads by default, 6 reads in nine seconds.
   */
  pollUntil<T>(read: () => Promise<T>, isEnough: (seen: T) => boolean, maxReads?: number): Promise<T>;
  /** Creates an object exactly once, even if responses get lost and lists lag behind. */
  createOnce<T>(creation: Creation<T>): Promise<T>;
  /**
   * Reads data that's only for the reviewer's information. If a permission or plan is missing, that's a warning, not a
   * failure.
   */
  unlessForbidden<T>(read: () => Promise<T>): Promise<T | undefined>;
}

/** What checking a resource in a preview finds: computed inputs, failures, and members of the record. */
export interface Findings {
  readonly computed?: JsonObject;
  readonly failures?: readonly CheckFailure[];
  /** Members of the record, as in the type's `record`. A function is called only if there will be a record. */
  readonly found?: JsonObject | (() => Promise<JsonObject>);
  /** What was looked at. The report treats everything else as not seen. */
  readonly seen?: readonly string[];
  /** Whether the update has work to do even if no argument changed. A text is printed as a warning. */
  readonly pendingWork?: boolean | string;
  /**
   * The existing object that the create will adopt. The preview shows it as the input `adopted`, which is also
   * recorded.
   */
  readonly adopts?: Adoption;
  /** The object that an update would write. */
  readonly exists?: ExistingObject;
}

/** An existing object's ID, and its arguments as a refresh would record them. */
export interface ExistingObject {
  readonly id: string;
  readonly args: JsonObject;
  /** Computed inputs that tell a difference from the state, and that the object doesn't have. */
  readonly rulesOut?: readonly string[];
}

/** What a type's live checks return: what they found, or checks that don't stop each other. */
export type LiveChecks = Findings | readonly (() => Promise<Findings>)[];

/** What a record's messages need in addition to the record. */
export interface MessageContext {
  readonly name: string | undefined;
  readonly args: JsonObject;
}

export interface Messages {
  readonly infos?: readonly string[];
  readonly warnings?: readonly string[];
}

/** Something that only one resource in a program may manage, and the message if two resources declare it. */
export interface Claim {
  readonly key: string;
  /** The text that follows `"a" and "b" …` in the message. Absent if the claim is only for other resources to see. */
  readonly clash?: string;
  /** Whether a clash is a warning instead of an error. */
  readonly warnOnly?: boolean;
  /** Whether the resource doesn't make the claim, and only clashes with one that did. */
  readonly isRead?: boolean;
}

/** Determines what a resource claims from some of its arguments, once all of them are known and valid. */
export interface ClaimRule<Args> {
  /** Arguments that the claims depend on, whether or not they're set. */
  readonly by: readonly (keyof Args & string)[];
  of(args: Args): readonly Claim[];
}

/** A check that involves several arguments. It's skipped as long as an argument that it `needs` is unknown. */
export interface Rule<Args> {
  readonly needs: readonly (keyof Args & string)[];
  /** Arguments that the rule's message quotes. The rule is skipped if one of them is secret. */
  readonly quotes?: readonly (keyof Args & string)[];
  /** Returns a failure or a warning. `given` contains what the user wrote, before conversion to canonical form. */
  check(args: Args, given: JsonObject): CheckFailure | { readonly warning: string } | undefined;
}

export type Args<Shape extends z.ZodRawShape = z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** The recorded outputs of a resource: every declared argument, and the computed outputs. */
export type State<
  Shape extends z.ZodRawShape = z.ZodRawShape,
  Computed extends object = object,
> = Args<Shape> & Computed;

/**
 * Defines a resource type: its data, then its hooks in the order in which they're called. `args` are the declared
 * arguments in canonical form, `state` the recorded outputs, `olds` the recorded inputs (empty for a new resource).
 */
export interface Lifecycle<Shape extends z.ZodRawShape = z.ZodRawShape, Computed extends object = object>
  extends Data<Shape, Computed>, Hooks<Shape, Computed> {}

/** The parts of a lifecycle that don't depend on the types of its arguments, for the classes and the provider plugin. */
export type Facts = Pick<
  Data<z.ZodRawShape, object>,
  | "type"
  | "schemaVersion"
  | "compositeId"
  | "importedWith"
  | "computedInputs"
  | "inputsOnly"
  | "replaceOn"
  | "deleteFirstOn"
  | "compared"
  | "ofAccount"
  | "secret"
  | "secretOutputs"
  | "derivedFrom"
  | "named"
> &
  Readonly<Record<"args" | "computed", { readonly shape: Readonly<Record<string, unknown>> }>>;

/** An existing object in a list: the resource's ID, and Cloudflare's name for it. */
export interface ListedObject {
  readonly id: string;
  readonly name: string;
}

/** A declaration whose arguments may be unknown. */
interface Declared {
  readonly inputs: JsonObject;
  readonly olds: JsonObject;
}

interface Data<Shape extends z.ZodRawShape, Computed extends object> {
  readonly type: string;
  /** The format of the ID that `get` accepts. */
  readonly compositeId: CompositeId;
  /**
   * The options that make `edgeguard import` include this type, in addition to the zone or account. Unset if the
   * command can't import the type.
   */
  readonly importedWith?: string;
  /** The version of the recorded outputs' format. Incremented when the format changes. */
  readonly schemaVersion: number;
  /** `upgrades[n]` converts outputs of version n to version n + 1. */
  readonly upgrades: Readonly<Record<number, (outputs: JsonObject) => JsonObject>>;
  /**
   * A schema for each argument. It checks the argument and returns its canonical form. It must accept canonical forms
   * unchanged.
   */
  readonly args: z.ZodObject<Shape>;
  /** Outputs that are not arguments. */
  readonly computed: z.ZodType<Computed> & { readonly shape: Readonly<Record<string, unknown>> };
  /** Inputs that `derive` and `live` add. A preview shows them, but they don't count as changes by themselves. */
  readonly computedInputs?: readonly string[];
  /** Computed inputs that the next check reads. They aren't outputs. A saved plan doesn't fix their values. */
  readonly inputsOnly?: readonly string[];
  /** The members that this type adds to the record of what an operation finds out. */
  readonly record?: RecordShape;
  /** Returns the messages about a record. */
  readonly messages?: (found: JsonObject, who: MessageContext) => Messages;
  /**
   * The computed inputs that `derive` or `live` may add once every argument is known. Until then, a preview shows them
   * as unknown. A saved plan allows any value for an unknown input, but doesn't allow an input that it doesn't contain.
   */
  readonly pending?: (declared: Declared) => readonly string[];
  /**
   * Computed inputs that only inform the reviewer and may have changed by the time of the update, such as the scripts
   * that a policy would block. A saved plan doesn't fix their values.
   */
  readonly informs?: readonly string[];
  /** Exceptions to what counts as a change. By default, every argument counts, and computed inputs don't. */
  readonly compared?: {
    readonly ignore: readonly (keyof Shape & string)[];
    readonly also: readonly string[];
  };
  /**
   * For each argument listed, decides whether two different values are equivalent, given the recorded outputs. Must not
   * send requests.
   */
  readonly equal?: Readonly<
    Partial<Record<string, (before: unknown, after: unknown, recorded: JsonObject) => boolean>>
  >;
  /** Whether `accountId` defaults to the setting. */
  readonly ofAccount?: boolean;
  /** The names that the program uses for arguments that the class renames, for error messages. */
  readonly writtenAs?: (given: JsonObject) => Readonly<Record<string, string>>;
  /** Arguments that replace the resource if they change. */
  readonly replaceOn: readonly (keyof Shape & string)[];
  /** Whether a change of one of them only updates an object with these arguments. */
  readonly keptOn?: (key: string, args: JsonObject) => boolean;
  /** Those of them that can't change while the old object exists: it's deleted before its successor is created. */
  readonly deleteFirstOn?: readonly (keyof Shape & string)[];
  /**
   * Arguments that may contain credentials: always secret and never printed. Each function redacts the argument's
   * secret parts.
   */
  readonly secret?: Readonly<Partial<Record<keyof Shape & string, (hide: Redactor, value: unknown) => void>>>;
  /** Outputs and computed inputs that are always secret. */
  readonly secretOutputs?: readonly string[];
  /** Computed inputs and outputs that reveal arguments, or an existing object's values of them. They're secret if one of these arguments is. */
  readonly derivedFrom?: Readonly<Record<string, readonly (keyof Shape & string)[]>>;
  /** Outputs that may show drift, also where a plan hides them. */
  readonly watched?: Readonly<Record<string, (before: unknown, now: unknown) => boolean>>;
  /** Arguments that may still be unknown when `derive` is called. It receives them as the engine sends them. */
  readonly deriveWithout?: readonly (keyof Shape & string)[];
  /** Arguments with a default that depends on the program and stack, such as names. */
  readonly named?: (about: Record<"project" | "stack" | "name", string>) => JsonObject;
  /** What a resource claims: objects that only one resource in a program may manage. */
  readonly claims?: readonly ClaimRule<Args<Shape>>[];
  /** A warning about what's lost if another resource adopts the object without an alias. */
  readonly lostOnHandOver?: string;
  /** Returns the lock key for work that must not be done twice at the same time, in this process or another. */
  lock(args: Args<Shape>): string;
}

interface Hooks<Shape extends z.ZodRawShape, Computed extends object> {
  /** 1. Called by check, in previews and updates: rules that involve several arguments. */
  readonly rules?: readonly Rule<Args<Shape>>[];
  /**
   * 2. Called by check: computes inputs without the API, such as a file's digest. Called if all arguments are known,
   * other than those in `deriveWithout`. Must not send requests. Inputs listed in `compared` must be the same for the
   * same content.
   */
  derive?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
    /** The inputs as the engine sent them, including what isn't an argument. */
    readonly given: JsonObject;
  }): Promise<Findings>;
  /**
   * 3. Called by check before an update, even while an argument is unknown: finds the object that matches what's
   * recorded best. A check doesn't know the resource's ID, so the report compares that. Undefined if there's none.
   */
  current?(request: {
    readonly ctx: Context;
    readonly olds: JsonObject;
    readonly inputs: JsonObject;
  }): Promise<ExistingObject | undefined>;
  /** 4. Called by check: whether `live` is called in every preview, not only for a new or changed resource. */
  liveAlways?(args: Args<Shape>): boolean;
  /**
   * 5. Called by check: live checks, which only read. All arguments are known. An AdoptionError fails the preview. If
   * there's no response, the preview warns "live checks skipped". Checks in a list don't stop each other.
   */
  live?(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly olds: JsonObject;
    /** The computed inputs so far. */
    readonly inputs: JsonObject;
  }): Promise<LiveChecks>;
  /**
   * 6. Called by diff, for an existing resource that's still declared. Returns the results of live checks. If it
   * throws, the preview fails. Only failures and pending work count: the engine passes nothing on. `args` is undefined as long as an argument is unknown.
   */
  review?(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape> | undefined;
    /** The computed inputs that `check` returned. */
    readonly inputs: JsonObject;
    readonly change: "none" | "update" | "replacement";
  }): Promise<readonly (() => Promise<Findings>)[]>;
  /** 7. Called by create. `inputs` are the computed inputs of the check. `adopts` becomes the output `adopted`. */
  create(request: {
    readonly ctx: Context;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<{ readonly id: string; readonly computed: Computed; readonly adopts?: Adoption }>;
  /**
   * 8. Called by read, in a refresh and an import: returns the current object, in canonical form. Undefined if it no
   * longer exists.
   */
  read(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<
    | (State<Shape, Computed> & {
        readonly drift?: string;
        /** Members of the record, if the refresh has anything to report besides drift. */
        readonly impact?: JsonObject;
      })
    | undefined
  >;
  /**
   * 9. Called by `get` before its read: returns the resource's ID and, as outputs, what the read needs to know about an
   * object that isn't in the state. Undefined if there is no such object.
   */
  existing(request: {
    readonly ctx: Context;
    readonly address: ObjectAddress;
  }): Promise<{ readonly id: string; readonly outputs: JsonObject } | undefined>;
  /** Lists the objects of a zone or account, for the plugin. Unset if each zone has one. */
  list?(request: { readonly ctx: Context; readonly scope: Scope }): Promise<readonly ListedObject[]>;
  /** 10. Called by update. */
  update(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: Args<Shape>;
    readonly inputs: JsonObject;
  }): Promise<Computed>;
  /** 11. Called by delete. */
  delete(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<void>;
}

/**
 * Thrown if an object was only partly created or changed. The engine records how far the change got, and the next `up`
 * continues from there.
 */
export class PartialFailure<Computed extends object> extends Error {
  override readonly name = "PartialFailure";
  constructor(
    readonly id: string,
    /** The current outputs. */
    readonly computed: Computed,
    reason: string,
    /** The arguments' current values, if they differ from the declared ones. */
    readonly reached?: JsonObject,
  ) {
    super(reason);
  }
}
