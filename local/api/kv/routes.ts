import type { ApiContext, ApiRouter } from "../context";
import { ok } from "../envelope";
import { BASE_PATH, route } from "../route";
import { readId } from "../request";
import { bytesOf, contentOf, readableText, textOf } from "./value";
import type { Change, Entry, NamespaceRecord } from "./entities";
import { kvFailures } from "./failures";
import type { Namespace } from "./namespace";
import type { BulkGet } from "./requests";
import * as requests from "./requests";
import type { KvStore } from "./store";
import type { Services } from "../services";

export function kvRoutes(app: ApiRouter, services: Services): void {
  const root = `${BASE_PATH}/accounts/:accountId/storage/kv/namespaces`;
  namespaceRoutes(app, root, services);
  bulkRoutes(app, `${root}/:namespaceId/bulk`, services);
  listRoutes(app, `${root}/:namespaceId/keys`, services);
  entryRoutes(app, `${root}/:namespaceId`, services);
}

function namespaceRoutes(app: ApiRouter, root: string, { state: { kv }, settings }: Services) {
  const { dialect, limits } = settings;
  const namespaceView = ({ id, title, jurisdiction }: NamespaceRecord) => ({
    id,
    title,
    ...(jurisdiction === undefined ? {} : { jurisdiction }),
    ...(dialect === "documented" ? {} : { supports_url_encoding: true }),
  });
  const requireFree = (title: string, operation: string, itself?: Namespace) => {
    const taken = kv.namespaces().some((each) => each.title === title && each !== itself);
    if (taken) throw kvFailures.titleTaken(operation);
  };

  route(app, root, {
    GET: (c) => {
      const most = limits.maxNamespacesPerPage;
      const query = c.req.query();
      const page = wholeNumber(query["page"] ?? "1", 1, Number.MAX_SAFE_INTEGER);
      const perPage = wholeNumber(query["per_page"] ?? String(limits.defaultPerPage), 1, most);
      const { order = "title" } = query;
      if (page === undefined) throw kvFailures.pageInvalid();
      if (perPage === undefined) throw kvFailures.perPageInvalid(most);
      if (order !== "id" && order !== "title") throw kvFailures.orderInvalid();

      const all = [...kv.listed()].sort((a, b) => (a[order] < b[order] ? -1 : 1));
      const items = all.slice((page - 1) * perPage, page * perPage);
      const info = { page, per_page: perPage, count: items.length, total_count: all.length };
      return ok(c, items.map(namespaceView), info);
    },

    POST: async (c) => {
      const members = await requests.readNamespace(c, limits);
      requireFree(members.title, "create namespace");
      const most = limits.maxNamespaces;
      if (kv.namespaces().length >= most) throw kvFailures.tooManyNamespaces(most);
      return ok(c, namespaceView(kv.create(members)));
    },
  });

  route(app, `${root}/:namespaceId`, {
    GET: (c) => ok(c, namespaceView(namespaceOf(c, kv, "get namespace"))),

    PUT: async (c) => {
      const namespace = namespaceOf(c, kv, "rename namespace");
      const { title } = await requests.readNamespace(c, limits);
      requireFree(title, "rename namespace", namespace);
      kv.rename(namespace, title);
      return ok(c, dialect === "documented" ? {} : namespaceView(namespace));
    },

    DELETE: (c) => {
      kv.remove(namespaceOf(c, kv, "remove namespace"));
      return ok(c, null);
    },
  });
}

function bulkRoutes(app: ApiRouter, path: string, { state: { kv }, settings }: Services) {
  /** Applies the changes, except to keys that a fault makes fail. The two dialects return different results. */
  const write = (c: ApiContext, operation: string, changes: readonly Change[]) => {
    const failed = unsuccessful(c, changes);
    const done = changes.filter(([key]) => !failed.has(key));
    namespaceOf(c, kv, operation).write(done);
    if (settings.dialect === "documented") return ok(c, null);
    return ok(c, { successful_key_count: done.length, unsuccessful_keys: [...failed].map(textOf) });
  };
  const remove = async (c: ApiContext) => {
    namespaceOf(c, kv, "bulk delete");
    const gone = (await requests.readKeys(c, settings)).map((key): Change => [key, undefined]);
    return write(c, "bulk delete", gone);
  };

  route(app, path, {
    PUT: async (c) => {
      namespaceOf(c, kv, "bulk put");
      return write(c, "bulk put", await requests.readPairs(c, settings));
    },
    DELETE: remove,
  });

  route(app, `${path}/delete`, { POST: remove });

  route(app, `${path}/get`, {
    POST: async (c) => {
      const namespace = namespaceOf(c, kv, "bulk get");
      const query = await requests.readBulkGet(c, settings);
      const values = query.keys.map((key) => {
        const entry = namespace.read(bytesOf(key));
        return [key, entry === undefined ? null : found(key, entry, query)];
      });
      return ok(c, { values: Object.fromEntries(values) as Record<string, unknown> });
    },
  });
}

