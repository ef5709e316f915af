import { z } from "zod";
import { Redactor } from "../api/redact";
import { VERSION } from "../version";
import { ADOPTED, adoptedOf, type Adopted, type Adoption } from "./adopted";
import { checkInputs, type CheckFailure } from "./inputs";
import type { AboutResource, Args, Lifecycle, State } from "./lifecycle";
import { changesOf } from "./changes";
import { namesOfSecrets, SECRETS, stringsIn } from "./secrets";
import { canonicalJson, omitUndefined, omit, pick, type JsonObject } from "./values";

/** The input by which a state names its provider. */
const PROVIDER = "__provider";
/**
 * The input by which a resource knows its name in the program, for its messages. A rename with an alias changes nothing
 * else: until the next update, the outputs hold the old name.
 */
export const NAME = "__resourceName";
/** What the class gives beside the arguments and the state keeps. The engine's displays leave out underscores. */
export const KEPT = [SECRETS, NAME] as const;
const SCHEMA_VERSION = "schemaVersion";

/** One resource type: its lifecycle, and its data in each form: inputs as the engine sends them, arguments, recorded state, outputs. */
export class ResourceType<Shape extends z.ZodRawShape, Computed extends object> {
  readonly argKeys: readonly string[];
  readonly computedInputs: readonly string[];
  readonly #recorded: z.ZodType<State<Shape, Computed>>;

  constructor(readonly lifecycle: Lifecycle<Shape, Computed>) {
    this.argKeys = Object.keys(lifecycle.args.shape);
    this.computedInputs = computedInputsOf(lifecycle);
    this.#recorded = z.intersection(z.looseObject(asRecorded(lifecycle)), lifecycle.computed);
  }

  /** What the user wrote, without what the class, the engine and the check add. */
  written(inputs: JsonObject): JsonObject {
    return omit(inputs, [PROVIDER, ...KEPT, ...(this.lifecycle.hints ?? []), ...this.computedInputs]);
  }

  /** What the class tells the check beside the arguments. */
  hints(inputs: JsonObject): JsonObject {
    return pick(inputs, this.lifecycle.hints ?? []);
  }

  /** What a context has to know of the resource: its name in the program, and what of it is secret. */
  about(bag: JsonObject): AboutResource {
    return { name: typeof bag[NAME] === "string" ? bag[NAME] : undefined, secrets: this.secrets(bag) };
  }

  /** Inputs as the check gave them; what an edited state or an engine without a check hands over is refused here. */
  args(inputs: JsonObject): Args<Shape> {
    const given = pick(inputs, this.argKeys);
    const parsed = this.lifecycle.args.safeParse(given);
    if (parsed.success) return parsed.data;
    const [first] = checkInputs(this.lifecycle.args.shape, given, this.secrets(inputs)).failures;
    throw new Error(
      `The inputs of this ${this.lifecycle.type} are not valid: ${first === undefined ? "" : failureText(first)}`,
    );
  }

  state(outputs: JsonObject): State<Shape, Computed> {
    const parsed = this.#recorded.safeParse(
      omit(this.upgraded(outputs), [PROVIDER, ...KEPT, SCHEMA_VERSION]),
    );
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw new Error(
      `The recorded state of this ${this.lifecycle.type} cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}. ` +
        "If it was edited by hand, restore it with `pulumi stack import`; otherwise report it.",
    );
  }

  outputs(args: JsonObject, inputs: JsonObject, computed: object): Record<string, unknown> {
    return {
      ...omitUndefined(args),
      ...pick(inputs, this.computedInputs),
      ...omitUndefined({ ...computed }),
      ...pick(inputs, KEPT),
      [SCHEMA_VERSION]: this.lifecycle.schemaVersion,
    };
  }

  /** The outputs of a change that is half done; the engine keeps the provider of these as they are. */
  partialOutputs(inputs: JsonObject, computed: object, reached: JsonObject = {}): Record<string, unknown> {
    const outputs = this.outputs({ ...pick(inputs, this.argKeys), ...reached }, inputs, computed);
    return { ...outputs, [PROVIDER]: inputs[PROVIDER] };
  }

  /** Recorded outputs of an older version in the present form. */
  upgraded(outputs: JsonObject): JsonObject {
    const { type, schemaVersion, upgrades } = this.lifecycle;
    const recorded = outputs[SCHEMA_VERSION] ?? schemaVersion;
    if (typeof recorded !== "number")
      throw new Error(`The recorded state of this ${type} has no readable schemaVersion.`);
    if (recorded > schemaVersion) {
      throw new Error(
        `This ${type} was written by a newer pulumi-edgeguard (state schema ${recorded}; version ${VERSION} reads up to ${schemaVersion}). ` +
          "Install the version that wrote it, or a later one, and run the command again.",
      );
    }
    let current = outputs;
    for (let version = recorded; version < schemaVersion; version += 1) {
      const step = upgrades[version];
      if (step === undefined) throw new Error(`There is no upgrade of ${type} from state schema ${version}.`);
      current = step(current);
    }
    return current;
  }

  /** Arguments that are secret: by their nature, or because the program said so. */
  secrets(...bags: readonly JsonObject[]): string[] {
    return [...Object.keys(this.lifecycle.secret ?? {}), ...bags.flatMap(namesOfSecrets)];
  }

  /** Hides what no message about these inputs or outputs may show. */
  redactor(bags: readonly JsonObject[]): Redactor {
    return new Redactor((redactor) => {
      for (const bag of bags) {
        for (const [key, hide] of Object.entries(this.lifecycle.secret ?? {})) hide?.(redactor, bag[key]);
        redactor.add(...stringsIn(pick(bag, bags.flatMap(namesOfSecrets))));
      }
    });
  }

  /** How an object that a create adopts differs from the declaration. @param redact the state keeps what is said here as it is. */
  adopted(adoption: Adoption, inputs: JsonObject, redact: (text: string) => string): Adopted {
    const { equal } = this.lifecycle;
    const changes = changesOf(adoption.found, inputs, {
      isSecret: (name) => this.secrets(inputs).includes(name),
      isSame: (name, before, after) => equal?.[name]?.(before, after, adoption.found) === true,
    });
    return adoptedOf({ ...adoption, object: redact(adoption.object) }, changes);
  }

  /** Tells a declaration from any other of the operation. */
  fingerprint(inputs: JsonObject): string {
    return `${this.lifecycle.type} ${canonicalJson(omit(inputs, [PROVIDER]))}`;
  }
}

/** What may be adopted says so in an input of its own. */
export function computedInputsOf({
  args,
  computedInputs = [],
}: {
  readonly args: { readonly shape: object };
  readonly computedInputs?: readonly string[];
}): readonly string[] {
  return "adopt" in args.shape ? [...computedInputs, ADOPTED] : computedInputs;
}

/** A failure as a sentence, the path of what it is about in front. */
export function failureText({ property, reason }: CheckFailure): string {
  return property === "" ? reason : `${property}: ${reason}`;
}

/**
 * Schemas of recorded arguments. A refresh records what it finds, and a zone may hold what no program may declare (an
 * action of tomorrow, a text typed in the dashboard): only what names the object has to be valid, or nothing could mend it.
 */
function asRecorded<Shape extends z.ZodRawShape>({
  args,
  replaceOn,
}: Pick<Lifecycle<Shape, object>, "args" | "replaceOn">): Shape {
  const shape = Object.entries(args.shape).map(([key, schema]) => [
    key,
    (replaceOn as readonly string[]).includes(key) ? schema : z.catch(schema, ({ input }) => input),
  ]);
  return Object.fromEntries(shape) as Shape; // The same keys, each with the same type.
}
