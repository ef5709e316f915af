import { text as textOf } from "node:stream/consumers";
import { z } from "zod";
import { isJsonObject, parseJson, type JsonObject } from "../../basics/json";
import { CommandError, UsageError } from "../../terminal/errors";
import { readText } from "../../terminal/files";
import type { Io } from "../../terminal/io";

/** The state of another tool that manages Cloudflare objects. It only says which objects to import. */
export interface OldState {
  readonly tool: "terraform" | "tofu" | "pulumi";
  readonly resources: readonly OldResource[];
}

/** A resource in the old state. It has no values other than IDs, so that nothing secret can leave the state. */
export interface OldResource {
  /** Its address in Terraform, or its URN. */
  readonly address: string;
  /** The type as Terraform spells it: `cloudflare_ruleset`. */
  readonly type: string;
  /** Undefined if the state doesn't have IDs in the expected form. */
  readonly ids: Ids | undefined;
  /** Why the object can't be imported as it is. */
  readonly obstacle: string | undefined;
}

const text = z.string();
const flag = z.boolean().optional();
/** An attribute that may be missing. In an export, it may be encrypted, which counts as missing. */
const word = text.nullish().catch(undefined);

const ids = z.object({
  id: z.union([text, z.number().transform(String)]),
  zone_id: word,
  account_id: word,
  namespace_id: word,
  key_name: word,
  /** In version 4 of Terraform's provider, the same as `key_name`. */
  key: word,
  kind: word,
  phase: word,
  rules: z.array(z.object({ id: word, action: word })).catch([]),
});
export type Ids = z.output<typeof ids>;

const TAINTED = "it's tainted, so the next apply or update replaces it. Apply or update first";
const DEPOSED = "the next apply or update deletes it. Apply or update first";

/** @param isDeposed whether another object has replaced it, and only its deletion is left. */
function oldResource(
  address: string,
  type: string,
  attributes: unknown,
  { isTainted, isDeposed }: { readonly isTainted: boolean; readonly isDeposed: boolean },
): OldResource {
  const obstacle = isDeposed ? DEPOSED : isTainted ? TAINTED : undefined;
  return { address, type, ids: ids.safeParse(attributes).data, obstacle };
}

const stored = z.object({
  module: text.optional(),
  mode: text,
  type: text,
  name: text,
  provider: text,
  instances: z.array(
    z.object({
      index_key: z.union([text, z.number()]).optional(),
      status: text.optional(),
      deposed: text.optional(),
      attributes: z.unknown(),
    }),
  ),
});

const terraformFile = z.object({ resources: z.array(stored) }).transform(({ resources }) =>
  terraform(
    resources.map(({ provider }) => provider),
    resources
      .filter(({ mode }) => mode === "managed")
      .flatMap(({ module, type, name, instances }) =>
        instances.map(({ index_key: key, status, deposed, attributes }) => {
          const index = key === undefined ? "" : `[${quotedKey(key)}]`;
          const address = `${module === undefined ? "" : `${module}.`}${type}.${name}${index}`;
          return oldResource(address, type, attributes, {
            isTainted: status === "tainted",
            isDeposed: deposed !== undefined,
          });
        }),
      ),
  ),
);

