import { constant, objectOf, type Code } from "./code";
import type { Scope } from "../runtime/composite-id";
import type { ConfigSecret, ExistingObject } from "./existing";
import {
  commonDomain,
  distinctNames,
  hostsIn,
  ID_CHARACTERS,
  identifier,
  slug,
  UniqueNames,
  type Named,
} from "./names";
import type { Account, Zone } from "./zones";

/** An existing object, as the program declares it. */
export interface Draft {
  readonly found: ExistingObject;
  /** The resource's name: an identifier, unique among resources of its type. */
  readonly name: string;
  readonly args: Code;
  readonly secrets: readonly UsedSecret[];
}

/** A secret that the program takes from the stack's configuration. */
export interface UsedSecret extends ConfigSecret {
  readonly key: string;
}

/** A constant in the program that contains an ID. */
export interface IdConstant {
  readonly id: string;
  /** The constant's name: `zoneId`, or `zones.shopExample` for one of several zones. */
  readonly text: string;
  /** The zone's name, shown as a comment. */
  readonly comment: string | undefined;
}

/** Names that the program's own constants and imports use. */
const RESERVED_NAMES = [
  "zoneId",
  "zones",
  "accountId",
  "accounts",
  "config",
  "destination",
  "filter",
  "pulumi",
];

/** Gives the objects names and writes their arguments. */
export class Drafter {
  readonly zones: readonly IdConstant[];
  readonly accounts: readonly IdConstant[];
  readonly #names: ReadonlyMap<ExistingObject, string>;
  readonly #keys = new UniqueNames();
  readonly #variables = new UniqueNames(RESERVED_NAMES);
  /** The constants that contain resources, by existing object. */
  readonly #referred = new Map<ExistingObject, string>();

  constructor(found: readonly ExistingObject[], zones: readonly Zone[], accounts: readonly Account[]) {
    const owners = zones.map((zone) => zoneOwner(zone, found));
    this.zones = constantsOf(owners, "zone");
    this.accounts = constantsOf(accounts.map(ownerOf), "account");
    this.#names = namesOf(found, owners);
  }

  draft(found: ExistingObject, isDeclared: (other: ExistingObject) => boolean): Draft {
    const secrets: UsedSecret[] = [];
    const name = this.#names.get(found) ?? "resource";
    const args = found.args({
      scope: (scope) => this.#scope(scope),
      idOf: (other) => (isDeclared(other) ? constant(`${this.#variableOf(other)}.id`, other.id) : undefined),
      secret: (what, secret) => {
        const key = this.#keys.claim(identifier(`${name}-${what}`, "secret"));
        secrets.push({ ...secret, key });
        return constant(`config.requireSecret(${JSON.stringify(key)})`, secret.value);
      },
    });
    return { found, name, args: objectOf(args), secrets };
  }

  /** Returns the constant that contains the resource. Undefined if nothing refers to the resource. */
  variableOf(found: ExistingObject): string | undefined {
    return this.#referred.get(found);
  }

  #variableOf(found: ExistingObject): string {
    const known = this.#referred.get(found);
    if (known !== undefined) return known;
    const variable = this.#variables.claim(this.#names.get(found) ?? "namespace");
    this.#referred.set(found, variable);
    return variable;
  }

  #scope({ kind, id }: Scope): Code {
    const constants = kind === "zone" ? this.zones : this.accounts;
    const owner = constants.find((each) => each.id === id);
    return owner === undefined ? constant(JSON.stringify(id), id) : constant(owner.text, id);
  }
}

/** Returns the constants for IDs: `zoneId` for a single zone, `zones.shopExample` for one of several. */
function constantsOf(owners: readonly Owner[], kind: Scope["kind"]): IdConstant[] {
  const members = distinctNames(owners, kind);
  return owners.map(({ id, comment }, index) => ({
    id,
    text: owners.length === 1 ? `${kind}Id` : `${kind}s.${members[index] ?? ""}`,
    comment,
  }));
}

/** A zone or account. */
interface Owner extends Named {
  readonly comment?: string | undefined;
}

function ownerOf(account: Account): Owner {
  return { id: account.id, labels: [`account ${account.id.slice(0, ID_CHARACTERS)}`] };
}

/** Returns a zone's labels: its name or, if that can't be read, the hosts in its expressions, otherwise its ID. */
function zoneOwner({ id, name }: Zone, found: readonly ExistingObject[]): Owner {
  const own = found.filter(({ scope }) => scope.kind === "zone" && scope.id === id);
  const domain = commonDomain(own.flatMap(({ outputs }) => hostsIn(outputs["expression"])));
  const label = [name ?? "", domain].find((each) => each !== "") ?? `zone ${id.slice(0, ID_CHARACTERS)}`;
  return { id, labels: [label], comment: name };
}

/**
 * Returns the resources' names, which are unique per type. If there are several zones, each name begins with the zone's
 * name.
 */
function namesOf(
  found: readonly ExistingObject[],
  zones: readonly Owner[],
): ReadonlyMap<ExistingObject, string> {
  const types = new Set(found.map(({ resource }) => resource.type));
  return new Map(
    [...types].flatMap((type) => {
      const group = found.filter(({ resource }) => resource.type === type);
      const objects = group.map(({ id, labels, scope }) => {
        const [zone = ""] = zones.find((each) => scope.kind === "zone" && each.id === scope.id)?.labels ?? [];
        const own = labels.filter((label) => slug(label) !== "");
        return { id, labels: zones.length < 2 && own.length > 0 ? own : prefixedByZone(zone, own) };
      });
      const names = distinctNames(objects, type.charAt(0).toLowerCase() + type.slice(1));
      return group.map((each, index): [ExistingObject, string] => [each, names[index] ?? type]);
    }),
  );
}

function prefixedByZone(zone: string, labels: readonly string[]): readonly string[] {
  const [first = zone, ...others] = labels;
  return [slug(first).startsWith(slug(zone)) ? first : `${zone} ${first}`, ...others];
}
