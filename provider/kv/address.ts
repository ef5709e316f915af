import { z } from "zod";
import type { RequestOptions } from "../api/client";
import { ApiError } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { Json } from "../basics/json";

/** The parts of an operation's context that are used to read and write entries. */
export type EntriesContext = Pick<
  Context,
  "api" | "settings" | "say" | "pause" | "name" | "isSecret" | "hide"
>;

/** The arguments that key names come from, if the program doesn't declare the entries inline. */
export const NAMED_BY = ["file", "directory"] as const;

/** Whether no key's name may be shown, because it comes from a source that the program made secret. */
export function hidesKeys({ isSecret }: Pick<Context, "isSecret">): boolean {
  return NAMED_BY.some(isSecret);
}

/** Identifies one namespace. */
export interface NamespaceAddress {
  readonly accountId: string;
  readonly namespaceId: string;
}

export const PREVIEW_SUFFIX = "_preview";

/** Returns a namespace's title in the account. */
export function fullTitle(title: string, preview: boolean | undefined): string {
  return preview === true ? `${title}${PREVIEW_SUFFIX}` : title;
}

/** Returns how messages refer to the resource: `KvEntries products`, or the namespace if the resource has no name. */
export function subjectOf({ name }: Pick<Context, "name">, namespaceId: string): string {
  return `KvEntries ${name ?? namespaceId}`;
}

export function namespacesPath(accountId: string): string {
  return `/accounts/${accountId}/storage/kv/namespaces`;
}

export function namespacePath({ accountId, namespaceId }: NamespaceAddress): string {
  return `${namespacesPath(accountId)}/${namespaceId}`;
}

/** Returns the URL path of a key's value. The key is a single path segment, so any slashes in it are encoded. */
export function valuePath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/values/${encodeURIComponent(key)}`;
}

export function metadataPath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/metadata/${encodeURIComponent(key)}`;
}

const NAMESPACE_NOT_FOUND = 10013;

/** Whether the error means that the namespace, with all its keys, no longer exists. */
export function isNamespaceGone(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && error.hasCode(NAMESPACE_NOT_FOUND);
}

/** Returns advice for a failed operation on entries: what to do if the namespace doesn't exist. */
export const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) =>
  status === 404 && errors.some(({ code }) => code === NAMESPACE_NOT_FOUND)
    ? "Check namespaceId. If the namespace was deleted elsewhere, run `pulumi refresh` in the stack that declares it; its next `pulumi up` creates it again."
    : undefined;

/** Metadata in a response: any JSON, or null if there is none. */
export const metadata = z
  .custom<Json>(() => true)
  .nullish()
  .transform((found) => found ?? undefined);
