/** A resource of the stack, as a policy gets it. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  readonly urn: string;
  readonly props: Readonly<Record<string, unknown>>;
}

/** What is wrong with a resource. */
export interface Violation {
  readonly urn: string;
  readonly message: string;
}

/** What a team can configure. The defaults are in index.ts. */
export interface Settings {
  /** The account's Workers plan and usage model. */
  readonly plan: "free" | "paid" | "enterprise";
  readonly usageModel: "bundled" | "unbound" | "standard";
  /** A regular expression that matches the names of production stacks. */
  readonly production: string;
  /** The zones with a reviewed snapshot: one that is committed and hasn't changed since. */
  readonly reviewedZones: ReadonlySet<string>;
  /** The folder of the program, for its relative paths. */
  readonly folder: string;
}

/** Whether the resource is one of these types of pulumi-edgeguard. */
export function isEdgeguard({ type }: Declared, ...names: string[]): boolean {
  return names.some((name) => type === `pulumi-nodejs:dynamic/edgeguard:${name}`);
}

/** Whether the resource is one of these types of @pulumi/cloudflare, which renamed `Worker…` to `Workers…`. */
export function isCloudflare({ type }: Declared, ...names: string[]): boolean {
  const [, name = ""] = /^cloudflare:index\/\w+:(\w+)$/.exec(type) ?? [];
  return names.includes(name.replace(/^Workers(?=[A-Z])/, "Worker"));
}

/** The member, or undefined if it's absent or not known yet: reading an unknown one throws. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined;
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

/** The stack of a URN, `urn:pulumi:<stack>::<project>::<type>::<name>`. */
export function stackOf({ urn }: Declared): string {
  return /^urn:pulumi:([^:]*)::/.exec(urn)?.[1] ?? "";
}
