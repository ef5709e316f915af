import { Code, codeOf, objectOf, reference } from "./code";
import type { Scope } from "../runtime/composite-id";
import type { ConfigSecret, ExistingObject } from "./existing";
import { distinctNames, ID_CHARACTERS, identifier, slug, UniqueNames, type Named } from "./names";
import type { Target } from "./target";
import type { Account, Zone } from "./zones";

/** An existing object and its declaration in the generated program. */
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

/** A constant in the program for the ID of a zone or account. */
export interface IdConstant {
  readonly id: string;
  /** The constant's name: `zoneId`, or `zones` for one of several zones. */
  readonly variable: string;
  /** The ID's key in `zones`. Undefined if the constant is the ID itself. */
  readonly member: string | undefined;
  /** The expression for the ID: `zoneId`, or `zones.shopExample`. */
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

/** Chooses the resources' names and writes their arguments. */
export class Drafter {
  readonly zones: readonly IdConstant[];
  readonly accounts: readonly IdConstant[];
  readonly #target: Target;
  readonly #names: ReadonlyMap<ExistingObject, string>;
  readonly #keys: UniqueNames;
  readonly #variables = new UniqueNames(RESERVED_NAMES);
  /** The constants that contain resources, by existing object. */
  readonly #referred = new Map<ExistingObject, string>();

  constructor(
    target: Target,
    found: readonly ExistingObject[],
    zones: readonly Zone[],
    accounts: readonly Account[],
  ) {
    this.#target = target;
    const owners = zones.map(zoneOwner);
    this.zones = constantsOf(owners, "zone");
    this.accounts = constantsOf(accounts.map(ownerOf), "account");
    const names = namesOf(found, owners);
    this.#names = target.language === "yaml" ? distinctInYaml(names) : names;
    this.#keys = new UniqueNames(
      target.language === "yaml" ? [...RESERVED_NAMES, ...this.#names.values()] : [],
    );
  }

  draft(found: ExistingObject, isDeclared: (other: ExistingObject) => boolean): Draft {
    const secrets: UsedSecret[] = [];
    const name = this.#names.get(found) ?? "resource";
    const args = found.args({
      hasBuilders: this.#target.surface === "dynamic",
      scope: (scope) => this.#scope(scope),
      idOf: (other) => (isDeclared(other) ? reference(`${this.#variableOf(other)}.id`, other.id) : undefined),
      secret: (what, secret) => {
        const key = this.#keys.claim(identifier(`${name}-${what}`, "secret"));
        secrets.push({ ...secret, key });
        return new Code(secret.value, { kind: "secret", key });
      },
    });
    return { found, name, args: objectOf(args), secrets };
  }

  /** Returns the constant that contains the resource. Undefined if nothing refers to the resource. */
  variableOf(found: ExistingObject): string | undefined {
    return this.#referred.get(found);
  }

  #variableOf(found: ExistingObject): string {
    if (this.#target.language === "yaml") return this.#names.get(found) ?? "";
    const known = this.#referred.get(found);
    if (known !== undefined) return known;
    const variable = this.#variables.claim(this.#names.get(found) ?? "namespace");
    this.#referred.set(found, variable);
    return variable;
  }

  #scope({ kind, id }: Scope): Code {
    const constants = kind === "zone" ? this.zones : this.accounts;
    const owner = constants.find((each) => each.id === id);
    return owner === undefined ? codeOf(id) : reference(owner.text, id);
  }
}

/** Returns the constants for IDs: `zoneId` for a single zone, `zones.shopExample` for one of several. */
function constantsOf(owners: readonly Owner[], kind: Scope["kind"]): IdConstant[] {
  const members = distinctNames(owners, kind);
  return owners.map(({ id, comment }, index) => {
    if (owners.length === 1)
      return { id, variable: `${kind}Id`, member: undefined, text: `${kind}Id`, comment };
    const [variable, member] = [`${kind}s`, members[index] ?? ""];
    return { id, variable, member, text: `${variable}.${member}`, comment };
  });
}

/** A zone or account, with the labels that its constant can be named after. */
interface Owner extends Named {
  readonly comment?: string | undefined;
}

function ownerOf(account: Account): Owner {
  return { id: account.id, labels: [`account ${account.id.slice(0, ID_CHARACTERS)}`] };
}

function zoneOwner({ id, name }: Zone): Owner {
  return { id, labels: [name ?? `zone ${id.slice(0, ID_CHARACTERS)}`], comment: name };
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

/** Makes names unique across types, too: in YAML, a name is the key of a resource, beside variables and configuration. */
function distinctInYaml(names: ReadonlyMap<ExistingObject, string>): ReadonlyMap<ExistingObject, string> {
  const unique = new UniqueNames(RESERVED_NAMES);
  const all = [...names.values()];
  return new Map(
    [...names].map(([found, name]) => {
      const isShared = all.indexOf(name) !== all.lastIndexOf(name);
      return [found, unique.claim(isShared ? name + found.resource.type : name)];
    }),
  );
}

function prefixedByZone(zone: string, labels: readonly string[]): readonly string[] {
  const [first = zone, ...others] = labels;
  return [slug(first).startsWith(slug(zone)) ? first : `${zone} ${first}`, ...others];
}
