import { readFileSync } from "node:fs";
import { z } from "zod";
import { lookups, RESOURCES, zoneParts } from "../../provider/plugin";
import { readSettings } from "../../provider/runtime/settings";
import { LANGUAGES } from "./examples/languages";
import { examplesOf, SCHEMA } from "./examples/program";
import { gapsIn, PLUGIN_SCHEMA } from "./plugin-schema";

/** The plugin's schema beside the lifecycles. `npm run check` compares the whole file with the declarations and their docs. */

const member = z.looseObject({
  description: z.string().optional(),
  secret: z.boolean().optional(),
  willReplaceOnChanges: z.boolean().optional(),
  default: z.unknown().optional(),
  $ref: z.string().optional(),
  type: z.unknown().optional(),
});
const members = z.record(z.string(), member);
const TEXT = readFileSync(PLUGIN_SCHEMA, "utf8");
const schema = z
  .looseObject({
    provider: z.object({ inputProperties: members }),
    resources: z.record(
      z.string(),
      z.looseObject({
        inputProperties: members,
        requiredInputs: z.array(z.string()),
        properties: members.optional(),
        aliases: z.array(z.object({ type: z.string() })).optional(),
      }),
    ),
    functions: z.record(
      z.string(),
      z.looseObject({ description: z.string(), inputs: z.object({ properties: members }) }),
    ),
    types: z.record(
      z.string(),
      z.looseObject({
        enum: z.array(z.object({ value: z.string() })).optional(),
        properties: members.optional(),
        required: z.array(z.string()).optional(),
      }),
    ),
  })
  .parse(JSON.parse(TEXT));

const NAMES = Object.keys(RESOURCES);

/** Arguments that only builders and classes of TypeScript take. */
const ONLY_IN_CLASSES: Readonly<Record<string, readonly string[]>> = { LogpushJob: ["destination"] };

test("the plugin's schema contains every resource and every function", () => {
  expect(Object.keys(schema.resources)).toEqual(
    [...NAMES, "ProtectedZone"].map((name) => `edgeguard:index:${name}`),
  );
  expect(Object.keys(schema.functions).sort()).toEqual(
    [...lookups().keys()].map((name) => `edgeguard:index:${name}`).sort(),
  );
});

test("an argument of the component has the arguments of its resource in the plugin's schema, all of them optional", () => {
  const { requiredInputs, inputProperties } = schema.resources["edgeguard:index:ProtectedZone"] ?? {};
  expect(requiredInputs).toEqual(["zoneId"]);
  for (const { argument, type } of zoneParts("", {})) {
    const { name } = type;
    expect(inputProperties?.[argument]?.$ref).toBe(`#/types/edgeguard:index:ProtectedZone${name}`);
    const { properties, required } = schema.types[`edgeguard:index:ProtectedZone${name}`] ?? {};
    const own = Object.keys(schema.resources[`edgeguard:index:${name}`]?.inputProperties ?? {});
    expect(Object.keys(properties ?? {})).toEqual(own.filter((key) => key !== "zoneId"));
    expect(required).toBeUndefined();
  }
});

test("each resource and function has an example in every language, whose names no other example uses", () => {
  const examples = examplesOf(SCHEMA.parse(JSON.parse(TEXT)));
  expect([...examples.keys()].sort()).toEqual([...NAMES, "ProtectedZone", ...lookups().keys()].sort());
  const names = [...examples.values()].flatMap(({ resources, call }) => [
    ...resources.map(({ name }) => name),
    ...(call ? [call.name] : []),
  ]);
  expect(names).toEqual([...new Set(names)]);
});

