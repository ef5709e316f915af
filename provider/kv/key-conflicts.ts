import { setImmediate as nextTurn } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { perRun, refusal } from "../runtime/program";
import { hasUnknown, isJsonObject, type JsonObject } from "../runtime/values";
import { declaredKeys, declaredKeysOf, type DeclaredKeys } from "./declaration";

/** The arguments that decide which keys a KvEntries declares and which it deletes. */
interface Inputs {
  readonly namespaceId: pulumi.Input<string>;
  readonly entries?: pulumi.Input<Readonly<Record<string, unknown>>>;
  readonly file?: pulumi.Input<string>;
  readonly directory?: pulumi.Input<
    | string
    | {
        readonly path: pulumi.Input<string>;
        readonly prefix?: pulumi.Input<string>;
        readonly ignore?: pulumi.Input<readonly pulumi.Input<string>[]>;
      }
  >;
  readonly prune?: pulumi.Input<{ readonly prefix: pulumi.Input<string> }>;
}

/** One `KvEntries` in the program. */
export interface KeyDeclaration {
  readonly name: string;
  /** The prefix that the resource prunes. */
  readonly prefix?: string | undefined;
  readonly declaration: DeclaredKeys;
}

/** A namespace of the program: its ID, or the output that will resolve to it. */
type Namespace = string | pulumi.OutputInstance<string>;

/** All KvEntries in one run of a program. */
export class KeyDeclarations {
  /**
   * Declarations by namespace. The flag says whether a declaration has already been compared with the others. If it has,
   * declarations that are added later are compared with it.
   */
  readonly #all = new Map<Namespace, Map<KeyDeclaration, boolean>>();
  readonly #keys = new Map<KeyDeclaration, Promise<ReadonlySet<string>>>();
  readonly #comparisons = new Map<KeyDeclaration, Map<KeyDeclaration, Promise<void>>>();

  /**
   * Adds a resource and compares its keys with those of the other resources.
   *
   * @throws if two resources declare the same key, or if one would prune (delete) a key that another declares.
   */
  async add(namespace: Namespace, mine: KeyDeclaration): Promise<void> {
    const members = getOrCreate(this.#all, namespace, () => new Map<KeyDeclaration, boolean>()).set(
      mine,
      false,
    );
    if (mine.prefix !== undefined) await nextTurn(); // First, let the rest of the program declare its resources.
    members.set(mine, true);
    for (const [other, hasCompared] of [...members])
      if (other !== mine && (hasCompared || mine.prefix !== undefined))
        await this.#compareOnce(namespace, other, mine);
  }

