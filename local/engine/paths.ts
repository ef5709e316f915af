/** Property paths, as in ignoreChanges and in previews: a.b[0]["c.d"]. */
import { UnsupportedError } from "./errors";
import { isMap, type Value, type ValueMap } from "./values";

export type Path = readonly (string | number)[];

export function formatPath(path: Path): string {
  return path.reduce<string>((text, element) => {
    if (typeof element === "number") return `${text}[${element}]`;
    if (!/^[A-Za-z0-9_]+$/.test(element)) return `${text}["${element.replaceAll('"', '\\"')}"]`;
    return text === "" ? element : `${text}.${element}`;
  }, "");
}

/**
 * Resets the value at each path to its old value. Supports the names of properties, separated by periods.
 *
 * @throws UnsupportedError for a path into a list, a secret, or a value that was added or removed.
 */
export function resetTo(old: ValueMap, inputs: ValueMap, paths: readonly string[]): ValueMap {
  return paths.reduce((result, path) => resetAt(old, result, path.split("."), path), inputs);
}

function resetAt(
  old: Value | undefined,
  current: Value | undefined,
  [name = "", ...rest]: readonly string[],
  path: string,
): ValueMap {
  if (!isMap(old) || !isMap(current) || !/^\w+$/.test(name))
    throw new UnsupportedError(
      `ignoreChanges: ${JSON.stringify(path)}`,
      "name a whole property, or a property of an object that existed before",
    );
  const { [name]: changed, ...others } = current;
  const was = old[name];
  if (rest.length > 0 && (was ?? changed) === undefined) return current;
  const value = rest.length === 0 ? was : resetAt(was, changed, rest, path);
  return value === undefined ? others : { ...others, [name]: value };
}
