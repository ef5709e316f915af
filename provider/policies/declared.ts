import { isJsonObject, type JsonObject } from "../basics/json";
import { kindOf } from "../runtime/type-tokens";
import { partsOfUrn } from "../runtime/urn";
import { UNKNOWN } from "../runtime/engine-values";

/** A resource in the stack, in the form that a policy receives. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  readonly urn: string;
  readonly props: Readonly<Record<string, unknown>>;
}

/** Whether the resource has this type from this package. */
export function isEdgeguard({ type }: Declared, name: string): boolean {
  return kindOf(type) === name;
}

/** Whether the resource has this type from @pulumi/cloudflare. */
export function isCloudflare({ type }: Declared, name: string): boolean {
  return /^cloudflare:index\/\w+:(\w+)$/.exec(type)?.[1] === name;
}

/** Returns a property. Undefined if it's absent or not known yet. Reading an unknown property directly would throw. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined;
  }
}

/** Returns the properties, with {@link UNKNOWN} for whatever isn't known yet. */
export function propsOf({ props }: Declared): JsonObject {
  const copy = withUnknowns(props);
  return isJsonObject(copy) ? copy : {};
}

/** Returns a copy of the value in which {@link UNKNOWN} stands for whatever isn't known yet. */
function withUnknowns(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((_, index) => memberOrUnknown(value, index));
  return Object.fromEntries(Object.keys(value).map((name) => [name, memberOrUnknown(value, name)]));
}

function memberOrUnknown(value: object, name: PropertyKey): unknown {
  try {
    return withUnknowns(Reflect.get(value, name));
  } catch {
    return UNKNOWN;
  }
}

export function text(value: unknown, name: string): string | undefined {
  const found = member(value, name);
  return typeof found === "string" ? found : undefined;
}

export function list(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

/** Returns the name of the resource's stack. */
export function stackOf({ urn }: Declared): string {
  return partsOfUrn(urn)?.stack ?? "";
}
