/** Property paths, as in ignoreChanges: a.b[0]["c.d"].*, where * matches any key or index. */
import { isMap, Secret, type Value, type ValueMap } from "./values";

export type Path = readonly (string | number)[];

/** Parses a property path. Undefined if the text isn't a valid path, which the Pulumi engine also ignores. */
export function parsePath(text: string): Path | undefined {
  const path: (string | number)[] = [];
  const element = /\.?([^.[\]"]+)|\.?\[(\d+)\]|\.?\[(\*)\]|\.?\["((?:\\"|[^"])*)"\]/y;
  while (element.lastIndex < text.length) {
    const match = element.exec(text);
    if (match === null || (path.length === 0 && text.startsWith("."))) return undefined;
    const [, name, index, star, quoted] = match;
    path.push(index !== undefined ? Number(index) : (name ?? star ?? (quoted ?? "").replaceAll('\\"', '"')));
  }
  return path.length === 0 ? undefined : path;
}

export function formatPath(path: Path): string {
  return path.reduce<string>((text, element) => {
    if (typeof element === "number") return `${text}[${element}]`;
    if (!/^[A-Za-z0-9_]+$/.test(element)) return `${text}["${element.replaceAll('"', '\\"')}"]`;
    return text === "" ? element : `${text}.${element}`;
  }, "");
}

interface Reset {
  readonly inputs: ValueMap;
  /** Paths into added or removed elements, whose changes can't be ignored. */
  readonly impossible: readonly string[];
}

/** Resets the value at each path to its old value. */
export function resetTo(old: ValueMap, inputs: ValueMap, paths: readonly string[]): Reset {
  const impossible: string[] = [];
  let result: Value = inputs;
  for (const text of paths) {
    const path = parsePath(text);
    if (path === undefined) continue;
    const changed = resetAt(old, result, path);
    if (changed === undefined) impossible.push(text);
    else result = changed.value ?? result;
  }
  return { inputs: isMap(result) ? result : inputs, impossible };
}

/**
 * Returns `current` with the old value at `path`. The result has no `value` if it must be removed. Undefined if the
 * path doesn't exist.
 */
function resetAt(
  old: Value | undefined,
  current: Value | undefined,
  path: Path,
): { value: Value | undefined } | undefined {
  const [element, ...rest] = path;
  if (element === undefined) return { value: old };
  if (current instanceof Secret || old instanceof Secret) {
    const inner = resetAt(withoutSecret(old), withoutSecret(current), path);
    if (inner?.value === undefined) return inner;
    return { value: new Secret(inner.value) };
  }
  if (Array.isArray(current) && Array.isArray(old)) return resetInArray(old, current, element, rest);
  if (isMap(current) && isMap(old)) return resetInMap(old, current, element, rest);
  return old === undefined && current === undefined ? { value: undefined } : undefined;
}

const withoutSecret = (value: Value | undefined): Value | undefined =>
  value instanceof Secret ? value.element : value;

function resetInArray(old: Value[], current: Value[], element: string | number, rest: Path) {
  if (element === "*" && old.length !== current.length) return undefined;
  const indexes = element === "*" ? current.keys() : [Number(element)];
  const result = [...current];
  for (const index of indexes) {
    if (index >= current.length && index >= old.length) continue;
    const changed = resetAt(old[index], current[index], rest);
    if (changed?.value === undefined || index >= current.length) return undefined;
    result[index] = changed.value;
  }
  return { value: result };
}

function resetInMap(old: ValueMap, current: ValueMap, element: string | number, rest: Path) {
  const keys = element === "*" ? new Set([...Object.keys(old), ...Object.keys(current)]) : [String(element)];
  const result: ValueMap = { ...current };
  for (const key of keys) {
    const changed = resetAt(old[key], current[key], rest);
    if (changed === undefined) return undefined;
    if (changed.value === undefined) Reflect.deleteProperty(result, key);
    else result[key] = changed.value;
  }
  return { value: result };
}
