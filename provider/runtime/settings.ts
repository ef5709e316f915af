import { z } from "zod";
import { DEFAULT_CONCURRENCY } from "../api/connections";
import { DOCUMENTED_RATE, type RateWindow } from "../api/rate-budget";
import { RETRY } from "../api/retry";
import { parseUrl } from "../basics/url";
import { nearest } from "../basics/nearest";
import type { Credential } from "../api/credential";

/** The settings of a stack, from its configuration or the environment, or those of an explicit provider. */
export interface Settings {
  /** The name of the explicit provider that these settings belong to. */
  readonly provider: string | undefined;
  /**
   * The API's base URL: `edgeguard:baseUrl`, otherwise EDGEGUARD_BASE_URL, CLOUDFLARE_BASE_URL or Cloudflare's public
   * API.
   */
  readonly baseUrl: string;
  /**
   * The default of every `accountId`: `edgeguard:accountId`, otherwise EDGEGUARD_ACCOUNT_ID or CLOUDFLARE_ACCOUNT_ID.
   */
  readonly accountId: string | undefined;
  /**
   * The number of retries after the first attempt, 0 to 20: `edgeguard:maxRetries`, otherwise EDGEGUARD_MAX_RETRIES.
   */
  readonly maxRetries: number;
  /**
   * The rate limits: Cloudflare's documented rate and, if set, `edgeguard:requestsPerSecond` or
   * EDGEGUARD_REQUESTS_PER_SECOND.
   */
  readonly rates: readonly RateWindow[];
  /** The maximum number of requests in flight, 1 to 64: `edgeguard:concurrency`, otherwise EDGEGUARD_CONCURRENCY. */
  readonly concurrency: number;
  /** Whether previews read from the API: `edgeguard:liveChecks`, otherwise EDGEGUARD_LIVE_CHECKS. */
  readonly liveChecks: boolean;
  /**
   * How many hours of firewall events a preview counts, 0 to 720: `edgeguard:traffic`, otherwise EDGEGUARD_TRAFFIC. 0
   * turns it off.
   */
  readonly trafficHours: number;
  /** The credential, if one was found. */
  readonly credential: Credential | undefined;
  /** If there's no credential, the names of the credential settings and variables that are set but empty. */
  readonly emptyCredentials: readonly string[];
}

/** Thrown for an invalid configuration, before any request is sent. The message lists every problem. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

export const DEFAULT_BASE_URL = "https://api.cloudflare.com/client/v4";

/** The keys of credentials in the `edgeguard:` namespace. */
const CREDENTIAL_KEYS = ["apiToken", "apiEmail", "apiKey"] as const;
export const isCredential = (key: string): boolean => CREDENTIAL_KEYS.some((each) => each === key);

/** Keys in the `edgeguard:` namespace. */
export const CONFIG_KEYS = [
  ...CREDENTIAL_KEYS,
  "baseUrl",
  "accountId",
  "maxRetries",
  "requestsPerSecond",
  "concurrency",
  "liveChecks",
  "traffic",
] as const;

/**
 * The key that holds an explicit provider's name, which only the class `Provider` sets. Every state with an explicit
 * provider contains it, so it never changes. Settings that include it come only from that provider.
 */
export const PROVIDER_NAME = "edgeguard:provider";

/** Reads one key of the stack's configuration, such as `edgeguard:apiToken`. */
export type ConfigGetter = (key: string) => string | undefined;

/**
 * Converts a setting to text, the form in which programs pass settings to a provider. Anything but text becomes JSON.
 * Undefined if the setting isn't set.
 */
export function settingText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Environment = Readonly<Record<string, string | undefined>>;

