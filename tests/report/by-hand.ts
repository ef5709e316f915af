import type { LocalApi } from "edgeguard-local";
import { mustSend } from "../support/operation";

/** What someone changes manually in the programs `drift.*`: a change for each resource, by its name. */

/** The ID of a resource, by its class and name. */
export type IdOf = (kind: string, name: string) => string;

type Rule = Readonly<Record<string, unknown>> & { readonly id: string; readonly ref: string };

export async function pageShieldByHand(api: LocalApi, idOf: IdOf): Promise<void> {
  const settings = (zone: string): string => `/zones/${zone}/page_shield`;
  await mustSend(api, "PUT", settings(api.zones.shop), {
    enabled: false,
    use_cloudflare_reporting_endpoint: false,
    use_connection_url_path: false,
  });
  await mustSend(api, "PUT", settings(api.zones.empty), { enabled: true });
  const path = (name: string): string =>
    `${settings(api.zones.empty)}/policies/${idOf("PageShieldPolicy", name)}`;
  const policy = async (name: string, change: object): Promise<void> => {
    const now = (await mustSend(api, "GET", path(name))) as object;
    await mustSend(api, "PUT", path(name), { ...now, ...change, id: undefined });
  };
  await policy("action", { action: "log" });
  await policy("expression", {
    expression: 'http.host eq "expression.empty.example" and ip.src ne 192.0.2.1',
  });
  await policy("enabled", { enabled: "false" });
  await policy("description", { description: "set manually" });
  await policy("more-sources", {
    value: "default-src 'self'; script-src 'self' https://*.cdn.example https://evil.example",
  });
  await policy("fewer-sources", { value: "default-src 'self'; script-src 'self'" });
  await policy("extra", { scope: { team: "nobody" } });
  await policy("declared-since", { action: "allow" });
  await policy("declared-differently", { description: "changed manually" });
  await policy("declared-elsewhere", { enabled: "false" });
  await policy("removed", { enabled: "false" });
  for (const name of ["gone", "removed-and-gone"]) await mustSend(api, "DELETE", path(name));
}

const OFF = (level: number): object => ({ category: `paranoia-level-${level}`, enabled: false });
const SQLI = { category: "sqli", enabled: true };

