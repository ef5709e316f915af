import { createHash } from "node:crypto";
import type { Configured, Connection, Cookie, Detected, Script } from "./entities";

/** All detections were seen before this time. It's fixed, so that every start returns the same data. */
const SEEDED_AT = Date.parse("2026-09-01T08:00:00.000Z");
const DAY = 86_400_000;

/** The settings of a new zone. */
export function untouched(): Configured {
  return {
    settings: {
      enabled: false,
      updated_at: microseconds(new Date(SEEDED_AT - 90 * DAY)),
      use_reporting_endpoint: true,
      use_connection_url_path: false,
    },
    policies: [],
  };
}

export function shopConfigured(): Configured {
  const { settings } = untouched();
  return {
    settings: { ...settings, enabled: true },
    policies: [
      {
        id: idOf("shop", "policy", "checkout"),
        description: "Checkout: record what the pages load",
        action: "log",
        expression: 'http.host eq "checkout.shop.example"',
        enabled: true,
        value: "script-src 'self' checkout.shop.example https://js.payments.example/v3/pay.js",
        further: {},
      },
    ],
  };
}

export function nothingDetected(): Detected {
  return { scripts: [], connections: [], cookies: [] };
}

const WWW = "www.shop.example";
const CHECKOUT = "checkout.shop.example";
const ACCOUNT = "account.shop.example";

const shopScripts: readonly ScriptFacts[] = [
  { host: WWW, url: "https://www.shop.example/assets/app.4f1c2a.js", score: 97, pages: ["/", "/cart"] },
  { host: WWW, url: "https://www.shop.example/assets/vendor.9be07d.js", score: 95, pages: ["/", "/cart"] },
  { host: WWW, url: "https://www.shop.example/assets/search.1d0b3e.js", score: 93, pages: ["/search"] },
  { host: WWW, url: "https://cdn.libraries.example/react/18.3.1/react.production.min.js", score: 98 },
  {
    host: WWW,
    url: "https://cdn.libraries.example/react-dom/18.3.1/react-dom.production.min.js",
    score: 98,
  },
  { host: WWW, url: "https://tags.metrics.example/tag.js?id=M-20417", score: 81, pages: ["/", "/sale"] },
  { host: WWW, url: "https://widgets.reviews.example/v2/embed.js", score: 76, pages: ["/product/1204"] },
  { host: WWW, url: "https://consent.privacy.example/banner.js", score: 88 },
  { host: WWW, url: "https://static.chat.example/loader.js", score: 50, pages: ["/help"] },
  {
    host: CHECKOUT,
    url: "https://stats-collect.example.com/c.js",
    score: 4,
    pages: ["/payment"],
    threats: { domain: ["Malware"], url: ["Malware", "Cryptominer"] },
  },
  {
    host: CHECKOUT,
    url: "https://cdn.libraries.example/jquery/3.4.1/jquery.min.js",
    score: 32,
    pages: ["/payment"],
  },
  { host: CHECKOUT, url: "https://js.payments.example/v3/pay.js", score: 96, pages: ["/payment"] },
  {
    host: CHECKOUT,
    url: "https://checkout.shop.example/assets/checkout.77ac10.js",
    score: 94,
    pages: ["/payment"],
  },
  {
    host: CHECKOUT,
    url: "https://checkout.shop.example/assets/address.c1e9f4.js",
    score: 92,
    pages: ["/address"],
  },
  { host: CHECKOUT, url: "https://maps.places.example/autocomplete.js", score: 85, pages: ["/address"] },
  { host: CHECKOUT, url: "https://fraud.signals.example/collect.js", score: 71, pages: ["/payment"] },
  {
    host: ACCOUNT,
    url: "https://account.shop.example/assets/login.02f6bb.js",
    score: 95,
    pages: ["/login"],
  },
  { host: ACCOUNT, url: "https://accounts.identity.example/gsi/client.js", score: null, pages: ["/login"] },
  {
    host: ACCOUNT,
    url: "https://account.shop.example/assets/orders.e8d310.js",
    score: null,
    pages: ["/orders"],
  },
  // Two URLs with the same content: listed once unless exclude_duplicates is false.
  {
    host: WWW,
    url: "https://tags.metrics.example/tag.js?id=M-20417&v=2",
    score: 81,
    sameAs: "tag.js?id=M-20417",
  },
  { host: WWW, url: "https://www.shop.example/cdn-cgi/challenge-platform/scripts/jsd/main.js", score: 90 },
  { host: WWW, url: "https://try.experiments.example/ab.js", score: 68, status: "infrequent" },
  {
    host: CHECKOUT,
    url: "https://cdn.extension-helper.example/inject.js",
    score: 12,
    status: "infrequent",
  },
  { host: WWW, url: "https://old-cdn.shop.example/legacy.js", score: 89, status: "inactive" },
];

