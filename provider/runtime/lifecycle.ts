import type { z } from "zod";
import type { EdgeApi } from "../api/client";
import type { Redactor } from "../api/redact";
import type { Holding } from "./ledger";
import type { Settings } from "./settings";
import type { Bag } from "./values";

/** What every verb is given besides its own request. */
export interface Context {
  readonly api: EdgeApi;
  readonly settings: Settings;
  /** Lines that people see under the stack. Keep them few: they are shown on every run. */
  readonly say: { info(line: string): void; warn(line: string): void };
  /** A text from outside without the secrets of this call: for what is recorded; what is said or thrown is redacted anyway. */
  redact(text: string): string;
  /** Something that all resources of the operation share. */
  shared<T>(key: string, make: () => T): T;
  /** How another resource of this operation holds an object of this type, if one does. */
  holding(id: string): Holding | undefined;
  /** Waits; ends with the operation. */
  pause(ms: number): Promise<void>;
}

/** What a preview check may add: inputs computed from what exists, and refusals that an answer proves. */
export interface LiveFindings {
  readonly computed?: Bag;
  /** Something an update has to do although nothing recorded tells of a change; said to the reviewer. */
  readonly due?: string;
  readonly failures?: readonly { readonly property: string; readonly reason: string }[];
}

/** A rule over several arguments. It waits while one of those it `needs` is not known yet. */
export interface Rule<Args> {
  readonly needs: readonly (keyof Args & string)[];
  /** A failure, or a warning that does not stop anything. `given` is what the user wrote, before it was made canonical. */
  check(
    args: Args,
    given: Bag,
  ): { readonly property: string; readonly reason: string } | { readonly warning: string } | undefined;
}

/**
 * Everything the runtime has to know of a resource: its arguments as data, and five verbs with named requests. `args`
 * is what is wanted, in canonical form; `state` is what was recorded.
 */
export interface Lifecycle<Shape extends z.ZodRawShape, Computed extends object> {
  readonly type: string;
  /** Counts up when the recorded outputs change their form. */
  readonly schemaVersion: number;
  /** `upgrades[n]` turns outputs of version n into outputs of version n + 1. */
  readonly upgrades: Readonly<Record<number, (outputs: Bag) => Bag>>;
  /** One schema per argument: checks it and gives its canonical form. The canonical form is accepted unchanged. */
  readonly args: z.ZodObject<Shape>;
  readonly rules?: readonly Rule<z.output<z.ZodObject<Shape>>>[];
  /** Outputs that are not arguments. */
  readonly computed: z.ZodType<Computed>;
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
    Partial<Record<string, (before: unknown, after: unknown, recorded: Bag) => boolean>>
  >;
  /** Arguments that a setting gives where the program does not. */
  readonly fromSettings?: Readonly<Record<string, (settings: Settings) => unknown>>;
  /** Arguments whose change needs another object. */
  readonly replaceOn: readonly (keyof Shape & string)[];
  /** Arguments the API never gives back: a read carries over what was declared. */
  readonly writeOnly?: readonly (keyof Shape & string)[];
  /** Outputs and computed inputs that are always secret, although no argument of the same name is. */
  readonly secretOutputs?: readonly string[];
  /** Computed inputs that tell of arguments: secret wherever the program makes one of these secret. */
  readonly derivedFrom?: Readonly<Record<string, readonly (keyof Shape & string)[]>>;
  /** Arguments that may hold a credential: always secret, and never printed. */
  readonly secret?: readonly (keyof Shape & string)[];
  /** What of its `secret` arguments a message may not show, where that is not every text in them. */
  hide?(redactor: Redactor, recorded: Bag): void;
  /** What the predecessor knew and its successor does not, when one takes over from the other without an alias. */
  readonly lostOnHandOver?: string;
  /** What two verbs may not touch at the same time within this process. */
  lock(args: z.output<z.ZodObject<Shape>>): string;
  /** Arguments that `derive` can do without: while they are not known yet it is called, and finds them as the engine sends them. */
  readonly deriveWithout?: readonly (keyof Shape & string)[];
  /**
   * What this machine can tell: a file's digest, say. Called in every check of arguments that are all known, without a
   * request; for what `compared` names it has to give the same answer for the same content.
   */
  derive?(request: {
    readonly ctx: Context;
    readonly args: z.output<z.ZodObject<Shape>>;
    /** The recorded inputs; empty for a resource that is new. */
    readonly olds: Bag;
    readonly hints: Bag;
  }): Promise<LiveFindings>;
  /** What the class lets the check know beside the arguments. No state keeps it. */
  readonly hints?: readonly string[];
  /**
   * Something an update has to do that only what is recorded tells apart, as a sentence for the reviewer. Asked for each
   * resource that exists and is declared; it may look at what exists.
   */
  due?(request: {
    readonly ctx: Context;
    readonly state: State<Shape, Computed>;
    readonly args: z.output<z.ZodObject<Shape>>;
  }): Promise<string | undefined>;
  /**
   * Tells the reviewer of an update what the engine's own comparison of inputs does not show. What it throws fails the
   * preview. What it returns as `live` looks at what exists: an AdoptionError fails the preview, an answer that does not
   * come is a warning "not checked live".
   */
  describe?(request: {
    readonly ctx: Context;
    readonly state: State<Shape, Computed>;
    readonly args: z.output<z.ZodObject<Shape>>;
  }): Promise<{ readonly live?: () => Promise<void> }>;
  /**
   * Why the object has to be deleted before its replacement is created, as a sentence for the reviewer; undefined where it
   * may be deleted last. Asked for a replacement; it may look at what exists.
   */
  deletedFirst?(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly args: z.output<z.ZodObject<Shape>>;
    readonly once: <T>(key: string, read: () => Promise<T>) => Promise<T>;
  }): Promise<string | undefined>;
  /** Called for an unchanged resource that the program still declares: nothing of what it owns may be deleted by another. */
  keep?(request: { readonly ctx: Context; readonly state: State<Shape, Computed> }): Promise<void>;
  /**
   * What only the service can tell before the apply; read-only. Called for a new or changed resource whose arguments
   * are all known. An error here is a warning "not checked live", never a failure.
   */
  /** Where a look is needed in every preview, changed or not. */
  liveAlways?(args: z.output<z.ZodObject<Shape>>): boolean;
  live?(request: {
    readonly ctx: Context;
    readonly args: z.output<z.ZodObject<Shape>>;
    /** The recorded inputs; empty for a resource that is new. */
    readonly olds: Bag;
    /** Reads a thing once per operation, however many resources ask for it. */
    readonly once: <T>(key: string, read: () => Promise<T>) => Promise<T>;
  }): Promise<LiveFindings>;
  create(request: {
    readonly ctx: Context;
    readonly args: z.output<z.ZodObject<Shape>>;
    /** The computed inputs, as `check` gave them. */
    readonly inputs: Bag;
  }): Promise<{ readonly id: string; readonly computed: Computed }>;
  /** What is there now, with arguments in canonical form; undefined when it is gone. */
  read(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<(State<Shape, Computed> & { readonly drift?: string }) | undefined>;
  update(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
    readonly args: z.output<z.ZodObject<Shape>>;
    /** The computed inputs, as `check` gave them. */
    readonly inputs: Bag;
  }): Promise<Computed>;
  delete(request: {
    readonly ctx: Context;
    readonly id: string;
    readonly state: State<Shape, Computed>;
  }): Promise<void>;
}

export type Args<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** Recorded outputs: every argument that was declared, and what was computed. */
export type State<Shape extends z.ZodRawShape, Computed extends object> = Args<Shape> & Computed;

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
    readonly reached?: Bag,
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
