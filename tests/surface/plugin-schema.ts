import { join } from "node:path";
import ts from "typescript";
import { z } from "zod";
import { isCredential, LOOKUPS, RESOURCES, type Facts } from "../../provider/plugin";
import { computedInputsOf } from "../../provider/runtime/resource-type";
import { TYPE_PREFIXES } from "../../provider/runtime/type-tokens";
import { omit } from "../../provider/runtime/values";
import { VERSION } from "../../provider/version";
import { REPOSITORY } from "../support/repository";

/**
 * The schema of the provider plugin, from which Pulumi generates SDKs: names, types and descriptions from the published
 * declarations, and what types can't say from the lifecycles.
 */

export const PLUGIN_SCHEMA = join(REPOSITORY, "plugin/schema.json");

type Spec = Record<string, unknown>;

interface Members {
  readonly properties: Readonly<Record<string, Spec>>;
  readonly required: readonly string[];
}

/**
 * What a schema can't express has one form in all languages: what builders return is passed as the text that they stand
 * for. Null leaves an argument out.
 */
const STATED: Readonly<Record<string, Spec | null>> = {
  "LogpushJob.destination": null,
  "LogpushJob.filter": { type: "string" },
};

/** Numbers that may have a fraction or, in .NET and Java, more than the 32 bits of an integer. All others are whole. */
const NOT_INTEGERS = /(RequestsPerSecond|SampleRate|Expiration|KvEntriesBytes)$/;

const ANY: Spec = { $ref: "pulumi.json#/Any" };

export function pluginSchema(): string {
  const schema = new SchemaWriter().schema();
  return `${JSON.stringify(schema, null, 2)}\n`;
}

class SchemaWriter {
  readonly #checker: ts.TypeChecker;
  readonly #exports: ReadonlyMap<string, ts.Symbol>;
  readonly #types = new Map<string, Spec>();
  readonly #enums = new Map<string, readonly string[]>();
  readonly #open: ts.Type[] = [];

