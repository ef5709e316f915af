/**
 * The prefixes of this package's resource types in plans and states, up to the class name. Which prefix applies depends
 * on how a program declares its resources.
 */
export const TYPE_PREFIXES = {
  /** The prefix of this package's classes, which are dynamic resources to the engine. */
  dynamic: "pulumi-nodejs:dynamic/edgeguard:",
  /** The prefix of the provider plugin's resources. */
  plugin: "edgeguard:index:",
} as const;

/** How a program declares resources: with this package's classes, or with the SDK of the provider plugin. */
export type Surface = keyof typeof TYPE_PREFIXES;

/**
 * The types of the classes' provider and the plugin's provider. Their entries in a state contain settings and
 * credentials.
 */
export const PROVIDER_TYPES: readonly string[] = [
  "pulumi:providers:pulumi-nodejs",
  "pulumi:providers:edgeguard",
];

/**
 * Returns the class name in a resource's type, whether the resource comes from a class or the plugin. Undefined for
 * another package's type.
 */
export function kindOf(token: string): string | undefined {
  const prefix = Object.values(TYPE_PREFIXES).find((each) => token.startsWith(each));
  return prefix === undefined ? undefined : token.slice(prefix.length);
}
