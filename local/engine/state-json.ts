/** The state file: Pulumi's JSON, with encrypted secrets. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { CommandError, UnsupportedError } from "./errors";
import type { Crypter } from "./secrets";
import { newState, type Deployment, type ResourceState } from "./state";
import type { Urn } from "./urn";
import {
  decode,
  encode,
  isJsonMap,
  mapValues,
  Secret,
  SECRET_SIGNATURE,
  SIGNATURE,
  sorted,
  type Json,
  type JsonMap,
  type Value,
  type ValueMap,
} from "./values";

export const json = z.json() as z.ZodType<Json>;
export const properties = z.record(z.string(), json);

const resourceSchema = z.looseObject({
  urn: z.string(),
  type: z.string(),
  custom: z.boolean(),
  id: z.string().optional(),
  inputs: properties.nullish(),
  outputs: properties.nullish(),
  parent: z.string().optional(),
  provider: z.string().optional(),
  protect: z.boolean().optional(),
  retainOnDelete: z.boolean().optional(),
  delete: z.boolean().optional(),
  pendingReplacement: z.boolean().optional(),
  dependencies: z.array(z.string()).nullish(),
  propertyDependencies: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
  additionalSecretOutputs: z.array(z.string()).nullish(),
  ignoreChanges: z.array(z.string()).nullish(),
  initErrors: z.array(z.string()).nullish(),
  created: z.string().optional(),
  modified: z.string().optional(),
});

/** Fields that the CLI may write and this engine would silently drop or break. */
const UNSUPPORTED_FIELDS = [
  "external",
  "taint",
  "aliases",
  "customTimeouts",
  "deletedWith",
  "replaceOnChanges",
  "replaceWith",
  "hideDiff",
  "replacementTrigger",
  "refreshBeforeUpdate",
  "viewOf",
  "resourceHooks",
  "extensionRef",
  "snippetID",
] as const;

const deploymentSchema = z.looseObject({
  secrets_providers: z.looseObject({ type: z.string(), state: z.looseObject({}).nullish() }).optional(),
  resources: z.array(resourceSchema).nullish(),
  pending_operations: z
    .array(
      z.object({
        resource: resourceSchema,
        type: z.enum(["creating", "updating", "deleting", "reading", "importing"]),
      }),
    )
    .nullish(),
  snippets: z.array(z.unknown()).nullish(),
  extensions: z.looseObject({}).nullish(),
});

export type DeploymentJson = z.infer<typeof deploymentSchema>;

export function parseDeployment(given: unknown): DeploymentJson {
  const parsed = deploymentSchema.safeParse(given);
  if (!parsed.success)
    throw new CommandError(`the state isn't a deployment: ${z.prettifyError(parsed.error)}`);
  const secrets = parsed.data.secrets_providers?.type;
  if (secrets !== undefined && secrets !== "passphrase")
    throw new UnsupportedError(`the secrets provider ${secrets}`);
  for (const part of ["snippets", "extensions"] as const) {
    if (Object.keys(parsed.data[part] ?? {}).length > 0) throw new UnsupportedError(`${part} in the state`);
  }
  return parsed.data;
}

const saltSchema = z.looseObject({ salt: z.string() });

export function saltOf(deployment: DeploymentJson): string | undefined {
  return saltSchema.safeParse(deployment.secrets_providers?.state).data?.salt;
}

export function readDeployment(given: DeploymentJson, crypter: Crypter): Deployment {
  return {
    resources: (given.resources ?? []).map((resource) => readResource(resource, crypter)),
    pendingOperations: (given.pending_operations ?? []).map(({ resource, type }) => ({
      type,
      resource: readResource(resource, crypter),
    })),
  };
}

function readResource(given: z.infer<typeof resourceSchema>, crypter: Crypter): ResourceState {
  for (const field of UNSUPPORTED_FIELDS) {
    const value = given[field];
    if (value !== undefined && value !== false && value !== null && value !== "") {
      throw new UnsupportedError(`\`${field}\` in the state of ${given.urn}`);
    }
  }
  const { inputs, outputs, propertyDependencies, ...rest } = given;
  return newState({
    ...defined(rest),
    inputs: inputs ? readProperties(inputs, crypter) : {},
    outputs: outputs ? readProperties(outputs, crypter) : undefined,
    propertyDependencies: mapValues(propertyDependencies ?? {}, (urns) => urns ?? []),
  });
}

type Defined<T> = { [Member in keyof T]: Exclude<T[Member], null | undefined> };

/** Drops members that are missing or null, for which a state has its defaults. */
function defined<T extends object>(members: T): Defined<T> {
  const given = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(given) as Defined<T>; // Those that stay have values.
}

