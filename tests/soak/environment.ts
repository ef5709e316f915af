import { managedRulesets, type LocalApi } from "edgeguard-local";
import { madeTransformer, mustSend, rawSend, type RawAnswer } from "../support/operation";

export interface CatalogRuleset {
  readonly id: string;
  readonly name: string;
  /** The latest, as a number. */
  readonly version: string;
  /** Each with the number in its description, by which programs may name it. */
  readonly rules: readonly {
    readonly id: string;
    readonly number: string;
    readonly actions: readonly string[];
  }[];
  readonly tags: readonly { readonly tag: string; readonly actions: readonly string[] }[];
  /** Actions that at least one rule allows. */
  readonly actions: readonly string[];
  /** The rule of the OWASP Core Ruleset that compares the score. */
  readonly scoreRule: string | undefined;
}

export interface Catalog {
  readonly rulesets: readonly CatalogRuleset[];
  /** Refs of other people's rules, by zone. */
  readonly refs: Readonly<Record<string, readonly string[]>>;
}

interface WireRuleset {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly rules: readonly {
    readonly id: string;
    readonly description: string;
    readonly categories?: readonly string[];
    readonly allowed_override_actions?: readonly string[];
  }[];
}

export async function result<T>(api: LocalApi, where: string): Promise<T> {
  return (await mustSend(api, "GET", where)) as T; // The caller knows the shape.
}

export async function catalogOf(api: LocalApi): Promise<Catalog> {
  const rulesets: CatalogRuleset[] = [];
  const { managed, owasp, exposedCredentials, free } = managedRulesets; // `expected.ts` reads what runs for requests.
  for (const id of [managed, owasp, exposedCredentials, free]) {
    const { name, version, rules } = await result<WireRuleset>(
      api,
      `/accounts/${api.accounts.main}/rulesets/${id}`,
    );
    const isOwasp = id === owasp;
    // The rule that compares the score is set by `owasp`.
    const usable = isOwasp ? rules.slice(0, -1) : rules;
    const tags = [...new Set(usable.flatMap(({ categories = [] }) => categories))].filter(
      (tag) => !tag.startsWith("paranoia-level"),
    );
    const actionsOf = (some: typeof rules): string[] => [
      ...new Set(some.flatMap(({ allowed_override_actions: allowed = [] }) => allowed)),
    ];
    rulesets.push({
      id,
      name,
      version,
      rules: usable.map((rule) => ({
        id: rule.id,
        number: /\b\d{6}\b/.exec(rule.description)?.[0] ?? rule.id,
        actions: rule.allowed_override_actions ?? [],
      })),
      tags: tags.map((tag) => ({
        tag,
        actions: actionsOf(usable.filter(({ categories = [] }) => categories.includes(tag))),
      })),
      actions: actionsOf(usable),
      scoreRule: isOwasp ? rules.at(-1)?.id : undefined,
    });
  }
  const refs = Object.fromEntries(
    await Promise.all(
      (["shop", "blog"] as const).map(async (zone) => [
        api.zones[zone],
        (await rulesOf(api, api.zones[zone])).map(({ ref }) => ref),
      ]),
    ),
  ) as Record<string, string[]>;
  return { rulesets, refs };
}

export interface ZoneRule {
  readonly id: string;
  readonly ref: string;
  readonly action: string;
  readonly expression: string;
  readonly enabled: boolean;
  readonly description?: string;
  readonly action_parameters: Readonly<Record<string, unknown>>;
  readonly logging?: { readonly enabled: boolean };
}

export async function rulesOf(api: LocalApi, zone: string): Promise<readonly ZoneRule[]> {
  const response = await rawSend(
    api,
    "GET",
    `/zones/${zone}/rulesets/phases/http_request_firewall_managed/entrypoint`,
  );
  return response.success ? (response.result as { rules: ZoneRule[] }).rules : []; // A zone may have none.
}

/** Zones that programs change, by kind of object. */
export const WATCHED = {
  policies: ["shop", "empty", "blog"],
  jobs: ["shop", "empty", "migrateEnterprise"],
  rules: ["shop", "empty", "blog"],
  settings: ["shop", "empty", "blog", "small", "migratePro"],
} as const;

