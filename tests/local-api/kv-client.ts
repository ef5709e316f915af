import type { LocalApi } from "edgeguard-local";
import { z } from "zod";
import { type ApiResponse, type Call, callerOf, idOf, token } from "./client";

export interface Pair {
  readonly key: string;
  readonly value: string;
  readonly metadata?: unknown;
  readonly expiration?: number;
  readonly expiration_ttl?: number;
  readonly base64?: boolean;
}

export interface Listing {
  readonly keys: Readonly<Record<string, unknown>>[];
  readonly names: string[];
  readonly cursor: string | undefined;
}

/** A namespace over plain HTTP. */
export interface KvCaller {
  readonly id: string;
  readonly path: string;
  readonly call: Call;
  put(pairs: readonly Pair[]): Promise<ApiResponse>;
  list(query?: string): Promise<Listing>;
  /** The names on all pages, the number of pages, and how many were empty. */
  listAll(query?: string): Promise<{ names: string[]; pages: number; empty: number }>;
  /** Undefined if there is none. */
  text(key: string): Promise<string | undefined>;
}

export function namespacesOf(api: LocalApi): string {
  return `/accounts/${api.accounts.main}/storage/kv/namespaces`;
}

export function failed(status: number, code: number, pointer?: string): object {
  const error = pointer === undefined ? { code } : { code, source: { pointer } };
  return { status, body: { success: false, result: null, errors: [error], messages: [] } };
}

let created = 0;

export async function newNamespace(api: LocalApi): Promise<KvCaller> {
  const response = await callerOf(api)("POST", namespacesOf(api), { title: `test ${++created}` });
  return kvCaller(api, idOf(response));
}

export function kvCaller(api: LocalApi, id: string): KvCaller {
  const call = callerOf(api);
  const path = `${namespacesOf(api)}/${id}`;

  const list = async (query = "") => {
    const response = await call("GET", `${path}/keys${query === "" ? "" : `?${query}`}`);
    const { result, result_info } = listing.parse(response.body);
    expect(result_info.count).toBe(result.length);
    const names = result.map((key) => String(key["name"]));
    return { keys: result, names, cursor: result_info.cursor };
  };

  return {
    id,
    path,
    call,
    list,
    put: (pairs) => call("PUT", `${path}/bulk`, pairs),
    listAll: async (query = "") => {
      const all = { names: [] as string[], pages: 0, empty: 0 };
      const cursors = new Set<string>();
      for (let cursor = ""; all.pages === 0 || cursor !== "";) {
        const page = await list(`${query}&cursor=${cursor}`);
        all.names.push(...page.names);
        all.pages += 1;
        if (page.names.length === 0) all.empty += 1;
        cursor = page.cursor ?? "";
        expect(cursors.has(cursor)).toBe(false);
        cursors.add(cursor);
      }
      return all;
    },
    text: async (key) => {
      const response = await fetch(`${api.url}${path}/values/${encodeURIComponent(key)}`, { headers: token });
      return response.status === 404 ? undefined : response.text();
    },
  };
}

const listing = z.object({
  result: z.array(z.record(z.string(), z.unknown())),
  result_info: z.object({ count: z.number(), cursor: z.string().optional() }),
});
