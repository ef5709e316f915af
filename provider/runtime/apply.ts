import { isAbsent, unlessAbsent } from "../api/errors";
import { ADOPTED, adoptionLine, withAdopted } from "./adopted";
import { HIDDEN, KEPT } from "./hidden";
import type { ResourceType } from "./resource-type";
import type { Host } from "./host";
import type { Scope } from "./composite-id";
import { PartialFailure, type ListedObject, type State } from "./lifecycle";
import { IMPACT, revisionOf } from "./impact";
import { isJsonObject, omit, pick, sameJson, type JsonObject } from "../basics/json";
import { newsOf, UNMANAGED, UnmanagedMembers } from "./unmanaged";
import { namesOfSecrets } from "./secrets";

/** The operations that read and change real objects. */

export async function create(
  resource: ResourceType,
  host: Host,
  inputs: JsonObject,
): Promise<{ id: string; outs: Record<string, unknown> }> {
  const { lifecycle } = resource;
  const args = resource.args(inputs);
  return await handingOverHalf(resource, host, inputs, () =>
    host.exclusively(lifecycle.lock(args), async () => {
      const unmanaged = new UnmanagedMembers();
      const ctx = host.context(lifecycle.type, { ...resource.about(inputs), unmanaged });
      const { id, computed, adopts } = await lifecycle.create({
        ctx,
        args,
        inputs: pick(inputs, resource.computedInputs),
      });
      host.record.hold(lifecycle.type, id, "made");
      const adopted = adopts === undefined ? undefined : resource.adopted(adopts, inputs, host.redact);
      if (adopts !== undefined && adopted !== undefined) host.say.info(adoptionLine(adopts, adopted));
      const outputs = { ...computed, ...unmanaged.outputs(args) };
      return { id, outs: resource.outputs(args, withAdopted(inputs, adopted), outputs) };
    }),
  );
}

export interface ReadResult {
  readonly id: string;
  readonly props?: Record<string, unknown>;
  readonly inputs?: Record<string, unknown>;
}

export async function read(
  resource: ResourceType,
  host: Host,
  id: string,
  props: JsonObject,
): Promise<ReadResult> {
  const { lifecycle } = resource;
  const state = resource.state(props);
  const unmanaged = new UnmanagedMembers();
  let found: State | undefined;
  try {
    const ctx = host.context(lifecycle.type, { ...resource.about(props), unmanaged });
    found = await lifecycle.read({ ctx, id, state });
  } catch (error) {
    if (!isAbsent(error)) throw error; // A wrong base URL must not empty the state.
  }
  if (found === undefined) return { id: "" };
  const { [IMPACT]: news, ...read }: JsonObject = { ...found };
  const outputs = { ...read, ...sameInOtherWords(resource, props, read) };
  // A read returns undefined for what no longer exists.
  const isGone = (key: string): boolean => key in outputs && outputs[key] === undefined;
  const recordedBefore = omit(pick(props, resource.computedInputs), resource.computedInputs.filter(isGone));
  const alongside = {
    ...recordedBefore,
    ...pick(outputs, resource.computedInputs),
    ...pick(props, KEPT),
  };
  // The outputs keep what the last update found. In the inputs, it would be taken for what the next preview finds.
  const drifted = driftedUnseen(resource, props, outputs);
  const base = { operation: "refresh", revision: revisionOf(props) + 1, seen: [] };
  const record =
    isJsonObject(news) || drifted.length > 0
      ? { [IMPACT]: { ...base, ...(drifted.length > 0 && { drifted }), ...(isJsonObject(news) && news) } }
      : {};
  // A get has no arguments. As its inputs they'd be in plain text, because only its outputs are marked as secrets.
  const inputs =
    props[HIDDEN.read] === true
      ? pick(props, [HIDDEN.name])
      : { ...pick(outputs, resource.argKeys), ...omit(alongside, [IMPACT]), ...record };
  const others = unmanaged.outputs(outputs, props);
  if (isRecorded(props)) tellUnmanaged(resource, host, props, others);
  return { id, props: resource.outputs(outputs, alongside, others), inputs };
}

/**
 * Lists what differs from the recorded state where a plan may show neither side. Of what's always secret, the state may
 * have a masked form, and each class tells its drift.
 */
function driftedUnseen(resource: ResourceType, props: JsonObject, now: JsonObject): readonly string[] {
  const { watched = {} } = resource.lifecycle;
  const isChanged = (name: string): boolean =>
    name in props && name in now && !sameJson(props[name], now[name]);
  const outputs = Object.entries(watched).filter(([name, isDrift]) => isDrift(props[name], now[name]));
  return [...namesOfSecrets(props).filter(isChanged), ...outputs.map(([name]) => name)];
}

/**
 * Returns the recorded arguments that mean the same as what was read, because another notation is no change. Of a
 * credential, the recorded one may be masked.
 */
function sameInOtherWords({ lifecycle }: ResourceType, props: JsonObject, now: JsonObject): JsonObject {
  const { equal: all = {}, secret = {} } = lifecycle;
  const equal = Object.entries(all).filter(([name]) => !(name in secret));
  const isSame = ([name, same]: (typeof equal)[number]): boolean =>
    name in props && name in now && same?.(props[name], now[name], props) === true;
  return pick(
    props,
    equal.filter(isSame).map(([name]) => name),
  );
}

/** Whether there's a recorded state. There's none for a new resource or an import. */
export function isRecorded(olds: JsonObject): boolean {
  return Object.keys(olds).length > 0;
}

/** Tells what someone has changed in members that no argument sets. */
export function tellUnmanaged(
  resource: ResourceType,
  host: Host,
  recorded: JsonObject,
  now: JsonObject,
): void {
  const news = newsOf(recorded[UNMANAGED], now[UNMANAGED]);
  const { name = "" } = resource.about(recorded);
  if (news !== undefined) host.say.warn(`${resource.lifecycle.type} ${name}: ${news}.`);
}

