import { isUtf8 } from "node:buffer";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { metadata, metadataPath, valuePath } from "./address";
import { checkKey, showKey } from "./check-entry";
import { listKeys, listNamespacesOf, namespacesByTitle, type ListedKey } from "./listing";
import { KV } from "../limits";
import { accountId, hexId } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { nearest } from "../runtime/nearest";
import { isBag, type Bag } from "../runtime/values";
import { flag, furtherMembers, present } from "../runtime/members";
import { ask, askOutput, LookupError, readArgs, type LookupOptions, type Inputs } from "../runtime/lookup";

/** Key-value namespaces of an account, and what they hold. A write is seen by these with a delay of up to 90 s. */

/** A namespace as the service holds it (seed 002, "Key-value entry"). */
export interface KvNamespaceState {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** The title in the account; that of a preview namespace ends in `_preview`. */
  readonly title: string;
  /** Whether keys may hold characters that an address encodes. Source: OpenAPI; the seed does not know it. */
  readonly supportsUrlEncoding?: boolean;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

/** A key as the listing shows it. */
export interface KvKey {
  readonly name: string;
  /** When it expires, seconds since the UNIX epoch. Absent where it does not. */
  readonly expiration?: number;
  /** JSON that was stored beside the value. Absent where there is none. */
  readonly metadata?: unknown;
}

const NAMESPACE_MEMBERS = { id: z.string(), title: z.string(), supports_url_encoding: flag };

const namespace = z.looseObject(NAMESPACE_MEMBERS).transform((raw): KvNamespaceState => ({
  ...present({ id: raw.id, title: raw.title, supportsUrlEncoding: raw.supports_url_encoding }),
  ...furtherMembers(raw, NAMESPACE_MEMBERS),
}));

const namespaceId = hexId("It is the id of a KvNamespace, or what `getKvNamespaces` lists.");

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
const valueShape = { ...keyShape, as: z.enum(["text", "bytes"]).optional() };

/** Arguments with the account of the settings where they name none. */
function readAccountArgs<S extends z.ZodRawShape>(
  host: Host,
  lookup: string,
  shape: S,
  given: unknown,
): z.output<z.ZodObject<S>> {
  const bag = isBag(given) ? given : {};
  return readArgs(lookup, shape, { ...bag, accountId: bag["accountId"] ?? host.settings.accountId });
}

async function listNamespaces(
  host: Host,
  lookup: string,
  given: unknown,
): Promise<readonly KvNamespaceState[]> {
  const args = readAccountArgs(host, lookup, { accountId }, given);
  return await namespacesByTitle(listNamespacesOf(host.api, args.accountId, namespace));
}

const byTitleShape = {
  accountId,
  title: z.string().min(1, "has to name the namespace; it is empty"),
  preview: z.boolean().optional(),
};

async function findNamespace(host: Host, lookup: string, given: unknown): Promise<KvNamespaceState> {
  const args = readAccountArgs(host, lookup, byTitleShape, given);
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
    `${lookup}: account ${args.accountId} has no namespace ${JSON.stringify(title)}. ${hint}`,
  );
}

async function listKvKeys(host: Host, lookup: string, given: unknown): Promise<readonly KvKey[]> {
  const args = readAccountArgs(host, lookup, { accountId, namespaceId, prefix }, given);
  const { accountId: account, namespaceId: id, prefix: begin } = args;
  const keys: ListedKey[] = [];
  const request = {
    accountId: account,
    namespaceId: id,
    complete: false,
    ...(begin === undefined ? {} : { prefix: begin }),
  };
  for await (const listed of listKeys(host.api, request)) keys.push(listed);
  return keys;
}

async function readValue(host: Host, lookup: string, given: unknown): Promise<string | Buffer> {
  const args = readAccountArgs(host, lookup, valueShape, given);
  const what = `Reading the value of key ${showKey(args.key)} in namespace ${args.namespaceId}`;
  const { bytes } = await host.api.getBytes(valuePath(args, args.key), { what });
  if (args.as === "bytes") return bytes;
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw new LookupError(
    `${lookup}: the value of key ${showKey(args.key)} in namespace ${args.namespaceId} is no text: its ${bytes.length} bytes are not UTF-8. Read it with as: "bytes".`,
  );
}

async function readMetadata(host: Host, lookup: string, given: unknown): Promise<unknown> {
  const args = readAccountArgs(host, lookup, keyShape, given);
  return await host.api.get(metadataPath(args, args.key), {
    what: `Reading the metadata of key ${showKey(args.key)} in namespace ${args.namespaceId}`,
    schema: metadata,
  });
}

export interface KvNamespacesArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
}

/**
 * All namespaces of an account, a request for every 100 (OpenAPI, workers-kv-namespace-list-namespaces).
 *
 * @throws when the account is malformed or not given anywhere, or the token lacks Workers KV Storage Read.
 */
export function getKvNamespaces(
  args: KvNamespacesArgs = {},
  opts: LookupOptions = {},
): Promise<readonly KvNamespaceState[]> {
  return ask(opts, (host) => listNamespaces(host, "getKvNamespaces", args));
}

