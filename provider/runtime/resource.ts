import * as pulumi from "@pulumi/pulumi";
import { checkCompositeId, ownId, refuseImport } from "./existing";
import { forwarder } from "./forwarder";
import { checkStackConfig, makesSavedPlan, refusal } from "./program";
import { HIDDEN } from "./hidden";
import { computedInputsOf } from "./resource-type";
import { kindOf, TYPE_PREFIXES } from "./type-tokens";
import { UNMANAGED } from "./unmanaged";
import type { JsonObject } from "../basics/json";
import type { z } from "zod";
import type { Args as Canonical, Facts, Lifecycle } from "./lifecycle";
import { verbsOf, type Verbs } from "./verbs";

/**
 * The base of every resource class: a dynamic resource. The provider code that it sends is a string that never changes,
 * instead of a serialized closure as in `pulumi.dynamic.Resource`.
 */
abstract class EdgeResource extends pulumi.CustomResource {
  protected constructor(data: Facts, name: string, given: object, opts: pulumi.CustomResourceOptions = {}) {
    const { type } = data;
    checkStackConfig();
    const args = namedArgs(data, name, given);
    if (opts.import !== undefined) refuseImport(data, name);
    const isGet = opts.id !== undefined;
    if (opts.id !== undefined) checkCompositeId(data, name, opts.id);
    else refuseProto(`${type} "${name}"`, args);
    const outputs = [data.args, data.computed].flatMap(({ shape }) => Object.keys(shape));
    const unset = Object.fromEntries(
      [...outputs, ...computedInputsOf(data), UNMANAGED].map((output) => [output, undefined]),
    );
    // The engine recognizes secret arguments by the inputs, and a get has none.
    const secretArgs = isGet ? Object.keys(data.secret ?? {}) : [];
    const secrets = [
      ...(opts.additionalSecretOutputs ?? []),
      ...(data.secretOutputs ?? []),
      ...secretArgs,
      ...derivedOutputs(data, args),
    ];
    super(
      TYPE_PREFIXES.dynamic + type,
      name,
      {
        ...unset,
        ...(isGet
          ? {}
          : {
              ...asOutputs(args),
              ...secretMarkers(args, data),
              ...savedPlanMarker(),
              [HIDDEN.holder]: holderOf(name, opts),
            }),
        [HIDDEN.name]: name,
        [HIDDEN.provider]: forwarder(type),
      },
      {
        ...opts,
        // A resource that the provider plugin's SDK declared moves to the class without a change.
        ...(isGet ? {} : { aliases: [...(opts.aliases ?? []), { type: TYPE_PREFIXES.plugin + type }] }),
        ...(secrets.length === 0 ? {} : { additionalSecretOutputs: secrets }),
      },
    );
    if (isGet) Object.assign(this, { id: ownId(data, this.id) });
  }
}

/** Returns the input that signals to the check that this preview makes a saved plan. Empty otherwise. */
function savedPlanMarker(): Record<string, true> {
  return makesSavedPlan(process.env) && pulumi.runtime.isDryRun() ? { [HIDDEN.savedPlan]: true } : {};
}

/** Returns what tells the resource apart from one with the same name in other components: the types of all its parents. */
function holderOf(name: string, { parent }: pulumi.CustomResourceOptions): string {
  const types: string[] = [];
  for (let within: unknown = parent; typeof within === "object" && within !== null;) {
    types.unshift(String(Reflect.get(within, "__pulumiType")));
    within = Reflect.get(within, "__parentResource");
  }
  return `${types.join("$")}::${name}`;
}

/** Every argument as an output, with the argument's docs and the type of its canonical form. */
export type OutputsOf<Args extends object, Canonical extends object> = {
  readonly [Name in keyof Args]-?: pulumi.Output<Canonical[Name & keyof Canonical]>;
};

export type ResourceBase<Args extends object, Canonical extends object> = TypedClass &
  ReadableClass &
  (abstract new (
    name: string,
    args: object,
    opts?: pulumi.CustomResourceOptions,
  ) => pulumi.CustomResource & OutputsOf<Pick<Args, keyof Args & keyof Canonical>, Canonical>);

/** A class whose resources policies can recognize, also those of the provider plugin: by `isInstance`. */
export interface TypedClass {
  /**
   * Whether the value is a resource of this class, even if another copy of the package or the provider plugin's SDK
   * created it. `validateResourceOfType` in @pulumi/policy calls it, because the class has no single type.
   */
  isInstance<T>(this: abstract new (...args: never[]) => T, value: unknown): value is T;
}

/** A class with `get`, which reads an existing object. */
export interface ReadableClass {
  /**
   * Reads an existing object without managing it, and returns its arguments as outputs, along with its ID. It reads on
   * every preview and update, so it needs credentials. An update never changes or deletes the object.
   *
   * @param id the object's ID, including the zone or account, such as `<zone ID>/<policy ID>`. The reference documents
   * each resource's format.
   */
  get<T>(
    this: new (name: string, args: never, opts?: pulumi.CustomResourceOptions) => T,
    name: string,
    id: pulumi.Input<pulumi.ID>,
    opts?: pulumi.CustomResourceOptions,
  ): T;
}