const integer = (minimum: number, maximum: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .refine((n) => n >= minimum && n <= maximum, `must be a whole number from ${minimum} to ${maximum}`);

/** How each non-secret setting is read. `env` lists the fallback variables in order. `initial` is its default. */
export const PLAIN = {
  baseUrl: {
    env: ["EDGEGUARD_BASE_URL", "CLOUDFLARE_BASE_URL"],
    initial: DEFAULT_BASE_URL,
    schema: z.string().superRefine(checkBaseUrl),
  },
  accountId: {
    env: ["EDGEGUARD_ACCOUNT_ID", "CLOUDFLARE_ACCOUNT_ID"],
    schema: z
      .string()
      .regex(
        /^[0-9a-f]{32}$/i,
        "must be an account ID (32 hex digits). Find it on the Overview page of any zone in the account, in the dashboard",
      ),
  },
  maxRetries: { env: ["EDGEGUARD_MAX_RETRIES"], initial: RETRY.maxRetries, schema: integer(0, 20) },
  requestsPerSecond: {
    env: ["EDGEGUARD_REQUESTS_PER_SECOND"],
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/, "must be a number above 0, such as 4 or 0.5")
      .transform(Number)
      .refine((n) => n > 0 && n <= 200, "must be above 0 and at most 200, Cloudflare's limit per IP address"),
  },
  concurrency: { env: ["EDGEGUARD_CONCURRENCY"], initial: DEFAULT_CONCURRENCY, schema: integer(1, 64) },
  liveChecks: {
    env: ["EDGEGUARD_LIVE_CHECKS"],
    initial: true,
    schema: z.enum(["true", "false"], "must be true or false").transform((text) => text === "true"),
  },
  traffic: { env: ["EDGEGUARD_TRAFFIC"], initial: 24, schema: integer(0, 720) },
} as const;

/**
 * Returns the settings from the stack's configuration and the environment. The credential is the first of these that's
 * set: `edgeguard:apiToken`, `edgeguard:apiEmail` with `edgeguard:apiKey`, `cloudflare:apiToken`, CLOUDFLARE_API_TOKEN,
 * CLOUDFLARE_EMAIL with CLOUDFLARE_API_KEY. Having no credential isn't an error here, because previews work without
 * one. An explicit provider uses only its own, because another one might belong to another account.
 *
 * @throws SettingsError that lists every problem.
 */
