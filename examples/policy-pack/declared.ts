/** A resource of the stack as a rule sees it. */
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

/** What a team sets for itself; the defaults are in index.ts. */
export interface Settings {
  /** What the account pays for, and by which usage model. */
  readonly plan: "free" | "paid" | "enterprise";
  readonly usageModel: "bundled" | "unbound" | "standard";
  /** A regular expression for the names of production stacks. */
  readonly production: string;
  /** Zones of which a snapshot was reviewed: it is committed, and as it was committed. */
  readonly reviewedZones: ReadonlySet<string>;
  /** Folder that relative paths of the program start from. */
  readonly folder: string;
}

/** Whether it is a resource of pulumi-edgeguard of this name. */
export function isOurs({ type }: Declared, ...names: string[]): boolean {
  return names.some((name) => type === `pulumi-nodejs:dynamic/edgeguard:${name}`);
}

/** Whether it is a resource of @pulumi/cloudflare; `Worker` and `Workers` are the same under two names. */
export function isVendors({ type }: Declared, ...names: string[]): boolean {
  const [, name = ""] = /^cloudflare:index\/\w+:(\w+)$/.exec(type) ?? [];
  return names.includes(name.replace(/^Workers(?=[A-Z])/, "Worker"));
}

/** A member, or undefined where it is not there or not known yet: asking for one that is not known throws. */
export function member(bag: unknown, name: string): unknown {
  if (typeof bag !== "object" || bag === null) return undefined;
  try {
    return Reflect.get(bag, name);
  } catch {
    return undefined;
  }
}

export function text(bag: unknown, name: string): string | undefined {
  const value = member(bag, name);
  return typeof value === "string" ? value : undefined;
}

export function list(bag: unknown, name: string): readonly unknown[] {
  const value = member(bag, name);
  return Array.isArray(value) ? value : [];
}

/** The stack of a URN, `urn:pulumi:<stack>::<project>::<type>::<name>`. */
export function stackOf({ urn }: Declared): string {
  return /^urn:pulumi:([^:]*)::/.exec(urn)?.[1] ?? "";
}
