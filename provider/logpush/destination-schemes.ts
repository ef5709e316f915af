import { z } from "zod";
import { ownMember } from "../runtime/values";
import type { Destination } from "./destination";

/**
 * A row for each scheme of a destination: it says how the text is checked, what of it is secret, how a builder's members
 * become the text, and how an import gets them back. Source: OpenAPI, `logpush_destination_conf`, and Cloudflare's page of
 * each destination.
 */

/** A destination in its parts, each as it is written. */
export interface ParsedDestination {
  readonly scheme: string;
  /** Before the `@` of an address; a password may be in it. */
  readonly userInfo: string | undefined;
  /** Bucket, or host with port. */
  readonly host: string;
  /** With its leading slash; empty where there is none. */
  readonly path: string;
  /** In order, still encoded. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** A builder's member that is a credential. */
export class Credential {
  constructor(
    readonly value: string,
    /** For people: `address of the endpoint`. */
    readonly meaning: string,
  ) {}
}

export type Member = string | boolean | Credential | Readonly<Record<string, Credential>>;

/** A builder's members in the order of its argument. */
export type Members = Readonly<Record<string, Member | undefined>>;

type Shape = Readonly<Record<string, z.ZodType<string>>>;
type Strings = Readonly<Record<string, string>>;

/** A parameter of the query. */
export interface Parameter {
  /** The builder's member for it; undefined where no builder has one. */
  readonly member?: string;
  readonly required?: true;
  /** In the text where the member is left out. */
  readonly fallback?: string;
  /** Of a credential: what it is, for people. */
  readonly secret?: string;
  /** Whether the member is true or false. */
  readonly flag?: true;
  /** Stands before the value, and is left out of the member. */
  readonly word?: string;
  /** The one value there is. */
  readonly only?: string;
  /** What its value looks like by the documentation; Cloudflare's own examples differ, so another one is warned of. */
  readonly form?: { readonly is: RegExp; readonly words: string };
  /** What is wrong with the value, which is still encoded. */
  readonly problems?: (value: string) => readonly (string | false)[];
}

/** How a builder's members say all but the parameters. */
interface Address {
  readonly shape: Shape;
  /** What stands behind `://`. */
  readonly write: (members: Strings) => string;
  /** Undefined where no members make this address. */
  readonly read: (parsed: ParsedDestination) => Members | undefined;
  /** What else of the text it reads. */
  readonly takes?: readonly ("user" | "query")[];
}

export interface Scheme {
  /** Whether `host` is a bucket, container or stream: then neither it nor the path is a secret. */
  readonly place: "bucket" | "endpoint";
  /** Whether Cloudflare wants proof that the destination is one's own. "perhaps": it says so when it does. */
  readonly proof: "always" | "unless keys" | "perhaps" | "never";
  /** Whether `{DATE}` in its path becomes the day. */
  readonly dated?: true;
  /** Undefined where there is no builder. */
  readonly address?: Address;
  /** In the order in which a builder writes them. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** What its path has to be. */
  readonly path?: { readonly form: RegExp; readonly problem: string };
}

/** Where a member is missing it says so, without the value of the others. */
function text(words: string): z.ZodString {
  return z
    .string({ error: ({ input }) => (input === undefined ? "is required: a text" : words) })
    .min(1, "is empty");
}

const word = text("has to be a text");
const credential = text("has to be a text; it is a value that is not shown");
const folders = z.string("has to be a text").exactOptional();

const BUCKET: Address = {
  shape: { bucket: word, path: folders },
  write: ({ bucket = "", path }) => `${bucket}${encodedPath(path)}`,
  read: ({ host, path }) => ({ bucket: host, path: decodedPath(path) }),
};

const SIGNED_CONTAINER: Address = {
  shape: {
    sasUrl: credential.refine((url) => /^https:\/\/[^?]+\?./.test(url), {
      error: "has to be the container's address with its signature: https://…/container?sv=…&sig=…",
    }),
    path: folders,
  },
  write: ({ sasUrl = "", path }) => {
    const [address = "", query = ""] = sasUrl.replace("https://", "").split("?");
    return `${address.replace(/\/+$/, "")}${encodedPath(path)}?${query}`;
  },
  takes: ["query"],
  read: ({ host, path, parameters }) => {
    const [container = "", ...inner] = path.split("/").filter((folder) => folder !== "");
    if (container === "") return undefined;
    const sasUrl = withQuery(`https://${host}/${container}`, queryOf(parameters));
    return {
      sasUrl: new Credential(sasUrl, "address of the container with its signature"),
      path: decodedPath(inner.join("/")),
    };
  },
};

const HEADER = "header_";

/** An address of one's own, with headers that are parameters in the text. */
const URL_WITH_HEADERS: Address = {
  shape: {
    url: credential.refine((url) => url.startsWith("https://"), {
      error: "has to begin with https://, the only protocol the service pushes by",
    }),
    headers: z
      .record(z.string(), credential, "has to be an object of texts")
      .transform((headers) =>
        queryOf(Object.entries(headers).map(([name, value]) => [HEADER + name, encodeURIComponent(value)])),
      )
      .exactOptional(),
  },
  write: ({ url = "", headers = "" }) =>
    withQuery(url.slice("https://".length), headers, url.includes("?") ? "&" : "?"),
  takes: ["user", "query"],
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
      url: isHarmless ? url : new Credential(url, "address of the endpoint"),
      headers: headers.length === 0 ? undefined : Object.fromEntries(headerMembers),
    };
  },
};