const shopConnections: readonly ConnectionFacts[] = [
  { host: WWW, url: "https://collect.metrics.example/e", pages: ["/", "/sale"] },
  { host: WWW, url: "https://api.shop.example/v1/products", pages: ["/"] },
  { host: WWW, url: "https://api.reviews.example/v2/reviews", pages: ["/product/1204"] },
  { host: CHECKOUT, url: "https://api.payments.example/v1/intents", pages: ["/payment"] },
  {
    host: CHECKOUT,
    url: "https://stats-collect.example.com/x",
    pages: ["/payment"],
    threats: { domain: ["Malware"] },
  },
  { host: ACCOUNT, url: "https://accounts.identity.example/token", pages: ["/login"] },
  { host: WWW, url: "https://www.shop.example/cdn-cgi/rum", pages: ["/"] },
  { host: WWW, url: "https://beacon.experiments.example/v", status: "infrequent" },
];

const shopCookies: readonly CookieFacts[] = [
  { host: WWW, name: "session_id", maxAge: 3600, sameSite: "strict", httpOnly: true },
  { host: WWW, name: "cart", maxAge: 604_800, sameSite: "lax", httpOnly: false },
  { host: WWW, name: "_metrics", maxAge: 31_536_000, sameSite: "none", httpOnly: false, type: "unknown" },
  {
    host: CHECKOUT,
    name: "checkout_session",
    maxAge: null,
    sameSite: "strict",
    httpOnly: true,
    path: "/payment",
  },
  { host: ACCOUNT, name: "remember_me", maxAge: 2_592_000, sameSite: "lax", httpOnly: true },
  { host: WWW, name: "ab_variant", maxAge: 86_400, sameSite: "lax", httpOnly: false, status: "infrequent" },
];

export function shopDetected(): Detected {
  return detectedIn("shop", shopScripts, shopConnections, shopCookies);
}

export function blogDetected(): Detected {
  const host = "blog.example";
  return detectedIn(
    "blog",
    [
      { host, url: "https://blog.example/js/theme.js", score: 96 },
      {
        host,
        url: "https://cdn.libraries.example/prism/1.29.0/prism.min.js",
        score: 97,
        pages: ["/posts/csp"],
      },
      { host, url: "https://tags.metrics.example/tag.js?id=M-30551", score: 81 },
      { host, url: "https://comments.threads.example/embed.js", score: 44, pages: ["/posts/csp"] },
    ],
    [
      { host, url: "https://collect.metrics.example/e" },
      { host, url: "https://api.threads.example/v3/comments", pages: ["/posts/csp"] },
    ],
    [{ host, name: "theme", maxAge: 31_536_000, sameSite: "lax", httpOnly: false }],
  );
}

export function smallDetected(): Detected {
  const host = "small.example";
  const scripts = [
    { host, url: "https://small.example/main.js", score: 95 },
    { host, url: "https://tags.metrics.example/tag.js?id=M-40982", score: 81 },
  ];
  return detectedIn("small", scripts, [], []);
}

/** The essential properties of a script or connection. All other properties are derived from the URL. */
interface ConnectionFacts {
  readonly host: string;
  readonly url: string;
  readonly pages?: readonly string[];
  readonly status?: Connection["status"];
  readonly threats?: { readonly domain?: string[]; readonly url?: string[] };
}

interface ScriptFacts extends ConnectionFacts {
  readonly score: number | null;
  /** The end of another script's URL. Both scripts have the same content. */
  readonly sameAs?: string;
}