  /** Returns what the program has declared for a namespace so far. */
  of(namespace: Namespace): DeclaredKeys[] {
    return [...(this.#all.get(namespace)?.keys() ?? [])].map(({ declaration }) => declaration);
  }

  /** Throws the same error for both resources of a pair, so that the engine shows it only once. */
  async #compareOnce(namespace: Namespace, one: KeyDeclaration, other: KeyDeclaration): Promise<void> {
    const comparisonsOf = (resource: KeyDeclaration): Map<KeyDeclaration, Promise<void>> =>
      getOrCreate(this.#comparisons, resource, () => new Map<KeyDeclaration, Promise<void>>());
    await getOrCreate(
      comparisonsOf(one),
      other,
      () => comparisonsOf(other).get(one) ?? this.#compare(namespace, one, other),
    );
  }

  async #compare(namespace: Namespace, one: KeyDeclaration, other: KeyDeclaration): Promise<void> {
    const keysOf = (resource: KeyDeclaration): Promise<ReadonlySet<string>> =>
      getOrCreate(this.#keys, resource, () => declaredKeys(resource.declaration));
    const [keys, others] = [await keysOf(one), await keysOf(other)];
    const where = typeof namespace === "string" ? `namespace ${namespace}` : "the same namespace";
    refusePrunedKeys(where, one, other, others);
    refusePrunedKeys(where, other, one, keys);
    for (const key of others) {
      if (!keys.has(key)) continue;
      throw refusal(
        `edgeguard: KvEntries "${one.name}" and "${other.name}" both declare the key ${JSON.stringify(key)} in ${where}. Declare it in only one of them.`,
      );
    }
  }
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

const DECLARATIONS = new WeakMap<object, KeyDeclarations>();

/**
 * Fails the program if two KvEntries declare the same key, or if one prunes keys that another declares.
 *
 * @returns the namespace's ID. For a resource that prunes, it resolves only after the comparison, so that nothing is
 * deleted before then.
 */
export function refuseKeyConflicts(name: string, args: Inputs): pulumi.Input<string> {
  const { namespaceId, entries, file, directory, prune } = args;
  const declaration = pulumi
    .output({ keys: keyNames(entries), file, directory, prune })
    .apply(({ keys, file, directory, prune }): KeyDeclaration => {
      return { name, prefix: prune?.prefix, declaration: { keys, file, directory } };
    });
  const declarations = perRun(DECLARATIONS, () => new KeyDeclarations());
  // In the preview of a new namespace, only the output itself shows that two resources use the same namespace.
  if (pulumi.Output.isInstance(namespaceId))
    declaration.apply(async (mine) => {
      await declarations.add(namespaceId, mine);
    });
  const checked = declaration.apply((mine) =>
    pulumi.output(namespaceId).apply(async (id) => {
      await declarations.add(id, mine);
      return id;
    }),
  );
  return prune === undefined ? namespaceId : checked;
}

/**
 * Compares one KvEntries with those that this operation checked earlier, unless its namespace or source is unknown.
 *
 * @param holder identifies the resource, because resources in different components may have the same name.
 * @throws the same errors as `refuseKeyConflicts`.
 */
export async function compareKeys(ctx: Context, inputs: JsonObject, holder: string): Promise<void> {
  const { namespaceId, entries, file, directory, prune } = inputs;
  const parsed = comparable.safeParse({ namespaceId, name: ctx.name, file, directory, prune });
  if (!parsed.success || hasUnknown(parsed.data)) return;
  const { name, prune: pruned, ...source } = parsed.data;
  const seen = ctx.shared("compared KvEntries", () => new Set<string>());
  if (seen.has(holder)) return; // A replacement is checked twice.
  seen.add(holder);
  const keys = isJsonObject(entries) ? Object.keys(entries) : undefined;
  const declaration = { keys, file: source.file, directory: source.directory };
  const declarations = ctx.shared("key declarations", () => new KeyDeclarations());
  await declarations.add(source.namespaceId, { name, prefix: pruned?.prefix, declaration });
}

const comparable = z.object({
  name: z.string(),
  namespaceId: z.string(),
  file: declaredKeysOf.element.shape.file,
  directory: declaredKeysOf.element.shape.directory,
  prune: z.looseObject({ prefix: z.string() }).optional(),
});

/**
 * Returns what the program declares for a namespace that it creates. Must be called before the namespace is registered.
 */
export async function declaredKeysFor(
  namespace: () => pulumi.OutputInstance<string> | undefined,
): Promise<DeclaredKeys[] | undefined> {
  const declarations = perRun(DECLARATIONS, () => new KeyDeclarations());
  await nextTurn(); // First, let the rest of the program declare its resources.
  const id = namespace();
  const found = id === undefined ? [] : declarations.of(id);
  return found.length === 0 ? undefined : found;
}

/** Returns only the keys, because values may be secret or unknown. */
function keyNames(entries: Inputs["entries"]): pulumi.Input<string[] | undefined> {
  if (entries === undefined || !(pulumi.Output.isInstance(entries) || entries instanceof Promise))
    return entries && Object.keys(entries);
  return pulumi.unsecret(pulumi.output(entries).apply((known) => Object.keys(known)));
}

function refusePrunedKeys(
  where: string,
  owner: KeyDeclaration,
  other: KeyDeclaration,
  keys: ReadonlySet<string>,
): void {
  const { prefix } = owner;
  if (prefix === undefined) return;
  for (const key of keys) {
    if (!key.startsWith(prefix)) continue;
    throw refusal(
      `edgeguard: KvEntries "${owner.name}" prunes the prefix ${JSON.stringify(prefix)} in ${where}, so it would delete ${JSON.stringify(key)}, which KvEntries "${other.name}" declares. ` +
        `Move all keys under the prefix to "${owner.name}", or choose a longer prefix.`,
    );
  }
}