export function readSettings(config: ConfigGetter, processEnv: Environment): Settings {
  const problems: string[] = [];
  const provider = config(PROVIDER_NAME);
  const env = provider === undefined ? processEnv : {};

  const plain = <T>(key: keyof typeof PLAIN, schema: z.ZodType<T, string>): T | undefined => {
    const names = [`edgeguard:${key}`, ...PLAIN[key].env];
    const found = names
      .map((name) => ({ name, text: present(name.includes(":") ? config(name) : env[name]) }))
      .find((candidate) => candidate.text !== undefined);
    if (found?.text === undefined) return undefined;
    const parsed = schema.safeParse(found.text);
    if (parsed.success) return parsed.data;
    // A URL may contain a password before the @ (even if that makes it invalid) and a secret in its query.
    const shown = found.text.replace(/^(\w+:\/\/)?.*@/s, "$1[secret]@").replace(/[?#].*$/s, "?[secret]");
    problems.push(
      `${found.name} is ${JSON.stringify(shown)} but ${parsed.error.issues[0]?.message ?? "is not valid"}`,
    );
    return undefined;
  };

  const baseUrl = plain("baseUrl", PLAIN.baseUrl.schema);
  const accountId = plain("accountId", PLAIN.accountId.schema);
  const maxRetries = plain("maxRetries", PLAIN.maxRetries.schema);
  const requestsPerSecond = plain("requestsPerSecond", PLAIN.requestsPerSecond.schema);
  const concurrency = plain("concurrency", PLAIN.concurrency.schema);
  const liveChecks = plain("liveChecks", PLAIN.liveChecks.schema);
  const trafficHours = plain("traffic", PLAIN.traffic.schema);
  const credential = readCredential(config, env, problems);

  if (problems.length > 0) {
    const found = `${problems.join("; ")}.`;
    throw new SettingsError(
      provider === undefined
        ? `Invalid configuration: ${found}`
        : `Invalid arguments of Provider ${JSON.stringify(provider)}: ${found.replaceAll("edgeguard:", "")}`,
    );
  }
  const ownName = (name: string): string => (provider === undefined ? name : inProvider(name, provider));
  return {
    provider,
    baseUrl: baseUrl ?? PLAIN.baseUrl.initial,
    accountId: accountId?.toLowerCase(),
    maxRetries: maxRetries ?? PLAIN.maxRetries.initial,
    rates:
      requestsPerSecond === undefined
        ? [DOCUMENTED_RATE]
        : [DOCUMENTED_RATE, { requests: 1, ms: 1000 / requestsPerSecond }],
    concurrency: concurrency ?? PLAIN.concurrency.initial,
    liveChecks: liveChecks ?? PLAIN.liveChecks.initial,
    trafficHours: trafficHours ?? PLAIN.traffic.initial,
    credential: credential === undefined ? undefined : { ...credential, origin: ownName(credential.origin) },
    emptyCredentials: credential === undefined ? emptyCredentials(config, env).map(ownName) : [],
  };
}

/** Returns how messages refer to an explicit provider's setting: `apiToken of Provider "eu"`. */
function inProvider(name: string, provider: string): string {
  return `${name.replaceAll("edgeguard:", "")} of Provider ${JSON.stringify(provider)}`;
}

/** Returns a message about settings in the words of an explicit provider, which reads no stack configuration. */
export function inWordsOf(provider: string | undefined, message: string): string {
  if (provider === undefined) return message;
  return message
    .replace(/ for the whole stack with "pulumi config set (\S+) <id>"/g, " as $1")
    .replace(SETTING, (name) => inProvider(name, provider));
}

const SETTING = new RegExp(`\\bedgeguard:(${CONFIG_KEYS.join("|")})\\b`, "g");

const SECRETS = [
  "edgeguard:apiToken",
  "edgeguard:apiEmail",
  "edgeguard:apiKey",
  "cloudflare:apiToken",
  "CLOUDFLARE_API_TOKEN",
  "CLOUDFLARE_EMAIL",
  "CLOUDFLARE_API_KEY",
];

/**
 * Lists every secret in the configuration and the environment. None of them may be printed, even if it's unused or
 * invalid.
 */
export function secretsIn(config: ConfigGetter, env: Environment): string[] {
  return SECRETS.flatMap((name) => {
    const text = name.includes(":") ? config(name) : env[name];
    return text === undefined ? [] : [text, text.trim()];
  });
}

/** Returns the names of secrets that are set but blank, because CI systems pass missing secrets that way. */
function emptyCredentials(config: ConfigGetter, env: Environment): string[] {
  return SECRETS.filter((name) => (name.includes(":") ? config(name) : env[name])?.trim() === "");
}

/** Returns a message for each unknown key in the `edgeguard:` namespace, because typos would otherwise go unnoticed. */
export function unknownConfigKeys(keys: readonly string[]): string[] {
  const NAMESPACE = "edgeguard:";
  const known = CONFIG_KEYS.map((key) => NAMESPACE + key);
  return keys
    .filter((key) => key.startsWith(NAMESPACE) && !known.includes(key))
    .map((key) => {
      const meant = nearest(key.slice(NAMESPACE.length), CONFIG_KEYS);
      const near = meant === undefined ? undefined : NAMESPACE + meant;
      return (
        `"${key}" in the stack's configuration is not a setting. ${near === undefined ? `Valid keys: ${known.join(", ")}.` : `Did you mean "${near}"?`} ` +
        `Remove it with "pulumi config rm ${key}"${near === undefined ? "" : ` and set ${near}`}.`
      );
    });
}

/** Secrets that must be encrypted in the stack's configuration. */
const ENCRYPTED = ["edgeguard:apiToken", "edgeguard:apiKey", "cloudflare:apiToken"];

/** Returns a warning for each credential in the stack's configuration that's misplaced or stored as plain text. */
export function doubtfulConfig(
  config: Readonly<Record<string, string>>,
  run: { readonly project: string; readonly isSecret: (key: string) => boolean; readonly env: Environment },
): string[] {
  const plain = ENCRYPTED.filter((key) => present(config[key]) !== undefined && !run.isSecret(key)).map(
    (key) =>
      `${key} is stored as plain text in the stack's configuration: anyone who can read the repository can use it. Revoke it, and set a new one with "pulumi config set --secret ${key}".`,
  );
  const hasCredential = SECRETS.some((name) => present(name.includes(":") ? config[name] : run.env[name]));
  const misplaced = (hasCredential ? [] : CREDENTIAL_KEYS)
    .filter((key) => config[`${run.project}:${key}`] !== undefined)
    .map((key) => {
      const set = `pulumi config set${key === "apiEmail" ? "" : " --secret"} edgeguard:${key}`;
      return `pulumi-edgeguard ignores "${run.project}:${key}" in the stack's configuration: it only reads keys that start with "edgeguard:". Set the credential with "${set}", and remove the old key with "pulumi config rm ${key}".`;
    });
  return [...plain, ...misplaced];
}

function readCredential(config: ConfigGetter, env: Environment, problems: string[]): Credential | undefined {
  const at = (name: string): string | undefined => present(name.includes(":") ? config(name) : env[name]);
  const token = (origin: string): Credential | undefined => {
    const value = at(origin);
    if (value === undefined) return undefined;
    if (!headerSafe(value))
      problems.push(
        `${origin} contains a space, line break or other character that isn't allowed in a token: set it again without that character`,
      );
    return { kind: "token", token: value, origin };
  };
  const pair = (emailName: string, keyName: string): Credential | undefined => {
    const email = at(emailName);
    const key = at(keyName);
    if (email === undefined && key === undefined) return undefined;
    if (email === undefined || key === undefined) {
      problems.push(
        `${email === undefined ? keyName : emailName} is set without ${email === undefined ? emailName : keyName}: set both or neither`,
      );
      return undefined;
    }
    if (!headerSafe(email) || !headerSafe(key))
      problems.push(
        `${emailName} or ${keyName} contains a space or line break: set both again without spaces or line breaks`,
      );
    return { kind: "key", email, key, origin: `${emailName} and ${keyName}` };
  };

  const own = token("edgeguard:apiToken");
  const ownPairSet = at("edgeguard:apiEmail") !== undefined || at("edgeguard:apiKey") !== undefined;
  if (own !== undefined && ownPairSet) {
    problems.push(
      `edgeguard:apiToken is set along with edgeguard:apiEmail or edgeguard:apiKey: keep one kind of credential, and remove the other${config(PROVIDER_NAME) === undefined ? " with pulumi config rm" : ""}`,
    );
  }
  // An invalid credential in the environment may belong to another tool, so it matters only if there's no better one.
  return (
    own ??
    (ownPairSet ? pair("edgeguard:apiEmail", "edgeguard:apiKey") : undefined) ??
    token("cloudflare:apiToken") ??
    token("CLOUDFLARE_API_TOKEN") ??
    pair("CLOUDFLARE_EMAIL", "CLOUDFLARE_API_KEY")
  );
}

/** This machine's own hosts. `URL` writes every IPv4 address with four numbers. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function checkBaseUrl(text: string, ctx: z.RefinementCtx): void {
  const url = parseUrl(text);
  const problem =
    url === undefined || !["http:", "https:"].includes(url.protocol)
      ? `must be an https URL such as ${DEFAULT_BASE_URL}`
      : url.protocol === "http:" && !LOOPBACK.test(url.hostname)
        ? "would send the credential unencrypted. Use https; http is only for this machine, such as http://localhost:8787/client/v4"
        : url.username !== "" || url.password !== ""
          ? "must not contain a user or password: set edgeguard:apiToken instead"
          : url.search !== "" || url.hash !== ""
            ? "must not have a query or fragment"
            : !/\/v\d+\/?$/.test(url.pathname)
              ? `must end in an API version, for example ${DEFAULT_BASE_URL}`
              : undefined;
  if (problem !== undefined) ctx.addIssue({ code: "custom", message: problem });
}

/** Whether an HTTP header can contain the text. If it can't, the HTTP library would fail later. */
function headerSafe(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Returns the value. Undefined if it's blank or not set, because CI systems pass missing secrets as empty strings. */
function present(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === "" ? undefined : trimmed;
}
