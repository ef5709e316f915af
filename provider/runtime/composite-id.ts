import { isId } from "./fields";

/** A zone or an account. */
export interface Scope {
  readonly kind: "zone" | "account";
  readonly id: string;
}

/** Where an existing object is: its own ID doesn't say in which zone or account. */
export interface ObjectAddress {
  readonly scope: Scope;
  /** The resource's ID. */
  readonly id: string;
}

/**
 * How an object of one type is named in one text, with its zone or account. Every surface that takes the ID of an existing
 * object takes this form.
 */
export class CompositeId {
  /** @param forms such as `<zone ID>/<policy ID>`. Without an object's ID, the resource's ID is its zone's. */
  constructor(readonly forms: readonly [string, ...string[]]) {}

  /** @throws Error with the right form. */
  parse(text: string): ObjectAddress {
    for (const form of this.forms) {
      const address = matched(form.split("/"), text.split("/"));
      if (address !== undefined) return address;
    }
    const forms = this.forms.map((form) => JSON.stringify(form)).join(" or ");
    const number = this.forms.some((form) => form.includes(JOB)) ? ", a job's a number" : "";
    throw new Error(
      `${JSON.stringify(text.slice(0, MAX_SHOWN))} is not ${forms}. An ID is 32 hex digits${number}. ` +
        "Find the ID of a zone or an account on its Overview page in the dashboard.",
    );
  }
}

const MAX_SHOWN = 100;
const JOB = "<job ID>";

function matched(form: readonly string[], parts: readonly string[]): ObjectAddress | undefined {
  if (form.length !== parts.length) return undefined;
  let scope: Scope | undefined;
  let id: string | undefined;
  for (const [index, expected] of form.entries()) {
    const part = parts[index] ?? "";
    if (!expected.startsWith("<")) {
      if (part !== expected) return undefined;
    } else if (expected === JOB) {
      if (!/^\d+$/.test(part)) return undefined;
      id = part;
    } else if (!isId(part)) return undefined;
    else if (expected === "<zone ID>") scope = { kind: "zone", id: part.toLowerCase() };
    else if (expected === "<account ID>") scope = { kind: "account", id: part.toLowerCase() };
    else id = part.toLowerCase();
  }
  return scope === undefined ? undefined : { scope, id: id ?? scope.id };
}
