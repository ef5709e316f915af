import { LOGPUSH } from "../limits";
import { nearest } from "../runtime/nearest";

/**
 * Reads and checks the text that says where a job pushes to (seed 002, `destination_conf`; facts 7.4; the vendor's page of
 * each destination). No sentence of this file holds a part of the text that may be a secret.
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

interface Scheme {
  /** Whether `host` is a bucket, container or stream: then neither it nor the path is a secret. */
  readonly place: "bucket" | "endpoint";
  readonly required: readonly string[];
  /** Whether the service wants proof that the destination is one's own. "perhaps": it says so when it does. */
  readonly proof: "always" | "unless keys" | "perhaps" | "never";
  /** Whether `{DATE}` in its path becomes the day. */
  readonly dated: boolean;
}

const SCHEMES: Readonly<Record<string, Scheme>> = {
  s3: { place: "bucket", required: ["region"], proof: "unless keys", dated: true },
  r2: {
    place: "bucket",
    required: ["account-id", "access-key-id", "secret-access-key"],
    proof: "perhaps", // Not where the bucket is the job's own account's.
    dated: true,
  },
  gs: { place: "bucket", required: [], proof: "always", dated: true },
  azure: { place: "bucket", required: ["sig"], proof: "always", dated: true },
  https: { place: "endpoint", required: [], proof: "never", dated: false },
  splunk: { place: "endpoint", required: ["channel", "header_Authorization"], proof: "never", dated: false },
  datadog: { place: "endpoint", required: ["header_DD-API-KEY"], proof: "never", dated: false },
  sumo: { place: "endpoint", required: [], proof: "always", dated: false },
  // Younger than the OpenAPI: only on the vendor's pages.
  sentinelone: { place: "endpoint", required: ["header_Authorization"], proof: "never", dated: false },
  ibmcl: { place: "endpoint", required: ["ibm_api_key"], proof: "never", dated: false },
  kinesis: { place: "bucket", required: ["region"], proof: "perhaps", dated: false },
};

/** Parameters whose names may be shown: of others, an unencoded `&` in a credential may have made the name. */
const NAMES = [
  "region",
  "sse",
  "endpoint",
  "access-key-id",
  "secret-access-key",
  "sourcetype",
  "ddsource",
  "ddtags",
];

export const KEY_PAIR = ["access-key-id", "secret-access-key"];

export function schemeOf({ scheme }: ParsedDestination): Scheme {
  const found = SCHEMES[scheme];
  if (found === undefined) throw new Error(`destination scheme ${scheme} was not checked`);
  return found;
}

/** The parts of a text that is a destination, or undefined. What its scheme demands is not looked at. */
export function parseDestination(text: string): ParsedDestination | undefined {
  const [, scheme = "", userInfo, host = "", path = "", query] =
    /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/i.exec(text) ?? [];
  if (!Object.hasOwn(SCHEMES, scheme.toLowerCase())) return undefined;
  const parameters = (query ?? "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", ...value] = part.split("=");
      return [name, value.join("=")] as const;
    });
  return { scheme: scheme.toLowerCase(), userInfo, host, path, parameters };
}

/** A bucket, a host, or a host with its port. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Whether a `/`, `?` or `&` may stand in a user or password, unencoded: the parts then are not what they seem, and none of
 * them may be shown. An `@` of a path or query that is meant is written as %40.
 */
export function isAmbiguous(parsed: ParsedDestination): boolean {
  const { host, path, parameters } = parsed;
  return (host !== "" && !HOST.test(host)) || [path, ...parameters.flat()].some((part) => part.includes("@"));
}

/** What is wrong with the text, each a sentence that goes on from the property's name. */
export function destinationProblems(text: string): readonly string[] {
  if (text.length > LOGPUSH.MAX_DESTINATION_CHARACTERS) {
    return [`is ${text.length} characters; the limit is ${LOGPUSH.MAX_DESTINATION_CHARACTERS}`];
  }
  const parsed = parseDestination(text);
  if (parsed === undefined) return [noDestination(text)];
  const { scheme, host, path, parameters } = parsed;
  const { place, required, dated } = schemeOf(parsed);
  const problems: string[] = [];

  if (/\s/.test(text)) problems.push("holds white space; write it as %20");
  if (/<[^>]*>/.test(text))
    problems.push("holds a <…> of the documentation; put your own value in its place");
  if (host === "") problems.push(`needs a ${place === "bucket" ? "bucket" : "host"} after ${scheme}://`);
  if (host !== "" && !HOST.test(host.replace(/[\s<>{}]/g, "")))
    problems.push(
      "needs a host, or host:port, after :// and after the @ of a user and password; write @ / ? # in a password as %40 %2F %3F %23",
    );
  const missing = [...required, ...keysOf(parsed)].filter((name) => (valueOf(parsed, name) ?? "") === "");
  if (missing.length > 0) {
    problems.push(
      `lacks ${missing.map((name) => `"${name}"`).join(", ")} in its query, which ${scheme}:// needs`,
    );
  }
  const names = parameters.map(([name]) => name);
  const twice = names.find((name, index) => scheme !== "https" && names.indexOf(name) !== index);
  if (twice !== undefined) {
    const named =
      NAMES.includes(twice) || required.includes(twice) ? `the parameter "${twice}"` : "a parameter";
    problems.push(`has ${named} twice; keep one`);
  }
  problems.push(...placeholderProblems(parsed, dated), ...ofScheme(parsed));
  if (path.includes("//")) problems.push("has an empty folder, //, in its path");
  return problems;
}

