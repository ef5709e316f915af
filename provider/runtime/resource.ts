import * as pulumi from "@pulumi/pulumi";
import { Redactor } from "../api/redact";
import { forwarder } from "./forwarder";
import { checkStackConfig, perRun, refusal } from "./program";
import { computedInputsOf, NAME } from "./resource-type";
import { SECRETS, stringsIn, type SecretRules } from "./secrets";
import { pick } from "./values";
import type { z } from "zod";
import type { Args as Canonical, Lifecycle } from "./lifecycle";

/** What two resources of one program may not share, and the sentence for those who do. */
export interface Claim {
  readonly key: string;
  /** Completes `"a" and "b" …`. */
  readonly clash: string;
  /** Said, not refused. */
  readonly warnOnly?: boolean;
}

/**
 * The base of every resource class. A dynamic resource to the engine; unlike `pulumi.dynamic.Resource` it sends a
 * constant text as its provider instead of serializing a closure, so that the text stays the same for ever.
 */
export abstract class EdgeResource extends pulumi.CustomResource {
  protected constructor(
    { type, ...data }: ResourceData,
    name: string,
    args: object,
    opts: pulumi.CustomResourceOptions = {},
    claim?: () => void,
  ) {
    checkStackConfig();
    refuseLost(`${type} "${name}"`, args);
    claim?.(); // Before the engine hears of the resource: what clashes is never registered.
    const outputs = [data.args, data.computed].flatMap(({ shape }) => Object.keys(shape));
    const unset = Object.fromEntries(
      [...outputs, ...computedInputsOf(data)].map((output) => [output, undefined]),
    );
    const secrets = [...(opts.additionalSecretOutputs ?? []), ...(data.secretOutputs ?? [])];
    super(
      `pulumi-nodejs:dynamic/edgeguard:${type}`,
      name,
      { ...unset, ...lifted(args), ...secretness(args, data), [NAME]: name, __provider: forwarder(type) },
      secrets.length === 0 ? opts : { ...opts, additionalSecretOutputs: secrets },
    );
  }
}

/** What a class takes from its lifecycle. */
interface ResourceData extends SecretRules {
  readonly type: string;
  readonly args: { readonly shape: object };
  readonly computed: { readonly shape: object };
}

/** Outputs by the names of the arguments, with their docs; each has the type of its canonical form. */
export type OutputsOf<Args extends object, Canonical extends object> = {
  readonly [Name in keyof Args]-?: pulumi.Output<Canonical[Name & keyof Canonical]>;
};

export type ResourceBase<Args extends object, Canonical extends object> = abstract new (
  name: string,
  args: object,
  opts?: pulumi.CustomResourceOptions,
  claim?: () => void,
) => EdgeResource & OutputsOf<Pick<Args, keyof Args & keyof Canonical>, Canonical>;

/** The base of one resource class: it has each argument as an output, so that a class declares only what is computed. */
export function edgeResource<Args extends object>() {
  return <Shape extends z.ZodRawShape, Computed extends object>(
    lifecycle: Lifecycle<Shape, Computed>,
  ): ResourceBase<Args, Canonical<Shape>> => {
    abstract class Base extends EdgeResource {
      constructor(name: string, args: object, opts?: pulumi.CustomResourceOptions, claim?: () => void) {
        super(lifecycle, name, args, opts, claim);
      }
    }
    return Base as unknown as ResourceBase<Args, Canonical<Shape>>; // The engine sets the outputs.
  };
}

/**
 * Refuses a second resource of this program that means the same real object: each would undo the other. Values that are
 * not known yet are waited for; the program then fails.
 */
export function claimOnce<T extends Record<string, unknown>>(
  type: string,
  name: string,
  parts: T,
  claimsOf: (parts: pulumi.Unwrap<T>) => readonly Claim[],
): () => void {
  const look = (known: pulumi.Unwrap<T>, secrets: readonly string[]): void => {
    const redactor = new Redactor((r) => r.add(...stringsIn(pick(known, secrets))));
    for (const claim of claimsOf(known)) {
      const claims = perRun(CLAIMS, () => new Map<string, string>());
      const key = `${type} ${claim.key}`;
      const other = claims.get(key);
      claims.set(key, other ?? name);
      if (other === undefined) continue;
      const sentence = `edgeguard: ${type} "${other}" and "${name}" ${redactor.redact(claim.clash)}.`;
      if (claim.warnOnly === true) void pulumi.log.warn(sentence);
      else throw refusal(sentence);
    }
  };
  return () => {
    if (awaits(parts)) {
      const secrets = pulumi.output(secretNames(parts));
      pulumi.output(parts).apply((known) => secrets.apply((names) => look(known, names)));
    } else look(parts as pulumi.Unwrap<T>, []); // Without outputs and promises inside, an unwrapped value is the value itself.
  };
}

/**
 * What the provider and the engine have to be told of secrets. The provider is given plain values: it learns the names of
 * the secret arguments. The engine keeps a checked input secret where the program gave a secret of that name: a computed
 * one has to be given as well, with no value, for its secretness.
 */
function secretness(
  args: object,
  { secret = {}, secretOutputs = [], computedInputs = [], derivedFrom = {} }: SecretRules,
): Record<string, pulumi.Output<unknown>> {
  const given: Record<string, pulumi.Output<unknown>> = {};
  for (const output of secretOutputs.filter((each) => computedInputs.includes(each)))
    given[output] = pulumi.secret("");
  if (!awaits(args)) return given;
  const names = secretNames(args);
  for (const [output, keys] of Object.entries(derivedFrom)) {
    const isSecret = names.then((found) => keys.some((key) => found.includes(key)));
    given[output] = pulumi.output(isSecret.then((is) => (is ? pulumi.secret("") : undefined)));
  }
  const others = names.then((found) => found.filter((name) => !Object.hasOwn(secret, name)));
  given[SECRETS] = pulumi.output(others.then((found) => (found.length === 0 ? undefined : found)));
  return given;
}

/** Which of the values are secret, or have something secret inside. */
export async function secretNames(values: object): Promise<string[]> {
  const judged = await Promise.all(
    Object.entries(values).map(async ([name, value]: [string, unknown]) =>
      awaits(value) && (await pulumi.isSecret(pulumi.output(value))) ? [name] : [],
    ),
  );
  return judged.flat().sort();
}

/** Refuses a member that is called `__proto__`: Pulumi's SDK drops it on the way to the engine, without a word. */
export function refuseLost(resource: string, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (pulumi.Output.isInstance(value)) {
    value.apply((known) => refuseLost(resource, known));
    return;
  }
  if (Object.hasOwn(value, "__proto__"))
    throw refusal(
      `edgeguard: ${resource} has a member "__proto__", which Pulumi's SDK drops. Choose another name; a KvEntries takes such a key from a file or directory.`,
    );
  for (const member of Object.values(value)) refuseLost(resource, member);
}

/** Whether an output or a promise is anywhere inside. */
function awaits(value: unknown): boolean {
  if (pulumi.Output.isInstance(value) || value instanceof Promise) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(awaits);
}

/**
 * Arguments with outputs inside become one output each. The check may give such an argument another form (directives
 * become a text); a secret inside of it would then no longer be where the engine has marked it.
 */
function lifted(args: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]: [string, unknown]) => [
      key,
      !pulumi.Output.isInstance(value) && awaits(value) ? pulumi.output(value) : value,
    ]),
  );
}

const CLAIMS = new WeakMap<object, Map<string, string>>();
