import { resolve } from "node:path";
import { checkKey } from "../../kv/entry";
import { readItems } from "../../kv/json-items";
import { SourceError, SourceHandle } from "../../kv/source-handle";
import { isJsonObject, ownMember } from "../../basics/json";
import { CommandError } from "../../terminal/errors";
import type { Io } from "../../terminal/io";

/**
 * Reads the distinct keys from a JSON file: an array of strings, of objects with a `name` as in the output of `key
 * list`, or of entries with a `key` as in a file for `bulk put`.
 *
 * @throws CommandError with the line if the file isn't an array or an item isn't a key.
 */
export async function readKeys(io: Io, name: string): Promise<readonly string[]> {
  let file: SourceHandle | undefined;
  try {
    file = await SourceHandle.open(resolve(io.cwd, name), name);
    const keys = new Set<string>();
    for await (const items of readItems(file)) {
      for (const { value, line, position } of items) {
        const key = isJsonObject(value) ? (ownMember(value, "name") ?? ownMember(value, "key")) : value;
        const problem =
          typeof key === "string" ? checkKey(key) : "expected a string, or an object with a name or key";
        if (typeof key !== "string" || problem !== undefined)
          throw new CommandError(`${name}, line ${line}: entry ${position}: ${problem}.`);
        keys.add(key);
      }
    }
    return [...keys];
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new CommandError(`${error.message}.`);
  } finally {
    await file?.close();
  }
}