function listRoutes(app: ApiRouter, path: string, { state: { kv }, settings }: Services) {
  const { dialect, limits, kvEmptyPages } = settings;

  route(app, path, {
    GET: (c) => {
      const namespace = namespaceOf(c, kv, "list keys");
      const { minKvListLimit: least, maxKvListLimit: most } = limits;
      const limit = wholeNumber(c.req.query("limit") ?? String(most), least, most);
      if (limit === undefined) throw kvFailures.limitInvalid(least, most);
      const { after, emptyPages } = requests.decodeCursor(c.req.query("cursor"));
      if (emptyPages < kvEmptyPages || c.get("fault")?.kind === "emptyPage") {
        return ok(c, [], { count: 0, cursor: requests.encodeCursor({ after, emptyPages: emptyPages + 1 }) });
      }

      const prefix = bytesOf(c.req.query("prefix") ?? "");
      const { page, more } = namespace.list({ prefix, after, limit });
      const last = page.at(-1);
      const next =
        more && last !== undefined
          ? { cursor: requests.encodeCursor({ after: last[0], emptyPages: 0 }) }
          : {};
      const end = dialect === "documented" ? {} : { cursor: "" };
      const keys = page.map(([key, { expiration, metadata }]) => ({
        name: textOf(key),
        ...(expiration === undefined ? {} : { expiration }),
        ...(metadata === undefined ? {} : { metadata: parsed(metadata) }),
      }));
      return ok(c, keys, { count: keys.length, ...end, ...next });
    },
  });
}

function entryRoutes(app: ApiRouter, path: string, { state: { kv }, settings }: Services) {
  const read = (c: ApiContext) => {
    const entry = namespaceOf(c, kv, "get").read(requests.readKey(c, settings));
    if (entry === undefined) throw kvFailures.keyNotFound();
    return entry;
  };

  route(app, `${path}/values/:key`, {
    GET: (c) => {
      const { value, expiration } = read(c);
      const headers = expiration === undefined ? {} : { expiration: String(expiration) };
      return c.body(new Uint8Array(content(value)), 200, {
        "Content-Type": "application/octet-stream",
        ...headers,
      });
    },

    PUT: async (c) => {
      const namespace = namespaceOf(c, kv, "put");
      const key = requests.readKey(c, settings);
      namespace.write([[key, await requests.readEntry(c, settings)]]);
      return ok(c, null);
    },

    DELETE: (c) => {
      const namespace = namespaceOf(c, kv, "remove key");
      namespace.write([[requests.readKey(c, settings), undefined]]);
      return ok(c, null);
    },
  });

  route(app, `${path}/metadata/:key`, { GET: (c) => ok(c, parsed(read(c).metadata)) });
}

function namespaceOf(c: ApiContext, kv: KvStore, operation: string): Namespace {
  const namespace = kv.namespace(readId(c, "namespaceId"));
  if (namespace === undefined) throw kvFailures.namespaceNotFound(operation);
  return namespace;
}

/** Returns the keys that the request's fault reports as unsuccessful. */
function unsuccessful(c: ApiContext, changes: readonly Change[]): Set<Change[0]> {
  const fault = c.get("fault");
  if (fault?.kind !== "unsuccessful") return new Set();
  const keys = changes.map(([key]) => key);
  if (fault.keys !== undefined) {
    const named = new Set(fault.keys.map(bytesOf));
    return new Set(keys.filter((key) => named.has(key)));
  }
  return new Set(keys.slice(0, fault.count ?? Math.ceil(keys.length * (fault.fraction ?? 1))));
}

/** Converts an entry for a bulk read's response. Throws if its value isn't of the requested type. */
function found(
  key: string,
  { value, metadata, expiration }: Entry,
  { type, withMetadata }: BulkGet,
): unknown {
  const text = readableText(content(value));
  if (text === undefined) throw kvFailures.notText(key, "text");
  const shown = type === "text" ? text : jsonIn(text, key);
  if (!withMetadata) return shown;
  return {
    value: shown,
    metadata: parsed(metadata),
    ...(expiration === undefined ? {} : { expiration }),
  };
}

function jsonIn(text: string, key: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw kvFailures.notText(key, "JSON");
  }
}

function content(value: Entry["value"]): Buffer {
  const kept = contentOf(value);
  if (kept === undefined) throw kvFailures.onlyDigest();
  return kept;
}

function parsed(metadata: string | undefined): unknown {
  return metadata === undefined ? null : JSON.parse(metadata);
}

function wholeNumber(text: string, least: number, most: number): number | undefined {
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : undefined;
}
