import { PropertyDiff } from "@pulumi/pulumi/proto/provider_pb";
import { isJsonObject, propertyPath, sameJson } from "pulumi-edgeguard/plugin";

const { Kind } = PropertyDiff;

/** How one value changed. */
export interface Change {
  readonly path: string;
  readonly kind: "add" | "delete" | "update";
}

/** Returns how a value as a whole changed. */
export function kindOfChange(before: unknown, after: unknown): Change["kind"] {
  const isAbsent = (value: unknown): boolean => value === undefined || value === null;
  return isAbsent(before) ? "add" : isAbsent(after) ? "delete" : "update";
}

/** Whether two values are equal. Languages write a value that isn't set as null. */
export function isSame(before: unknown, after: unknown): boolean {
  return sameJson(before ?? undefined, after ?? undefined);
}

/** Yields the innermost values that differ, each with its path. */
export function* changesOf(before: unknown, after: unknown, path: readonly PropertyKey[]): Generator<Change> {
  if (isSame(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i += 1)
      yield* changesOf(before[i], after[i], [...path, i]);
  } else if (isJsonObject(before) && isJsonObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* changesOf(before[name], after[name], [...path, name]);
  } else yield { path: propertyPath(path), kind: kindOfChange(before, after) };
}

export function propertyDiff(kind: Change["kind"], replaces: boolean): PropertyDiff {
  const [plain, replacing] = {
    add: [Kind.ADD, Kind.ADD_REPLACE] as const,
    delete: [Kind.DELETE, Kind.DELETE_REPLACE] as const,
    update: [Kind.UPDATE, Kind.UPDATE_REPLACE] as const,
  }[kind];
  const diff = new PropertyDiff();
  diff.setKind(replaces ? replacing : plain);
  return diff;
}
