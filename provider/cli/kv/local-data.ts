import { dirname, join, resolve } from "node:path";
import { loadLocal } from "../../basics/optional-package";
import { isJsonObject } from "../../basics/json";
import { CommandError } from "../../terminal/errors";
import type { Io } from "../../terminal/io";

/** The part of `edgeguard-local` that's used here. The package is optional, so it's loaded by name. */
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

/** The default of `--persist-to`: a directory next to the configuration file. */
const DEFAULT_FOLDER = ".edgeguard/local-api";

interface LocalDataRequest {
  /** The value of `--persist-to`. */
  readonly folder: string | undefined;
  /** The absolute path of the configuration file. */
  readonly beside: string | undefined;
  readonly namespaceId: string;
  readonly title: string;
  /** Whether to create the namespace if it doesn't exist. */
  readonly begin: boolean;
}

interface LocalData {
  /** Settings for accessing the data. */
  readonly settings: Readonly<Record<string, string>>;
  /** The absolute path of the data's directory. */
  readonly folder: string;
  /** Whether the namespace is new. */
  readonly begun: boolean;
  close(): Promise<void>;
}

export async function openLocalData(
  io: Io,
  { folder: given, beside, namespaceId, title, begin }: LocalDataRequest,
): Promise<LocalData> {
  const local = loadLocal("--local", io.cwd, isLocalPackage);
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
      settings: {
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

function isLocalPackage(module: unknown): module is LocalPackage {
  return isJsonObject(module) && typeof module["openLocalData"] === "function";
}
