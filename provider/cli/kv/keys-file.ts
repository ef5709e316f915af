import { resolve } from "node:path";
import { checkKey } from "../../kv/check-entry";
import { isBag } from "../../runtime/values";
import { CommandError } from "../errors";
import type { Io } from "../io";
import { placeInFile, readArray } from "../json-array";

/**
 * Keys of a JSON file, an array of strings or of objects with a `name`, as `key list` prints them; each of them once.
 *
 * @throws CommandError naming line and column of the first item that is no key.
 */
export async function readKeys(io: Io, file: string): Promise<readonly string[]> {
  const path = resolve(io.cwd, file);
  const keys = new Set<string>();
  for await (const { value, position, offset } of readArray(path, file)) {
    const key = isBag(value) ? value["name"] : value;
    const problem = typeof key === "string" ? checkKey(key) : "is neither a string nor an object with a name";
    if (typeof key === "string" && problem === undefined) keys.add(key);
    else
      throw new CommandError(`${await placeInFile(path, file, offset)}: item ${position} ${problem ?? ""}.`);
  }
  return [...keys];
}
