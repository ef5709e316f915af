/** Compares two property maps, element by element. */
import type { Path } from "./paths";
import { equal, isMap, sorted, type Value, type ValueMap } from "./values";

type ChangeKind = "add" | "delete" | "update";

export interface Change {
  readonly path: Path;
  readonly kind: ChangeKind;
  readonly old: Value | undefined;
  readonly new: Value | undefined;
}

export function diffMaps(old: ValueMap, current: ValueMap, prefix: Path = []): Change[] {
  const keys = Object.keys(sorted({ ...old, ...current }));
  return keys.flatMap((key) => diffValues(old[key], current[key], [...prefix, key]));
}

/** Compares two values. Null and absent values are equal. */
function diffValues(old: Value | undefined, current: Value | undefined, path: Path): Change[] {
  const [had, has] = [old ?? null, current ?? null];
  if (had === null && has === null) return [];
  if (had === null) return [{ path, kind: "add", old, new: current }];
  if (has === null) return [{ path, kind: "delete", old, new: current }];
  if (isMap(had) && isMap(has)) return diffMaps(had, has, path);
  if (Array.isArray(had) && Array.isArray(has)) {
    const longest = had.length > has.length ? had : has;
    return longest.flatMap((_, index) => diffValues(had[index], has[index], [...path, index]));
  }
  return equal(had, has) ? [] : [{ path, kind: "update", old, new: current }];
}
