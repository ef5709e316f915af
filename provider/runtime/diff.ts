import type { ResourceType } from "./resource-type";
import type { Host } from "./host";
import { liveFindings } from "./live";
import type { Findings } from "./lifecycle";
import { hasUnknown } from "./engine-values";
import { IMPACT } from "./impact";
import { tellUnmanaged } from "./apply";
import { isJsonObject, pick, sameJson, type JsonObject } from "../basics/json";

export interface DiffResult {
  readonly changes: boolean;
  /** The names of the inputs that differ: arguments, and computed inputs that count as changes. */
  readonly changed: readonly string[];
  readonly replaces: string[];
  readonly deleteBeforeReplace: boolean;
}

/** Compares the recorded state with the program, and shows the reviewer what the engine's own diff doesn't. */
export async function diff(
  resource: ResourceType,
  host: Host,
  id: string,
  olds: JsonObject,
  news: JsonObject,
): Promise<DiffResult> {
  const { lifecycle } = resource;
  const changed = changedKeys(resource, olds, news);
  const declared = host.declared.get(resource.fingerprint(news));
  const replaces = changed.filter(
    (key) => resource.replacesOn(key, news) && !(declared !== undefined && hasUnknown(news[key])),
  );
  // If this operation ran no check, no program declares the resource: this is a refresh or destroy. Or the engine is
  // asking whether the resource must be deleted before another one that it depends on.
  const deleteBeforeReplace =
    replaces.length > 0 && replaces.every((key) => lifecycle.deleteFirstOn?.includes(key) === true);
  if (declared === undefined) return { changes: changed.length > 0, changed, replaces, deleteBeforeReplace };

  const change = replaces.length > 0 ? "replacement" : changed.length > 0 ? "update" : "none";
  // After a crash between a create and the delete of its predecessor, the state contains both. The delete happens now.
  if (change !== "replacement")
    host.record.hold(lifecycle.type, id, change === "none" ? "unchanged" : "changing");
  const found = news[IMPACT];
  if (isJsonObject(found)) tellUnmanaged(resource, host, olds, found);
  const { failures = [], pendingWork = false } = await reviewed(resource, host, { id, olds, news, change });
  if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join(" "));
  if (typeof pendingWork === "string") host.say.warn(pendingWork);
  return {
    changes: changed.length > 0 || pendingWork !== false || declared.hasPendingWork,
    changed,
    replaces,
    deleteBeforeReplace,
  };
}

async function reviewed(
  resource: ResourceType,
  host: Host,
  {
    id,
    olds,
    news,
    change,
  }: { id: string; olds: JsonObject; news: JsonObject; change: "none" | "update" | "replacement" },
): Promise<Findings> {
  const { lifecycle } = resource;
  if (lifecycle.review === undefined) return {};
  const checks = await lifecycle.review({
    ctx: host.context(lifecycle.type, resource.about(news), host.probe),
    id,
    // Read lazily, so that an unreadable state fails only the checks that need it.
    get state() {
      return resource.state(olds);
    },
    args: hasUnknown(pick(news, resource.argKeys)) ? undefined : resource.args(news),
    inputs: pick(news, resource.computedInputs),
    change,
  });
  let review: Findings = {};
  for await (const found of liveFindings(host, () => Promise.resolve(checks)))
    review = { ...review, ...found };
  return review;
}

function changedKeys(resource: ResourceType, olds: JsonObject, news: JsonObject): string[] {
  const { compared, equal } = resource.lifecycle;
  const ignored: readonly string[] = compared?.ignore ?? [];
  const before = resource.upgraded(olds);
  const counted = [...resource.argKeys.filter((key) => !ignored.includes(key)), ...(compared?.also ?? [])];
  return counted.filter(
    (key) =>
      !sameJson(before[key], news[key] ?? undefined) &&
      equal?.[key]?.(before[key], news[key], before) !== true,
  );
}
