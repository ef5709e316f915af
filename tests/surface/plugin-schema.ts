import { join } from "node:path";
import ts from "typescript";
import { z } from "zod";
import { isCredential, lookups, RESOURCES, zoneParts, type Facts, type Verbs } from "../../provider/plugin";
import { PLAIN } from "../../provider/runtime/settings";
import { TYPE_PREFIXES } from "../../provider/runtime/type-tokens";
import { compareText } from "../../provider/basics/words";
import { omit } from "../../provider/basics/json";
import { VERSION } from "../../provider/version";
import { LANGUAGES } from "./examples/languages";
import { examplesOf, SCHEMA, type Program } from "./examples/program";
import { REPOSITORY } from "../support/repository";

/**
 * The schema of the provider plugin, from which Pulumi generates SDKs: names, types and descriptions from the published
 * declarations, and what types can't say from the lifecycles.
 */

export const PLUGIN_SCHEMA = join(REPOSITORY, "plugin/schema.json");

/** The repository on GitHub. Its releases have the plugin's archives. */
const ADDRESS = "pulumi-edgeguard/pulumi-edgeguard";

type Spec = Record<string, unknown>;
type Initial = string | number | boolean;

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

/** Required because another form of it is left out. */
const REQUIRED = "LogpushJob.destinationConf";

/** Numbers that may have a fraction or, in .NET and Java, more than the 32 bits of an integer. All others are whole. */
const NOT_INTEGERS = /(RequestsPerSecond|SampleRate|Expiration|KvEntriesBytes)$/;

/** Lists of words, see `wordsOf`. */
type Words = readonly (readonly string[])[];

const ANY: Spec = { $ref: "pulumi.json#/Any" };

export function pluginSchema(): string {
  const schema = new SchemaWriter().schema();
  return `${JSON.stringify(schema, null, 2)}\n`;
}

