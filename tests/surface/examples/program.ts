import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { TYPE_PREFIXES } from "../../../provider/runtime/type-tokens";

/** The examples of the plugin's schema: each value with the type that the schema gives it. */

const spec = z.looseObject({
  type: z.string().optional(),
  $ref: z.string().optional(),
  secret: z.boolean().optional(),
  /** Whether it can't be an output. */
  plain: z.boolean().optional(),
  get items() {
    return spec.optional();
  },
  get additionalProperties() {
    return spec.optional();
  },
  get oneOf() {
    return z.array(spec).optional();
  },
});
export type Spec = z.infer<typeof spec>;

const members = z.record(z.string(), spec);
const enumeration = z.array(z.object({ name: z.string(), value: z.string() }));
const described = z.object({ description: z.string().optional() });

/** The part of the schema that examples need. */
export const SCHEMA = z.object({
  resources: z.record(
    z.string(),
    described.extend({ isComponent: z.boolean().default(false), inputProperties: members }),
  ),
  functions: z.record(
    z.string(),
    described.extend({
      inputs: z.object({ properties: members }),
      outputs: z.object({ properties: members }),
    }),
  ),
  types: z.record(z.string(), z.object({ properties: members.default({}), enum: enumeration.optional() })),
});

export type Value = (
  | { readonly kind: "scalar"; readonly value: string | number | boolean }
  /** A setting, or an output of a resource. */
  | {
      readonly kind: "reference";
      readonly name: string;
      readonly output?: string | undefined;
      readonly secret: boolean;
    }
  | { readonly kind: "enum"; readonly type: string; readonly name: string; readonly value: string }
  | { readonly kind: "list"; readonly items: readonly Value[]; readonly of: string }
  | { readonly kind: "map"; readonly members: readonly Member[]; readonly of: string }
  | {
      readonly kind: "object";
      readonly members: readonly Member[];
      readonly type: string;
      readonly plain: boolean;
    }
) & {
  /** The forms of the union that it's for, and which of them it has. */
  readonly forms?: { readonly all: readonly Spec[]; readonly at: number };
};
export type Member = readonly [key: string, value: Value];

export interface Setting {
  readonly name: string;
  readonly secret: boolean;
}

export interface Resource {
  readonly name: string;
  readonly type: string;
  readonly args: readonly Member[];
  readonly protect: boolean;
  /** Whether another resource refers to it. */
  readonly isUsed: boolean;
}

/** A call of a function. The program exports one of the result's members. */
export interface Call {
  readonly name: string;
  readonly fn: string;
  /** Whether it's called as the SDKs' `get` of a resource, for which Go has the name. */
  readonly isLookup: boolean;
  readonly args: readonly Member[];
  readonly output: string;
  /** Whether that member is an object that the schema has a type for, or a list of them. */
  readonly objects: "one" | "list" | "none";
}

export interface Program {
  readonly title: string;
  readonly settings: readonly Setting[];
  readonly resources: readonly Resource[];
  readonly call: Call | undefined;
}

const args = z.record(z.string(), z.unknown());
const resource = z.object({ type: z.string(), properties: args, protect: z.boolean().default(false) });
const SOURCE = z.record(
  z.string(),
  z.strictObject({
    title: z.string(),
    resources: z.record(z.string(), resource).default({}),
    variable: z.string().optional(),
    arguments: args.default({}),
    /** Not needed if the function has only one. */
    output: z.string().optional(),
  }),
);
type Example = z.infer<typeof SOURCE>[string];
type Schema = z.infer<typeof SCHEMA>;

/** The example of each resource and function that has one, by its name. */
export function examplesOf(schema: Schema): ReadonlyMap<string, Program> {
  const source = SOURCE.parse(parse(readFileSync(join(__dirname, "examples.yaml"), "utf8")));
  return new Map(Object.entries(source).map(([of, each]) => [of, new Binder(schema).program(of, each)]));
}

class Binder {
  readonly #settings = new Map<string, Setting>();
  readonly #used = new Set<string>();

  readonly #schema: Schema;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  program(of: string, example: Example): Program {
    const { title, resources, variable: name = "", arguments: given, output } = example;
    const fn = this.#schema.functions[TYPE_PREFIXES.plugin + of];
    const exported = output ?? Object.keys(fn?.outputs.properties ?? {}).join();
    const { items, $ref } = fn?.outputs.properties[exported] ?? {};
    const isObject = (ref?: string): boolean => ref?.startsWith("#/types/") === true;
    const objects: Call["objects"] = isObject($ref) ? "one" : isObject(items?.$ref) ? "list" : "none";
    const call = fn && {
      name,
      fn: of,
      isLookup: of.replace(/^get/, TYPE_PREFIXES.plugin) in this.#schema.resources,
      args: this.#members(given, fn.inputs.properties),
      output: exported,
      objects,
    };
    const bound = Object.entries(resources).map(([key, { type, properties, protect }]) => {
      const inputs = this.#schema.resources[TYPE_PREFIXES.plugin + type]?.inputProperties ?? {};
      return { name: key, type, protect, args: this.#members(properties, inputs) };
    });
    return {
      title,
      settings: [...this.#settings.values()],
      resources: bound.map((each) => ({ ...each, isUsed: this.#used.has(each.name) })),
      call,
    };
  }

  #members(values: z.infer<typeof args>, types: z.infer<typeof members>): Member[] {
    return Object.entries(values).map(([key, value]) => {
      const type = types[key];
      if (type === undefined) throw new Error(`An example sets "${key}", which the schema doesn't have.`);
      return [key, this.#bind(value, type)];
    });
  }

  #bind(value: unknown, type: Spec): Value {
    const { oneOf: all, $ref = "" } = type;
    if (all !== undefined) {
      const at = all.findIndex((form) => fits(value, form));
      return { ...this.#bind(value, all[at] ?? {}), forms: { all, at } };
    }
    const [, name, output] = /^\$\{(\w+)(?:\.(\w+))?\}$/.exec(typeof value === "string" ? value : "") ?? [];
    if (name !== undefined) {
      const secret = type.secret === true;
      if (output !== undefined) this.#used.add(name);
      else this.#settings.set(name, { name, secret });
      return { kind: "reference", name, output, secret };
    }
    const named = this.#schema.types[$ref.replace("#/types/", "")];
    const word = named?.enum?.find((each) => each.value === value);
    if (word !== undefined) return { kind: "enum", type: nameOf(type), ...word };
    if (Array.isArray(value)) {
      const { items = {} } = type;
      return { kind: "list", items: value.map((each) => this.#bind(each, items)), of: nameOf(items) };
    }
    if (typeof value === "object") {
      const given = args.parse(value);
      if (named !== undefined)
        return {
          kind: "object",
          members: this.#members(given, named.properties),
          type: nameOf(type),
          plain: type.plain === true,
        };
      const { additionalProperties: each = {} } = type;
      const bound = Object.entries(given).map(([key, one]) => [key, this.#bind(one, each)] as const);
      return { kind: "map", members: bound, of: nameOf(each) };
    }
    return { kind: "scalar", value: z.union([z.string(), z.number(), z.boolean()]).parse(value) };
  }
}

function fits(value: unknown, { type, $ref }: Spec): boolean {
  if (typeof value === "object") return type === "object" || $ref !== undefined;
  return type === (typeof value === "number" ? "integer" : typeof value);
}

/** `string`, a type of the schema, or `any`. */
const nameOf = ({ type, $ref = "" }: Spec): string =>
  $ref.startsWith("#/types/") ? ($ref.split(":").at(-1) ?? "") : (type ?? "any");