/** Creates other people's objects in the program's zones and account. Returns the IDs of their namespaces. */
export async function createOthersObjects(api: LocalApi): Promise<readonly string[]> {
  const { zones, accounts } = api;
  for (const zone of WATCHED.policies) {
    await mustSend(api, "POST", `/zones/${zones[zone]}/page_shield/policies`, {
      description: "Theirs",
      action: "log",
      expression: "true",
      enabled: false,
      value: "script-src  'self'   Theirs.example",
      note: "kept as it is",
    });
  }
  for (const zone of ["shop", "blog"] as const) {
    const { id } = await result<{ id: string }>(
      api,
      `/zones/${zones[zone]}/rulesets/phases/http_request_firewall_managed/entrypoint`,
    );
    await mustSend(api, "POST", `/zones/${zones[zone]}/rulesets/${id}/rules`, {
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: 'http.request.uri.path eq "/theirs"',
      description: "Theirs",
      enabled: true,
      ref: "theirs/exception/1",
    });
  }
  for (const zone of WATCHED.jobs)
    await mustSend(api, "POST", `/zones/${zones[zone]}/logpush/jobs`, theirJob("dns_logs"));
  await mustSend(api, "POST", `/accounts/${accounts.main}/logpush/jobs`, theirJob("audit_logs"));
  await madeTransformer(api, "dns_logs", { name: "theirs", note: "kept as it is" });

  const namespaces: string[] = [api.namespaces.existing];
  for (const title of ["theirs-1", "theirs-2"]) {
    const { id } = (await mustSend(api, "POST", `/accounts/${accounts.main}/storage/kv/namespaces`, {
      title,
    })) as { id: string };
    namespaces.push(id);
  }
  for (const id of namespaces) {
    await mustSend(api, "PUT", `/accounts/${accounts.main}/storage/kv/namespaces/${id}/bulk`, [
      { key: "theirs/plain", value: "their value" },
      { key: "theirs/bytes", value: Buffer.from([1, 2, 255]).toString("base64"), base64: true },
      { key: "theirs/meta", value: "x", metadata: { owner: "them" }, expiration: 4_000_000_000 },
      { key: "stale/theirs", value: "deleted if a program prunes it" },
    ]);
  }
  return namespaces;
}

function theirJob(dataset: string): object {
  return {
    name: "theirs",
    dataset,
    destination_conf: "https://theirs.example/intake?header_Authorization=theirs",
    enabled: true,
    output_options: { timestamp_format: "rfc3339" },
  };
}

/** Every object that a program could change, as raw JSON. */
export async function inventory(api: LocalApi): Promise<ReadonlyMap<string, string>> {
  const { zones, accounts } = api;
  const found = new Map<string, string>();
  const all = async (what: string, where: string): Promise<void> => {
    for (const each of await result<{ id: string | number }[]>(api, where))
      found.set(`${what} ${each.id}`, JSON.stringify(each));
  };
  for (const zone of WATCHED.policies)
    await all(`policy of ${zone}`, `/zones/${zones[zone]}/page_shield/policies`);
  for (const zone of WATCHED.jobs) await all(`job of ${zone}`, `/zones/${zones[zone]}/logpush/jobs`);
  await all("job of the account", `/accounts/${accounts.main}/logpush/jobs`);
  await all("transformer", `/accounts/${accounts.main}/logpush/transformers`);
  for (const zone of WATCHED.rules) {
    for (const rule of await rulesOf(api, zones[zone]))
      found.set(`rule of ${zone} ${rule.id}`, JSON.stringify(rule));
  }
  for (const { id, title } of await namespacesOf(api)) {
    found.set(`namespace ${id}`, title);
    for (const [key, entry] of await entriesOf(api, id))
      found.set(`key of ${id} ${key}`, JSON.stringify(entry));
  }
  return found;
}

export async function namespacesOf(
  api: LocalApi,
): Promise<readonly { readonly id: string; readonly title: string; readonly jurisdiction?: string }[]> {
  return await result(api, `/accounts/${api.accounts.main}/storage/kv/namespaces?per_page=100`);
}

export interface StoredEntry {
  /** As base64. */
  readonly value: string;
  readonly metadata: unknown;
  readonly expiration: number | null;
}

interface ListedKey {
  readonly name: string;
  readonly expiration?: number;
  readonly metadata?: unknown;
}

/** A namespace's entries, read with raw requests. */
export async function entriesOf(api: LocalApi, namespace: string): Promise<ReadonlyMap<string, StoredEntry>> {
  const root = `/accounts/${api.accounts.main}/storage/kv/namespaces/${namespace}`;
  const keys: ListedKey[] = [];
  for (let cursor = ""; ;) {
    const page = await rawSend(api, "GET", `${root}/keys?cursor=${cursor}`);
    keys.push(...(page.result as ListedKey[]));
    cursor = (page as RawAnswer & { result_info: { cursor?: string } }).result_info.cursor ?? "";
    if (cursor === "") break;
  }
  const entries = new Map<string, StoredEntry>();
  for (const { name, expiration = null, metadata = null } of keys) {
    const response = await fetch(`${api.url}${root}/values/${encodeURIComponent(name)}`, {
      headers: { authorization: "Bearer local-token" },
    });
    if (!response.ok) throw new Error(`GET of the value of ${name} returned ${response.status}`);
    const value = Buffer.from(await response.arrayBuffer()).toString("base64");
    entries.set(name, { value, metadata, expiration });
  }
  return entries;
}