  constructor() {
    const entry = join(REPOSITORY, "provider/dist/types/index.d.ts");
    const program = ts.createProgram([entry], {
      strict: true,
      exactOptionalPropertyTypes: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      types: ["node"],
      typeRoots: [join(REPOSITORY, "node_modules/@types")],
      skipLibCheck: true,
      noEmit: true,
    });
    this.#checker = program.getTypeChecker();
    const file = program.getSourceFile(entry);
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${entry} can't be read. Run \`npm run build\`.`);
    this.#exports = new Map(
      this.#checker.getExportsOfModule(module).map((each) => [each.name, this.#target(each)]),
    );
  }

  schema(): Spec {
    const settings = this.#members("ProviderArgs", undefined);
    const variables = Object.fromEntries(
      Object.entries(settings.properties).map(([name, spec]) => [
        name,
        isCredential(name) ? { ...spec, secret: true } : spec,
      ]),
    );
    const resources = Object.entries(RESOURCES).map(
      ([name, { facts }]) => [name, this.#resource(name, facts)] as const,
    );
    const functions = [...LOOKUPS.keys()].sort().map((name) => [name, this.#function(name)] as const);
    return {
      name: "edgeguard",
      displayName: "Edgeguard",
      version: VERSION,
      description:
        "Page Shield, WAF managed rules and their migration, Logpush and Workers KV of Cloudflare.",
      keywords: ["category/network", "kind/native", "cloudflare", "waf", "security"],
      homepage: "https://github.com/pulumi-edgeguard/pulumi-edgeguard#readme",
      license: "Apache-2.0",
      repository: "https://github.com/pulumi-edgeguard/pulumi-edgeguard",
      publisher: "pulumi-edgeguard",
      config: { variables },
      provider: {
        description: this.#docs(this.#declared("Provider")),
        inputProperties: variables,
      },
      resources: withTokens(resources),
      functions: withTokens(functions),
      types: withTokens(this.#used([resources, functions])),
      language: {
        nodejs: { packageName: "pulumi-edgeguard-sdk", respectSchemaVersion: true },
        python: { packageName: "pulumi_edgeguard", respectSchemaVersion: true, pyproject: { enabled: true } },
        go: {
          importBasePath: "github.com/pulumi-edgeguard/pulumi-edgeguard/sdk/go/edgeguard",
          respectSchemaVersion: true,
          generateResourceContainerTypes: true,
        },
        csharp: { respectSchemaVersion: true },
        java: { basePackages: {} },
      },
    };
  }

  /** The types that something refers to: a stated form may have replaced another. */
  #used(by: unknown): [string, Spec][] {
    const used = new Set<string>();
    const visit = (spec: unknown): void => {
      for (const [, name = ""] of JSON.stringify(spec).matchAll(/#\/types\/edgeguard:index:(\w+)/g)) {
        if (used.has(name)) continue;
        used.add(name);
        visit(this.#types.get(name));
      }
    };
    visit(by);
    return [...this.#types].filter(([name]) => used.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #resource(name: string, facts: Facts): Spec {
    const { args, replaceOn, named, compositeId, secret = {}, secretOutputs = [] } = facts;
    const zod = jsonOf(args as z.ZodObject); // The facts have the lifecycle's own.
    const declared = this.#members(`${name}Args`, zod);
    const defaulted = Object.keys(named?.({ project: "", stack: "", name: "" }) ?? {});
    const inputs = Object.entries(declared.properties).map(([key, spec]) => {
      const initial = defaultOf(args.shape[key]);
      return [
        key,
        {
          ...spec,
          ...(initial === undefined ? {} : { default: initial }),
          ...(key in secret ? { secret: true } : {}),
          ...(replaceOn.includes(key) ? { willReplaceOnChanges: true } : {}),
        },
      ] as const;
    });
    const unset = new Set([...defaulted, ...Object.keys(facts.fromSettings ?? {})]);
    const requiredInputs = inputs
      .map(([key]) => key)
      .filter((key) => !unset.has(key) && !mayBeUnset(args.shape[key]));
    const secrets = [...Object.keys(secret), ...secretOutputs];
    const outputs = this.#outputs(name, [...Object.keys(args.shape), ...computedInputsOf(facts)], zod);
    return {
      description: `${this.#docs(this.#declared(name))}\n\n${importing(name, compositeId.forms)}`,
      properties: Object.fromEntries(
        Object.entries(outputs.properties).map(([key, spec]) => [
          key,
          secrets.includes(key) ? { ...spec, secret: true } : spec,
        ]),
      ),
      required: outputs.required,
      inputProperties: Object.fromEntries(inputs),
      requiredInputs,
      aliases: [{ type: TYPE_PREFIXES.dynamic + name }],
    };
  }

  /** The outputs that the class declares, and those it has for each argument. */
  #outputs(name: string, known: readonly string[], zod: Spec): Members {
    const type = this.#checker.getDeclaredTypeOfSymbol(this.#declared(name));
    const args = this.#checker.getDeclaredTypeOfSymbol(this.#declared(`${name}Args`));
    const all = type.getProperties().sort((a, b) => (a.name < b.name ? -1 : 1)); // The compiler's order varies.
    const own = all.filter(({ name: key, valueDeclaration: at }) => {
      if (["id", "urn"].includes(key) || key.startsWith("__")) return false;
      return (
        known.includes(key) ||
        (at !== undefined &&
          ts.isPropertyDeclaration(at) &&
          outputOf(this.#typeOf(type.getProperty(key))) !== undefined)
      );
    });
    return this.#membersOf(own, name, zod, (key) => {
      const symbol = type.getProperty(key);
      return symbol === undefined || this.#docs(symbol) === "" ? args.getProperty(key) : symbol;
    });
  }

  #function(name: string): Spec {
    const zod = jsonOf(z.object(LOOKUPS.get(name)?.shape ?? {}));
    const symbol = this.#declared(name);
    const signatures = this.#typeOf(symbol).getCallSignatures();
    const taken = signatures.map(({ parameters: [args] }) => {
      const type = this.#checker.getNonNullableType(this.#typeOf(args));
      return this.#membersOf(type.getProperties(), capital(name), zod);
    });
    const results = signatures.map((each) => this.#checker.getAwaitedType(each.getReturnType()));
    const outputs = this.#result(results, `${capital(name)}Result`);
    return {
      description: this.#docs(symbol),
      inputs: { type: "object", ...merge(taken) },
      outputs: { type: "object", ...outputs },
    };
  }

  /** An object with known members is the result. Anything else is its member `result`. */
  #result(types: readonly (ts.Type | undefined)[], name: string): Members {
    const known = types.filter((each) => each !== undefined);
    const [only] = known;
    if (known.length === 1 && only !== undefined && this.#isObject(only))
      return this.#membersOf(only.getProperties(), name, undefined);
    const results = known.map((each) => this.#spec(each, name, undefined));
    const isOptional = results.some(({ optional }) => optional);
    return {
      properties: { result: oneOf(results.map(({ spec }) => spec)) },
      required: isOptional ? [] : ["result"],
    };
  }

  #isObject(type: ts.Type): boolean {
    const isOther =
      isA(type, PRIMITIVE) ||
      isText(type) ||
      this.#checker.isArrayType(type) ||
      this.#checker.isTupleType(type);
    return !isOther && type.getStringIndexType() === undefined && type.getProperties().length > 0;
  }

  #members(interfaceName: string, zod: Spec | undefined): Members {
    const type = this.#checker.getDeclaredTypeOfSymbol(this.#declared(interfaceName));
    return this.#membersOf(type.getProperties(), interfaceName.replace(/Args$/, ""), zod);
  }

  #membersOf(
    symbols: readonly ts.Symbol[],
    owner: string,
    zod: Spec | undefined,
    documented: (key: string) => ts.Symbol | undefined = () => undefined,
  ): Members {
    const properties: Record<string, Spec> = {};
    const required: string[] = [];
    for (const symbol of symbols) {
      const key = symbol.name;
      const stated = STATED[`${owner}.${key}`];
      if (stated === null) continue;
      const type = this.#typeOf(symbol);
      const { spec, optional } = this.#spec(type, owner + capital(key), memberOf(zod, key), stated);
      const description = this.#docs(documented(key) ?? symbol);
      properties[key] = description === "" ? spec : { ...spec, description };
      if (!optional && (symbol.flags & ts.SymbolFlags.Optional) === 0) required.push(key);
    }
    return { properties, required };
  }

  #spec(
    type: ts.Type,
    name: string,
    zod: Spec | undefined,
    stated?: Spec,
  ): { spec: Spec; optional: boolean } {
    const inner = outputOf(type);
    if (inner !== undefined) return this.#spec(inner, name, zod, stated);
    if (type.aliasSymbol?.name === "Json" || (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) !== 0)
      return { spec: ANY, optional: false };
    const all = formsOf(type);
    const optional = all.some(isAbsent);
    if (stated !== undefined) return { spec: stated, optional };
    const given = all.filter((each) => !isAbsent(each) && !isAsyncForm(each));
    const literals = given.flatMap((each) => (each.isStringLiteral() ? [each.value] : []));
    const isOpen = given.some((each) => isText(each) && !each.isStringLiteral());
    const allowed = enumOf(zod);
    // An overload has only some of the words.
    const words = allowed !== undefined && literals.length > 0 ? allowed : literals;
    const specs: Spec[] = [];
    const objects = given.filter((each) => !isText(each) && this.#isObject(each));
    // Generators take a union with an enum for a text alone.
    const isEnum = literals.length > 0 && (!isOpen || allowed !== undefined) && given.every(isText);
    if (isEnum) specs.push(this.#enum(name, words));
    else if (given.some(isText)) specs.push({ type: "string" });
    if (given.some((each) => isA(each, ts.TypeFlags.NumberLike)))
      specs.push({ type: NOT_INTEGERS.test(name) ? "number" : "integer" });
    if (given.some((each) => isA(each, ts.TypeFlags.BooleanLike))) specs.push({ type: "boolean" });
    for (const each of given) {
      if (isText(each) || objects.includes(each) || (each.flags & ts.TypeFlags.Object) === 0) continue;
      const index = each.getStringIndexType();
      if (this.#checker.isArrayType(each) || this.#checker.isTupleType(each)) {
        const [item] = this.#checker.getTypeArguments(each as ts.TypeReference); // As an array is.
        if (item === undefined) continue;
        const list = { type: "array", items: this.#spec(item, name, itemsOf(zod)).spec };
        // One of something, or a list of it, is a list.
        const forms = formsOf(item);
        if (forms.length === given.length - 1 && forms.every((form) => given.includes(form)))
          return { spec: list, optional };
        specs.push(list);
      } else
        specs.push({
          type: "object",
          additionalProperties: index === undefined ? ANY : this.#spec(index, name, undefined).spec,
        });
    }
    if (objects.length > 0) specs.push(this.#object(objects, name, zod));
    return { spec: oneOf(specs), optional };
  }

  /** What's read may be only some of the words that may be declared. */
  #enum(name: string, values: readonly string[]): Spec {
    const exported = [...this.#exports].find(([, symbol]) => {
      const { types = [] } = this.#checker.getDeclaredTypeOfSymbol(symbol) as Partial<ts.UnionType>;
      const words = types.map((each) => each.isStringLiteral() && each.value);
      return words.length === values.length && values.every((each) => words.includes(each));
    });
    const token = exported?.[0] ?? name;
    const known = this.#enums.get(token);
    if (known !== undefined && values.every((each) => known.includes(each)))
      return { $ref: `#/types/${TYPE_PREFIXES.plugin}${token}` };
    this.#enums.set(token, values);
    const words = [...values].sort().map((value) => {
      const camel = value.replace(/\W+(\w?)|_(\w)/g, (_, a = "", b = "") => `${a}${b}`.toUpperCase());
      return { name: capital(camel) || "None", value };
    });
    return this.#named(token, { type: "string", enum: words });
  }

  /** Objects of several forms are one: the docs say which members go together. */
  #object(forms: readonly ts.Type[], name: string, zod: Spec | undefined): Spec {
    const [only] = forms;
    const symbol = forms.length === 1 ? (only?.aliasSymbol ?? only?.getSymbol()) : undefined;
    const own = symbol?.name;
    const generic = ((only as ts.TypeReference | undefined)?.typeArguments?.length ?? 0) > 0; // Of a reference.
    const token =
      own === undefined || own.startsWith("__") || generic || !this.#exports.has(own)
        ? name
        : own.replace(/Args$/, "");
    if (forms.some((each) => this.#open.includes(each))) return ANY; // It contains itself.
    this.#open.push(...forms);
    const members = merge(forms.map((form) => this.#membersOf(form.getProperties(), token, objectOf(zod))));
    this.#open.splice(-forms.length);
    const description = symbol === undefined ? "" : this.#docs(symbol);
    return this.#named(token, {
      type: "object",
      ...(description === "" ? {} : { description }),
      properties: members.properties,
      required: members.required,
    });
  }

  /** What's read may have another form than what's declared. */
  #named(token: string, spec: Spec): Spec {
    for (const name of [token, `${token}State`, `${token}Declared`]) {
      const known = this.#types.get(name);
      if (known !== undefined && JSON.stringify(withoutDocs(known)) !== JSON.stringify(withoutDocs(spec)))
        continue;
      if (known === undefined || JSON.stringify(spec).length > JSON.stringify(known).length)
        this.#types.set(name, spec);
      return { $ref: `#/types/${TYPE_PREFIXES.plugin}${name}` };
    }
    throw new Error(`several types are called ${token}`);
  }

  #docs(symbol: ts.Symbol): string {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim();
    const initial = symbol.getJsDocTags().find(({ name }) => name === "defaultValue")?.text;
    const value = ts.displayPartsToString(initial).trim().replace(/\.$/, "");
    const plain = text.replace(/\{@link (\w+)\}/g, "`$1`");
    return value === "" ? plain : `${plain} Default: ${value}.`;
  }

  #declared(name: string): ts.Symbol {
    const symbol = this.#exports.get(name);
    if (symbol === undefined) throw new Error(`the package doesn't export ${name}`);
    return symbol;
  }

  #target(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : this.#checker.getAliasedSymbol(symbol);
  }

  #typeOf(symbol: ts.Symbol | undefined): ts.Type {
    if (symbol === undefined) throw new Error("a member has no type");
    return this.#checker.getTypeOfSymbol(symbol);
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function withTokens(members: readonly (readonly [string, Spec])[]): Spec {
  return Object.fromEntries(members.map(([name, spec]) => [TYPE_PREFIXES.plugin + name, spec]));
}

function importing(name: string, forms: readonly string[]): string {
  const commands = forms.map((form) => `pulumi import ${TYPE_PREFIXES.plugin}${name} <name> '${form}'`);
  return `To import an existing one, or to read it with \`get\`, pass its ID together with its zone or account:\n\n\`\`\`sh\n${commands.join("\n")}\n\`\`\``;
}

const formsOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type]);

