import { isUtf8 } from "node:buffer";
import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { fullTitle, metadata, metadataPath, valuePath } from "./address";
import { checkKey, quoteKey } from "./entry";
import { listKeys, namespaceNamed, namespacesByTitle } from "./listing";
import { KV } from "../limits/index";
import { ID, type LiteralUnion } from "../runtime/fields";
import { lookup, LookupError, type Inputs, type LookupOptions } from "../runtime/lookup";
import { pluralize } from "../basics/words";
import type { JsonObject } from "../basics/json";

/** A Workers KV namespace of an account. */
export interface KvNamespaceState {
  /** The namespace's ID (32 hex digits). */
  readonly id: string;
  /** The title in the account. A preview namespace's title ends in `_preview`. */
  readonly title: string;
  /** Whether keys may contain characters that have to be encoded in a URL. */
  readonly supportsUrlEncoding?: boolean;
  /** Where the namespace's data is stored. Absent if it isn't restricted. */
  readonly jurisdiction?: LiteralUnion<"eu" | "us" | "fedramp">;
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/** A key in a namespace. */
export interface KvKey {
  /** The key itself. */
  readonly name: string;
  /** When the entry expires: a Unix time in seconds. Absent if it doesn't expire. */
  readonly expiration?: number;
  /** The JSON stored with the value. Absent if there is none. */
  readonly metadata?: unknown;
}

const namespaceId = ID.of(
  "a namespace ID",
  "Use the ID of a KvNamespace, or find an ID with `getKvNamespaces`.",
);

const key = z.string().superRefine((given, ctx) => {
  const problem = checkKey(given);
  if (problem !== undefined) ctx.addIssue({ code: "custom", message: problem.replace(/^key /, "") });
});

const prefix = z
  .string()
  .refine((given) => Buffer.byteLength(given) <= KV.MAX_KEY_BYTES, {
    error: ({ input }) =>
      `is ${Buffer.byteLength(String(input))} bytes, but keys have at most ${KV.MAX_KEY_BYTES} bytes, so no key can have this prefix`,
  })
  .optional();

const keyShape = { accountId: ID.account, namespaceId, key };

export interface KvNamespacesArgs {
  /** The account's ID (32 hex digits). By default, the setting `edgeguard:accountId`, or `CLOUDFLARE_ACCOUNT_ID`. */
  readonly accountId?: string;
}

const namespaces = lookup<KvNamespacesArgs, readonly KvNamespaceState[]>("getKvNamespaces", {
  ofAccount: true,
})({ accountId: ID.account }, (host, { accountId }) => namespacesByTitle(host.api, accountId));

/**
 * Returns all Workers KV namespaces of an account, sorted by title. Sends one request per 100 namespaces.
 *
 * @throws If no account ID is set or it's malformed.
 * @throws If the token lacks Workers KV Storage Read.
 * @example
 * List the titles
 * ```ts
 * import { getKvNamespaces } from "pulumi-edgeguard";
 *
 * const namespaces = getKvNamespaces({ accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1" });
 *
 * export const titles = namespaces.then((found) => found.map(({ title }) => title));
 * ```
 * @see https://developers.cloudflare.com/kv/concepts/kv-namespaces/
 * @see `GET /accounts/{account_id}/storage/kv/namespaces`
 */
export function getKvNamespaces(
  args: KvNamespacesArgs = {},
  opts?: LookupOptions,
): Promise<readonly KvNamespaceState[]> {
  return namespaces.plain(args, opts);
}

/**
 * The same as `getKvNamespaces`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export function getKvNamespacesOutput(
  args: Inputs<KvNamespacesArgs> = {},
  opts?: LookupOptions,
): pulumi.Output<readonly KvNamespaceState[]> {
  return namespaces.output(args, opts);
}

export interface KvNamespaceByTitleArgs extends KvNamespacesArgs {
  /** The full title of the namespace, without the `_preview` that `preview` adds. Case-sensitive. */
  readonly title: string;
  /**
   * Whether to find the preview namespace, whose title ends in `_preview`.
   *
   * @defaultValue `false`
   */
  readonly preview?: boolean;
}

