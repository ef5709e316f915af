/**
 * The names in Cloudflare's Rules language: fields with their types, functions with their return types.
 * https://developers.cloudflare.com/ruleset-engine/rules-language/fields/reference/
 * https://developers.cloudflare.com/ruleset-engine/rules-language/functions/
 */

type Scalar = "String" | "Number" | "Boolean" | "IP" | "Bytes";
export type ValueType = Scalar | `Array<${Scalar}>` | `Array<Array<${Scalar}>>` | `Map<${string}>`;

/** Fields by type. Maps are listed separately, because each also has `.names` and `.values` fields. */
const BY_TYPE: Readonly<Record<string, string>> = {
  String: `
    http.cookie http.host http.referer http.user_agent http.x_forwarded_for
    http.request.full_uri http.request.method http.request.uri http.request.uri.path http.request.uri.path.extension
    http.request.uri.query http.request.version http.request.body.raw http.request.body.mime
    raw.http.request.full_uri raw.http.request.uri raw.http.request.uri.path raw.http.request.uri.path.extension
    raw.http.request.uri.query http.response.content_type.media_type
    ip.src.lat ip.src.lon ip.src.city ip.src.postal_code ip.src.metro_code ip.src.region ip.src.region_code
    ip.src.timezone.name ip.src.continent ip.src.country ip.src.subdivision_1_iso_code ip.src.subdivision_2_iso_code
    ip.geoip.continent ip.geoip.country ip.geoip.subdivision_1_iso_code ip.geoip.subdivision_2_iso_code
    cf.verified_bot_category cf.bot_management.ja3_hash cf.bot_management.ja4 cf.hostname.metadata cf.ray_id
    cf.colo.name cf.colo.region cf.zone.name cf.zone.plan cf.metal.id cf.worker.upstream_zone cf.waf.score.class
    cf.response.error_type cf.tls_cipher cf.tls_version cf.tls_ciphers_sha1 cf.tls_client_random
    cf.tls_client_extensions_sha1 cf.tls_client_extensions_sha1_le
    cf.tls_client_auth.cert_issuer_dn cf.tls_client_auth.cert_subject_dn
    cf.tls_client_auth.cert_issuer_dn_rfc2253 cf.tls_client_auth.cert_subject_dn_rfc2253
    cf.tls_client_auth.cert_issuer_dn_legacy cf.tls_client_auth.cert_subject_dn_legacy
    cf.tls_client_auth.cert_serial cf.tls_client_auth.cert_issuer_serial
    cf.tls_client_auth.cert_fingerprint_sha256 cf.tls_client_auth.cert_fingerprint_sha1
    cf.tls_client_auth.cert_not_before cf.tls_client_auth.cert_not_after
    cf.tls_client_auth.cert_ski cf.tls_client_auth.cert_issuer_ski
    cf.tls_client_auth.cert_rfc9440 cf.tls_client_auth.cert_chain_rfc9440`,
  Number: `
    http.request.timestamp.sec http.request.timestamp.msec http.request.body.size http.response.code
    ip.src.asnum ip.geoip.asnum cf.bot_management.score cf.edge.server_port cf.edge.l4.delivery_rate cf.threat_score
    cf.response.1xxx_code cf.tls_client_hello_length cf.timings.client_tcp_rtt_msec cf.timings.client_quic_rtt_msec
    cf.timings.edge_msec cf.timings.origin_ttfb_msec cf.timings.worker_msec
    cf.waf.content_scan.num_malicious_obj cf.waf.content_scan.num_obj
    cf.waf.score cf.waf.score.sqli cf.waf.score.xss cf.waf.score.rce
    cf.llm.prompt.injection_score cf.llm.prompt.token_count`,
  Boolean: `
    ssl http.request.headers.truncated http.request.body.truncated
    ip.src.is_in_european_union ip.geoip.is_in_european_union cf.client.bot cf.edge.client_tcp
    cf.api_gateway.auth_id_present cf.api_gateway.request_violates_schema cf.api_gateway.fallthrough_detected
    cf.schema_validation.learned.violated cf.schema_validation.uploaded.violated
    cf.bot_management.verified_bot cf.bot_management.static_resource cf.bot_management.js_detection.passed
    cf.bot_management.corporate_proxy cf.bot_management.signed_agent
    cf.tls_client_auth.cert_revoked cf.tls_client_auth.cert_verified cf.tls_client_auth.cert_presented
    cf.tls_client_auth.cert_rfc9440_too_large cf.tls_client_auth.cert_chain_rfc9440_too_large
    cf.waf.content_scan.has_obj cf.waf.content_scan.has_malicious_obj cf.waf.content_scan.has_failed
    cf.waf.auth_detected cf.waf.credential_check.password_leaked cf.waf.credential_check.username_leaked
    cf.waf.credential_check.username_and_password_leaked cf.waf.credential_check.username_password_similar
    cf.llm.prompt.detected cf.llm.prompt.pii_detected cf.llm.prompt.unsafe_topic_detected`,
  IP: `ip.src cf.edge.server_ip`,
  Bytes: `cf.random_seed`,
  "Array<String>": `
    http.request.accepted_languages http.request.body.multipart.values
    cf.waf.content_scan.obj_types cf.waf.content_scan.obj_results
    cf.waf.signature.request.categories cf.waf.signature.request.confidence cf.waf.signature.request.refs
    cf.llm.prompt.pii_categories cf.llm.prompt.unsafe_topic_categories`,
  "Array<Number>": `cf.bot_management.detection_ids cf.waf.content_scan.obj_sizes`,
  "Array<Array<String>>": `
    http.request.body.multipart.names http.request.body.multipart.content_types
    http.request.body.multipart.content_dispositions http.request.body.multipart.content_transfer_encodings
    http.request.body.multipart.filenames`,
  "Map<Array<String>>": `http.request.cookies http.request.body.multipart`,
  "Map<Number>": `cf.llm.prompt.custom_topic_categories`,
};

