import { InvalidArgumentError } from "commander";
import { IDENTIFIER } from "../limits";

/** The ID of a zone or an account, as an option's value. */
export function hexId(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]+$/.test(id) && id.length === IDENTIFIER.LENGTH_CHARACTERS) return id;
  throw new InvalidArgumentError(
    `An ID has ${IDENTIFIER.LENGTH_CHARACTERS} hexadecimal digits. Find it on the zone's or account's Overview page.`,
  );
}
