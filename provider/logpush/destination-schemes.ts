import { z } from "zod";
import { trimEnd } from "../basics/printable";
import { ownMember } from "../basics/json";
import { decoded } from "../basics/url";
import type { Destination } from "./destination";

/**
 * A table of destination schemes. Each row says how to check the string, which parts are secret, how to build the
 * string from a builder's arguments, and how an import recovers those arguments. Source:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/ and its subpages, and
 * `logpush_destination_conf` in Cloudflare's OpenAPI schema.
 */

/** The parts of a destination, still encoded. */
export interface ParsedDestination {
  readonly scheme: string;
  /** The part before the `@`, which may contain a password. */
  readonly userInfo: string | undefined;
  /** The bucket, or the host with its port. */
  readonly host: string;
  /** The path with its leading slash; empty if there is none. */
  readonly path: string;
  /** The query parameters, in their original order. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** A builder's argument that contains a credential. */
export class Credential {
  constructor(
    readonly value: string,
    /** The credential's name in messages, such as `URL of the endpoint`. */
    readonly meaning: string,
  ) {}
}

export type Member = string | boolean | Credential | Readonly<Record<string, Credential>>;

/** A builder's arguments, in the order in which a generated program lists them. */
export type Members = Readonly<Record<string, Member | undefined>>;

type Shape = Readonly<Record<string, z.ZodType<string>>>;
type Strings = Readonly<Record<string, string>>;

/** A query parameter. */
export interface Parameter {
  /** The builder's argument that sets the parameter. Undefined if no builder can set it. */
  readonly member?: string;
  readonly required?: true;
  /** The value to write if the argument is omitted. */
  readonly defaultValue?: string;
  /** The parameter's name in messages. Set only if it's a credential. */
  readonly secret?: string;
  /** Whether the argument is a boolean. */
  readonly flag?: true;
  /** A word that the builder puts in front of the argument's value, such as `Splunk`. */
  readonly prefix?: string;
  /** The only documented value. Builders accept no other; a string is sent as written, and Cloudflare checks it. */
  readonly onlyValue?: string;
  /** Returns what's wrong with the value, which is still encoded: `must be …`, to follow the parameter's name. */
  readonly problem?: (value: string) => string | false;
}

/** Converts between the builder's arguments and the destination without its query parameters. */
interface Address {
  readonly shape: Shape;
  /** Returns the text that follows `://`. */
  readonly write: (members: Strings) => string;
  /** Returns the builder's arguments, or undefined if no arguments produce this address. */
  readonly read: (parsed: ParsedDestination) => Members | undefined;
  /** Other parts of the destination that `read` handles, in addition to the host and path. */
  readonly reads?: readonly ("user" | "query")[];
}

export interface Scheme {
  /** Whether `host` is a bucket, container or stream. If so, neither the host nor the path is secret. */
  readonly place: "bucket" | "endpoint";
  /** The name for `host` in messages, if it isn't a hostname. */
  readonly hostIs?: "bucket name" | "stream name";
  /**
   * When Cloudflare requires an ownership challenge. With `"if asked"`, only Cloudflare's response to a create says
   * whether it does.
   */
  readonly proof: "always" | "unless keys" | "if asked" | "never";
  /** Whether Cloudflare replaces `{DATE}` in the path. */
  readonly supportsDate?: true;
  /** How the builder writes and reads the address. Undefined if the scheme has no builder. */
  readonly address?: Address;
  /** The query parameters, in the order in which a builder writes them. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** Matches the names of further parameters that contain a credential, or belong to one. */
  readonly credentials?: RegExp;
  /** What the host and path look like. */
  readonly path?: { readonly form: RegExp; readonly problem: string };
}

/** Returns the schema of a required string. If it's missing, the message says so without showing the other values. */
function requiredString(reason: string): z.ZodString {
  return z
    .string({ error: ({ input }) => (input === undefined ? "is required and must be a string" : reason) })
    .min(1, "must not be empty");
}

const plainString = requiredString("must be a string");
const credential = requiredString("must be a string (secret value not shown)");
const optionalPath = z.string("must be a string").exactOptional();

const BUCKET: Address = {
  shape: { bucket: plainString, path: optionalPath },
  write: ({ bucket = "", path }) => `${bucket}${encodedPath(path)}`,
  read: ({ host, path }) => ({ bucket: host, path: decodedPath(path) }),
};

const SIGNED_CONTAINER: Address = {
  shape: {
    sasUrl: credential.refine((url) => /^https:\/\/[^?]+\?./.test(url), {
      error: "must be the container's URL with its shared access signature: https://…/container?sv=…&sig=…",
    }),
    path: optionalPath,
  },
  write: ({ sasUrl = "", path }) => {
    const [address = "", query = ""] = sasUrl.replace("https://", "").split("?");
    return `${address.replace(/\/+$/, "")}${encodedPath(path)}?${query}`;
  },
  reads: ["query"],
  read: ({ host, path, parameters }) => {
    const [container = "", ...inner] = path.split("/").filter((folder) => folder !== "");
    if (container === "") return undefined;
    const sasUrl = withQuery(`https://${host}/${container}`, queryOf(parameters));
    return {
      sasUrl: new Credential(sasUrl, "the container's URL with its shared access signature"),
      path: decodedPath(inner.join("/")),
    };
  },
};

const HEADER = "header_";

/** An HTTPS URL with optional headers. In the destination string, the headers are query parameters. */
const URL_WITH_HEADERS: Address = {
  shape: {
    url: credential.refine((url) => url.startsWith("https://"), {
      error: "must start with https://, because Logpush pushes only over HTTPS",
    }),
    headers: z
      .record(z.string(), credential, "must be an object of strings")
      .transform((headers) =>
        queryOf(Object.entries(headers).map(([name, value]) => [HEADER + name, encodeURIComponent(value)])),
      )
      .exactOptional(),
  },
  write: ({ url = "", headers = "" }) =>
    withQuery(url.slice("https://".length), headers, url.includes("?") ? "&" : "?"),
  reads: ["user", "query"],
  read: ({ host, path, parameters, userInfo }) => {
    const headers = parameters.filter(([name]) => name.startsWith(HEADER));
    const query = parameters.filter(([name]) => !name.startsWith(HEADER));
    const user = userInfo === undefined ? "" : `${userInfo}@`;
    const url = withQuery(`https://${user}${host}${path}`, queryOf(query));
    const isHarmless =
      user === "" && query.length === 0 && !path.split("/").some((each) => isToken(each) || isMasked(each));
    const headerMembers = headers.map(([parameter, value]) => {
      const name = parameter.slice(HEADER.length);
      return [name, new Credential(decoded(value), `header ${name} of the endpoint`)] as const;
    });
    return {
      url: isHarmless ? url : new Credential(url, "URL of the endpoint"),
      headers: headers.length === 0 ? undefined : Object.fromEntries(headerMembers),
    };
  },
};

const ENDPOINT: Address = {
  shape: { endpoint: plainString },
  write: ({ endpoint = "" }) => withoutScheme(endpoint),
  read: ({ host, path }) => ({ endpoint: `${host}${path}` }),
};

const SECRET_URL: Address = {
  shape: { url: credential },
  write: ({ url = "" }) => withoutScheme(url),
  read: ({ host, path }) => ({
    url: new Credential(`https://${host}${path}`, "the HTTP source's URL"),
  }),
};

const KEYS = {
  "access-key-id": { member: "accessKeyId", secret: "the access key ID for bucket {host}" },
  "secret-access-key": { member: "secretAccessKey", secret: "the secret access key for bucket {host}" },
} as const satisfies Scheme["parameters"];

export const KEY_PAIR = Object.keys(KEYS);

const AMAZON = {
  region: {
    member: "region",
    required: true,
    problem: (region) =>
      /^cn-/i.test(region) &&
      `is ${JSON.stringify(region)}, an AWS China region, which Logpush doesn't support. Use another region`,
  },
  sse: { member: "sse", onlyValue: "AES256" },
  endpoint: { member: "endpoint" },
  ...KEYS,
} as const satisfies Scheme["parameters"];

/**
 * Parameters of an HTTPS URL that say where the logs go, and never contain a credential. Cloudflare documents only some
 * of them: any receiver has its own.
 */
const URL_PARAMETERS =
  "channel database dataset ddsource ddtags env format host index region service source sourcetype stream table tags topic";

/** Parameters of a shared access signature other than the signature itself: versions, permissions, times, keys. */
const SAS_PARAMETERS = /^(?:sv|ss|srt?|sp|spr|se|st|sip?|sk(?:oid|tid|[tesv])|saoid|suoid|scid|sdd|ses)$/;

const SCHEMES = {
  s3: {
    place: "bucket",
    hostIs: "bucket name",
    proof: "unless keys",
    supportsDate: true,
    address: BUCKET,
    parameters: AMAZON,
  },
  r2: {
    place: "bucket",
    hostIs: "bucket name",
    proof: "if asked", // No challenge is needed if the bucket belongs to the job's own account.
    supportsDate: true,
    address: BUCKET,
    parameters: {
      "account-id": {
        member: "accountId",
        required: true,
        problem: (id) =>
          !/^([0-9a-f]{32})?$/i.test(id) &&
          "is not an account ID (32 hex digits). Find it on the Overview page of any zone in the account",
      },
      "access-key-id": { ...KEYS["access-key-id"], required: true },
      "secret-access-key": { ...KEYS["secret-access-key"], required: true },
    },
  },
  gs: {
    place: "bucket",
    hostIs: "bucket name",
    proof: "always",
    supportsDate: true,
    address: BUCKET,
    parameters: {},
  },
  azure: {
    place: "bucket",
    proof: "always",
    supportsDate: true,
    address: SIGNED_CONTAINER,
    parameters: { sig: { required: true, secret: "signature" } },
    credentials: SAS_PARAMETERS,
  },
  https: {
    place: "endpoint",
    proof: "never",
    address: URL_WITH_HEADERS,
    parameters: Object.fromEntries(URL_PARAMETERS.split(" ").map((name) => [name, {}])),
    credentials:
      /(?:^|[_-])(?:auth|authorization|(?:api|access|insert|license)[_-]?key|token|secret|password|sig|signature)$/i,
  },
  splunk: {
    place: "endpoint",
    proof: "never",
    address: ENDPOINT,
    parameters: {
      channel: { member: "channel", required: true },
      "insecure-skip-verify": { member: "insecureSkipVerify", flag: true, defaultValue: "false" },
      sourcetype: { member: "sourcetype" },
      header_Authorization: {
        member: "token",
        required: true,
        prefix: "Splunk",
        secret: "the collector's token, without the word Splunk",
      },
    },
  },
  datadog: {
    place: "endpoint",
    proof: "never",
    address: ENDPOINT,
    parameters: {
      "header_DD-API-KEY": { member: "apiKey", required: true, secret: "Datadog API key" },
      ddsource: { member: "ddsource", defaultValue: "cloudflare" },
      service: { member: "service" },
      host: { member: "host" },
      ddtags: { member: "ddtags" },
    },
  },
  sumo: {
    place: "endpoint",
    proof: "always",
    address: SECRET_URL,
    parameters: {},
    path: {
      form: /\/receiver\/v1\/http\/[^/]+/,
      problem:
        "must be the URL of an HTTP source: https://endpoint/receiver/v1/http/…, or sumo://endpoint/receiver/v1/http/… in destinationConf",
    },
  },
  // Documented only on Cloudflare's pages; the OpenAPI schema is older.
  sentinelone: {
    place: "endpoint",
    proof: "never",
    parameters: { sourcetype: {}, header_Authorization: { required: true, secret: "token" } },
  },
  ibmcl: {
    place: "endpoint",
    proof: "never",
    parameters: { ibm_api_key: { required: true, secret: "API key" } },
  },
  bq: {
    place: "bucket",
    proof: "never",
    parameters: {
      credentials: {
        required: true,
        secret: "a service account's key",
        problem: (value) =>
          !/^(base64|url)(:|%3A)/i.test(value) &&
          "must be a service account's key as base64:… or url:… (secret value not shown)",
      },
    },
    path: {
      form: /^projects\/[^/]+\/datasets\/[^/]+\/tables\/[^/]+\/?$/,
      problem: "must be bq://projects/<project>/datasets/<dataset>/tables/<table>?credentials=…",
    },
  },
  kinesis: {
    place: "bucket",
    hostIs: "stream name",
    proof: "if asked",
    parameters: { ...AMAZON, "sts-assume-role-arn": {} },
  },
} as const satisfies Readonly<Record<Destination["scheme"], Scheme & { readonly address: Address }>> &
  Readonly<Record<string, Scheme>>;

const ROWS: ReadonlyMap<string, Scheme> = new Map(Object.entries(SCHEMES));

export const SCHEME_NAMES: readonly string[] = [...ROWS.keys()];

export function schemeOf({ scheme }: ParsedDestination): Scheme {
  const found = ROWS.get(scheme);
  if (found === undefined) throw new Error(`destination scheme ${scheme} was not checked`);
  return found;
}

/**
 * Returns whether a query parameter says where the logs go or is part of a credential. An unknown one may be either, so
 * it's hidden like a credential, but changing it counts as another location.
 */
export function kindOfParameter(
  parsed: ParsedDestination,
  name: string,
): "location" | "credential" | "unknown" {
  const { parameters, credentials } = schemeOf(parsed);
  const known = ownMember(parameters, name);
  if (known !== undefined) return known.secret === undefined ? "location" : "credential";
  return credentials?.test(name) === true ? "credential" : "unknown";
}

/** Whether the parameter belongs to a shared access signature, but isn't the signature itself. */
export function isSignatureDetail({ scheme }: ParsedDestination, name: string): boolean {
  return scheme === "azure" && SAS_PARAMETERS.test(name);
}

/**
 * Splits a destination into its parts. Undefined if the string isn't a destination, or its scheme is unknown. Doesn't
 * check what the scheme requires.
 */
export function parseDestination(text: string): ParsedDestination | undefined {
  const [, scheme = "", userInfo, host = "", path = "", query] =
    /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/i.exec(text) ?? [];
  const row = ROWS.get(scheme.toLowerCase());
  if (row === undefined) return undefined;
  const parameters = (query ?? "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", ...value] = part.split("=");
      return [name, value.join("=")] as const;
    });
  // Only a web server may tell an address from the same one with a slash at its end.
  const isPlain = row.place === "bucket" || /^\/+$/.test(path);
  return {
    scheme: scheme.toLowerCase(),
    userInfo,
    host,
    path: isPlain ? trimEnd(path, "/") : path,
    parameters,
  };
}

