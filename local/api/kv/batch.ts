import type { ApiContext } from "../context";
import { bodyBytes, bodyJson } from "../request";
import { isRecord, keyInPath } from "./requests";

/** What the request log says of a request that carries keys or values, in place of its body. */
export interface Batch {
  /** Pairs written, or keys deleted or asked for. */
  readonly entries: number;
  /** Of the body. */
  readonly bytes: number;
  /** The first five. */
  readonly keys: readonly string[];
}

const batchPath = /^\/accounts\/[^/]+\/storage\/kv\/namespaces\/[^/]+\/(bulk(?:\/delete|\/get)?|values\/.+)$/;

/** Undefined for every other request. */
export async function batchOf(c: ApiContext, path: string): Promise<Batch | undefined> {
  const kind = batchPath.exec(path)?.[1];
  const bytes = (await bodyBytes(c)).length;
  if (kind === undefined || (bytes === 0 && c.req.method !== "PUT")) return undefined;
  if (kind.startsWith("values/")) return { entries: 1, bytes, keys: [keyInPath(c) ?? ""] };

  const value = (await bodyJson(c))?.value;
  const items: unknown = isRecord(value) ? value["keys"] : value;
  if (!Array.isArray(items)) return { entries: 0, bytes, keys: [] };
  const keys = items.slice(0, 5).map((item: unknown) => String(isRecord(item) ? item["key"] : item));
  return { entries: items.length, bytes, keys };
}
