import { isUtf8 } from "node:buffer";
import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { metadata, metadataPath, valuePath } from "./address";
import { checkKey, showKey } from "./entry";
import { listKeys, listNamespacesOf, namespacesByTitle } from "./listing";
import { KV } from "../limits";
import { accountId, hexId } from "../runtime/fields";
import { lookup, LookupError, type Inputs, type LookupOptions } from "../runtime/lookup";
import { camelRecord, optionalBoolean } from "../runtime/members";
import { nearest } from "../runtime/nearest";
import type { JsonObject } from "../runtime/values";

/** Key-value namespaces of an account, and what they hold. A write is seen by these with a delay of up to 90 s. */

/** A namespace as Cloudflare holds it. */
export interface KvNamespaceState {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** The title in the account; that of a preview namespace ends in `_preview`. */
  readonly title: string;
  /** Whether keys may hold characters that an address encodes. Only in the OpenAPI document. */
  readonly supportsUrlEncoding?: boolean;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/** A key as the listing shows it. */
export interface KvKey {
  readonly name: string;
  /** When it expires, seconds since the UNIX epoch. Absent where it does not. */
  readonly expiration?: number;
  /** JSON that was stored beside the value. Absent where there is none. */
  readonly metadata?: unknown;
}

const namespace = camelRecord({ id: z.string(), title: z.string(), supports_url_encoding: optionalBoolean });

const namespaceId = hexId(
  "a namespace ID",
  "Use the ID of a KvNamespace, or find it with `getKvNamespaces`.",
);

const key = z.string().superRefine((given, ctx) => {
  const problem = checkKey(given);
  if (problem !== undefined) ctx.addIssue({ code: "custom", message: problem.replace(/^key /, "") });
});

const prefix = z
  .string()
  .refine((given) => Buffer.byteLength(given) <= KV.MAX_KEY_BYTES, {
    error: ({ input }) =>
      `is ${Buffer.byteLength(String(input))} bytes; a key has at most ${KV.MAX_KEY_BYTES}, so no key begins with it`,
  })
  .optional();

const keyShape = { accountId, namespaceId, key };

export interface KvNamespacesArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
}

const namespaces = lookup<KvNamespacesArgs, readonly KvNamespaceState[]>("getKvNamespaces", {
  ofAccount: true,
})({ accountId }, (host, { accountId }) =>
  namespacesByTitle(listNamespacesOf(host.api, accountId, namespace)),
);

/**
 * All namespaces of an account, a request for every 100 (OpenAPI, workers-kv-namespace-list-namespaces).
 *
 * @throws when the account is malformed or not given anywhere, or the token lacks Workers KV Storage Read.
 */
export function getKvNamespaces(
  args: KvNamespacesArgs = {},
  opts?: LookupOptions,
): Promise<readonly KvNamespaceState[]> {
  return namespaces.plain(args, opts);
}

/** `getKvNamespaces` for arguments that are outputs. Unknown in a preview without credentials. */
export function getKvNamespacesOutput(
  args: Inputs<KvNamespacesArgs> = {},
  opts?: LookupOptions,
): pulumi.Output<readonly KvNamespaceState[]> {
  return namespaces.output(args, opts);
}

export interface KvNamespaceByTitleArgs extends KvNamespacesArgs {
  /** Title of the namespace, in full but for what `preview` adds. Letters count as they are written. */
  readonly title: string;
  /**
   * Whether its preview namespace is meant, whose title ends in `_preview`. Default false.
   */
  readonly preview?: boolean;
}

const byTitle = lookup<KvNamespaceByTitleArgs, KvNamespaceState>("getKvNamespaceByTitle", {
  ofAccount: true,
})(
  {
    accountId,
    title: z.string().min(1, "has to name the namespace; it is empty"),
    preview: z.boolean().optional(),
  },
  async (host, args, form) => {
    const title = args.preview === true ? `${args.title}_preview` : args.title;
    const others: string[] = [];
    for await (const one of listNamespacesOf(host.api, args.accountId, namespace)) {
      if (one.title === title) return one;
      others.push(one.title);
    }
    const near = nearest(title, others);
    const hint =
      near === undefined ? "getKvNamespaces lists those it has." : `Did you mean ${JSON.stringify(near)}?`;
    throw new LookupError(
      `${form}: account ${args.accountId} has no namespace ${JSON.stringify(title)}. ${hint}`,
    );
  },
);

