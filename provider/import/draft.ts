import { named, objectOf, type Code } from "./code";
import type { ConfigSecret, Found, Scope } from "./found";
import { identifier, UniqueNames } from "./names";
import type { Account, Zone } from "./zones";

/** An object as it is to stand in the program. */
export interface Draft {
  readonly found: Found;
  /** Of the resource; unique among those of its type. */
  readonly name: string;
  readonly args: Code;
  readonly secrets: readonly UsedSecret[];
}

/** A secret that the program takes from the stack's configuration. */
export interface UsedSecret extends ConfigSecret {
  readonly key: string;
}

/** A constant of the program that holds an id. */
export interface IdConstant {
  readonly id: string;
  /** `zoneId`, `zones.shopExample` */
  readonly text: string;
  /** For people: the zone's name. */
  readonly comment: string | undefined;
}

/** Words of the program that no resource may be called by. */
const TAKEN = ["zoneId", "zones", "accountId", "accounts", "config", "destination", "filter", "pulumi"];

/** Gives objects their names, and lets them write their arguments. */
export class Drafting {
  readonly zones: readonly IdConstant[];
  readonly accounts: readonly IdConstant[];
  readonly #names: ReadonlyMap<Found, string>;
  readonly #keys = new UniqueNames([], "");
  readonly #variables = new UniqueNames(TAKEN, "");
  /** Constants that hold a resource, by its object. */
  readonly #referred = new Map<Found, string>();

  constructor(found: readonly Found[], zones: readonly Zone[], accounts: readonly Account[]) {
    this.zones = constantsOf(zones, "zone");
    this.accounts = constantsOf(accounts, "account");
    this.#names = namesOf(found, zones);
  }

  draft(found: Found, isDeclared: (other: Found) => boolean): Draft {
    const secrets: UsedSecret[] = [];
    const name = this.#names.get(found) ?? "resource";
    const args = found.args({
      scope: (scope) => this.#scope(scope),
      idOf: (other) => (isDeclared(other) ? named(`${this.#variableOf(other)}.id`, other.id) : undefined),
      secret: (what, secret) => {
        const key = this.#keys.take(identifier(`${name}-${what}`, "secret"));
        secrets.push({ ...secret, key });
        return named(`config.requireSecret(${JSON.stringify(key)})`, secret.value);
      },
    });
    return { found, name, args: objectOf(args), secrets };
  }

  /** The constant that holds the resource; undefined where nothing refers to it. */
  variableOf(found: Found): string | undefined {
    return this.#referred.get(found);
  }

  #variableOf(found: Found): string {
    const known = this.#referred.get(found);
    if (known !== undefined) return known;
    const variable = this.#variables.take(identifier(this.#names.get(found) ?? "", "namespace"));
    this.#referred.set(found, variable);
    return variable;
  }

  #scope({ kind, id }: Scope): Code {
    const constants = kind === "zone" ? this.zones : this.accounts;
    const constant = constants.find((each) => each.id === id);
    return constant === undefined ? named(JSON.stringify(id), id) : named(constant.text, id);
  }
}

/** `zoneId` for one, `zones.shopExample` for several. */
function constantsOf(
  owners: readonly { readonly id: string; readonly slug?: string; readonly name?: string | undefined }[],
  kind: "zone" | "account",
): IdConstant[] {
  const members = new UniqueNames([], "");
  return owners.map(({ id, slug = "", name }, index) => {
    const member = identifier(slug === "" ? String(index + 1) : slug, kind);
    const text = owners.length === 1 ? `${kind}Id` : `${kind}s.${members.take(member)}`;
    return { id, text, comment: name };
  });
}

/** Among several zones a name tells the zone. */
function namesOf(found: readonly Found[], zones: readonly Zone[]): ReadonlyMap<Found, string> {
  const byType = new Map<string, UniqueNames>();
  const names = new Map<Found, string>();
  for (const each of found) {
    const { type } = each.resource;
    const taken = byType.get(type) ?? new UniqueNames();
    byType.set(type, taken);
    const best = each.names.find((name) => name !== "") ?? "resource";
    const of = zones.find(({ id }) => each.scope.kind === "zone" && each.scope.id === id)?.slug ?? "";
    const isTold = zones.length < 2 || of === "" || best === of;
    names.set(each, taken.take(isTold ? best : `${of}-${best}`));
  }
  return names;
}
