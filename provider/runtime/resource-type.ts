import { z } from "zod";
import { Redactor } from "../api/redact";
import { VERSION } from "../version";
import { IMPACT } from "./impact";
import { adoptedOf, withTimestamp, type Adopted, type Adoption } from "./adopted";
import { checkInputs, type CheckFailure } from "./inputs";
import type { AboutResource, Args, Facts, Lifecycle, State } from "./lifecycle";
import { changesOf, type Changes } from "./changes";
import { HIDDEN, KEPT } from "./hidden";
import { keysIn, memberNamesIn, namesOfSecrets } from "./secrets";
import {
  canonicalJson,
  isJsonObject,
  omit,
  ownMember,
  pick,
  sameJson,
  type JsonObject,
} from "../basics/json";

const SCHEMA_VERSION = "schemaVersion";

/** A resource type: its lifecycle, and conversions between inputs, arguments, recorded state and outputs. */
export class ResourceType {
  readonly argKeys: readonly string[];
  readonly computedInputs: readonly string[];
  readonly #recorded: z.ZodType<State>;

  constructor(readonly lifecycle: Lifecycle) {
    this.argKeys = Object.keys(lifecycle.args.shape);
    this.computedInputs = computedInputsOf(lifecycle);
    this.#recorded = z.intersection(z.looseObject(asRecorded(lifecycle)), lifecycle.computed);
  }

  /** Whether a change of this argument replaces the object. */
  replacesOn(key: string, inputs: JsonObject): boolean {
    const { replaceOn, keptOn } = this.lifecycle;
    return replaceOn.includes(key) && keptOn?.(key, inputs) !== true;
  }

  isReplaced(olds: JsonObject, inputs: JsonObject): boolean {
    return this.argKeys.some((key) => this.replacesOn(key, inputs) && !sameJson(olds[key], inputs[key]));
  }

  /** Returns what the user wrote, without the inputs that the class, the engine and the check add. */
  written(inputs: JsonObject): JsonObject {
    return omit(inputs, [...Object.values(HIDDEN), ...this.computedInputs]);
  }

  /** Whether a read is for `get`. If so, the engine passes only the inputs that the class itself adds. */
  isGet(props: JsonObject): boolean {
    return Object.keys(props).every((name) => name.startsWith("__"));
  }

  /** Returns the resource's name in the program, and its secret arguments. */
  about(bag: JsonObject): AboutResource {
    const { [HIDDEN.name]: name, [HIDDEN.holder]: holder = name } = bag;
    return { name: textOf(name), holder: textOf(holder), secrets: this.secrets(bag) };
  }

  /**
   * Reads the arguments from checked inputs. Throws if they're invalid, because the state was edited or the engine
   * skipped the check.
   */
  args(inputs: JsonObject): Args {
    const given = pick(inputs, this.argKeys);
    const parsed = this.lifecycle.args.safeParse(given);
    if (parsed.success) return parsed.data;
    const [first] = checkInputs(this.lifecycle.args.shape, given, this.secrets(inputs)).failures;
    throw new Error(
      `Invalid inputs for this ${this.lifecycle.type}: ${first === undefined ? "" : failureText(first)}`,
    );
  }

