import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { Bag } from "../runtime/values";
import {
  getDetected,
  listDetected,
  type DetectedKind,
  type DetectedList,
  type DetectedListArgs,
  type RecordStatus,
} from "./detected";
import { flag, furtherMembers, present, text, texts } from "../runtime/members";
import { ask, askOutput, type LookupOptions, type Inputs } from "../runtime/lookup";

/**
 * An outbound connection seen on a page of the zone (seed 000, "Connection"). Only `id`, `url` and `host` are always
 * there: the plan decides over the rest, and what it lacks is absent. Timestamps are ISO 8601.
 */
export interface Connection {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Its path is recorded only where `useConnectionUrlPath` is set. */
  readonly url: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
  readonly addedAt?: string;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
  /** A threat list names the domain. Not the classification by score: see `isMalicious`. */
  readonly domainReportedMalicious?: boolean;
  readonly maliciousDomainCategories?: readonly string[];
  /** A threat list names the URL. */
  readonly urlReportedMalicious?: boolean;
  readonly maliciousUrlCategories?: readonly string[];
  /** Page on which it was first seen. */
  readonly firstPageUrl?: string;
  readonly status?: RecordStatus;
  readonly urlContainsCdnCgiPath?: boolean;
  /** Pages on which it was seen. Only in the detail, and of a connection only as the OpenAPI has it. */
  readonly pageUrls?: readonly string[];
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

/** Members on the wire that scripts and connections share. */
export const CONNECTION_MEMBERS = {
  id: z.string(),
  url: z.string(),
  host: z.string(),
  added_at: text,
  first_seen_at: text,
  last_seen_at: text,
  domain_reported_malicious: flag,
  malicious_domain_categories: texts,
  url_reported_malicious: flag,
  malicious_url_categories: texts,
  first_page_url: text,
  status: text,
  url_contains_cdn_cgi_path: flag,
  page_urls: texts,
};

type Wire = z.output<z.ZodObject<typeof CONNECTION_MEMBERS>>;

export function toConnection(raw: Wire): Connection {
  return present({
    id: raw.id,
    url: raw.url,
    host: raw.host,
    addedAt: raw.added_at,
    firstSeenAt: raw.first_seen_at,
    lastSeenAt: raw.last_seen_at,
    domainReportedMalicious: raw.domain_reported_malicious,
    maliciousDomainCategories: raw.malicious_domain_categories,
    urlReportedMalicious: raw.url_reported_malicious,
    maliciousUrlCategories: raw.malicious_url_categories,
    firstPageUrl: raw.first_page_url,
    status: raw.status,
    urlContainsCdnCgiPath: raw.url_contains_cdn_cgi_path,
    pageUrls: raw.page_urls,
  });
}

export const CONNECTIONS: DetectedKind<Connection> = {
  path: "connections",
  noun: "connection",
  everything: { exclude_cdn_cgi: false },
  record: z
    .looseObject(CONNECTION_MEMBERS)
    .transform((raw) => ({ ...toConnection(raw), ...furtherMembers(raw, CONNECTION_MEMBERS) })),
};

/**
 * Outbound connections of a zone, on the Business plan and above. Only `active` ones unless `status` says otherwise.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks connections.
 */
export function getConnections(
  args: DetectedListArgs,
  opts: LookupOptions = {},
): Promise<DetectedList<Connection>> {
  return ask(opts, (host) => listDetected(host, "getConnections", CONNECTIONS, args));
}

/** `getConnections` for arguments that are outputs. Unknown in a preview without credentials. */
export function getConnectionsOutput(
  args: Inputs<DetectedListArgs>,
  opts: LookupOptions = {},
): pulumi.Output<DetectedList<Connection>> {
  const what = "getConnectionsOutput";
  return askOutput(what, args, opts, (host, known) => listDetected(host, what, CONNECTIONS, known));
}

export interface ConnectionArgs {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
  /** The connection's id, 32 hexadecimal digits, as `getConnections` gives it. */
  readonly connectionId: string;
}

/**
 * One connection, in any state (seed 000, "Get connection").
 *
 * @throws when an id is malformed, the zone has no such connection, or the token lacks Page Shield Read.
 */
export function getConnection(args: ConnectionArgs, opts: LookupOptions = {}): Promise<Connection> {
  return ask(opts, (host) => getDetected(host, "getConnection", CONNECTIONS, args));
}

/** `getConnection` for arguments that are outputs. Unknown in a preview without credentials. */
export function getConnectionOutput(
  args: Inputs<ConnectionArgs>,
  opts: LookupOptions = {},
): pulumi.Output<Connection> {
  const what = "getConnectionOutput";
  return askOutput(what, args, opts, (host, known) => getDetected(host, what, CONNECTIONS, known));
}