class SchemaWriter {
  readonly #checker: ts.TypeChecker;
  readonly #exports: ReadonlyMap<string, ts.Symbol>;
  readonly #types = new Map<string, Spec>();

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
    const settings = this.#members("ProviderArgs");
    const variables = withSecrets(settings.properties, isCredential);
    const initial = new Map(
      Object.entries(PLAIN).map(([key, row]) => [key, "initial" in row ? row.initial : undefined]),
    );
    const resources = Object.entries(RESOURCES).map(
      ([name, verbs]) =>
        [name, { ...this.#resource(name, verbs.facts), listInputs: listInputs(verbs) }] as const,
    );
    const component = ["ProtectedZone", this.#component("ProtectedZone", new Map(resources))] as const;
    const functions = [...lookups().keys()].sort().map((name) => [name, this.#function(name)] as const);
    return documented({
      name: "edgeguard",
      displayName: "Edgeguard",
      version: VERSION,
      description:
        "Page Shield, WAF managed rules and their migration, Logpush and Workers KV of Cloudflare.",
      keywords: [
        "category/network",
        "kind/native",
        "cloudflare",
        "page-shield",
        "waf",
        "logpush",
        "workers-kv",
      ],
      homepage: `https://github.com/${ADDRESS}#readme`,
      license: "Apache-2.0",
      repository: `https://github.com/${ADDRESS}`,
      logoUrl: `https://raw.githubusercontent.com/${ADDRESS}/main/docs/public/logo.png`,
      pluginDownloadURL: `github://api.github.com/${ADDRESS}`,
      publisher: "pulumi-edgeguard",
      // No defaults: Python's SDK would take a false or a 0 in the configuration for an unset one.
      config: { variables },
      provider: {
        description: this.#docs(this.#declared("Provider")),
        inputProperties: mapped(variables, (spec, key) => ({ ...spec, default: initial.get(key) })),
      },
      resources: withTokens([...resources, component]),
      functions: withTokens(functions),
      types: withTokens([...this.#types].sort(([a], [b]) => compareText(a, b))),
      language: {
        nodejs: { packageName: "pulumi-edgeguard-sdk", respectSchemaVersion: true },
        python: { packageName: "pulumi_edgeguard", respectSchemaVersion: true, pyproject: { enabled: true } },
        go: {
          importBasePath: "github.com/pulumi-edgeguard/pulumi-edgeguard/sdk/go/edgeguard",
          respectSchemaVersion: true,
          generateResourceContainerTypes: true,
        },
        csharp: { respectSchemaVersion: true },
        java: { buildFiles: "gradle" },
      },
    });
  }

  #resource(name: string, facts: Facts): Spec {
    const { args, replaceOn, secret = {}, secretOutputs = [] } = facts;
    const words = wordsOf(args as z.ZodObject); // The facts have the lifecycle's own.
    const inputs = this.#members(`${name}Args`, words);
    const outputs = this.#outputs(name, words);
    return {
      description: this.#docs(this.#declared(name)),
      properties: withSecrets(outputs.properties, (key) => key in secret || secretOutputs.includes(key)),
      required: outputs.required,
      inputProperties: mapped(
        withSecrets(inputs.properties, (key) => key in secret),
        (spec, key) => ({
          ...spec,
          default: defaultOf(args.shape[key]),
          willReplaceOnChanges: replaceOn.includes(key) || undefined,
        }),
      ),
      requiredInputs: inputs.required,
      aliases: [{ type: TYPE_PREFIXES.dynamic + name }],
    };
  }

  /** A component. Most of its arguments are objects with the arguments of a resource, all of them optional. */
  #component(name: string, resources: ReadonlyMap<string, Spec>): Spec {
    const parts = new Map(zoneParts("", {}).map(({ argument, type }) => [argument, type.name]));
    const args = this.#checker.getDeclaredTypeOfSymbol(this.#declared(`${name}Args`)).getProperties();
    const inputs = args.map((symbol): [string, Spec] => {
      const kind = parts.get(symbol.name);
      const own = resources.get(kind ?? "")?.["inputProperties"] as Record<string, Spec> | undefined;
      if (kind === undefined || own === undefined) {
        const spec = this.#membersOf([symbol], name).properties[symbol.name];
        return [symbol.name, { ...spec, plain: symbol.name === "without" || undefined }];
      }
      const properties = mapped(own, (spec) => omit(spec, ["default", "willReplaceOnChanges"]));
      const type = { type: "object", properties: omit(properties, ["zoneId"]) };
      return [
        symbol.name,
        { ...this.#named(name + kind, type), plain: true, description: this.#docs(symbol) },
      ];
    });
    return {
      isComponent: true,
      description: this.#docs(this.#declared(name)),
      inputProperties: Object.fromEntries(inputs),
      requiredInputs: ["zoneId"],
    };
  }

  /** The outputs of the class, in the order of their names: the compiler's varies. */
  #outputs(name: string, words: Words): Members {
    const all = this.#checker.getDeclaredTypeOfSymbol(this.#declared(name)).getProperties();
    const own = all
      .filter((each) => !["id", "urn"].includes(each.name) && outputOf(this.#typeOf(each)) !== undefined)
      .sort((a, b) => compareText(a.name, b.name));
    return this.#membersOf(own, name, words);
  }

  #function(name: string): Spec {
    const words = wordsOf(z.object(lookups().get(name)?.shape ?? {}));
    const symbol = this.#declared(name);
    const signatures = this.#typeOf(symbol).getCallSignatures();
    const taken = signatures.map(({ parameters: [args] }) => {
      const type = this.#checker.getNonNullableType(this.#typeOf(args));
      return this.#membersOf(type.getProperties(), capital(name), words);
    });
    const results = signatures.flatMap((each) => this.#checker.getAwaitedType(each.getReturnType()) ?? []);
    const outputs = this.#result(results, `${capital(name)}Result`);
    return {
      description: this.#docs(symbol),
      inputs: { type: "object", ...merge(taken) },
      outputs: { type: "object", ...outputs },
    };
  }

  /** An object with known members is the result. Anything else is its member `result`. */
  #result(types: readonly ts.Type[], name: string): Members {
    const [only, ...others] = types;
    if (only !== undefined && others.length === 0 && this.#isObject(only))
      return this.#membersOf(only.getProperties(), name);
    const forms = types.map((each) => this.#form(each, name));
    const isOptional = forms.some(({ optional }) => optional);
    return {
      properties: { result: oneOf(forms.map(({ spec }) => spec)) },
      required: isOptional ? [] : ["result"],
    };
  }

  #isObject(type: ts.Type): boolean {
    const isOther = isA(type, PRIMITIVE) || isText(type) || this.#checker.isArrayType(type);
    return !isOther && type.getProperties().length > 0;
  }

  #members(interfaceName: string, words?: Words): Members {
    const type = this.#checker.getDeclaredTypeOfSymbol(this.#declared(interfaceName));
    return this.#membersOf(type.getProperties(), interfaceName.replace(/Args$/, ""), words);
  }

  #membersOf(symbols: readonly ts.Symbol[], owner: string, words: Words = []): Members {
    const properties: Record<string, Spec> = {};
    const required: string[] = [];
    for (const symbol of symbols) {
      const key = symbol.name;
      const stated = STATED[`${owner}.${key}`];
      if (stated === null) continue;
      const { spec, optional } = this.#form(this.#typeOf(symbol), owner + capital(key), words, stated);
      properties[key] = { ...spec, description: this.#docs(symbol) };
      const mayBeUnset = optional || (symbol.flags & ts.SymbolFlags.Optional) !== 0;
      if (!mayBeUnset || `${owner}.${key}` === REQUIRED) required.push(key);
    }
    return { properties, required };
  }

  /** @param words see `wordsOf`. */
  #form(
    type: ts.Type,
    name: string,
    words: Words = [],
    stated?: Spec,
  ): { readonly spec: Spec; readonly optional: boolean } {
    const inner = outputOf(type);
    if (inner !== undefined) return this.#form(inner, name, words, stated);
    if (type.aliasSymbol?.name === "Json" || isA(type, ts.TypeFlags.Unknown | ts.TypeFlags.Any))
      return { spec: ANY, optional: false };
    const all = formsOf(type);
    const given = all.filter((each) => !isAbsent(each) && !isAsyncForm(each));
    return { spec: stated ?? this.#union(given, name, words), optional: all.some(isAbsent) };
  }

  #union(given: readonly ts.Type[], name: string, words: Words): Spec {
    const specs: Spec[] = [];
    const literals = given.flatMap((each) => (each.isStringLiteral() ? [each.value] : []));
    // An overload has only some of the words.
    const allowed = words.find(
      (list) => literals.length > 0 && literals.every((each) => list.includes(each)),
    );
    const isOpen = given.some((each) => isText(each) && !each.isStringLiteral());
    // Generators take a union with an enum for a text alone.
    if (literals.length > 0 && (!isOpen || allowed?.length === literals.length) && given.every(isText))
      specs.push(this.#enum(name, allowed ?? literals));
    else if (given.some(isText)) specs.push({ type: "string" });
    if (given.some((each) => isA(each, ts.TypeFlags.NumberLike)))
      specs.push({ type: NOT_INTEGERS.test(name) ? "number" : "integer" });
    if (given.some((each) => isA(each, ts.TypeFlags.BooleanLike))) specs.push({ type: "boolean" });
    const objects = given.filter((each) => this.#isObject(each));
    for (const each of given) {
      if (isText(each) || objects.includes(each) || (each.flags & ts.TypeFlags.Object) === 0) continue;
      if (this.#checker.isArrayType(each)) {
        const [item = each] = this.#checker.getTypeArguments(each as ts.TypeReference); // As an array is.
        const list = { type: "array", items: this.#form(item, name, words).spec };
        // One of something, or a list of it, is a list.
        const forms = formsOf(item);
        if (forms.length === given.length - 1 && forms.every((form) => given.includes(form))) return list;
        specs.push(list);
      } else {
        const value = each.getStringIndexType();
        const additionalProperties = value === undefined ? ANY : this.#form(value, name).spec;
        specs.push({ type: "object", additionalProperties });
      }
    }
    if (objects.length > 0) specs.push(this.#object(objects, name, words));
    return oneOf(specs);
  }

  #enum(name: string, values: readonly string[]): Spec {
    const exported = [...this.#exports].find(([, symbol]) => {
      const { types = [] } = this.#checker.getDeclaredTypeOfSymbol(symbol) as Partial<ts.UnionType>;
      const words = types.map((each) => each.isStringLiteral() && each.value);
      return words.length === values.length && values.every((each) => words.includes(each));
    });
    const words = [...values].sort().map((value) => {
      const camel = value.replace(/\W+(\w?)|_(\w)/g, (_, a = "", b = "") => `${a}${b}`.toUpperCase());
      return { name: capital(camel) || "None", value };
    });
    return this.#named(exported?.[0] ?? name, { type: "string", enum: words });
  }

  /** Objects of several forms are one: the docs say which members go together. */
  #object(forms: readonly ts.Type[], name: string, words: Words): Spec {
    const [only, ...others] = forms;
    const symbol = others.length === 0 ? (only?.aliasSymbol ?? only?.getSymbol()) : undefined;
    const isExported = symbol !== undefined && this.#exports.has(symbol.name);
    const token = isExported ? symbol.name.replace(/Args$/, "") : name;
    const members = merge(forms.map((form) => this.#membersOf(form.getProperties(), token, words)));
    return this.#named(token, { type: "object", description: symbol && this.#docs(symbol), ...members });
  }

  /** What's read may have another form than what's declared. */
  #named(token: string, spec: Spec): Spec {
    const isFree = (name: string): boolean =>
      !this.#types.has(name) || structureOf(this.#types.get(name)) === structureOf(spec);
    const name = [token, `${token}State`].find(isFree);
    if (name === undefined) throw new Error(`several types are called ${token}`);
    if (!this.#types.has(name)) this.#types.set(name, spec);
    return { $ref: `#/types/${TYPE_PREFIXES.plugin}${name}` };
  }

  #docs(symbol: ts.Symbol): string | undefined {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim();
    const initial = symbol.getJsDocTags().find(({ name }) => name === "defaultValue")?.text;
    const value = ts.displayPartsToString(initial).trim().replace(/\.$/, "");
    const plain = text.replace(/\{@link (\w+)\}/g, "`$1`");
    return value === "" ? plain || undefined : `${plain} Default: ${value}.`;
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

/** An object with each value replaced. */
function mapped(
  of: Readonly<Record<string, Spec>>,
  value: (spec: Spec, key: string) => Spec,
): Record<string, Spec> {
  return Object.fromEntries(Object.entries(of).map(([key, spec]) => [key, value(spec, key)]));
}

function withSecrets(
  of: Readonly<Record<string, Spec>>,
  isSecret: (key: string) => boolean,
): Record<string, Spec> {
  return mapped(of, (spec, key) => ({ ...spec, secret: isSecret(key) || undefined }));
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function withTokens(members: readonly (readonly [string, Spec])[]): Record<string, Spec> {
  return Object.fromEntries(members.map(([name, spec]) => [TYPE_PREFIXES.plugin + name, spec]));
}

/** The arguments of a list: the zone or account whose objects to list. */
function listInputs({ facts, list }: Verbs): Spec | undefined {
  if (list === undefined) return undefined;
  const { kinds } = facts.compositeId;
  const properties = kinds.map((kind) => {
    const initial = kind === "account" ? " Default: the provider's `accountId`." : "";
    const description = `The ID of the ${kind} whose objects to list.${initial}`;
    return [`${kind}Id`, { type: "string", description }] as const;
  });
  const isRequired = kinds.length === 1 && kinds[0] === "zone";
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: isRequired ? ["zoneId"] : undefined,
  };
}

/** The schema whose descriptions have the sections that the Registry shows: examples, and how to import a resource. */
function documented(schema: Spec & Documented): Spec {
  const examples = examplesOf(SCHEMA.parse(schema));
  const withSections = ({ description, ...rest }: Spec, token: string, last?: string): Spec => {
    const example = examples.get(token.replace(TYPE_PREFIXES.plugin, ""));
    const sections = [description, example && exampleSection(example), last];
    return { description: sections.filter((each) => typeof each === "string").join("\n\n"), ...rest };
  };
  return {
    ...schema,
    resources: mapped(schema.resources, (each, token) => withSections(each, token, importSection(token))),
    functions: mapped(schema.functions, (each, token) => withSections(each, token)),
  };
}

interface Documented {
  readonly resources: Readonly<Record<string, Spec>>;
  readonly functions: Readonly<Record<string, Spec>>;
}

function exampleSection(example: Program): string {
  const programs = Object.entries(LANGUAGES).map(
    ([fence, print]) => `\`\`\`${fence}\n${print(example)}\n\`\`\``,
  );
  return `{{% examples %}}\n## Example Usage\n{{% example %}}\n### ${example.title}\n\n${programs.join("\n")}\n{{% /example %}}\n{{% /examples %}}`;
}

/** Undefined for a component, which has no ID. */
function importSection(token: string): string | undefined {
  const facts = RESOURCES[token.replace(TYPE_PREFIXES.plugin, "")]?.facts;
  if (facts === undefined) return undefined;
  const commands = facts.compositeId.forms.map((form) => `pulumi import ${token} <name> '${form}'`);
  return `## Import\n\nTo import an existing one, or to read it with \`get\`, pass its ID together with its zone or account:\n\n\`\`\`sh\n${commands.join("\n")}\n\`\`\``;
}

/** What the Registry's page of a resource or function would lack, in one sentence each. */
export function gapsIn(schema: unknown): string[] {
  const { resources, functions } = SCHEMA.parse(schema);
  return Object.entries({ ...resources, ...functions }).flatMap(([token, { description = "" }]) => {
    const gaps = {
      description: /^(\{\{%|## |$)/.test(description),
      ...Object.fromEntries(
        Object.keys(LANGUAGES).map((fence) => [
          `example in ${fence}`,
          !new RegExp(`\\{\\{% example %\\}\\}[^]*\n\`\`\`${fence}\\n[^]*\\{\\{% /example`).test(description),
        ]),
      ),
      "import section":
        resources[token]?.isComponent === false &&
        !/\n## Import\n[^]*\npulumi import \S+ <name> '.+'\n/.test(description),
    };
    const missing = Object.entries(gaps).flatMap(([what, isMissing]) => (isMissing ? [what] : []));
    return missing.map((what) => `${token} has no ${what} in the plugin's schema.`);
  });
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

/** What tells types apart: all but the texts. */
function structureOf(spec: unknown): string {
  return JSON.stringify(spec, (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
}

/** The lists of words in a schema: a type may be open where the lifecycle accepts only these. */
function wordsOf(schema: z.ZodType): Words {
  const found: string[][] = [];
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => void found.push(jsonSchema.enum?.map(String) ?? []),
  });
  return found;
}

/** What an argument that isn't set is. Only texts, numbers and booleans have a default in a schema. */
function defaultOf(schema: unknown): Initial | undefined {
  const value = schema instanceof z.ZodType ? schema.safeParse(undefined).data : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : undefined;
}
