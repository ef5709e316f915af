import { z } from "zod";
import type { RequestOptions } from "../api/client";
import { ApiError } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { Json } from "../runtime/values";

/** The part of an operation's context needed to read and write entries. */
export type EntriesContext = Pick<Context, "api" | "settings" | "say" | "pause" | "name">;

/** Identifies one namespace. */
export interface NamespaceAddress {
  readonly accountId: string;
  readonly namespaceId: string;
}

/** Returns the resource's name in messages: `KvEntries products`, or its namespace if it has no name. */
export function subjectOf({ name }: Pick<Context, "name">, namespaceId: string): string {
  return `KvEntries ${name ?? namespaceId}`;
}

export function namespacesPath(accountId: string): string {
  return `/accounts/${accountId}/storage/kv/namespaces`;
}

export function namespacePath({ accountId, namespaceId }: NamespaceAddress): string {
  return `${namespacesPath(accountId)}/${namespaceId}`;
}

/** Returns the path of a value. A key is a single path segment, so its slashes are encoded. */
export function valuePath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/values/${encodeURIComponent(key)}`;
}

export function metadataPath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/metadata/${encodeURIComponent(key)}`;
}

const NAMESPACE_NOT_FOUND = 10013;

/** Whether the namespace, and with it all its keys, no longer exists. */
export function isNamespaceGone(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && error.hasCode(NAMESPACE_NOT_FOUND);
}

/** Whether the API doesn't support the operation. It may still support an older form. */
export function isUnknownRoute(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && (error.status === 405 || (error.status === 404 && !isNamespaceGone(error)))
  );
}

/** Returns the advice after a failed operation on entries. */
export const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) =>
  status === 404 && errors.some(({ code }) => code === NAMESPACE_NOT_FOUND)
    ? "Check namespaceId. If the namespace was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` recreates it."
    : undefined;

/** Metadata in a response: any JSON; null means none. */
export const metadata = z
  .custom<Json>(() => true)
  .nullish()
  .transform((found) => found ?? undefined);