const byTitle = lookup<KvNamespaceByTitleArgs, KvNamespaceState>("getKvNamespaceByTitle", {
  ofAccount: true,
})(
  {
    accountId: ID.account,
    title: z.string().min(1, "must not be empty"),
    preview: z.boolean().optional(),
  },
  async (host, args, form) => {
    const title = fullTitle(args.title, args.preview);
    const found = await namespaceNamed(host.api, args.accountId, title);
    if (typeof found === "string") throw new LookupError(`${form}: ${found}`);
    return found;
  },
);

/**
 * Returns the namespace with the given title. Titles are unique per account. To check whether a
 * namespace exists, use `getKvNamespaces`.
 *
 * @throws LookupError if the account has no such namespace, or an argument is invalid.
 * @throws If the token lacks Workers KV Storage Read.
 * @example
 * Write entries to a namespace that another program manages
 * ```ts
 * import { getKvNamespaceByTitle, KvEntries } from "pulumi-edgeguard";
 *
 * const accountId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
 * const namespace = getKvNamespaceByTitle({ accountId, title: "existing" });
 *
 * new KvEntries("banner", {
 *   accountId,
 *   namespaceId: namespace.then(({ id }) => id),
 *   entries: { "banner/home": "Free shipping" },
 * });
 * ```
 * @see `GET /accounts/{account_id}/storage/kv/namespaces`
 */
export const getKvNamespaceByTitle = byTitle.plain;

/**
 * The same as `getKvNamespaceByTitle`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getKvNamespaceByTitleOutput = byTitle.output;

interface InNamespaceArgs {
  /** The account's ID (32 hex digits). By default, the setting `edgeguard:accountId`, or `CLOUDFLARE_ACCOUNT_ID`. */
  readonly accountId?: string;
  /** The namespace's ID (32 hex digits), such as `namespace.id` or the `id` that `getKvNamespaceByTitle` returns. */
  readonly namespaceId: string;
}

export interface KvKeysArgs extends InNamespaceArgs {
  /** Returns only keys with this prefix. By default, all keys. */
  readonly prefix?: string;
}

const keys = lookup<KvKeysArgs, readonly KvKey[]>("getKvKeys", { ofAccount: true })(
  { accountId: ID.account, namespaceId, prefix },
  async (host, { prefix, ...address }) => {
    const found: KvKey[] = [];
    const request = { ...address, complete: false, ...(prefix === undefined ? {} : { prefix }) };
    for await (const listed of listKeys(host.api, request)) found.push(listed);
    return found;
  },
);

/**
 * Returns the keys of a namespace with their expirations and metadata, in Cloudflare's order. Sends one request per 1,000
 * keys. A write may take up to 90 seconds to be listed.
 *
 * @throws If an argument is invalid or the namespace doesn't exist.
 * @throws If the token lacks Workers KV Storage Read.
 * @example
 * Count the keys with a prefix
 * ```ts
 * import { getKvKeys } from "pulumi-edgeguard";
 *
 * const keys = getKvKeys({
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
 *   prefix: "config/",
 * });
 *
 * export const count = keys.then((found) => found.length);
 * ```
 * @see https://developers.cloudflare.com/kv/api/list-keys/
 * @see `GET /accounts/{account_id}/storage/kv/namespaces/{namespace_id}/keys`
 */
export const getKvKeys = keys.plain;

/** The same as `getKvKeys`, but its arguments may be outputs. The result is unknown in a preview without credentials. */
export const getKvKeysOutput = keys.output;

export interface KvKeyArgs extends InNamespaceArgs {
  /** The key as it was written, not URL-encoded: 1 to 512 bytes. */
  readonly key: string;
}

export interface KvValueArgs extends KvKeyArgs {
  /**
   * How to return the value: `"text"` decodes UTF-8 and throws for anything else, `"bytes"` returns the bytes as
   * stored.
   *
   * @defaultValue `"text"`
   */
  readonly as?: "text" | "bytes";
}