/** Returns the parameter's value, still encoded. */
export function valueOf({ parameters }: ParsedDestination, name: string): string | undefined {
  return parameters.find(([each]) => each === name)?.[1];
}

/**
 * The schema of the object that a builder returns. Its canonical form is the API's string, with each value encoded.
 */
export const typedDestination = z.discriminatedUnion("scheme", [
  builderSchema("s3"),
  builderSchema("r2"),
  builderSchema("gs"),
  builderSchema("azure"),
  builderSchema("https"),
  builderSchema("splunk"),
  builderSchema("datadog"),
  builderSchema("sumo"),
]);

function builderSchema(
  scheme: Destination["scheme"],
): z.ZodPipe<z.ZodObject<Shape>, z.ZodTransform<string, Strings>> {
  const { address } = SCHEMES[scheme];
  const parameters = Object.entries<Parameter>(SCHEMES[scheme].parameters);
  const shape: Record<string, z.ZodType<string>> = { scheme: z.literal(scheme), ...address.shape };
  for (const [, parameter] of inBuilderOrder(parameters)) {
    const { member, required } = parameter;
    if (member === undefined) continue;
    shape[member] = required === true ? schemaOf(parameter) : schemaOf(parameter).exactOptional();
  }
  return z.strictObject<Shape>(shape).transform((members: Strings) => {
    const query = parameters.flatMap(([name, { member = "", defaultValue, prefix }]): [string, string][] => {
      const value = members[member] ?? defaultValue;
      const whole = prefix === undefined ? value : `${prefix} ${withoutPrefix(value ?? "", prefix)}`;
      return whole === undefined ? [] : [[name, encodeURIComponent(whole)]];
    });
    return `${scheme}://${withQuery(address.write(members), queryOf(query))}`;
  });
}

