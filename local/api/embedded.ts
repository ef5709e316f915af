import { setTimeout as delay } from "node:timers/promises";
import { FolderInUseError } from "./lease";
import { defaultCredentials } from "./options";
import { CONTROL_PATH } from "./route";
import { accounts } from "./seed";
import { startLocalApi } from "./server";
import type { Snapshot } from "./state";

/** The data in a directory, accessed through a local API. */
export interface LocalData {
  readonly url: string;
  readonly accountId: string;
  readonly token: string;
  /** Whether the namespace was just created. */
  readonly begun: boolean;
  close(): Promise<void>;
}

export interface LocalDataRequest {
  /** The data directory, as in `edgeguard-local api --persist-to`. */
  readonly folder: string;
  /** An empty namespace to create if the directory has none with this ID. */
  readonly begin?: { readonly id: string; readonly title: string };
}

/** How long to wait for another command to release the directory, and how often to check. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/**
 * Opens a data directory for one command. If a local API is already serving the directory, uses that one. Otherwise,
 * starts one that ends with the command.
 *
 * @throws LocalApiStartError if the directory contains anything else, or another command doesn't release it in time.
 */
export async function openLocalData({ folder, begin }: LocalDataRequest): Promise<LocalData> {
  const data = await open(folder);
  try {
    return { ...data, begun: begin !== undefined && (await ensure(data, begin)) };
  } catch (error) {
    await data.close();
    throw error;
  }
}

async function open(folder: string): Promise<Omit<LocalData, "begun">> {
  const accountId = accounts.main;
  for (let waited = 0; ; waited += LOOK_MS) {
    try {
      const api = await startLocalApi({ persistTo: folder }, { announce: false });
      return { url: api.url, accountId, token: defaultCredentials[0].token, close: () => api.close() };
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error;
      const { url, token } = error.holder;
      if (url !== undefined && token !== undefined)
        return { url, accountId, token, close: () => Promise.resolve() };
      if (waited >= PATIENCE_MS) throw error;
      await delay(LOOK_MS);
    }
  }
}

/** Creates the namespace if it doesn't exist. Returns true if it was created. */
async function ensure(
  data: Omit<LocalData, "begun">,
  { id, title }: { id: string; title: string },
): Promise<boolean> {
  const { url, accountId, token } = data;
  const headers = { authorization: `Bearer ${token}` };
  const found = await fetch(`${url}/accounts/${accountId}/storage/kv/namespaces/${id}`, { headers });
  if (found.status !== 404) return false;
  const address = new URL(`${CONTROL_PATH}/state`, url);
  const state = (await (await fetch(address)).json()) as Snapshot; // This process holds the folder.
  const namespaces = state.kv?.namespaces ?? [];
  const free = namespaces.every((each) => each.title !== title);
  const begun = { id, title: free ? title : id, entries: [] };
  const response = await fetch(address, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...state, kv: { namespaces: [...namespaces, begun] } }),
  });
  if (!response.ok)
    throw new Error(`namespace ${id} could not be created at ${url}: ${await response.text()}`);
  return true;
}
