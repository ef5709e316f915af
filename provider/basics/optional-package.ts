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
