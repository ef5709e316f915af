import { checkKey } from "../../kv/check-entry";
import { isBag, own } from "../../runtime/values";
import { CommandError } from "../../terminal/errors";
import type { InputFile } from "../input-file";
import { placeInFile, readArray } from "../json-array";

/**
 * Keys of a JSON file, an array of strings or of objects with a `name`, as `key list` prints them; each of them once.
 *
 * @throws CommandError naming line and column of the first item that is no key.
 */
export async function readKeys({ path, name }: InputFile): Promise<readonly string[]> {
  const keys = new Set<string>();
  for await (const { value, position, offset } of readArray(path, name)) {
    const key = isBag(value) ? own(value, "name") : value;
    const problem = typeof key === "string" ? checkKey(key) : "is neither a string nor an object with a name";
    if (typeof key === "string" && problem === undefined) keys.add(key);
    else
      throw new CommandError(`${await placeInFile(path, name, offset)}: item ${position} ${problem ?? ""}.`);
  }
  return [...keys];
}
