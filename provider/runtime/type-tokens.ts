/** The type tokens of this package's resources in plans and states, up to the class name, by how a program declares them. */
export const TYPE_PREFIXES = {
  /** To the engine, the classes are dynamic resources. */
  dynamic: "pulumi-nodejs:dynamic/edgeguard:",
  /** Resources of the provider plugin. */
  plugin: "edgeguard:index:",
} as const;

/** How a program declares resources: with this package's classes, or with the SDK of the provider plugin. */
export type Surface = keyof typeof TYPE_PREFIXES;

/** The provider types of both surfaces: the entries of a state that hold settings and credentials. */
export const PROVIDER_TYPES: readonly string[] = [
  "pulumi:providers:pulumi-nodejs",
  "pulumi:providers:edgeguard",
];

/** Returns the class that a type token stands for, on either surface. Undefined for another package's type. */
export function kindOf(token: string): string | undefined {
  const prefix = Object.values(TYPE_PREFIXES).find((each) => token.startsWith(each));
  return prefix === undefined ? undefined : token.slice(prefix.length);
}