export async function rulesetsByHand(api: LocalApi): Promise<void> {
  const entryPoint = `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  const { id: ruleset, rules } = (await mustSend(api, "GET", entryPoint)) as {
    readonly id: string;
    readonly rules: readonly Rule[];
  };
  const ruleOf = (ref: string): Rule => {
    const rule = rules.find((each) => each.ref === ref);
    if (rule === undefined) throw new Error(`no rule ${ref}`);
    return rule;
  };
  const path = ({ id }: Rule): string => `/zones/${api.zones.empty}/rulesets/${ruleset}/rules/${id}`;
  const edit = async (ref: string, change: object): Promise<void> => {
    await mustSend(api, "PATCH", path(ruleOf(ref)), { ...ruleOf(ref), ...change });
  };
  const parameters = (ref: string, change: object): object => ({
    action_parameters: { ...(ruleOf(ref)["action_parameters"] as object), ...change },
  });
  const overrides = (ref: string, given: object | undefined): object => parameters(ref, { overrides: given });
  await edit("enabled", { enabled: false });
  await edit("expression", { expression: 'http.host eq "3.empty.example" and ip.src ne 192.0.2.1' });
  await edit("description", { description: "manually" });
  await edit("version", parameters("version", { version: "87" }));
  await edit("ruleset", parameters("ruleset", { id: "77454fe2d30c4220b5701f6fdfb893ba" }));
  await edit(
    "owasp",
    overrides("owasp", {
      categories: [OFF(2), OFF(3), OFF(4)],
      rules: [{ id: "6179ae15870a4bb7b2d480d4843b323c", action: "managed_challenge", score_threshold: 60 }],
    }),
  );
  await edit(
    "categories",
    overrides("categories", {
      categories: [
        { category: "wordpress", enabled: false },
        { category: "php", action: "log" },
        { category: "sqli", enabled: false },
      ],
    }),
  );
  await edit(
    "rules",
    overrides("rules", { rules: [{ id: "23ee7cebe6e8443e99ecf932ab579455", enabled: false }] }),
  );
  await edit("action", overrides("action", { action: "log" }));
  await edit("exceptions/exception/1", { expression: "true" });
  await mustSend(api, "DELETE", path(ruleOf("exceptions/exception/2")));
  await edit("position", { position: { after: "" } });
  await edit("no-argument", overrides("no-argument", { categories: [OFF(3), OFF(4), SQLI] }));
  await mustSend(api, "DELETE", path(ruleOf("gone")));
}

/** A credential that someone puts into a destination manually. */
const NEW_CREDENTIAL = "header_Authorization=Bearer%20canary-new-token";

export async function logpushByHand(api: LocalApi, idOf: IdOf): Promise<void> {
  const path = (zone: string, name: string): string =>
    `/zones/${zone}/logpush/jobs/${idOf("LogpushJob", name)}`;
  const { empty, migrateEnterprise, migrateManyRules } = api.zones;
  const job = async (zone: string, name: string, change: object): Promise<void> => {
    await mustSend(api, "PUT", path(zone, name), change);
  };
  const options = { field_names: ["ClientIP"], timestamp_format: "rfc3339", output_type: "ndjson" };
  await job(empty, "enabled", { enabled: false });
  await job(empty, "destination", {
    destination_conf: `https://elsewhere.example/in?${NEW_CREDENTIAL}`,
  });
  await job(empty, "credential", { destination_conf: `https://logs.shop.example/edge?${NEW_CREDENTIAL}` });
  await job(migrateEnterprise, "fields", {
    output_options: { field_names: ["ClientRequestHost", "RayID"] },
  });
  await job(migrateEnterprise, "options", {
    output_options: { ...options, sample_rate: 0.01, merge_subrequests: true },
  });
  await job(migrateEnterprise, "filter", {
    filter: JSON.stringify({ where: { key: "EdgeResponseStatus", operator: "geq", value: "400" } }),
  });
  await job(migrateManyRules, "uploads", { max_upload_interval_seconds: 300 });
  await mustSend(api, "DELETE", path(migrateManyRules, "gone"));
  const transformer = `/accounts/${api.accounts.main}/logpush/transformers/${idOf("LogpushTransformer", "code")}`;
  const code = "SELECT ClientIP FROM http_requests WHERE EdgeResponseStatus >= 500";
  await mustSend(api, "PUT", transformer, { name: "edge-dev-code", code });
  api.logpush.setHealth(Number(idOf("LogpushJob", "failing")), {
    last_error: "2026-02-03T10:00:00Z",
    error_message: "denied: Bearer canary-log-token",
  });
}

export async function dataByHand(api: LocalApi, idOf: IdOf): Promise<void> {
  const namespaces = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  const renamed = `${namespaces}/${idOf("KvNamespace", "renamed")}`;
  await mustSend(api, "PUT", renamed, { title: "catalog (do not use)" });
  await mustSend(api, "PUT", `${renamed}/bulk`, [{ key: "flag/express", value: "canary-by-hand" }]);
  await mustSend(api, "POST", `${namespaces}/5a0c1e7f3b2d4968a7e1c0f2d3b4b601/bulk/delete`, [
    "flag/banner",
    "flag/old",
  ]);
  const gone = `${namespaces}/${idOf("KvNamespace", "gone")}`;
  await mustSend(api, "POST", `${gone}/bulk/delete`, ["session/1"]);
  await mustSend(api, "DELETE", gone);
  api.inDashboard(api.zones.migrateEnterprise, { do: "validate" });
  api.inDashboard(api.zones.migrateDeployed, { do: "finish" });
}
