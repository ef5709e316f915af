import { DiffResponse, PropertyDiff } from "@pulumi/pulumi/proto/provider_pb";
import { isJsonObject, propertyPath, sameJson, type JsonObject } from "pulumi-edgeguard/plugin";

interface Change {
  readonly path: readonly PropertyKey[];
  readonly before: unknown;
  readonly after: unknown;
}

/** How to show the properties that differ. */
interface Shown {
  /** Properties whose parts aren't named. */
  readonly secrets?: ReadonlySet<string>;
  /** Properties that replace the resource if they change. */
  readonly replaces?: readonly string[];
}

/** Lists which of the named properties differ, by the innermost values that do. */
export function detailedDiff(
  names: Iterable<string>,
  olds: JsonObject,
  news: JsonObject,
  { secrets = new Set(), replaces = [] }: Shown = {},
): DiffResponse {
  const response = new DiffResponse();
  const changed = [...names].filter((name) => !isSame(olds[name], news[name]));
  for (const name of changed) {
    const whole = { path: [name], before: olds[name], after: news[name] };
    for (const { path, before, after } of secrets.has(name) ? [whole] : changesOf(whole)) {
      const kind = isAbsent(before) ? "ADD" : isAbsent(after) ? "DELETE" : "UPDATE";
      const diff = new PropertyDiff();
      diff.setKind(PropertyDiff.Kind[replaces.includes(name) ? (`${kind}_REPLACE` as const) : kind]);
      response.getDetaileddiffMap().set(propertyPath(path), diff);
    }
  }
  return response.setDiffsList(changed).setHasdetaileddiff(changed.length > 0);
}

/** Languages write a value that isn't set as null. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function isSame(before: unknown, after: unknown): boolean {
  return sameJson(before ?? undefined, after ?? undefined);
}

/** Yields the innermost values that differ. */
function* changesOf(change: Change): Generator<Change> {
  const { path, before, after } = change;
  if (isSame(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i += 1)
      yield* changesOf({ path: [...path, i], before: before[i], after: after[i] });
  } else if (isJsonObject(before) && isJsonObject(after)) {
    for (const name of Object.keys({ ...before, ...after }))
      yield* changesOf({ path: [...path, name], before: before[name], after: after[name] });
  } else yield change;
}
