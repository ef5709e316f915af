import { InvalidArgumentError } from "commander";
import { IDENTIFIER } from "../limits";

/** The ID of a zone, an account or a namespace, as an option's value. */
export function hexId(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]+$/.test(id) && id.length === IDENTIFIER.LENGTH_CHARACTERS) return id;
  throw new InvalidArgumentError(
    `An ID has ${IDENTIFIER.LENGTH_CHARACTERS} hexadecimal digits. The dashboard shows it: for a zone or an account on its Overview page.`,
  );
}
