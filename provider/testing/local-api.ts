import { loadLocal } from "../basics/optional-package";
import { isJsonObject } from "../basics/json";
import type { ApiAddress } from "./mocks";

/** A request that the local API received. */
export interface ReceivedRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The path below the base address: `/zones/…/page_shield`. */
  readonly path: string;
  /** The status of the response. Null until the response is sent. */
  readonly status: number | null;
  /** The body, parsed if it's JSON. Absent if there was none, and for requests about KV keys and values. */
  readonly body?: unknown;
}

/** A local API that a test started. */
export interface TestApi extends ApiAddress {
  /**
   * The IDs of the API's zones, by name. `shop` has Page Shield and rules, and `empty` has nothing. There are other
   * zones as well.
   */
  readonly zones: Readonly<Record<string, string>> & { readonly shop: string; readonly empty: string };
  /** The IDs of the API's accounts. */
  readonly accounts: { readonly main: string };
  /** The requests that the API received, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Resets the API to its initial state. */
  reset(): void;
  /** Stops the API and closes its connections. */
  close(): Promise<void>;
}

/**
 * Starts a local API for a test: it behaves like Cloudflare's, keeps its state in memory and listens on this machine
 * only.
 *
 * It's the API of the package `edgeguard-local`, which has more options (faults, rate limits, delays): import that
 * package's `startLocalApi` if a test needs them.
 *
 * @example The requests of a program
 * ```ts
 * import { KvNamespace } from "pulumi-edgeguard";
 * import { runProgram, startLocalApi } from "pulumi-edgeguard/testing";
 *
 * export async function sentRequests(): Promise<string[]> {
 *   const api = await startLocalApi();
 *   try {
 *     await runProgram(() => new KvNamespace("flags", { accountId: api.accounts.main, title: "flags" }), { api });
 *     return api.requests.map(({ method, path }) => `${method} ${path}`);
 *   } finally {
 *     await api.close();
 *   }
 * }
 * ```
 *
 * @throws If the package `edgeguard-local` isn't installed.
 */
export async function startLocalApi(): Promise<TestApi> {
  return await loadLocal("startLocalApi", process.cwd(), isLocalPackage).startLocalApi();
}

/** The part of the package `edgeguard-local` that's used here. */
interface LocalPackage {
  startLocalApi(): Promise<TestApi>;
}

function isLocalPackage(module: unknown): module is LocalPackage {
  return isJsonObject(module) && typeof module["startLocalApi"] === "function";
}
