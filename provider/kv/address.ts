import { z } from "zod";
import type { RequestOptions } from "../api/client";
import { ApiError } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { Json } from "../runtime/values";

/** What work on entries needs of a verb's context. */
export type EntriesContext = Pick<Context, "api" | "settings" | "say" | "pause" | "name">;

/** Which namespace is meant. */
export interface NamespaceAddress {
  readonly accountId: string;
  readonly namespaceId: string;
}

/** How messages name a resource: `KvEntries products`. Without a name of the program, by its namespace. */
export function subjectOf({ name }: Pick<Context, "name">, namespaceId: string): string {
  return `KvEntries ${name ?? namespaceId}`;
}

export function namespacesPath(accountId: string): string {
  return `/accounts/${accountId}/storage/kv/namespaces`;
}

export function namespacePath({ accountId, namespaceId }: NamespaceAddress): string {
  return `${namespacesPath(accountId)}/${namespaceId}`;
}

/** A key is one segment of the path, whatever it is made of; its slashes are encoded too. */
export function valuePath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/values/${encodeURIComponent(key)}`;
}

export function metadataPath(address: NamespaceAddress, key: string): string {
  return `${namespacePath(address)}/metadata/${encodeURIComponent(key)}`;
}

const NAMESPACE_NOT_FOUND = 10013;

/** The namespace is gone, and every key with it (facts 1.5). */
export function isNamespaceGone(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && error.hasCode(NAMESPACE_NOT_FOUND);
}

/** The service does not know the operation itself, and may know it in an older form (D37). */
export function isUnknownRoute(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && (error.status === 405 || (error.status === 404 && !isNamespaceGone(error)))
  );
}

/** Next step for a failure of any operation on entries. */
export const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) =>
  status === 404 && errors.some(({ code }) => code === NAMESPACE_NOT_FOUND)
    ? "Check namespaceId. If the namespace was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew."
    : undefined;

/** Metadata in an answer. It is JSON, for it was parsed as such; null means that there is none. */
export const metadata = z
  .custom<Json>(() => true)
  .nullish()
  .transform((found) => found ?? undefined);