interface CookieFacts {
  readonly host: string;
  readonly name: string;
  readonly maxAge?: number | null;
  readonly sameSite?: Cookie["same_site_attribute"];
  readonly httpOnly?: boolean;
  readonly path?: string;
  readonly type?: Cookie["type"];
  readonly status?: Cookie["status"];
}

function detectedIn(
  zone: string,
  scripts: readonly ScriptFacts[],
  connections: readonly ConnectionFacts[],
  cookies: readonly CookieFacts[],
): Detected {
  return {
    scripts: scripts.map((facts) => {
      const origin = scripts.find(({ url }) => facts.sameAs !== undefined && url.endsWith(facts.sameAs));
      return newScript(zone, facts, origin?.url ?? facts.url);
    }),
    connections: connections.map((facts) => newConnection(zone, "connection", facts)),
    cookies: cookies.map((facts) => newCookie(zone, facts)),
  };
}

export function newConnection(zone: string, kind: string, facts: ConnectionFacts): Connection {
  const { host, url, pages = ["/"], status = "active", threats } = facts;
  const times = seenTimes(`${zone} ${kind} ${url}`, status);
  const pageUrls = pages.map((path) => host + path);
  return {
    id: idOf(zone, kind, `${host} ${url}`),
    url,
    host,
    ...times,
    added_at: microseconds(new Date(Date.parse(times.first_seen_at) + 2_096)),
    first_page_url: pageUrls[0] ?? host,
    page_urls: pageUrls,
    status,
    url_contains_cdn_cgi_path: url.includes("/cdn-cgi/"),
    domain_reported_malicious: threats?.domain !== undefined,
    url_reported_malicious: threats?.url !== undefined,
    ...(threats?.domain === undefined ? {} : { malicious_domain_categories: threats.domain }),
    ...(threats?.url === undefined ? {} : { malicious_url_categories: threats.url }),
  };
}

export function newScript(zone: string, facts: ScriptFacts, content: string = facts.url): Script {
  const record = newConnection(zone, "script", facts);
  const fetchedAt = record.last_seen_at;
  const scored = {
    hash: sha256(content),
    js_integrity_score: facts.score,
    obfuscation_score: facts.score,
    dataflow_score: facts.score,
    cryptomining_score: facts.score,
    magecart_score: facts.score,
    malware_score: facts.score,
    fetched_at: fetchedAt,
  };
  const earlier = { ...scored, hash: sha256(`${content} earlier`), fetched_at: record.first_seen_at };
  return { ...record, ...scored, versions: [scored, earlier] };
}

export function newCookie(zone: string, facts: CookieFacts): Cookie {
  const {
    host,
    name,
    maxAge = null,
    sameSite = "lax",
    httpOnly = true,
    path = "/",
    status = "active",
  } = facts;
  const times = seenTimes(`${zone} cookie ${name}`, status);
  const expires = Date.parse(times.last_seen_at) + (maxAge ?? 0) * 1000;
  return {
    id: idOf(zone, "cookie", `${host} ${name}`),
    type: facts.type ?? "first_party",
    name,
    host,
    domain_attribute: host,
    expires_attribute: seconds(new Date(expires)),
    http_only_attribute: httpOnly,
    max_age_attribute: maxAge,
    path_attribute: path,
    same_site_attribute: sameSite,
    secure_attribute: true,
    ...times,
    first_page_url: host + path,
    page_urls: [host + path],
    status,
  };
}

/**
 * Returns when a detection was seen. The times are spread over the days before `SEEDED_AT`. Inactive records were last
 * seen more than a week before.
 */
function seenTimes(what: string, status: Connection["status"]) {
  const spread = Number.parseInt(sha256(what).slice(0, 6), 16) / 0xffffff;
  const lastSeen = SEEDED_AT - (status === "inactive" ? 9 : 0) * DAY - spread * 2 * DAY;
  return {
    first_seen_at: seconds(new Date(lastSeen - (20 + spread * 40) * DAY)),
    last_seen_at: seconds(new Date(lastSeen)),
  };
}

function idOf(zone: string, kind: string, name: string): string {
  return sha256(`${zone} ${kind} ${name}`).slice(0, 32);
}

/** The format of `added_at` and `updated_at`. */
export function microseconds(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+/, "");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
