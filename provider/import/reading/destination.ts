import {
  Credential,
  isMasked,
  kindOfParameter,
  membersOf,
  parseDestination,
  typedDestination,
  type Member,
  type Members,
  type ParsedDestination,
} from "../../logpush/destination-schemes";
import { hidesCredentials, isAmbiguous, isShownAs, shownDestination } from "../../logpush/destination-text";
import { call, codeOf, objectOf, type Code } from "../code";
import type { ArgumentWriter } from "../existing";
import { oneLine, slug } from "../names";

/**
 * Writes a destination as a call to its builder, with credentials from the stack's configuration. If there's no
 * builder, or the builder doesn't cover everything, the whole text becomes one secret.
 */
export function destinationCode(
  text: string,
  writing: ArgumentWriter,
): { readonly destination: Code } | { readonly destinationConf: Code } {
  const secret: SecretCode = (name, { value, meaning }) =>
    writing.secret(name, { value, isShown: !isMasked(value), meaning: oneLine(meaning) });
  const whole = (meaning: string): Code => {
    const isShown = !isMasked(text) && !hidesCredentials(text);
    return writing.secret("destination", { value: text, isShown, meaning: oneLine(meaning) });
  };
  const parsed = parseDestination(text);
  const members = parsed === undefined || isAmbiguous(parsed) ? undefined : membersOf(parsed);
  if (parsed !== undefined && members !== undefined) {
    const plain = argumentCode(members, (_name, { value }) => codeOf(value)).value;
    const value = { scheme: parsed.scheme, ...(plain as Members) };
    const rendered = typedDestination.safeParse(value);
    // What no member covers may be a credential.
    if (rendered.success && isShownAs(rendered.data, text)) {
      if (writing.hasBuilders)
        return { destination: call(`destination.${parsed.scheme}`, [argumentCode(members, secret)], value) };
      const hasCredential = Object.values(members).some((member) => typeof member === "object");
      return { destinationConf: hasCredential ? whole(placeOf(text, parsed)) : codeOf(text) };
    }
  }
  return { destinationConf: whole("the whole destination") };
}

/** Describes a destination without its secrets: where the logs go, and which credentials it contains. */
function placeOf(text: string, parsed: ParsedDestination): string {
  const credentials = parsed.parameters.flatMap(([name]) =>
    kindOfParameter(parsed, name) === "location" ? [] : [`${name}=…`],
  );
  return `the whole destination: ${[shownDestination(text), ...credentials].join(" ")}`;
}

/** Returns the code for a secret. @param name the end of the configuration key. */
type SecretCode = (name: string, credential: Credential) => Code;

function argumentCode(members: Members, secret: SecretCode): Code {
  const codeFor = (name: string, member: Member | undefined): unknown =>
    member instanceof Credential
      ? secret(slug(name), member)
      : typeof member === "object"
        ? mapped(member, codeFor)
        : member;
  // `accessKeyId` is `access-key-id` in the configuration; a header's name has its own dashes.
  return objectOf(mapped(members, (name, member) => codeFor(name.replace(/[A-Z]/g, "-$&"), member)));
}

function mapped(
  members: Members,
  each: (name: string, member: Member | undefined) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, each(name, member)]));
}
