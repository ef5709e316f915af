const LOCAL = "edgeguard-local";

function resolveFrom(paths: string[]): string | undefined {
  try {
    return require.resolve(LOCAL, { paths });
  } catch {
    return undefined;
  }
}

/**
 * Loads `edgeguard-local`, which is optional.
 *
 * @param needs what needs it, such as `--local`.
 * @throws Error if the version of this package isn't installed.
 */
export function loadLocal<T>(needs: string, folder: string, isFit: (module: unknown) => module is T): T {
  const found = resolveFrom([__dirname, folder]);
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer, resolved where the user installed it
  const module: unknown = found === undefined ? undefined : require(found);
  if (isFit(module)) return module;
  throw new Error(
    `${needs} needs the package ${LOCAL} in the version of pulumi-edgeguard, which isn't installed here. Run "npm install --save-dev ${LOCAL}".`,
  );
}