test("`npm run check:api` names each description, example and import section that the plugin's schema lacks", () => {
  expect(gapsIn(JSON.parse(TEXT))).toEqual([]);
  const without = (token: string, part: RegExp): string[] =>
    gapsIn(
      JSON.parse(TEXT, (key, value: unknown) =>
        key === token && isDescribed(value)
          ? { ...value, description: value.description.replace(part, "") }
          : value,
      ),
    );
  const job = "edgeguard:index:LogpushJob";
  const gap = (what: string): string => `${job} has no ${what} in the plugin's schema.`;
  expect(without(job, /^[^]*?(?=\{\{%)/)).toEqual([gap("description")]);
  expect(without(job, /\n## Import[^]*/)).toEqual([gap("import section")]);
  for (const language of Object.keys(LANGUAGES))
    expect(without(job, new RegExp(`\n\`\`\`${language}\n[^]*?\n\`\`\``))).toEqual([
      gap(`example in ${language}`),
    ]);
  expect(without("edgeguard:index:getScript", /\{\{% examples[^]*/)).toHaveLength(
    Object.keys(LANGUAGES).length,
  );
});

test("the provider's arguments have the defaults that the settings have, in the schema and in their descriptions", () => {
  const { trafficHours: traffic, ...settings } = readSettings(() => undefined, {});
  const initial: Readonly<Record<string, unknown>> = { ...settings, traffic };
  for (const [key, each] of Object.entries(schema.provider.inputProperties)) {
    if (key === "requestsPerSecond") continue; // Its default is another kind of limit.
    expect([key, each.default]).toEqual([key, initial[key]]);
    if (each.default !== undefined)
      expect(each.description?.replaceAll("`", "")).toMatch(
        new RegExp(`\\sDefault: ${z.coerce.string().parse(each.default)}\\.$`),
      );
  }
});

test("no union in the plugin's schema contains an enum or a list, because SDKs can't handle those", () => {
  const unions = specsOf(schema).flatMap(({ path, spec }) =>
    (spec.oneOf ?? []).map((form) => ({ path, form: form.$ref === undefined ? form : typeAt(form.$ref) })),
  );
  expect(unions.length).toBeGreaterThan(5);
  expect(unions.filter(({ form }) => form.enum !== undefined || form.type === "array")).toEqual([]);
});

test("numbers in the plugin's schema are integers, unless they may have a fraction or more than 32 bits", () => {
  const others = specsOf(schema).filter(({ spec }) => spec.type === "number");
  expect([...new Set(others.map(({ path }) => path.at(-1)))].sort()).toEqual([
    "bytes",
    "expiration",
    "requestsPerSecond",
    "sampleRate",
  ]);
});

describe.each(NAMES)("%s in the plugin's schema", (name) => {
  const facts = RESOURCES[name]?.facts;
  const resource = schema.resources[`edgeguard:index:${name}`];
  if (facts === undefined || resource === undefined) throw new Error(name);
  const inputs = resource.inputProperties;
  const outputs = resource.properties ?? {};
  const shape = facts.args.shape as Readonly<Record<string, z.ZodType>>; // Of a lifecycle.

  test("has exactly the arguments that the provider accepts, each with docs", () => {
    expect(Object.keys(inputs).sort()).toEqual(Object.keys(shape).sort());
    for (const only of ONLY_IN_CLASSES[name] ?? []) expect(inputs).not.toHaveProperty(only);
    for (const [key, { description = "" }] of Object.entries(inputs))
      expect([key, description.length > 20]).toEqual([key, true]);
  });

  test("agrees with the provider on which arguments are required, are secret or force a replacement", () => {
    const isSet = (key: string): boolean =>
      (facts.ofAccount === true && key === "accountId") ||
      key in (facts.named?.({ project: "", stack: "", name: "" }) ?? {});
    const required = Object.keys(shape).filter(
      (key) => !isSet(key) && !z.object({ one: shape[key] ?? z.unknown() }).safeParse({}).success,
    );
    expect([...resource.requiredInputs].sort()).toEqual(required.sort());
    const having = (what: "secret" | "willReplaceOnChanges"): string[] =>
      Object.keys(inputs)
        .filter((key) => inputs[key]?.[what] === true)
        .sort();
    expect(having("secret")).toEqual(Object.keys(facts.secret ?? {}).sort());
    expect(having("willReplaceOnChanges")).toEqual([...facts.replaceOn].sort());
    for (const key of [...Object.keys(facts.secret ?? {}), ...(facts.secretOutputs ?? [])])
      if (key in outputs) expect([key, outputs[key]?.secret]).toEqual([key, true]);
    expect(resource.aliases).toEqual([{ type: `pulumi-nodejs:dynamic/edgeguard:${name}` }]);
  });

  test("declares a numeric argument as an integer if the provider rejects fractions", () => {
    for (const [key, { type }] of Object.entries(inputs))
      if (type === "integer" || type === "number")
        expect([key, shape[key]?.safeParse(1.5).success]).toEqual([key, type === "number"]);
  });

  test("lists the allowed values of each enum argument, and the provider accepts no others", () => {
    for (const [key, { $ref = "" }] of Object.entries(inputs)) {
      const words = schema.types[$ref.replace("#/types/", "")]?.enum;
      if (words === undefined) continue;
      const accepts = (value: string): boolean => shape[key]?.safeParse(value).success === true;
      expect([key, words.filter(({ value }) => !accepts(value))]).toEqual([key, []]);
      expect([key, accepts("no such word")]).toEqual([key, false]);
    }
  });

  test("has the same defaults as the provider", () => {
    for (const [key, each] of Object.entries(inputs)) {
      const initial = z.object({ one: shape[key] ?? z.unknown() }).safeParse({}).data?.one;
      expect([key, each.default]).toEqual([key, typeof initial === "object" ? undefined : initial]);
    }
  });
});

const anySpec = z.looseObject({
  $ref: z.string().optional(),
  type: z.unknown().optional(),
  enum: z.unknown().optional(),
  get oneOf() {
    return z.array(anySpec).optional();
  },
});
type AnySpec = z.infer<typeof anySpec>;

/** Every object of the schema, with the names that lead to it. */
function specsOf(value: unknown, path: readonly string[] = []): { path: readonly string[]; spec: AnySpec }[] {
  if (typeof value !== "object" || value === null) return [];
  const members = Object.entries(value).flatMap(([key, each]) => specsOf(each, [...path, key]));
  const spec = anySpec.safeParse(value).data;
  return spec === undefined ? members : [{ path, spec }, ...members];
}

function isDescribed(value: unknown): value is { readonly description: string } {
  return z.object({ description: z.string() }).safeParse(value).success;
}

function typeAt($ref: string): AnySpec {
  return anySpec.parse(schema.types[$ref.replace("#/types/", "")] ?? {});
}
