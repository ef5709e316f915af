import { ID } from "./fields";

/** A zone or an account. */
export interface Scope {
  readonly kind: "zone" | "account";
  readonly id: string;
}

/** Returns the scope that arguments name: the zone or, without one, the account. */
export function scopeOf({
  zoneId,
  accountId,
}: {
  readonly zoneId?: string | undefined;
  readonly accountId?: string | undefined;
}): Scope {
  if (zoneId !== undefined) return { kind: "zone", id: zoneId };
  if (accountId !== undefined) return { kind: "account", id: accountId };
  throw new Error("neither zoneId nor accountId is set");
}

export const scopeName = ({ kind, id }: Scope): string => `${kind} ${id}`;

/** Returns what the API's paths for the scope begin with. */
export const scopePath = ({ kind, id }: Scope): string => `/${kind}s/${id}`;

/** The address of an existing object. The object's own ID doesn't say which zone or account it belongs to. */
export interface ObjectAddress {
  readonly scope: Scope;
  /** The resource's ID. */
  readonly id: string;
}

/**
 * The format of a type's composite IDs, which combine an object's ID with its zone or account. Everything that accepts
 * the ID of an existing object accepts this format.
 */
export class CompositeId {
  /**
   * @param forms the accepted formats, such as `<zone ID>/<policy ID>`. If a format has no object ID, the resource's ID
   * is its zone's ID.
   */
  constructor(readonly forms: readonly [string, ...string[]]) {}

  /** Whether the resource's ID is its zone's ID. */
  get isZoneId(): boolean {
    return this.forms[0] === ZONE;
  }

  /** The kinds of scope that objects of the type can belong to. */
  get kinds(): readonly Scope["kind"][] {
    return this.forms.map((form) => (form.includes(ZONE) ? "zone" : "account"));
  }

  /** Returns an object's ID with its scope. */
  format({ scope, id }: ObjectAddress): string {
    const form = this.forms[this.kinds.indexOf(scope.kind)] ?? "";
    return form.replace(SCOPE, scope.id).replace(/<[\w ]+>/, id);
  }

  /** @throws Error, with the correct format, if the ID is malformed. */
  parse(text: string): ObjectAddress {
    for (const form of this.forms) {
      const address = matched(form.split("/"), text.split("/"));
      if (address !== undefined) return address;
    }
    const forms = this.forms.map((form) => JSON.stringify(form)).join(" or ");
    const [, numbered] = NUMBERED.exec(this.forms[0]) ?? [];
    const number = numbered === undefined ? "" : `; a ${numbered} ID is a number`;
    throw new Error(
      `${JSON.stringify(text.slice(0, MAX_SHOWN))} is not ${forms}. An ID is 32 hex digits${number}. ` +
        "Find the ID of a zone or an account on its Overview page in the dashboard.",
    );
  }
}

const MAX_SHOWN = 100;
const ZONE = "<zone ID>";
const SCOPE = /<(zone|account) ID>/;
/** An ID that's a number. */
const NUMBERED = /<(job|transformer) ID>$/;

function matched(form: readonly string[], parts: readonly string[]): ObjectAddress | undefined {
  if (form.length !== parts.length) return undefined;
  let scope: Scope | undefined;
  let id: string | undefined;
  for (const [index, expected] of form.entries()) {
    const part = parts[index] ?? "";
    if (!expected.startsWith("<")) {
      if (part !== expected) return undefined;
    } else if (NUMBERED.test(expected)) {
      if (!/^\d+$/.test(part)) return undefined;
      id = part;
    } else if (!ID.is(part)) return undefined;
    else if (expected === ZONE) scope = { kind: "zone", id: part.toLowerCase() };
    else if (expected === "<account ID>") scope = { kind: "account", id: part.toLowerCase() };
    else id = part.toLowerCase();
  }
  return scope === undefined ? undefined : { scope, id: id ?? scope.id };
}
