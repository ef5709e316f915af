import { defaultCredentials } from "./options";
import { type LocalApi, startLocalApi } from "./server";

/** The data in a directory, accessed through a local API. */
export interface LocalData {
  readonly url: string;
  readonly accountId: string;
  readonly token: string;
  /** Whether the namespace was just created. */
  readonly begun: boolean;
  /** Writes the data to the directory. */
  close(): Promise<void>;
}

export interface LocalDataRequest {
  /** The data directory, as in `edgeguard-local api --persist-to`. */
  readonly folder: string;
  /** An empty namespace to create if the directory has none with this ID. */
  readonly begin?: { readonly id: string; readonly title: string };
}

/**
 * Opens a data directory for one command, with an API that ends with the command.
 *
 * @throws LocalApiStartError if another process uses the directory, or if it contains anything else.
 */
export async function openLocalData({ folder, begin }: LocalDataRequest): Promise<LocalData> {
  const api = await startLocalApi({ persistTo: folder });
  return {
    url: api.url,
    accountId: api.accounts.main,
    token: defaultCredentials[0].token,
    begun: begin !== undefined && ensure(api, begin),
    close: () => api.close(),
  };
}

/** Creates the namespace if it doesn't exist. Returns true if it was created. */
function ensure(api: LocalApi, { id, title }: { id: string; title: string }): boolean {
  const snapshot = api.snapshot();
  const namespaces = snapshot.kv?.namespaces ?? [];
  if (namespaces.some((each) => each.id === id)) return false;
  const isFree = namespaces.every((each) => each.title !== title);
  const begun = { id, title: isFree ? title : id, entries: [] };
  api.restore({ ...snapshot, kv: { namespaces: [...namespaces, begun] } });
  return true;
}