/**
 * The namespace with that title; titles are unique in an account. That there is none is an error, as a program that
 * names a namespace cannot do without; to ask whether there is one, look through `getKvNamespaces`.
 *
 * @throws LookupError when the account has no such namespace, or an argument is wrong; else as `getKvNamespaces`.
 */
export const getKvNamespaceByTitle = byTitle.plain;

/** `getKvNamespaceByTitle` for arguments that are outputs. Unknown in a preview without credentials. */
export const getKvNamespaceByTitleOutput = byTitle.output;

interface InNamespaceArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
  /** The namespace, 32 hexadecimal digits, such as `namespace.id` or what `getKvNamespaceByTitle` gives. */
  readonly namespaceId: string;
}

export interface KvKeysArgs extends InNamespaceArgs {
  /** Only keys that begin with it. Default: all keys. */
  readonly prefix?: string;
}

const keys = lookup<KvKeysArgs, readonly KvKey[]>("getKvKeys", { ofAccount: true })(
  { accountId, namespaceId, prefix },
  async (host, { prefix, ...address }) => {
    const found: KvKey[] = [];
    const request = { ...address, complete: false, ...(prefix === undefined ? {} : { prefix }) };
    for await (const listed of listKeys(host.api, request)) found.push(listed);
    return found;
  },
);

/**
 * Keys of a namespace with expiry and metadata, sorted as Cloudflare sorts them; a request for every 1,000.
 *
 * @throws when an argument is wrong, the namespace does not exist, or the token lacks Workers KV Storage Read.
 */
export const getKvKeys = keys.plain;

/** `getKvKeys` for arguments that are outputs. Unknown in a preview without credentials. */
export const getKvKeysOutput = keys.output;

export interface KvKeyArgs extends InNamespaceArgs {
  /** The key, 1 to 512 bytes, as it was written: it is encoded for the address here. */
  readonly key: string;
}

export interface KvValueArgs extends KvKeyArgs {
  /** `"text"` decodes UTF-8 and refuses anything else; `"bytes"` gives the bytes as stored. Default `"text"`. */
  readonly as?: "text" | "bytes";
}

const value = lookup<KvValueArgs, string | Buffer>("getKvValue", { ofAccount: true, secret: true })(
  { ...keyShape, as: z.enum(["text", "bytes"]).optional() },
  async (host, args, form) => {
    const which = `the value of key ${showKey(args.key)} in namespace ${args.namespaceId}`;
    const { bytes } = await host.api.getBytes(valuePath(args, args.key), { what: `Reading ${which}` });
    if (args.as === "bytes") return bytes;
    if (isUtf8(bytes)) return bytes.toString("utf8");
    throw new LookupError(
      `${form}: ${which} is no text: its ${bytes.length} bytes are not UTF-8. Read it with as: "bytes".`,
    );
  },
);

/**
 * The value of one key.
 *
 * @throws LookupError when an argument is wrong or the value is no UTF-8; ApiError when the key or its namespace does
 * not exist, or the token lacks Workers KV Storage Read.
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
 * `getKvValue` for arguments that are outputs. The result is secret, as values are wherever this package holds them.
 * Bytes are for `apply` alone: as an argument of a resource the SDK would take them for an object. Unknown in a preview
 * without credentials.
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
    what: `Reading the metadata of key ${showKey(args.key)} in namespace ${args.namespaceId}`,
    schema: metadata,
  }),
);

/**
 * Metadata of one key, JSON of any form; undefined where it has none (OpenAPI,
 * workers-kv-namespace-read-the-metadata-for-a-key).
 *
 * @throws when an argument is wrong, the key or its namespace does not exist, or the token lacks Workers KV Storage Read.
 */
export const getKvMetadata = metadataOf.plain;

/** `getKvMetadata` for arguments that are outputs. Unknown in a preview without credentials. */
export const getKvMetadataOutput = metadataOf.output;
