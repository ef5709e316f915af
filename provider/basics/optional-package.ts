/**
 * Loads a package that the user may have installed. Searches from the given directories. Undefined if it isn't
 * installed.
 */
export function loadOptional(name: string, from: string[]): unknown {
  const found = resolveFrom(name, from);
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer, resolved where the user installed it
  return found === undefined ? undefined : require(found);
}

function resolveFrom(name: string, paths: string[]): string | undefined {
  try {
    return require.resolve(name, { paths });
  } catch {
    return undefined;
  }
}

const LOCAL = "edgeguard-local";

/**
 * Loads `edgeguard-local`, which is optional.
 *
 * @param needs what needs it, such as `--local`.
 * @throws Error if the version of this package isn't installed.
 */
export function loadLocal<T>(needs: string, folder: string, isFit: (module: unknown) => module is T): T {
  const module = loadOptional(LOCAL, [__dirname, folder]);
  if (isFit(module)) return module;
  throw new Error(
    `${needs} needs the package ${LOCAL} in the version of pulumi-edgeguard, which isn't installed here. Run "npm install --save-dev ${LOCAL}".`,
  );
}
