import {
  Credential,
  isMasked,
  membersOf,
  parseDestination,
  typedDestination,
  type Member,
  type Members,
} from "../../logpush/destination-schemes";
import { isAmbiguous, isShownAs } from "../../logpush/destination-text";
import { call, codeOf, objectOf, type Code } from "../code";
import type { ArgumentWriter } from "../existing";
import { oneLine, slug } from "../names";

/**
 * Writes a destination as a call to its builder, with credentials from the stack's configuration. If no builder can
 * express all of it, the whole text becomes one secret.
 */
export function destinationCode(
  text: string,
  writing: ArgumentWriter,
): { readonly destination: Code } | { readonly destinationConf: Code } {
  const secret: SecretCode = (name, { value, meaning }) =>
    writing.secret(name, { value, isShown: !isMasked(value), meaning: oneLine(meaning) });
  const parsed = parseDestination(text);
  const members = parsed === undefined || isAmbiguous(parsed) ? undefined : membersOf(parsed);
  if (parsed !== undefined && members !== undefined) {
    const plain = argumentCode(members, (_name, { value }) => codeOf(value)).value;
    const value = { scheme: parsed.scheme, ...(plain as Members) };
    const rendered = typedDestination.safeParse(value);
    if (rendered.success && isShownAs(rendered.data, text)) {
      const argument = argumentCode(members, secret);
      return { destination: call(`destination.${parsed.scheme}`, [argument], value) };
    }
  }
  return {
    destinationConf: secret("destination", new Credential(text, "the whole destination")),
  };
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