/**
 * Map fields, by the type of their values. Each also has `.names` and `.values`, such as `http.request.headers.names`.
 */
const MAPS: Readonly<Record<string, string>> = {
  String: `
    http.request.headers http.request.uri.args raw.http.request.uri.args http.request.body.form
    http.response.headers raw.http.response.headers raw.http.request.headers
    http.request.jwt.claims.aud http.request.jwt.claims.iss http.request.jwt.claims.jti http.request.jwt.claims.sub`,
  Number: `http.request.jwt.claims.iat.sec http.request.jwt.claims.nbf.sec`,
};

const names = (list: string): string[] => list.trim().split(/\s+/);

export const FIELDS: ReadonlyMap<string, ValueType> = new Map([
  ...Object.entries(BY_TYPE).flatMap(([type, list]) =>
    names(list).map((name) => [name, type as ValueType] as const),
  ),
  ...Object.entries(MAPS).flatMap(([type, list]) =>
    names(list).flatMap((name) => [
      [name, `Map<Array<${type}>>` as ValueType] as const,
      [`${name}.names`, "Array<String>"] as const,
      [`${name}.values`, `Array<${type}>` as ValueType] as const,
    ]),
  ),
]);

/** The first parts of field names. `ssl` is also a field. */
export const NAMESPACES: readonly string[] = ["http", "ip", "cf", "raw", "ssl", "tcp", "udp", "icmp"];

/** The return type of each function. Undefined if it depends on the arguments. */
export const FUNCTIONS: ReadonlyMap<string, ValueType | undefined> = new Map([
  ...names("all any ends_with has_key has_value is_timed_hmac_valid_v0 starts_with").map(
    (name) => [name, "Boolean"] as const,
  ),
  ...names(
    `decode_base64 encode_base64 join lookup_json_string lower regex_replace remove_query_args substring to_string
     upper url_decode uuidv4 wildcard_replace`,
  ).map((name) => [name, "String"] as const),
  ...names("bit_slice len lookup_json_integer").map((name) => [name, "Number"] as const),
  ...names("cidr cidr6").map((name) => [name, "IP"] as const),
  ["split", "Array<String>"] as const,
  ...names("concat remove_bytes sha256").map((name) => [name, undefined] as const),
]);

/** Comparison operators: the English notation, the C-like notation, and the types that they compare. */
export const COMPARISONS = {
  eq: { sign: "==", on: ["String", "Number", "IP", "Bytes"] },
  ne: { sign: "!=", on: ["String", "Number", "IP", "Bytes"] },
  lt: { sign: "<", on: ["String", "Number", "IP", "Bytes"] },
  le: { sign: "<=", on: ["String", "Number", "IP", "Bytes"] },
  gt: { sign: ">", on: ["String", "Number", "IP", "Bytes"] },
  ge: { sign: ">=", on: ["String", "Number", "IP", "Bytes"] },
  contains: { sign: undefined, on: ["String", "Bytes"] },
  matches: { sign: "~", on: ["String", "Bytes"] },
  wildcard: { sign: undefined, on: ["String", "Bytes"] },
  "strict wildcard": { sign: undefined, on: ["String", "Bytes"] },
  in: { sign: undefined, on: ["String", "Number", "IP", "Bytes"] },
  bitwise_and: { sign: "&", on: ["Number"] },
} as const satisfies Readonly<
  Record<string, { readonly sign: string | undefined; readonly on: readonly Scalar[] }>
>;
export type Comparison = keyof typeof COMPARISONS;

/** Logical operators, weakest first. */
export const LOGICAL = { or: "||", xor: "^^", and: "&&" } as const;
export type Logical = keyof typeof LOGICAL;