function schemaOf({ flag, onlyValue, secret }: Parameter): z.ZodType<string> {
  if (flag === true) return z.boolean("must be true or false").transform(String);
  if (onlyValue !== undefined) return z.literal(onlyValue, `must be "${onlyValue}"`);
  return secret === undefined ? plainString : credential;
}

/** Returns the builder's arguments that produce the destination. Undefined if no builder can express all of it. */
export function membersOf(parsed: ParsedDestination): Members | undefined {
  const { address, parameters } = schemeOf(parsed);
  const { reads = [] } = address ?? {};
  const isExpressible =
    (parsed.userInfo === undefined || reads.includes("user")) &&
    (reads.includes("query") ||
      parsed.parameters.every(([name]) => ownMember(parameters, name)?.member !== undefined));
  const place = isExpressible ? address?.read(parsed) : undefined;
  if (place === undefined) return undefined;
  const others: Record<string, Member | undefined> = {};
  for (const [name, parameter] of inBuilderOrder(Object.entries(parameters)))
    if (parameter.member !== undefined) others[parameter.member] = memberIn(parsed, name, parameter);
  return { ...place, ...others };
}

/** Sorts required arguments first and flags last. */
function inBuilderOrder(parameters: readonly [string, Parameter][]): readonly [string, Parameter][] {
  const rank = ({ required, flag }: Parameter): number => (required === true ? 0 : flag === true ? 2 : 1);
  return [...parameters].sort(([, a], [, b]) => rank(a) - rank(b));
}