function noDestination(text: string): string {
  const known = Object.keys(SCHEMES);
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  if (scheme === undefined || Object.hasOwn(SCHEMES, scheme.toLowerCase())) {
    return "has to be an address such as s3://bucket/path?region=us-east-1; it is a value that is not shown";
  }
  if (scheme.toLowerCase() === "http") return "begins with http://; the service pushes to https:// only";
  const near = nearest(scheme, known);
  const advice = near === undefined ? `Schemes: ${known.join(", ")}` : `Did you mean ${near}://?`;
  return `has a scheme that Logpush doesn't push to. ${advice}`;
}

/** The key pair of storage that is not the vendor's or Amazon's own, or of which one half is given. */
function keysOf(parsed: ParsedDestination): readonly string[] {
  if (parsed.scheme !== "s3" && parsed.scheme !== "kinesis") return [];
  const given = KEY_PAIR.some((name) => valueOf(parsed, name) !== undefined);
  return given || valueOf(parsed, "endpoint") !== undefined ? KEY_PAIR : [];
}

function placeholderProblems(
  { scheme, host, path, parameters }: ParsedDestination,
  dated: boolean,
): string[] {
  const inPath = path.match(/\{[^}]*\}?/g) ?? [];
  const elsewhere = [host, ...parameters.map(([, value]) => value)].some((part) => /\{[^}]*\}/.test(part));
  const unknown = inPath.find((word) => word !== "{DATE}");
  if (unknown !== undefined)
    return [`has a placeholder in its path that is not {DATE}, the only one there is`];
  if (inPath.length > 0 && !dated) {
    return [
      `has {DATE} in its path, which the service replaces for s3, r2, gs and azure only, not for ${scheme}`,
    ];
  }
  return elsewhere ? ["has a placeholder outside its path; {DATE} becomes the day in the path only"] : [];
}

function ofScheme(parsed: ParsedDestination): string[] {
  const problem = (condition: boolean, words: string): string[] => (condition ? [words] : []);
  switch (parsed.scheme) {
    case "s3":
    case "kinesis": {
      const region = valueOf(parsed, "region") ?? "";
      const sse = valueOf(parsed, "sse");
      return [
        ...problem(
          region !== "" && !/^[a-z0-9-]+$/i.test(region),
          `has a "region" that is none: letters, digits and - make one`,
        ),
        ...problem(/^cn-/i.test(region), `has a "region" in China, which the service cannot push to`),
        ...problem(
          sse !== undefined && sse !== "AES256",
          `has an "sse" other than AES256, the only one there is`,
        ),
      ];
    }
    case "r2":
      return problem(
        !/^([0-9a-f]{32})?$/i.test(valueOf(parsed, "account-id") ?? ""),
        `has an "account-id" that is not 32 hexadecimal digits`,
      );
    case "splunk":
      return problem(
        !/^(true|false)?$/.test(valueOf(parsed, "insecure-skip-verify") ?? ""),
        `has an "insecure-skip-verify" that is neither true nor false`,
      );
    case "sumo":
      return problem(
        !/\/receiver\/v1\/http\/[^/]+/.test(parsed.path),
        "has to be the address of an HTTP source, https replaced by sumo: sumo://endpoint/receiver/v1/http/…",
      );
    default:
      return [];
  }
}

/** A parameter's value, still encoded. */
export function valueOf({ parameters }: ParsedDestination, name: string): string | undefined {
  return parameters.find(([each]) => each === name)?.[1];
}

/** Whether the service is known to want a token for the destination (facts 7.2). */
export function needsProof(text: string): boolean {
  const parsed = parseDestination(text);
  if (parsed === undefined) return false;
  const { proof } = schemeOf(parsed);
  if (proof !== "unless keys") return proof === "always";
  return !KEY_PAIR.every((name) => (valueOf(parsed, name) ?? "") !== "");
}
