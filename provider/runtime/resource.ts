import * as pulumi from "@pulumi/pulumi";
import { forwarder } from "./forwarder";
import { unknownConfigKeys } from "./settings";

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
  readonly #type: string;
  readonly #name: string;

  /** @param outputs names of the outputs that are not arguments. */
  protected constructor(
    type: string,
    name: string,
    args: object,
    outputs: readonly string[],
    opts?: pulumi.CustomResourceOptions,
  ) {
    refuseUnknownConfig();
    const unset = Object.fromEntries(outputs.map((output) => [output, undefined]));
    super(
      `pulumi-nodejs:dynamic/edgeguard:${type}`,
      name,
      { ...unset, ...args, __provider: forwarder(type) },
      opts,
    );
    this.#type = type;
    this.#name = name;
  }

  /**
   * Refuses a second resource of this program that means the same real object: each would undo the other. Waits for
   * values that are not known yet.
   */
  protected claim<T extends Record<string, unknown>>(
    parts: T,
    claimOf: (parts: pulumi.Unwrap<T>) => Claim | undefined,
  ): void {
    const look = (known: pulumi.Unwrap<T>): void => {
      const claim = claimOf(known);
      if (claim === undefined) return;
      const claims = perRun(CLAIMS, () => new Map<string, string>());
      const key = `${this.#type} ${claim.key}`;
      const other = claims.get(key);
      claims.set(key, other ?? this.#name);
      if (other === undefined) return;
      const sentence = `edgeguard: ${this.#type} "${other}" and "${this.#name}" ${claim.clash}.`;
      if (claim.warnOnly === true) void pulumi.log.warn(sentence, this);
      else throw refusal(sentence);
    };
    const awaited = Object.values(parts).some(
      (part) => pulumi.Output.isInstance(part) || part instanceof Promise,
    );
    if (awaited) pulumi.output(parts).apply(look);
    else look(parts as pulumi.Unwrap<T>); // Without outputs and promises at the top an unwrapped value is the value itself.
  }
}

/**
 * An error of the program that is told in one sentence. It carries no stack: the sentence says where, and rendering a
 * trace through the SDK's source maps takes Node 20 half a minute.
 */
export function refusal(message: string): pulumi.RunError {
  const error = new pulumi.RunError(message);
  error.stack = message;
  return error;
}

function refuseUnknownConfig(): void {
  perRun(CONFIG_SEEN, () => {
    const [problem] = unknownConfigKeys(Object.keys(pulumi.runtime.allConfig()));
    if (problem !== undefined) throw refusal(`edgeguard: ${problem}`);
    return true;
  });
}

const CLAIMS = new WeakMap<object, Map<string, string>>();
const CONFIG_SEEN = new WeakMap<object, boolean>();
const OUTSIDE = {}; // A unit test with mocks has no stack resource.

/** One value per run of a program: one process may run many, for several stacks, through the Automation API. */
function perRun<T>(values: WeakMap<object, T>, make: () => T): T {
  const run = pulumi.runtime.getStackResource() ?? OUTSIDE;
  const found = values.get(run);
  if (found !== undefined) return found;
  const made = make();
  values.set(run, made);
  return made;
}