const ENDPOINT: Address = {
  shape: { endpoint: word },
  write: ({ endpoint = "" }) => withoutScheme(endpoint),
  read: ({ host, path }) => ({ endpoint: `${host}${path}` }),
};

const SECRET_URL: Address = {
  shape: { url: credential },
  write: ({ url = "" }) => withoutScheme(url),
  read: ({ host, path }) => ({
    url: new Credential(`https://${host}${path}`, "address of the HTTP source"),
  }),
};

const KEYS = {
  "access-key-id": { member: "accessKeyId", secret: "access key id of the bucket {host}" },
  "secret-access-key": { member: "secretAccessKey", secret: "secret access key of the bucket {host}" },
} as const satisfies Scheme["parameters"];

export const KEY_PAIR = Object.keys(KEYS);

const AMAZON = {
  region: {
    member: "region",
    required: true,
    form: { is: /^[a-z0-9-]*$/i, words: "letters, digits and hyphens" },
    problems: (region) => [
      /^cn-/i.test(region) && 'has a "region" in China, which the service cannot push to',
    ],
  },
  sse: { member: "sse", only: "AES256" },
  endpoint: { member: "endpoint" },
  ...KEYS,
} as const satisfies Scheme["parameters"];

const SCHEMES = {
  s3: { place: "bucket", proof: "unless keys", dated: true, address: BUCKET, parameters: AMAZON },
  r2: {
    place: "bucket",
    proof: "perhaps", // Not where the bucket is the job's own account's.
    dated: true,
    address: BUCKET,
    parameters: {
      "account-id": {
        member: "accountId",
        required: true,
        problems: (id) => [
          !/^([0-9a-f]{32})?$/i.test(id) && 'has an "account-id" that is not 32 hexadecimal digits',
        ],
      },
      "access-key-id": { ...KEYS["access-key-id"], required: true },
      "secret-access-key": { ...KEYS["secret-access-key"], required: true },
    },
  },
  gs: { place: "bucket", proof: "always", dated: true, address: BUCKET, parameters: {} },
  azure: {
    place: "bucket",
    proof: "always",
    dated: true,
    address: SIGNED_CONTAINER,
    parameters: { sig: { required: true, secret: "signature" } },
  },
  https: { place: "endpoint", proof: "never", address: URL_WITH_HEADERS, parameters: {} },
  splunk: {
    place: "endpoint",
    proof: "never",
    address: ENDPOINT,
    parameters: {
      channel: { member: "channel", required: true },
      "insecure-skip-verify": { member: "insecureSkipVerify", flag: true, fallback: "false" },
      sourcetype: { member: "sourcetype" },
      header_Authorization: {
        member: "token",
        required: true,
        word: "Splunk",
        secret: "token of the collector, without the word Splunk",
      },
    },
  },
  datadog: {
    place: "endpoint",
    proof: "never",
    address: ENDPOINT,
    parameters: {
      "header_DD-API-KEY": { member: "apiKey", required: true, secret: "Datadog's API key" },
      ddsource: { member: "ddsource", fallback: "cloudflare" },
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
        "has to be the address of an HTTP source, https replaced by sumo: sumo://endpoint/receiver/v1/http/…",
    },
  },
  // Younger than the OpenAPI: only on Cloudflare's pages.
  sentinelone: {
    place: "endpoint",
    proof: "never",
    parameters: { header_Authorization: { required: true, secret: "token" } },
  },
  ibmcl: {
    place: "endpoint",
    proof: "never",
    parameters: { ibm_api_key: { required: true, secret: "API key" } },
  },
  kinesis: { place: "bucket", proof: "perhaps", parameters: { ...AMAZON, "sts-assume-role-arn": {} } },
} as const satisfies Readonly<Record<Destination["scheme"], Scheme & { readonly address: Address }>> &
  Readonly<Record<string, Scheme>>;

const ROWS: ReadonlyMap<string, Scheme> = new Map(Object.entries(SCHEMES));

export const SCHEME_NAMES: readonly string[] = [...ROWS.keys()];

/** Names of parameters that hold no credential, whatever the scheme. */
export const NON_SECRET_PARAMETERS: readonly string[] = [
  ...[...ROWS.values()].flatMap(({ parameters }) =>
    Object.entries(parameters).flatMap(([name, { secret }]) => (secret === undefined ? [name] : [])),
  ),
  "tags",
  "format",
];

export function schemeOf({ scheme }: ParsedDestination): Scheme {
  const found = ROWS.get(scheme);
  if (found === undefined) throw new Error(`destination scheme ${scheme} was not checked`);
  return found;
}