const value = lookup<KvValueArgs, string | Buffer>("getKvValue", { ofAccount: true, secret: true })(
  { ...keyShape, as: z.enum(["text", "bytes"]).optional() },
  async (host, args, form) => {
    const which = `the value of key ${quoteKey(args.key)} in namespace ${args.namespaceId}`;
    const { bytes } = await host.api.getBytes(valuePath(args, args.key), { what: `Reading ${which}` });
    if (args.as === "bytes") return bytes;
    if (isUtf8(bytes)) return bytes.toString("utf8");
    throw new LookupError(
      `${form}: ${which} (${pluralize(bytes.length, "byte")}) is not UTF-8 text. Read it with as: "bytes".`,
    );
  },
);

/**
 * Returns the value of one key, as text or as bytes. A write may take up to 90 seconds to be visible.
 *
 * @throws LookupError if an argument is invalid, or the value isn't UTF-8 text and `as` isn't `"bytes"`.
 * @throws ApiError if the key or its namespace doesn't exist, or the token lacks Workers KV Storage Read.
 * @example
 * Read a setting
 * ```ts
 * import { getKvValue } from "pulumi-edgeguard";
 *
 * const value = getKvValue({
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
 *   key: "config/checkout",
 * });
 *
 * export const currency = value.then((json) => (JSON.parse(json) as { currency: string }).currency);
 * ```
 * @see https://developers.cloudflare.com/kv/api/read-key-value-pairs/
 * @see `GET /accounts/{account_id}/storage/kv/namespaces/{namespace_id}/values/{key_name}`
 */
export function getKvValue(
  args: KvKeyArgs & { readonly as: "bytes" },
  opts?: LookupOptions,
): Promise<Uint8Array>;
export function getKvValue(args: KvKeyArgs & { readonly as?: "text" }, opts?: LookupOptions): Promise<string>;
export function getKvValue(args: KvValueArgs, opts?: LookupOptions): Promise<string | Uint8Array> {
  return value.plain(args, opts);
}

/**
 * The same as `getKvValue`, but its arguments may be outputs. The result is secret, and unknown in a preview without
 * credentials. Use bytes only in `apply`: if you pass them to a resource, the SDK turns them into an object.
 */
export function getKvValueOutput(
  args: Inputs<KvKeyArgs> & { readonly as: "bytes" },
  opts?: LookupOptions,
): pulumi.Output<Uint8Array>;
export function getKvValueOutput(
  args: Inputs<KvKeyArgs> & { readonly as?: "text" },
  opts?: LookupOptions,
): pulumi.Output<string>;
export function getKvValueOutput(
  args: Inputs<KvValueArgs>,
  opts?: LookupOptions,
): pulumi.Output<string | Uint8Array> {
  return value.output(args, opts);
}

const metadataOf = lookup<KvKeyArgs, unknown>("getKvMetadata", { ofAccount: true })(keyShape, (host, args) =>
  host.api.get(metadataPath(args, args.key), {
    what: `Reading the metadata of key ${quoteKey(args.key)} in namespace ${args.namespaceId}`,
    schema: metadata,
  }),
);

/**
 * Returns the metadata of one key: any JSON, or undefined if it has none.
 *
 * @throws If an argument is invalid, or the key or its namespace doesn't exist.
 * @throws If the token lacks Workers KV Storage Read.
 * @example
 * Read who owns an entry
 * ```ts
 * import { getKvMetadata } from "pulumi-edgeguard";
 *
 * export const metadata = getKvMetadata({
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
 *   key: "config/checkout",
 * });
 * ```
 * @see https://developers.cloudflare.com/kv/api/read-key-value-pairs/
 * @see `GET /accounts/{account_id}/storage/kv/namespaces/{namespace_id}/metadata/{key_name}`
 */
export const getKvMetadata = metadataOf.plain;

/**
 * The same as `getKvMetadata`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getKvMetadataOutput = metadataOf.output;
