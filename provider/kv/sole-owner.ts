import { setImmediate as nextTurn } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { perRun, refusal } from "../runtime/resource";
import { pathsOf } from "./source-directory";
import { SourceError } from "./source-error";
import { openSource, type Declaration } from "./source";

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
        readonly ignore?: pulumi.Input<pulumi.Input<string>[]>;
      }
  >;
  readonly prune?: pulumi.Input<{ readonly prefix: pulumi.Input<string> }>;
}

/** A KvEntries of the program. */
export interface Declarer {
  readonly name: string;
  readonly namespaceId: string;
  /** What it prunes. */
  readonly prefix?: string | undefined;
  readonly declaration: Declaration;
}

/** The KvEntries of one run of a program. */
export class Declarers {
  /** Each, and whether it has looked at the others: who comes later looks at it. */
  readonly #all = new Map<Declarer, { hasLooked: boolean }>();

  /** @throws where one prunes a prefix under which another one declares keys: it would delete them. */
  async add(mine: Declarer): Promise<void> {
    const state = { hasLooked: false };
    this.#all.set(mine, state);
    if (mine.prefix !== undefined) await nextTurn(); // The rest of the program declares its own first.
    state.hasLooked = true;
    for (const [other, { hasLooked }] of this.#all) {
      if (other === mine || other.namespaceId !== mine.namespaceId) continue;
      await refuseCovered(mine, other);
      if (hasLooked) await refuseCovered(other, mine);
    }
  }
}

const DECLARERS = new WeakMap<object, Declarers>();

/**
 * Refuses a program in which a KvEntries prunes what another one declares.
 *
 * @returns the namespace: of a resource that prunes, only after the look, so that nothing is deleted before it.
 */
export function soleOwner(name: string, args: Inputs): pulumi.Input<string> {
  const { namespaceId, entries, file, directory, prune } = args;
  const look = pulumi
    .output({ namespaceId, keys: keysIn(entries), file, directory, prune })
    .apply(async ({ namespaceId, keys, file, directory, prune }) => {
      const known = keys === undefined ? undefined : Object.fromEntries(keys.map((key) => [key, ""]));
      const declaration = { entries: known, file, directory };
      const declarers = perRun(DECLARERS, () => new Declarers());
      await declarers.add({ name, namespaceId, prefix: prune?.prefix, declaration });
      return namespaceId;
    });
  return prune === undefined ? namespaceId : look;
}

/** Keys alone: values may be secret, or not known yet. */
function keysIn(entries: Inputs["entries"]): pulumi.Input<string[] | undefined> {
  if (entries === undefined || !(pulumi.Output.isInstance(entries) || entries instanceof Promise))
    return entries && Object.keys(entries);
  return pulumi.unsecret(pulumi.output(entries).apply((known) => Object.keys(known)));
}

async function refuseCovered(owner: Declarer, other: Declarer): Promise<void> {
  if (owner.prefix === undefined) return;
  const key = await keyUnder(owner.prefix, other.declaration);
  if (key === undefined) return;
  throw refusal(
    `edgeguard: KvEntries "${owner.name}" prunes the prefix ${JSON.stringify(owner.prefix)} of namespace ${owner.namespaceId}, and KvEntries "${other.name}" declares ${JSON.stringify(key)} under it: ` +
      `declare its keys in "${owner.name}" too, or choose a longer prefix.`,
  );
}

/** A declared key that begins with the prefix. */
async function keyUnder(prefix: string, declaration: Declaration): Promise<string | undefined> {
  const covered = (key: unknown): key is string => typeof key === "string" && key.startsWith(prefix);
  try {
    const source = openSource(declaration, process.cwd());
    if (source.kind === "directory") {
      for await (const path of pathsOf(source.options)) {
        if (covered(source.options.prefix + path)) return source.options.prefix + path;
      }
      return undefined;
    }
    for await (const some of source.examine()) {
      const found = some.map(({ given }) => given.key).find(covered);
      if (found !== undefined) return found;
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error; // The check says what is wrong with it.
  }
  return undefined;
}