/** Quotes an instance key as Terraform does: it reads `${` and `%{` in a text as the start of a template. */
const quotedKey = (key: string | number): string => JSON.stringify(key).replace(/[$%](?=\{)/g, "$&$&");

const shown = z.object({
  address: text,
  mode: text,
  type: text,
  provider_name: text,
  values: z.unknown(),
  tainted: flag,
  deposed_key: text.optional(),
});
type Shown = z.output<typeof shown>;

interface ShownModule {
  readonly resources: readonly Shown[];
  readonly child_modules: readonly ShownModule[];
}

const shownModule: z.ZodType<ShownModule> = z.object({
  resources: z.array(shown).default([]),
  child_modules: z.lazy(() => z.array(shownModule)).default([]),
});

const terraformShown = z
  .object({ values: z.object({ root_module: shownModule }) })
  .transform(({ values }) => {
    const all = resourcesIn(values.root_module);
    const providers = all.map(({ provider_name: provider }) => provider);
    const managed = all.filter(({ mode }) => mode === "managed");
    return terraform(
      providers,
      managed.map(({ address, type, values: attributes, tainted, deposed_key: deposed }) =>
        oldResource(address, type, attributes, {
          isTainted: tainted === true,
          isDeposed: deposed !== undefined,
        }),
      ),
    );
  });

function resourcesIn({ resources, child_modules: children }: ShownModule): readonly Shown[] {
  return [...resources, ...children.flatMap(resourcesIn)];
}

function terraform(providers: readonly string[], resources: readonly OldResource[]): OldState {
  const isTofu = providers.some((provider) => provider.includes("registry.opentofu.org/"));
  return { tool: isTofu ? "tofu" : "terraform", resources };
}

const exported = z.object({
  urn: text,
  type: text,
  id: text.optional(),
  outputs: z.record(text, z.unknown()).default({}),
  custom: flag,
  external: flag,
  delete: flag,
  taint: flag,
});

const pulumiExport = z
  .object({ deployment: z.object({ resources: z.array(exported).nullish() }) })
  .transform(({ deployment: { resources } }): OldState => ({
    tool: "pulumi",
    resources: (resources ?? [])
      .filter(({ custom, external }) => custom === true && external !== true)
      .filter(({ type }) => !type.startsWith("pulumi:")) // Providers.
      .map(({ urn, type, id, outputs, ...each }) =>
        oldResource(
          urn,
          terraformType(type),
          { ...snakeCase(outputs), id },
          {
            isTainted: each.taint === true,
            isDeposed: each.delete === true,
          },
        ),
      ),
  }));

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const snakeCase = (outputs: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(outputs).map(([name, value]) => [snake(name), value]));

/** Converts `cloudflare:index/workersKv:WorkersKv` to `cloudflare_workers_kv`. Other types stay. */
const terraformType = (type: string): string =>
  type.replace(/^cloudflare:index\/(\w+):\w+$/, (_, name: string) => `cloudflare_${snake(name)}`);

/** The formats. Only this one has the first member; the second is its version. */
const FORMATS = [
  ["deployment", "version", /^[34]$/, "an exported stack", pulumiExport],
  ["format_version", "format_version", /^1\./, "Terraform's JSON", terraformShown],
  ["version", "version", /^4$/, "a Terraform state", terraformFile],
] as const;

const PASS =
  "Pass a terraform.tfstate, or what `terraform show -json`, `tofu show -json` or `pulumi stack export` prints.";

/**
 * Reads the state from a file.
 *
 * @param file `-` for standard input.
 * @throws CommandError if it isn't a state, or its version isn't supported. The message doesn't quote the file.
 */
export async function readOldState(io: Io, file: string): Promise<OldState> {
  if (file === "-" && io.stdin.isTTY === true)
    throw new UsageError(
      "no state. Pass a file, or pipe in `terraform show -json` or `pulumi stack export`.",
    );
  const what = `the state in ${file}`;
  const content = parseJson(file === "-" ? await textOf(io.stdin) : await readText(io, file, what));
  if (!isJsonObject(content)) throw new CommandError(`${what} is not a JSON object. ${PASS}`);
  const [, member = "", supported, name, schema] = FORMATS.find(([first]) => first in content) ?? [];
  const version = String(content[member]);
  if (supported?.test(version) === false && /^[\d.]{1,9}$/.test(version))
    throw new CommandError(`${what} is ${name} of version ${version}, which isn't supported. ${PASS}`);
  const state = schema?.safeParse(content).data;
  if (state === undefined) throw new CommandError(`${what} is not a state, or is damaged. ${PASS}`);
  return state;
}