/** An object that the program reads with `get`, with the outputs that `read` needs. */
export interface Existing {
  readonly id: string;
  readonly props: JsonObject;
}

/**
 * Finds an object for `get`. A missing object is an error, because the engine would treat an empty response as an
 * existing resource.
 *
 * @param given the composite ID.
 */
export async function findExisting(
  resource: ResourceType,
  host: Host,
  given: string,
  props: JsonObject,
): Promise<Existing> {
  const { lifecycle } = resource;
  const { type } = lifecycle;
  const address = lifecycle.compositeId.parse(given);
  const ctx = host.context(type, resource.about(props));
  const found = await unlessAbsent(() => lifecycle.existing({ ctx, address }));
  if (found === undefined) throw new Error(missing(type, given));
  return { id: found.id, props: { ...found.outputs, ...pick(props, KEPT), [HIDDEN.read]: true } };
}

/**
 * Reads an object for `get`, and makes sure that deleting a resource that used to declare the object doesn't delete the
 * object.
 */
export async function readExisting(
  resource: ResourceType,
  host: Host,
  given: string,
  { id, props }: Existing,
): Promise<ReadResult> {
  const { type } = resource.lifecycle;
  const result = await read(resource, host, id, props);
  if (result.id === "") throw new Error(missing(type, given));
  host.record.read(type, id);
  return result;
}

/** Lists existing objects, with the IDs that `findExisting` accepts. */
export async function list(
  { lifecycle }: ResourceType,
  host: Host,
  scope: Scope,
): Promise<readonly ListedObject[]> {
  const { type, compositeId } = lifecycle;
  const listed = (await lifecycle.list?.({ ctx: host.context(type), scope })) ?? [];
  return listed.map(({ id, name }) => ({ id: compositeId.format({ scope, id }), name }));
}

function missing(type: string, given: string): string {
  return `${type}.get: ${given} doesn't exist. Check the ID, or remove the get call from the program.`;
}

export async function update(
  resource: ResourceType,
  host: Host,
  id: string,
  olds: JsonObject,
  news: JsonObject,
): Promise<{ outs: Record<string, unknown> }> {
  const { lifecycle } = resource;
  const { type } = lifecycle;
  const state = resource.state(olds);
  const args = resource.args(news);
  return await handingOverHalf(resource, host, news, () =>
    host.exclusively(lifecycle.lock(args), async () => {
      if (host.record.holding(type, id) === "made") {
        throw new Error(
          `${type} ${id} was adopted by another resource in this program, whose arguments match those that this resource had before. ` +
            "Nothing was changed. Give the other resource different arguments, or add an alias to this resource, then run `pulumi up` again.",
        );
      }
      const inputs = pick(news, resource.computedInputs);
      const unmanaged = new UnmanagedMembers();
      const ctx = host.context(type, { ...resource.about(news), unmanaged });
      const computed = await orUnfinished(resource, host, { id, olds }, () =>
        lifecycle.update({ ctx, id, state, args, inputs }),
      );
      host.record.hold(type, id, "changed");
      const others = unmanaged.outputs(args, olds);
      tellUnmanaged(resource, host, olds, others);
      return { outs: resource.outputs(args, withAdopted(news, olds[ADOPTED]), { ...computed, ...others }) };
    }),
  );
}

/**
 * If an update fails after a request that may have changed the object, records the resource as unfinished, with its
 * arguments as they were. The engine then updates it again even if the program is reverted.
 */
async function orUnfinished<T>(
  { argKeys }: ResourceType,
  host: Host,
  { id, olds }: { readonly id: string; readonly olds: JsonObject },
  update: () => Promise<T>,
): Promise<T> {
  try {
    return await update();
  } catch (error) {
    if (!host.wrote || !(error instanceof Error) || error instanceof PartialFailure) throw error;
    const next =
      "The resource is recorded as unfinished: the next `pulumi up` writes what the program then declares.";
    throw new PartialFailure(id, omit(olds, argKeys), `${error.message} ${next}`, pick(olds, argKeys));
  }
}

async function remove(resource: ResourceType, host: Host, id: string, props: JsonObject): Promise<void> {
  const { lifecycle } = resource;
  const { type, lostOnHandOver = "" } = lifecycle;
  const whyKept = host.record.whyKept(type, id);
  if (whyKept === "adopted") {
    const kept = `${type} ${id} is kept: another resource in this program adopted it. Nothing was sent.`;
    host.say.info(`${kept} ${lostOnHandOver}`.trimEnd());
    return;
  }
  if (whyKept === "read") {
    host.say.info(`${type} ${id} is kept: this program reads it with ${type}.get. Nothing was sent.`);
    return;
  }
  const state = resource.state(props);
  try {
    const ctx = host.context(type, resource.about(props));
    await host.exclusively(lifecycle.lock(state), () => lifecycle.delete({ ctx, id, state }));
  } catch (error) {
    // Already deleted is fine. A path that can't be routed doesn't prove it.
    if (!isAbsent(error)) throw error;
  }
}
export { remove as delete };

/** Reports a partially completed change to the engine, which records it. */
async function handingOverHalf<T>(
  resource: ResourceType,
  host: Host,
  inputs: JsonObject,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PartialFailure)) throw error;
    host.record.hold(resource.lifecycle.type, error.id, "made");
    const properties = resource.partialOutputs(inputs, error.computed as object, error.reached);
    const message = host.presentable(error.message);
    throw Object.assign(new Error(message), { id: error.id, properties, reasons: [message] });
  }
}