/** A resource type: what the engine calls, and the base of its class. */
export interface DefinedResource<Shape extends z.ZodRawShape> {
  /** The provider's methods, with the type's facts. */
  readonly verbs: Verbs;
  /** Returns the base class, which has every argument as an output. The class declares only computed outputs. */
  base<Args extends object>(): ResourceBase<Args, Canonical<Shape>>;
}

/** Defines a resource type by its lifecycle. */
export function defineResource<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): DefinedResource<Shape> {
  // Below, values have the types of their schemas only once these have checked them.
  const verbs = verbsOf(lifecycle as unknown as Lifecycle);
  const { facts } = verbs;
  return {
    verbs,
    base: <Args extends object>() => {
      abstract class Base extends EdgeResource {
        // Doesn't use `this`, because @pulumi/policy calls it as a standalone function.
        static override isInstance(value: unknown): value is Base {
          if (typeof value !== "object" || value === null) return false;
          const token: unknown = Reflect.get(value, "__pulumiType");
          return typeof token === "string" && kindOf(token) === facts.type;
        }

        static get<T>(
          this: new (name: string, args: object, opts: pulumi.CustomResourceOptions) => T,
          name: string,
          id: pulumi.Input<pulumi.ID>,
          opts: pulumi.CustomResourceOptions = {},
        ): T {
          return new this(name, {}, { ...opts, id });
        }

        constructor(name: string, args: object, opts?: pulumi.CustomResourceOptions) {
          super(facts, name, args, opts);
        }
      }
      return Base as unknown as ResourceBase<Args, Canonical<Shape>>; // The engine sets the outputs.
    },
  };
}

/** Returns the arguments, with default names for those that the program doesn't set. */
function namedArgs({ named }: Facts, name: string, given: object): JsonObject {
  const args: JsonObject = { ...given };
  const names = named?.({ project: pulumi.getProject(), stack: pulumi.getStack(), name }) ?? {};
  const own = Object.entries(names).map(([key, text]): [string, unknown] => [key, args[key] ?? text]);
  return { ...args, ...Object.fromEntries(own) };
}

/**
 * Marks secrets for the provider and the engine. The provider receives plain values, so it needs the names of the
 * secret arguments. The engine marks an input returned by `check` as secret only if the program passed a secret with
 * the same name, so the program passes an empty secret for each computed input that has to be secret.
 */
function secretMarkers(
  args: object,
  { secret = {}, secretOutputs = [], computedInputs = [], derivedFrom = {} }: Facts,
): Record<string, pulumi.Output<unknown>> {
  const given: Record<string, pulumi.Output<unknown>> = {};
  for (const output of secretOutputs.filter((each) => computedInputs.includes(each)))
    given[output] = pulumi.secret("");
  if (!isAsync(args)) return given;
  const names = secretNames(args);
  for (const [output, keys] of Object.entries(derivedFrom)) {
    if (!computedInputs.includes(output)) continue;
    const isSecret = names.then((found) => keys.some((key) => found.includes(key)));
    given[output] = pulumi.output(isSecret.then((is) => (is ? pulumi.secret("") : undefined)));
  }
  const others = names.then((found) => found.filter((name) => !Object.hasOwn(secret, name)));
  given[HIDDEN.secrets] = pulumi.output(others.then((found) => (found.length === 0 ? undefined : found)));
  return given;
}

/** Lists the outputs that may reveal a secret argument. Whether an output is secret isn't known yet, so any may be. */
function derivedOutputs({ derivedFrom = {}, computedInputs = [] }: Facts, args: JsonObject): string[] {
  return Object.entries(derivedFrom).flatMap(([output, keys]) =>
    !computedInputs.includes(output) && keys.some((key) => isAsync(args[key])) ? [output] : [],
  );
}

/** Returns the names of the values that are secret or contain a secret. */
export async function secretNames(values: object): Promise<string[]> {
  const judged = await Promise.all(
    Object.entries(values).map(async ([name, value]: [string, unknown]) =>
      isAsync(value) && (await pulumi.isSecret(pulumi.output(value))) ? [name] : [],
    ),
  );
  return judged.flat().sort();
}

/** Throws if a property is named `__proto__`, because Pulumi's SDK would silently drop it on the way to the engine. */
export function refuseProto(resource: string, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (pulumi.Output.isInstance(value)) {
    value.apply((known) => refuseProto(resource, known));
    return;
  }
  if (Object.hasOwn(value, "__proto__"))
    throw refusal(
      `edgeguard: ${resource} has a property named "__proto__", which Pulumi's SDK drops. Choose another name. KvEntries accepts such a key from a file or directory.`,
    );
  for (const member of Object.values(value)) refuseProto(resource, member);
}

/** Whether the value is or contains an output or a promise. */
export function isAsync(value: unknown): boolean {
  if (pulumi.Output.isInstance(value) || value instanceof Promise) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(isAsync);
}

/**
 * Turns each argument that contains outputs into a single output. The check may convert an argument (directives become
 * text), and a secret in it would no longer be where the engine marked it.
 */
function asOutputs(args: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]: [string, unknown]) => [
      key,
      !pulumi.Output.isInstance(value) && isAsync(value) ? pulumi.output(value) : value,
    ]),
  );
}
