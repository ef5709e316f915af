import { dirname, join, resolve } from "node:path";
import { isJsonObject } from "../../runtime/values";
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
    readonly begun: boolean;
    close(): Promise<void>;
  }>;
}

/** Where `--local` keeps its data unless `--persist-to` says otherwise: beside the configuration file. */
const DEFAULT_FOLDER = ".edgeguard/local-api";

const PACKAGE = "edgeguard-local";

interface LocalDataRequest {
  /** As `--persist-to` gives it. */
  readonly folder: string | undefined;
  /** Absolute path of the configuration file. */
  readonly beside: string | undefined;
  readonly namespaceId: string;
  readonly title: string;
  /** Whether the namespace is begun where there is none. */
  readonly begin: boolean;
}

interface LocalData {
  /** Settings that lead to the data. */
  readonly config: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly folder: string;
  /** Whether the namespace is new. */
  readonly begun: boolean;
  close(): Promise<void>;
}

export async function openLocalData(
  io: Io,
  { folder: given, beside, namespaceId, title, begin }: LocalDataRequest,
): Promise<LocalData> {
  const local = load(io);
  const folder =
    given === undefined
      ? join(beside === undefined ? io.cwd : dirname(beside), DEFAULT_FOLDER)
      : resolve(io.cwd, given);
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
      folder,
      begun: data.begun,
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
  return isJsonObject(module) && typeof module["openLocalData"] === "function";
}