  /** Reads the recorded state, without the last update's impact: a refresh would report it as its own. */
  state(outputs: JsonObject): State {
    const parsed = this.#recorded.safeParse(
      omit(this.upgraded(outputs), [...Object.values(HIDDEN), SCHEMA_VERSION, IMPACT]),
    );
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw new Error(
      `Can't read the recorded state of this ${this.lifecycle.type}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}. ` +
        "If it was edited manually, restore it with `pulumi stack import`. Otherwise, report this as a bug.",
    );
  }

  outputs(args: JsonObject, inputs: JsonObject, computed: object): Record<string, unknown> {
    const outputs = {
      ...omit(args),
      ...pick(inputs, this.computedInputs),
      ...omit({ ...computed }),
      ...pick(inputs, KEPT),
      [SCHEMA_VERSION]: this.lifecycle.schemaVersion,
    };
    return omit(outputs, this.lifecycle.inputsOnly ?? []);
  }

  /**
   * Returns the outputs of a partially completed change. The engine records them, including the provider given here.
   */
  partialOutputs(inputs: JsonObject, computed: object, reached: JsonObject = {}): Record<string, unknown> {
    const outputs = this.outputs({ ...pick(inputs, this.argKeys), ...reached }, inputs, computed);
    return { ...outputs, [HIDDEN.provider]: inputs[HIDDEN.provider] };
  }

  /** Converts recorded outputs to the current format. */
  upgraded(outputs: JsonObject): JsonObject {
    const { type, schemaVersion, upgrades } = this.lifecycle;
    const recorded = outputs[SCHEMA_VERSION] ?? schemaVersion;
    if (typeof recorded !== "number")
      throw new Error(
        `The recorded state of this ${type} has no valid schemaVersion. If it was edited manually, restore it with \`pulumi stack import\`.`,
      );
    if (recorded > schemaVersion) {
      throw new Error(
        `This ${type} was written by a newer pulumi-edgeguard (state schema ${recorded}; version ${VERSION} reads up to ${schemaVersion}). ` +
          "Install the version that wrote it, or a later one, and run the command again.",
      );
    }
    let current = outputs;
    for (let version = recorded; version < schemaVersion; version += 1) {
      const step = upgrades[version];
      if (step === undefined)
        throw new Error(
          `This version of pulumi-edgeguard can't upgrade ${type} from state schema ${version}.`,
        );
      current = step(current);
    }
    return current;
  }

  /** Lists the secret arguments: those that are always secret, and those that the program made secret. */
  secrets(...bags: readonly JsonObject[]): string[] {
    return [...Object.keys(this.lifecycle.secret ?? {}), ...bags.flatMap(namesOfSecrets)];
  }

  /** Returns a redactor for the secrets in these inputs and outputs. */
  redactor(bags: readonly JsonObject[]): Redactor {
    return new Redactor((redactor) => {
      for (const bag of bags) {
        for (const [key, hide] of Object.entries(this.lifecycle.secret ?? {})) hide?.(redactor, bag[key]);
        const secrets = pick(bag, bags.flatMap(namesOfSecrets));
        redactor.addValue(secrets);
        redactor.add(...keysIn(secrets));
      }
    });
  }

  /**
   * Returns a function that hides the values of secret arguments in what the API returns: whoever wrote them, what's
   * secret in the program is secret in an existing object.
   */
  twinsHider(redactor: Redactor, bags: readonly JsonObject[]): (result: unknown) => void {
    const hiders = new Map<string, (redactor: Redactor, value: unknown) => void>();
    for (const name of this.secrets(...bags)) {
      const members = bags.flatMap((bag) => [...memberNamesIn(bag[name])]);
      for (const member of members) hiders.set(snakeCase(member), hideStrings);
    }
    for (const name of this.secrets(...bags))
      hiders.set(snakeCase(name), ownMember(this.lifecycle.secret ?? {}, name) ?? hideStrings);
    const hide = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(hide);
      else if (isJsonObject(value))
        for (const [name, member] of Object.entries(value)) {
          const hider = hiders.get(snakeCase(name));
          if (hider === undefined) hide(member);
          else hider(redactor, member);
        }
    };
    return hiders.size === 0 ? () => undefined : hide;
  }

  /**
   * Describes how an adopted object differs from the program. @param redact removes secrets from text that the state
   * will keep.
   */
  adopted(adoption: Adoption, inputs: JsonObject, redact: (text: string) => string): Adopted {
    const changes = this.changes(adoption.found, inputs);
    return adoptedOf({ ...adoption, object: redact(withTimestamp(adoption)) }, changes);
  }

  /** Returns how an existing object's arguments differ from inputs. What's secret in `more` is, too. */
  changes(found: JsonObject, inputs: JsonObject, more: JsonObject = {}): Changes {
    const { equal } = this.lifecycle;
    return changesOf(found, inputs, {
      isSecret: (name) => this.secrets(inputs, more).includes(name),
      isSame: (name, before, after) => equal?.[name]?.(before, after, found) === true,
    });
  }

  /** Returns a key that identifies a declaration within the operation. */
  fingerprint(inputs: JsonObject): string {
    return `${this.lifecycle.type} ${canonicalJson(omit(inputs, [HIDDEN.provider]))}`;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Returns the names of a type's computed inputs, including the record. */
export function computedInputsOf({ computedInputs = [] }: Pick<Facts, "computedInputs">): readonly string[] {
  return [...computedInputs, IMPACT];
}

const hideStrings = (redactor: Redactor, value: unknown): void => redactor.addStrings(value);

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns a failure as a sentence that begins with the property's path. */
export function failureText({ property, reason }: CheckFailure): string {
  return property === "" ? reason : `${property}: ${reason}`;
}

/**
 * Returns the schemas for recorded arguments. A refresh records whatever it finds, even values that a program can't
 * declare, such as a new action or text typed in the dashboard. So only the arguments that identify the object have to
 * be valid. Otherwise, no update could repair the object.
 */
function asRecorded({ args, replaceOn }: Pick<Lifecycle, "args" | "replaceOn">): z.ZodRawShape {
  const shape = Object.entries(args.shape).map(([key, schema]): [string, z.core.$ZodType] => [
    key,
    replaceOn.includes(key) ? schema : z.catch(schema, ({ input }) => input),
  ]);
  return Object.fromEntries(shape);
}
