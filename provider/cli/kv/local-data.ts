import { resolve } from "node:path";
import { isBag } from "../../runtime/values";
import { CommandError } from "../../terminal/errors";
import type { Io } from "../../terminal/io";

/** What is needed of `edgeguard-local`, which is loaded by name and only here: the package works without it. */
interface LocalPackage {
  openLocalData(request: {
    readonly folder: string;
    readonly begin?: { readonly id: string; readonly title: string };
  }): Promise<{
    readonly url: string;
    readonly accountId: string;
    readonly token: string;
    close(): Promise<void>;
  }>;
}

/** Where `--local` keeps its data unless `--persist-to` says otherwise. */
const DEFAULT_FOLDER = ".edgeguard/local-api";

const PACKAGE = "edgeguard-local";

/** Settings that lead to the local data, and how to let go of it. */
export async function openLocalData(
  io: Io,
  persistTo: string = DEFAULT_FOLDER,
  { namespaceId, title, begin }: { namespaceId: string; title: string; begin: boolean },
): Promise<{ readonly config: Readonly<Record<string, string>>; close(): Promise<void> }> {
  const local = load(io);
  const folder = resolve(io.cwd, persistTo);
  try {
    const data = await local.openLocalData({
      folder,
      ...(begin ? { begin: { id: namespaceId, title } } : {}),
    });
    return {
      config: {
        "edgeguard:baseUrl": data.url,
        "edgeguard:accountId": data.accountId,
        "edgeguard:apiToken": data.token,
      },
      close: () => data.close(),
    };
  } catch (error) {
    if (error instanceof Error && error.name === "LocalApiStartError") throw new CommandError(error.message);
    throw error;
  }
}

function load(io: Io): LocalPackage {
  const found = resolvePackage([__dirname, io.cwd]);
  if (found === undefined)
    throw new CommandError(
      `--local needs the package ${PACKAGE}, which is not installed here: run "npm install --save-dev ${PACKAGE}".`,
    );
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer, found where the user has it
  const module: unknown = require(found);
  if (isLocalPackage(module)) return module;
  throw new CommandError(
    `--local needs a later version of the package ${PACKAGE} than ${found} is: install the one of this package's version.`,
  );
}

function resolvePackage(paths: string[]): string | undefined {
  try {
    return require.resolve(PACKAGE, { paths });
  } catch {
    return undefined;
  }
}

function isLocalPackage(module: unknown): module is LocalPackage {
  return isBag(module) && typeof module["openLocalData"] === "function";
}