/** `getKvNamespaces` for arguments that are outputs. Unknown in a preview without credentials. */
export function getKvNamespacesOutput(
  args: Inputs<KvNamespacesArgs> = {},
  opts: LookupOptions = {},
): pulumi.Output<readonly KvNamespaceState[]> {
  const what = "getKvNamespacesOutput";
  return askOutput(what, args, opts, (host, known) => listNamespaces(host, what, known));
}

export interface KvNamespaceByTitleArgs extends KvNamespacesArgs {
  /** Title of the namespace, in full but for what `preview` adds. Letters count as they are written. */
  readonly title: string;
  /**
   * Whether its preview namespace is meant, whose title ends in `_preview`. Default false. Source: seed 002,
   * "Command-line commands" (`--preview`).
   */
  readonly preview?: boolean;
}

/**
 * The namespace with that title; titles are unique in an account. That there is none is an error, as a program that
 * names a namespace cannot do without; to ask whether there is one, look through `getKvNamespaces`.
 *
 * @throws LookupError when the account has no such namespace, or an argument is wrong; else as `getKvNamespaces`.
 */
export function getKvNamespaceByTitle(
  args: KvNamespaceByTitleArgs,
  opts: LookupOptions = {},
): Promise<KvNamespaceState> {
  return ask(opts, (host) => findNamespace(host, "getKvNamespaceByTitle", args));
}

/** `getKvNamespaceByTitle` for arguments that are outputs. Unknown in a preview without credentials. */
export function getKvNamespaceByTitleOutput(
  args: Inputs<KvNamespaceByTitleArgs>,
  opts: LookupOptions = {},
): pulumi.Output<KvNamespaceState> {
  const what = "getKvNamespaceByTitleOutput";
  return askOutput(what, args, opts, (host, known) => findNamespace(host, what, known));
}

interface InNamespaceArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
  /** The namespace, 32 hexadecimal digits, such as `namespace.id` or what `getKvNamespaceByTitle` gives. */
  readonly namespaceId: string;
}

export interface KvKeysArgs extends InNamespaceArgs {
  /** Only keys that begin with it. Default: all keys. Source: seed 002, "Command-line commands" (`--prefix`). */
  readonly prefix?: string;
}

/**
 * Keys of a namespace with expiry and metadata, sorted as the service sorts them; a request for every 1,000 (seed 002,
 * "Command-line commands", `kv key list`).
 *
 * @throws when an argument is wrong, the namespace does not exist, or the token lacks Workers KV Storage Read.
 */
export function getKvKeys(args: KvKeysArgs, opts: LookupOptions = {}): Promise<readonly KvKey[]> {
  return ask(opts, (host) => listKvKeys(host, "getKvKeys", args));
}

/** `getKvKeys` for arguments that are outputs. Unknown in a preview without credentials. */
export function getKvKeysOutput(
  args: Inputs<KvKeysArgs>,
  opts: LookupOptions = {},
): pulumi.Output<readonly KvKey[]> {
  const what = "getKvKeysOutput";
  return askOutput(what, args, opts, (host, known) => listKvKeys(host, what, known));
}

export interface KvKeyArgs extends InNamespaceArgs {
  /** The key, 1 to 512 bytes, as it was written: it is encoded for the address here. Source: seed 002, "Limits". */
  readonly key: string;
}

export interface KvValueArgs extends KvKeyArgs {
  /** `"text"` decodes UTF-8 and refuses anything else; `"bytes"` gives the bytes as stored. Default `"text"`. */
  readonly as?: "text" | "bytes";
}

/**
 * The value of one key (seed 002, "Command-line commands", `kv key get`).
 *
 * @throws LookupError when an argument is wrong or the value is no UTF-8; ApiError when the key or its namespace does
 * not exist, or the token lacks Workers KV Storage Read.
 */
export function getKvValue(
  args: KvKeyArgs & { readonly as: "bytes" },
  opts?: LookupOptions,
): Promise<Uint8Array>;
export function getKvValue(args: KvKeyArgs & { readonly as?: "text" }, opts?: LookupOptions): Promise<string>;
export function getKvValue(args: KvValueArgs, opts: LookupOptions = {}): Promise<string | Uint8Array> {
  return ask(opts, (host) => readValue(host, "getKvValue", args));
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
  opts: LookupOptions = {},
): pulumi.Output<string | Uint8Array> {
  const what = "getKvValueOutput";
  // Secret from the start: to mark bytes afterwards would take them apart.
  return askOutput(what, pulumi.secret(args), opts, (host, known) => readValue(host, what, known));
}

/**
 * Metadata of one key, JSON of any form; undefined where it has none (OpenAPI,
 * workers-kv-namespace-read-the-metadata-for-a-key).
 *
 * @throws when an argument is wrong, the key or its namespace does not exist, or the token lacks Workers KV Storage Read.
 */
export function getKvMetadata(args: KvKeyArgs, opts: LookupOptions = {}): Promise<unknown> {
  return ask(opts, (host) => readMetadata(host, "getKvMetadata", args));
}

/** `getKvMetadata` for arguments that are outputs. Unknown in a preview without credentials. */
export function getKvMetadataOutput(
  args: Inputs<KvKeyArgs>,
  opts: LookupOptions = {},
): pulumi.Output<unknown> {
  const what = "getKvMetadataOutput";
  return askOutput(what, args, opts, (host, known) => readMetadata(host, what, known));
}
