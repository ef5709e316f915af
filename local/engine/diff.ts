/** Compares two property maps, element by element. */
import { formatPath, type Path } from "./paths";
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

/** Changes in the format of `preview --json`. */
interface PropertyDiff {
  readonly kind: string;
  readonly inputDiff: boolean;
}
export type DetailedDiff = Readonly<Record<string, PropertyDiff>>;

export function detailed(changes: readonly Change[]): DetailedDiff {
  return sorted(
    Object.fromEntries(changes.map(({ path, kind }) => [formatPath(path), { kind, inputDiff: true }])),
  );
}

export function changedKeys(changes: readonly Change[]): string[] {
  return [...new Set(changes.map(({ path }) => String(path[0])))];
}

const INVERSE: Readonly<Record<string, string>> = {
  add: "delete",
  delete: "add",
  "add-replace": "delete-replace",
  "delete-replace": "add-replace",
};

/** Inverts a diff, because a refresh shows changes from the recorded state to what exists. */
export function inverted(diff: DetailedDiff | undefined): DetailedDiff | undefined {
  if (diff === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(diff).map(([path, each]) => [path, { ...each, kind: INVERSE[each.kind] ?? each.kind }]),
  );
}