function memberIn(parsed: ParsedDestination, name: string, parameter: Parameter): Member | undefined {
  const { member, secret, flag, defaultValue, prefix } = parameter;
  const written = valueOf(parsed, name);
  if (member === undefined || written === undefined) return undefined;
  const value = withoutPrefix(decoded(written), prefix);
  const meaning = secret?.replace("{host}", () => parsed.host);
  if (meaning !== undefined) return new Credential(value, meaning);
  if (value === defaultValue) return undefined;
  return flag === true ? value === "true" : value;
}

function withoutPrefix(value: string, prefix: string | undefined): string {
  return prefix === undefined ? value : value.replace(new RegExp(`^${prefix}\\s+`, "i"), "");
}

function queryOf(parameters: ParsedDestination["parameters"]): string {
  return parameters.map(([name, value]) => `${name}=${value}`).join("&");
}

function withQuery(address: string, query: string, between = "?"): string {
  return query === "" ? address : `${address}${between}${query}`;
}

/** Encodes a path and adds a leading slash. Keeps the placeholder `{DATE}`, because Cloudflare replaces it. */
function encodedPath(path = ""): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner.split("/").map(encodedFolder).join("/")}`;
}

export function encodedFolder(name: string): string {
  return encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd")).replace(
    /%7B|%7D|%3D|%3A|%2B|%2C/gi,
    (code) => decodeURIComponent(code),
  );
}

function decodedPath(path: string): string | undefined {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? undefined : inner.split("/").map(decoded).join("/");
}

/** Only without a path, a slash at the end means nothing. */
function withoutScheme(address: string): string {
  return address.replace(/^(https|splunk|datadog|sumo):\/\//, "").replace(/^([^/]*)\/+$/, "$1");
}

/** Whether a path segment may be a token: it's long, or letters are mixed with digits. */
export function isToken(folder: string): boolean {
  return folder.length >= 16 || (folder.length >= 8 && /[a-z]/i.test(folder) && /\d/.test(folder));
}

/**
 * Whether the text is a placeholder for a hidden credential: only symbols, such as `****`, or a single word, such as
 * `redacted`.
 */
export function isMasked(text: string): boolean {
  return isMaskedAddress(text) || /^x{4,}$|^[<[({]?(redacted|masked|hidden)[>\])}]?$/i.test(decoded(text));
}

/**
 * The same as `isMasked`, but for parts that users name, such as folders. Only symbols count as a placeholder here,
 * because a word may be a real name.
 */
export function isMaskedAddress(text: string): boolean {
  return /^[*•.]+$|\*{3}|•{3}/.test(decoded(text));
}
