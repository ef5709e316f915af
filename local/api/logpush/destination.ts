import { createHash } from "node:crypto";
import { logpushFailures } from "./failures";

const schemes = ["r2", "gs", "s3", "sumo", "https", "azure", "splunk", "datadog", "bq"] as const;
type Scheme = (typeof schemes)[number];

export interface Destination {
  readonly scheme: Scheme;
  /**
   * The bucket or host, and the path: everything between the scheme and the query. May contain a secret (sumo, https).
   */
  readonly address: string;
  readonly parameters: URLSearchParams;
}

/** Required parameters: https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/ and the pages below it. */
const required: Record<Scheme, readonly string[]> = {
  r2: ["account-id", "access-key-id", "secret-access-key"],
  gs: [],
  s3: ["region"],
  sumo: [],
  https: [],
  azure: ["sig"],
  splunk: ["channel", "header_Authorization"],
  datadog: ["header_DD-API-KEY"],
  bq: ["credentials"],
};

/** Parameters that a redacted destination shows. Any other parameter may be a secret. */
const harmless = new Set([
  "region",
  "sse",
  "endpoint",
  "account-id",
  "channel",
  "sourcetype",
  "insecure-skip-verify",
  "ddsource",
  "service",
  "host",
  "ddtags",
  "format",
]);

export function parseDestination(text: string): Destination {
  const [, scheme = "", address = "", query = ""] =
    /^([a-z][a-z0-9]*):\/\/([^?#]*)(?:\?([^#]*))?$/.exec(text) ?? [];
  const known = schemes.find((each) => each === scheme);
  if (known === undefined) {
    throw logpushFailures.destinationInvalid(
      `must start with one of ${schemes.map((each) => `${each}://`).join(", ")}`,
    );
  }
  const parameters = new URLSearchParams(query);
  const destination = { scheme: known, address, parameters };

  const place = hostOf(address);
  if (place === "" || /[\s{}]/.test(place)) {
    throw logpushFailures.destinationInvalid(`${known}:// needs a bucket or a host`);
  }
  if (known === "sumo" && !/\/receiver\/v1\/http\/[^/]+/.test(address)) {
    throw logpushFailures.destinationInvalid("sumo:// needs the path of an HTTP source");
  }
  if (known === "bq" && !/^projects\/[^/]+\/datasets\/[^/]+\/tables\/[^/]+$/.test(address)) {
    throw logpushFailures.destinationInvalid("bq:// needs projects/…/datasets/…/tables/…");
  }
  const s3Compatible = known === "s3" && parameters.has("endpoint");
  const needed = [...required[known], ...(s3Compatible ? ["access-key-id", "secret-access-key"] : [])];
  const missing = needed.find((name) => (parameters.get(name) ?? "") === "");
  if (missing !== undefined) throw logpushFailures.destinationInvalid(`${known}:// needs ${missing}`);
  return destination;
}

/** Whether a job needs an ownership token for the destination. `account` owns the job. */
export function needsOwnership({ scheme, parameters }: Destination, account: string): boolean {
  if (scheme === "r2") return parameters.get("account-id") !== account;
  if (scheme === "s3") return !(parameters.has("access-key-id") && parameters.has("secret-access-key"));
  return scheme === "gs" || scheme === "azure" || scheme === "sumo";
}

/** Returns a text that's equal for destinations with the same bucket and path, ignoring their parameters. */
export function fingerprint({ scheme, address }: Destination): string {
  return createHash("sha256").update(`${scheme}://${address}`).digest("hex");
}

/** Replaces each secret in `text` with `mask`. */
export function redact(text: string, mask: string): string {
  const { scheme, address } = parseDestination(text);
  const query = /\?(.*)$/s.exec(text)?.[1];
  const shown = query?.replaceAll(/([^&=]+)=[^&]*/g, (part, name: string) =>
    harmless.has(name) ? part : `${name}=${mask}`,
  );
  return `${scheme}://${withoutSecret(scheme, address, mask)}${shown === undefined ? "" : `?${shown}`}`;
}

/** Whether a destination is from a redacted response, with a mask instead of a secret. */
export function isRedacted({ scheme, address, parameters }: Destination, mask: string): boolean {
  const hidden = [...parameters].some(([name, value]) => !harmless.has(name) && value === mask);
  return hidden || (withoutSecret(scheme, address, mask) === address && address.includes(mask));
}

/** Returns the directory in the sink that represents the destination. `{DATE}` becomes the date of `now`. */
export function sinkFolder({ scheme, address }: Destination, now: Date): string {
  const day = now.toISOString().slice(0, 10).replaceAll("-", "");
  return [scheme, ...withoutSecret(scheme, address, "secret").replaceAll("{DATE}", day).split("/")]
    .map((part) => part.replaceAll(/[^\w.@=:-]/g, "_"))
    .filter((part) => !/^\.*$/.test(part))
    .join("/");
}

/** Returns a sink path without the scheme and bucket. Cloudflare calls this part the filename. */
export function nameInBucket(sinkPath: string): string {
  return sinkPath.split("/").slice(2).join("/");
}

function withoutSecret(scheme: Scheme, address: string, mask: string): string {
  if (scheme === "sumo")
    return address.replace(/(\/receiver\/v1\/http\/)[^/]+/, (_, path: string) => path + mask);
  return address.replace(/^[^/@]*@/, `${mask}@`);
}

function hostOf(address: string): string {
  return address.split("/")[0]?.split("@").at(-1) ?? "";
}
