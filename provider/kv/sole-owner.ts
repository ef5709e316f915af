import { setImmediate as nextTurn } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { perRun, refusal } from "../runtime/program";
import { declaredKeys, type DeclaredKeys } from "./declared";

/** Arguments of a KvEntries that tell which keys it declares, and which it deletes. */
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

/** A KvEntries of the program. */
export interface Declarer {
  readonly name: string;
  /** What it prunes. */
  readonly prefix?: string | undefined;
  readonly declaration: DeclaredKeys;
}

/** A namespace of the program: its id, or while that is not known the output that will have it. */
type Namespace = string | pulumi.OutputInstance<string>;

/** The KvEntries of one run of a program. */
export class Declarers {
  /** By namespace each, and whether it has looked at the others: who comes later looks at it. */
  readonly #all = new Map<Namespace, Map<Declarer, boolean>>();
  readonly #keys = new Map<Declarer, Promise<ReadonlySet<string>>>();
  readonly #looks = new Map<Declarer, Map<Declarer, Promise<void>>>();

  /** @throws where two declare one key, or one prunes a prefix under which another one declares keys: it would delete them. */
  async add(namespace: Namespace, mine: Declarer): Promise<void> {
    const members = made(this.#all, namespace, () => new Map<Declarer, boolean>()).set(mine, false);
    if (mine.prefix !== undefined) await nextTurn(); // The rest of the program declares its own first.
    members.set(mine, true);
    for (const [other, hasLooked] of [...members])
      if (other !== mine && (hasLooked || mine.prefix !== undefined))
        await this.#lookOnce(namespace, other, mine);
  }

  /** What is declared of a namespace, as far as that is known. */
  of(namespace: Namespace): DeclaredKeys[] {
    return [...(this.#all.get(namespace)?.keys() ?? [])].map(({ declaration }) => declaration);
  }

  /** One error for each pair: the engine shows it once, whoever of the two it keeps from being registered. */
  async #lookOnce(namespace: Namespace, one: Declarer, other: Declarer): Promise<void> {
    const looksOf = (declarer: Declarer): Map<Declarer, Promise<void>> =>
      made(this.#looks, declarer, () => new Map<Declarer, Promise<void>>());
    await made(looksOf(one), other, () => looksOf(other).get(one) ?? this.#look(namespace, one, other));
  }

  async #look(namespace: Namespace, one: Declarer, other: Declarer): Promise<void> {
    const keysOf = (declarer: Declarer): Promise<ReadonlySet<string>> =>
      made(this.#keys, declarer, () => declaredKeys(declarer.declaration));
    const [keys, others] = [await keysOf(one), await keysOf(other)];
    const where = typeof namespace === "string" ? `namespace ${namespace}` : "one namespace";
    refuseCovered(where, one, other, others);
    refuseCovered(where, other, one, keys);
    for (const key of others) {
      if (!keys.has(key)) continue;
      throw refusal(
        `edgeguard: KvEntries "${one.name}" and "${other.name}" both declare the key ${JSON.stringify(key)} of ${where}: keep it in one of them.`,
      );
    }
  }
}

/** What a map has, or gets now. */
function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

const DECLARERS = new WeakMap<object, Declarers>();

/**
 * Refuses a program in which two KvEntries declare one key, or one prunes what another one declares.
 *
 * @returns the namespace: of a resource that prunes, only after the look, so that nothing is deleted before it.
 */
export function soleOwner(name: string, args: Inputs): pulumi.Input<string> {
  const { namespaceId, entries, file, directory, prune } = args;
  const declarer = pulumi
    .output({ keys: namesIn(entries), file, directory, prune })
    .apply(({ keys, file, directory, prune }): Declarer => {
      return { name, prefix: prune?.prefix, declaration: { keys, file, directory } };
    });
  const declarers = perRun(DECLARERS, () => new Declarers());
  // In the preview of a new namespace only the output itself tells that two resources mean the same one.
  if (pulumi.Output.isInstance(namespaceId))
    declarer.apply(async (mine) => {
      await declarers.add(namespaceId, mine);
    });
  const look = declarer.apply((mine) =>
    pulumi.output(namespaceId).apply(async (id) => {
      await declarers.add(id, mine);
      return id;
    }),
  );
  return prune === undefined ? namespaceId : look;
}

/** What the program declares of a namespace that it makes. Asked before the namespace is registered. */
export async function declaredOf(
  namespace: () => pulumi.OutputInstance<string> | undefined,
): Promise<DeclaredKeys[] | undefined> {
  await nextTurn(); // The rest of the program declares its own first.
  const id = namespace();
  const found = id === undefined ? [] : perRun(DECLARERS, () => new Declarers()).of(id);
  return found.length === 0 ? undefined : found;
}

/** Keys alone: values may be secret, or not known yet. */
function namesIn(entries: Inputs["entries"]): pulumi.Input<string[] | undefined> {
  if (entries === undefined || !(pulumi.Output.isInstance(entries) || entries instanceof Promise))
    return entries && Object.keys(entries);
  return pulumi.unsecret(pulumi.output(entries).apply((known) => Object.keys(known)));
}

function refuseCovered(where: string, owner: Declarer, other: Declarer, keys: ReadonlySet<string>): void {
  const { prefix } = owner;
  if (prefix === undefined) return;
  for (const key of keys) {
    if (!key.startsWith(prefix)) continue;
    throw refusal(
      `edgeguard: KvEntries "${owner.name}" prunes the prefix ${JSON.stringify(prefix)} of ${where}, and KvEntries "${other.name}" declares ${JSON.stringify(key)} under it: ` +
        `declare its keys in "${owner.name}" too, or choose a longer prefix.`,
    );
  }
}