/** Empty for a type that has no name. */
const nameOf = (type: ts.Type): string => type.getSymbol()?.name ?? "";

function isAbsent({ flags }: ts.Type): boolean {
  return (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Void)) !== 0;
}

/** The forms of an input that isn't known yet. */
function isAsyncForm(type: ts.Type): boolean {
  return ["Promise", "OutputInstance"].includes(nameOf(type)) || type.aliasSymbol?.name === "Output";
}

/** The type of the value that an output resolves to. Undefined if the type isn't an output. */
function outputOf(type: ts.Type): ts.Type | undefined {
  const values = formsOf(type).map((form) => {
    const parts = form.isIntersection() ? form.types : [form];
    const instance = parts.find((part) => nameOf(part) === "OutputInstance");
    return (instance as ts.TypeReference | undefined)?.typeArguments?.[0]; // OutputInstance is generic.
  });
  return values.includes(undefined) ? undefined : values[0];
}

/** A string, or bytes, which are passed as base64. */
function isText(type: ts.Type): boolean {
  return isA(type, ts.TypeFlags.StringLike) || ["Uint8Array", "Buffer"].includes(nameOf(type));
}

/** Whether it's such a type, or one with a mark, as `string & {}`. */
function isA(type: ts.Type, flags: ts.TypeFlags): boolean {
  const parts = type.isIntersection() ? type.types : [type];
  return parts.some((part) => (part.flags & flags) !== 0);
}

