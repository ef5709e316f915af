/** Finds the other URNs under which the state may contain a resource. */
import { makeUrn, nameOf, partsOf, qualifiedTypeOf, ROOT_STACK_TYPE, typeOf, type Urn } from "./urn";

/** A whole URN, or the parts that differ from the current one. An empty part means no change. */
export type AliasSpec =
  | { readonly urn: Urn }
  | {
      readonly name: string;
      readonly type: string;
      readonly stack: string;
      readonly project: string;
      readonly parent: Urn;
      readonly hasNoParent: boolean;
    };

interface Identity {
  readonly urn: Urn;
  readonly parent: Urn;
  readonly aliases: readonly AliasSpec[];
}

/**
 * Returns a resource's aliases. `aliasOf` maps a resource to the older URN under which it was found. Its children
 * inherit that alias.
 */
export function aliasUrns(of: Identity, aliasOf: ReadonlyMap<Urn, Urn>): Urn[] {
  const own = of.aliases.map((alias) => resolve(alias, of, aliasOf));
  const parentAlias = aliasOf.get(of.parent);
  if (parentAlias === undefined) return [...new Set(own)];
  const inherited = [of.urn, ...own].map((urn) => underAliasedParent(urn, nameOf(of.parent), parentAlias));
  return [...new Set([...own, ...inherited])];
}

function resolve(alias: AliasSpec, of: Identity, aliasOf: ReadonlyMap<Urn, Urn>): Urn {
  if ("urn" in alias) return alias.urn;
  const current = partsOf(of.urn);
  const parent = alias.parent === "" ? of.parent : (aliasOf.get(alias.parent) ?? alias.parent);
  return makeUrn({
    stack: alias.stack || current.stack,
    project: alias.project || current.project,
    parent: alias.hasNoParent || qualifiedTypeOf(parent) === ROOT_STACK_TYPE ? "" : parent,
    type: alias.type || typeOf(of.urn),
    name: alias.name || current.name,
  });
}

/**
 * Returns a child's alias after its parent was renamed. Children are often named after their parent: renaming "page" to
 * "site" turns "page-rules" into "site-rules".
 */
function underAliasedParent(child: Urn, parentName: string, parentAlias: Urn): Urn {
  const { stack, project, name } = partsOf(child);
  const oldName = name.startsWith(parentName) ? nameOf(parentAlias) + name.slice(parentName.length) : name;
  return makeUrn({ stack, project, parent: parentAlias, type: typeOf(child), name: oldName });
}