/** The parts of a text that is a destination, or undefined. What its scheme demands is not looked at. */
export function parseDestination(text: string): ParsedDestination | undefined {
  const [, scheme = "", userInfo, host = "", path = "", query] =
    /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/i.exec(text) ?? [];
  if (!ROWS.has(scheme.toLowerCase())) return undefined;
  const parameters = (query ?? "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", ...value] = part.split("=");
      return [name, value.join("=")] as const;
    });
  return { scheme: scheme.toLowerCase(), userInfo, host, path, parameters };
}

/** A parameter's value, still encoded. */
export function valueOf({ parameters }: ParsedDestination, name: string): string | undefined {
  return parameters.find(([each]) => each === name)?.[1];
}

/** What a builder made; its canonical form is the text, each value encoded for its place. */
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
    const query = parameters.flatMap(([name, { member = "", fallback, word }]): [string, string][] => {
      const value = members[member] ?? fallback;
      const whole = word === undefined ? value : `${word} ${withoutPrefix(value ?? "", word)}`;
      return whole === undefined ? [] : [[name, encodeURIComponent(whole)]];
    });
    return `${scheme}://${withQuery(address.write(members), queryOf(query))}`;
  });
}

function schemaOf({ flag, only, secret }: Parameter): z.ZodType<string> {
  if (flag === true) return z.boolean("has to be true or false").transform(String);
  if (only !== undefined) return z.literal(only, `has to be ${only}`);
  return secret === undefined ? word : credential;
}

/** The builder's members that make the destination; undefined where no builder says all of it. */
export function membersOf(parsed: ParsedDestination): Members | undefined {
  const { address, parameters } = schemeOf(parsed);
  const { takes = [] } = address ?? {};
  const isExpressible =
    (parsed.userInfo === undefined || takes.includes("user")) &&
    (takes.includes("query") ||
      parsed.parameters.every(([name]) => ownMember(parameters, name)?.member !== undefined));
  const place = isExpressible ? address?.read(parsed) : undefined;
  if (place === undefined) return undefined;
  const others = inBuilderOrder(Object.entries(parameters)).map(([name, parameter]) => [
    parameter.member ?? "",
    memberIn(parsed, name, parameter),
  ]);
  return { ...place, ...(Object.fromEntries(others) as Members) };
}

/** A builder's argument begins with what it has to be given, and ends with flags. */
function inBuilderOrder(parameters: readonly [string, Parameter][]): readonly [string, Parameter][] {
  const rank = ({ required, flag }: Parameter): number => (required === true ? 0 : flag === true ? 2 : 1);
  return [...parameters].sort(([, a], [, b]) => rank(a) - rank(b));
}

function memberIn(parsed: ParsedDestination, name: string, parameter: Parameter): Member | undefined {
  const { member, secret, flag, fallback, word } = parameter;
  const written = valueOf(parsed, name);
  if (member === undefined || written === undefined) return undefined;
  const value = withoutPrefix(decoded(written), word);
  const meaning = secret?.replace("{host}", () => parsed.host);
  if (meaning !== undefined) return new Credential(value, meaning);
  if (value === fallback) return undefined;
  return flag === true ? value === "true" : value;
}

function withoutPrefix(value: string, word: string | undefined): string {
  return word === undefined ? value : value.replace(new RegExp(`^${word}\\s+`, "i"), "");
}

function queryOf(parameters: ParsedDestination["parameters"]): string {
  return parameters.map(([name, value]) => `${name}=${value}`).join("&");
}

function withQuery(address: string, query: string, between = "?"): string {
  return query === "" ? address : `${address}${between}${query}`;
}

/** With its leading slash; the braces of {DATE} are Cloudflare's and stay. */
function encodedPath(path = ""): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner.split("/").map(encodedFolder).join("/")}`;
}

function encodedFolder(name: string): string {
  return encodeURIComponent(name).replace(/%7B|%7D|%3D|%3A|%2B|%2C/gi, (code) => decodeURIComponent(code));
}

function decodedPath(path: string): string | undefined {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? undefined : inner.split("/").map(decoded).join("/");
}

function withoutScheme(address: string): string {
  return address.replace(/^(https|splunk|datadog|sumo):\/\//, "").replace(/\/+$/, "");
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign that encodes nothing: compared and shown as it is.
  }
}

/** Whether it is a folder of an address that nobody would write by hand. */
export function isToken(folder: string): boolean {
  return folder.length >= 16;
}

/** What stands in the place of a credential that is not shown: signs, or a word for it and nothing else. */
export function isMasked(text: string): boolean {
  return isMaskedAddress(text) || /^x{4,}$|^[<[({]?(redacted|masked|hidden)[>\])}]?$/i.test(decoded(text));
}

/** Of a part that people name themselves, such as a folder: a word may be its name, and only signs are none. */
export function isMaskedAddress(text: string): boolean {
  return /^[*•.]+$|\*{3}|•{3}/.test(decoded(text));
}