const PRIMITIVE: ts.TypeFlags = ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike;

/** Python's SDK can't send or read a list in a union. */
function oneOf(specs: readonly Spec[]): Spec {
  const unique = [...new Map(specs.map((each) => [JSON.stringify(each), each])).values()];
  const [first] = unique;
  if (first === undefined) return ANY;
  if (unique.length === 1) return first;
  return unique.some(({ type }) => type === "array") ? ANY : { oneOf: unique };
}

/** A member of several forms is required if each of them requires it. */
function merge(forms: readonly Members[]): Members {
  const names = new Set(forms.flatMap(({ properties }) => Object.keys(properties)));
  const properties = [...names].map((name) => {
    const [first = {}, ...others] = forms.flatMap((form): Spec[] => {
      const spec = form.properties[name];
      return spec === undefined ? [] : [spec];
    });
    const { description, ...spec } = first;
    const merged = oneOf([spec, ...others.map((each) => omit(each, ["description"]))]);
    return [name, { ...merged, ...(description === undefined ? {} : { description }) }] as const;
  });
  const required = [...names].filter((name) => forms.every((form) => form.required.includes(name)));
  return { properties: Object.fromEntries(properties), required };
}

/** What tells types apart. */
function withoutDocs(spec: Spec): Spec {
  return JSON.parse(
    JSON.stringify(spec, (key, value: unknown) =>
      key === "description" && typeof value === "string" ? undefined : value,
    ),
  ) as Spec; // The same, without texts.
}