function readProperties(given: JsonMap, crypter: Crypter): ValueMap {
  return mapValues(given, (value) => decode(value, (marked) => openSecret(marked, crypter)));
}

/** Decrypts a secret. Its parts may also be marked as secret, but they aren't encrypted again. */
function openSecret(marked: JsonMap, crypter: Crypter): Value {
  const { plaintext, ciphertext } = marked;
  if (typeof ciphertext === "string") {
    const opened = new Secret(parseSealed(crypter.decrypt(ciphertext), crypter));
    crypter.remember(opened, ciphertext);
    return opened;
  }
  if (typeof plaintext === "string") return parseSealed(plaintext, crypter);
  throw new CommandError("a secret in the state has neither ciphertext nor plaintext");
}

function parseSealed(text: string, crypter: Crypter): Value {
  const parsed: unknown = JSON.parse(text);
  return decode(json.parse(parsed), (marked) => openSecret(marked, crypter));
}

type SealSecret = (secret: Secret) => Json;

export function sealWith(crypter: Crypter): SealSecret {
  return (secret) => ({
    [SIGNATURE]: SECRET_SIGNATURE,
    ciphertext: crypter.seal(secret, JSON.stringify(insideOf(secret))),
  });
}

/** Formats a secret for `stack export --show-secrets`. */
export const showSecret: SealSecret = (secret) => ({
  [SIGNATURE]: SECRET_SIGNATURE,
  plaintext: JSON.stringify(insideOf(secret)),
});

const insideOf = (secret: Secret): Json => encode(secret.element, (element) => insideOf(new Secret(element)));

function writeProperties(map: ValueMap, seal: SealSecret): JsonMap {
  return mapValues(sorted(map), (value) => encode(value, (_, secret) => seal(secret)));
}

/** Converts a resource to JSON, with fields in the CLI's order. Omits empty fields. */
export function writeResource(state: ResourceState, seal: SealSecret): JsonMap {
  return compact({
    urn: state.urn,
    custom: state.custom,
    delete: state.delete || undefined,
    id: state.id,
    type: state.type,
    inputs: writeProperties(state.inputs, seal),
    outputs: state.outputs && writeProperties(state.outputs, seal),
    parent: state.parent,
    protect: state.protect || undefined,
    dependencies: [...state.dependencies],
    initErrors: [...state.initErrors],
    provider: state.provider,
    propertyDependencies: mapValues(sorted(state.propertyDependencies), (urns) => [...urns]),
    pendingReplacement: state.pendingReplacement || undefined,
    additionalSecretOutputs: [...state.additionalSecretOutputs],
    retainOnDelete: state.retainOnDelete || undefined,
    created: state.created,
    modified: state.modified,
    ignoreChanges: [...state.ignoreChanges],
  });
}

/** Drops empty strings, lists and maps, but keeps `false`. */
function compact(fields: Readonly<Record<string, Json | undefined>>): JsonMap {
  const isEmpty = (value: Json | undefined): boolean =>
    value === undefined ||
    value === null ||
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (isJsonMap(value) && Object.keys(value).length === 0);
  const kept = Object.entries(fields).flatMap(([key, value]): [string, Json][] =>
    value === undefined || isEmpty(value) ? [] : [[key, value]],
  );
  return Object.fromEntries(kept);
}

/** The engine version in the manifest. The CLI checks its hash, not the number. */
const ENGINE_VERSION = "v3.248.0";

export function writeDeployment(deployment: Deployment, salt: string, seal: SealSecret): JsonMap {
  const normal = withoutAliases(deployment);
  return {
    manifest: {
      time: new Date().toISOString(),
      magic: createHash("sha256").update(ENGINE_VERSION).digest("hex"),
      version: ENGINE_VERSION,
    },
    secrets_providers: { type: "passphrase", state: { salt } },
    ...compact({
      resources: normal.resources.map((resource) => writeResource(resource, seal)),
      pending_operations: normal.pendingOperations.map(({ resource, type }) => ({
        resource: writeResource(resource, seal),
        type,
      })),
    }),
    metadata: {},
  };
}

/** Replaces the old URNs of renamed resources, to which other resources may still refer. */
function withoutAliases(deployment: Deployment): Deployment {
  const renamed = new Map<Urn, Urn>();
  for (const { urn, aliases } of deployment.resources) aliases.forEach((alias) => renamed.set(alias, urn));
  if (renamed.size === 0) return deployment;
  const current = (urn: Urn): Urn => renamed.get(urn) ?? urn;
  return {
    ...deployment,
    resources: deployment.resources.map((state) => ({
      ...state,
      urn: current(state.urn),
      parent: current(state.parent),
      dependencies: state.dependencies.map(current),
      propertyDependencies: mapValues(state.propertyDependencies, (urns) => urns.map(current)),
    })),
  };
}
