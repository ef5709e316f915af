import {
  isAmbiguous,
  parseDestination,
  valueOf,
  type ParsedDestination,
} from "../../logpush/destination-parse";
import { typedDestination } from "../../logpush/destination-render";
import { isMasked, isShownAs } from "../../logpush/destination-secrets";
import { called, codeOf, objectOf, type Code } from "../code";
import type { Writing } from "../found";
import { oneLine, slug } from "../names";

/**
 * A destination's text as the builder's call that makes it, its credentials taken from the stack's configuration. Where
 * no builder says all of it, the text as a whole is one secret.
 */
export function destinationCode(
  text: string,
  writing: Writing,
): { readonly destination: Code } | { readonly destinationConf: Code } {
  const parsed = parseDestination(text);
  const members = parsed === undefined || isAmbiguous(parsed) ? undefined : MEMBERS[parsed.scheme]?.(parsed);
  if (parsed !== undefined && members !== undefined) {
    const value = { scheme: parsed.scheme, ...plain(members) };
    const rendered = typedDestination.safeParse(value);
    if (rendered.success && isShownAs(rendered.data, text)) {
      const call = called(`destination.${parsed.scheme}`, [written(members, writing)], value);
      return { destination: call };
    }
  }
  return {
    destinationConf: secret(
      new Credential(text, "destination", "the destination as the API's text"),
      writing,
    ),
  };
}

/** A value that is not to stand in the program. */
class Credential {
  constructor(
    readonly value: string,
    /** For the key of the configuration. */
    readonly name: string,
    /** For people. */
    readonly meaning: string,
  ) {}
}

type Given = string | boolean | Credential | Readonly<Record<string, Credential>> | undefined;
type Parts = Readonly<Record<string, Given>>;

/** Members of each builder's argument; undefined where the text holds what no member says. */
const MEMBERS: Readonly<Record<string, (parsed: ParsedDestination) => Parts | undefined>> = {
  s3: (parsed) =>
    only(parsed, ["region", "sse", "endpoint", ...KEYS], {
      ...bucketOf(parsed),
      region: plainValue(parsed, "region"),
      sse: plainValue(parsed, "sse"),
      endpoint: plainValue(parsed, "endpoint"),
      ...keysOf(parsed),
    }),

  r2: (parsed) =>
    only(parsed, ["account-id", ...KEYS], {
      ...bucketOf(parsed),
      accountId: plainValue(parsed, "account-id"),
      ...keysOf(parsed),
    }),

  gs: (parsed) => only(parsed, [], bucketOf(parsed)),

  azure: ({ host, path, parameters, userInfo }) => {
    const [container = "", ...folders] = path.split("/").filter((folder) => folder !== "");
    const query = parameters.map(([name, value]) => `${name}=${value}`).join("&");
    if (userInfo !== undefined || container === "") return undefined;
    return {
      sasUrl: new Credential(
        `https://${host}/${container}?${query}`,
        "sas-url",
        "address of the container with its signature",
      ),
      path: folders.length === 0 ? undefined : folders.map(decoded).join("/"),
    };
  },

  https: ({ host, path, parameters, userInfo }) => {
    const headers = parameters.filter(([name]) => name.startsWith(HEADER));
    const query = parameters
      .filter(([name]) => !name.startsWith(HEADER))
      .map(([name, value]) => `${name}=${value}`);
    const user = userInfo === undefined ? "" : `${userInfo}@`;
    const url = `https://${user}${host}${path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
    const isPlain =
      user === "" &&
      query.length === 0 &&
      !path.split("/").some((folder) => folder.length >= TOKEN_CHARACTERS || isMasked(folder));
    return {
      url: isPlain ? url : new Credential(url, "url", "address of the endpoint"),
      headers:
        headers.length === 0
          ? undefined
          : Object.fromEntries(
              headers.map(([name, value]) => {
                const header = name.slice(HEADER.length);
                return [
                  header,
                  new Credential(decoded(value), slug(header), `header ${header} of the endpoint`),
                ];
              }),
            ),
    };
  },

  splunk: (parsed) =>
    only(parsed, ["channel", "insecure-skip-verify", "sourcetype", "header_Authorization"], {
      endpoint: `${parsed.host}${parsed.path}`,
      channel: plainValue(parsed, "channel"),
      token: new Credential(
        (plainValue(parsed, "header_Authorization") ?? "").replace(/^Splunk\s+/i, ""),
        "token",
        "token of the collector, without the word Splunk",
      ),
      sourcetype: plainValue(parsed, "sourcetype"),
      insecureSkipVerify: plainValue(parsed, "insecure-skip-verify") === "true" ? true : undefined,
    }),

  datadog: (parsed) => {
    const ddsource = plainValue(parsed, "ddsource");
    return only(parsed, ["header_DD-API-KEY", "ddsource", "service", "host", "ddtags"], {
      endpoint: `${parsed.host}${parsed.path}`,
      apiKey: new Credential(plainValue(parsed, "header_DD-API-KEY") ?? "", "api-key", "Datadog's API key"),
      ddsource: ddsource === "cloudflare" ? undefined : ddsource,
      service: plainValue(parsed, "service"),
      host: plainValue(parsed, "host"),
      ddtags: plainValue(parsed, "ddtags"),
    });
  },

  sumo: (parsed) =>
    only(parsed, [], {
      url: new Credential(`https://${parsed.host}${parsed.path}`, "url", "address of the HTTP source"),
    }),
};

const HEADER = "header_";
const KEYS = ["access-key-id", "secret-access-key"];

/** A folder of an address that nobody would write by hand. */
const TOKEN_CHARACTERS = 16;

/** The parts, where the text has no parameter but these, and no user. */
function only(
  { parameters, userInfo }: ParsedDestination,
  known: readonly string[],
  parts: Parts,
): Parts | undefined {
  return userInfo === undefined && parameters.every(([name]) => known.includes(name)) ? parts : undefined;
}

function bucketOf({ host, path }: ParsedDestination): Parts {
  const folder = path.replace(/^\/+|\/+$/g, "");
  return { bucket: host, path: folder === "" ? undefined : folder.split("/").map(decoded).join("/") };
}

function keysOf(parsed: ParsedDestination): Parts {
  const [id, secretKey] = KEYS.map((name) => plainValue(parsed, name));
  return {
    accessKeyId:
      id === undefined
        ? undefined
        : new Credential(id, "access-key-id", `access key id of the bucket ${parsed.host}`),
    secretAccessKey:
      secretKey === undefined
        ? undefined
        : new Credential(secretKey, "secret-access-key", `secret access key of the bucket ${parsed.host}`),
  };
}

function plainValue(parsed: ParsedDestination, name: string): string | undefined {
  const value = valueOf(parsed, name);
  return value === undefined ? undefined : decoded(value);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign that encodes nothing; whether it comes out the same is looked at in the end.
  }
}

function plain(parts: Parts): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(parts)
      .filter(([, part]) => part !== undefined)
      .map(([name, part]) => [
        name,
        part instanceof Credential ? part.value : typeof part === "object" ? plain(part) : part,
      ]),
  );
}

function written(parts: Parts, writing: Writing): Code {
  return objectOf(
    Object.fromEntries(
      Object.entries(parts).map(([name, part]) => [
        name,
        part instanceof Credential
          ? secret(part, writing)
          : typeof part === "object"
            ? written(part, writing)
            : part === undefined
              ? undefined
              : codeOf(part),
      ]),
    ),
  );
}

function secret({ value, name, meaning }: Credential, writing: Writing): Code {
  return writing.secret(name, { value, isShown: !isMasked(value), meaning: oneLine(meaning) });
}