/** A schema as JSON Schema. What it can't express accepts anything. */
function jsonOf(schema: z.ZodType): Spec {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

const objectOf = (json: Spec | undefined): Spec | undefined =>
  [json, ...alternativesOf(json)].find((each) => each?.["properties"] !== undefined);
const itemsOf = (json: Spec | undefined): Spec | undefined =>
  [json, ...alternativesOf(json)].find((each) => each?.["items"] !== undefined)?.["items"] as
    Spec | undefined;

function memberOf(json: Spec | undefined, key: string): Spec | undefined {
  return (json?.["properties"] as Record<string, Spec> | undefined)?.[key];
}

function alternativesOf(json: Spec | undefined): readonly Spec[] {
  return (json?.["anyOf"] ?? []) as readonly Spec[];
}

/** The words that the lifecycle accepts, if it accepts no others. */
function enumOf(json: Spec | undefined): readonly string[] | undefined {
  const found = [json, ...alternativesOf(json)].find((each) => each?.["enum"] !== undefined);
  return (found?.["enum"] as readonly unknown[] | undefined)?.map(String);
}

function mayBeUnset(schema: unknown): boolean {
  return schema instanceof z.ZodType && z.object({ schema }).safeParse({}).success;
}

/** What an argument that isn't set is. Only texts, numbers and booleans have a default in a schema. */
function defaultOf(schema: unknown): string | number | boolean | undefined {
  const value = schema instanceof z.ZodType ? schema.safeParse(undefined).data : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : undefined;
}
