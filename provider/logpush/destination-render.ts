import { z } from "zod";

/** Turns a typed destination into the text that the service takes, each value encoded for its place. */

const hidden = { error: missingOr("has to be a text; it is a value that is not shown") };

const word = z.string({ error: missingOr("has to be a text") }).min(1, "is empty");
const credential = z.string(hidden).min(1, "is empty");

/** Where a member is missing it says so, without the value of the others. */
function missingOr(words: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => (input === undefined ? "is required: a text" : words);
}

const s3 = z
  .strictObject({
    scheme: z.literal("s3"),
    bucket: word,
    path: z.string("has to be a text").exactOptional(),
    region: word,
    sse: z.literal("AES256", "has to be AES256").exactOptional(),
    endpoint: word.exactOptional(),
    accessKeyId: credential.exactOptional(),
    secretAccessKey: credential.exactOptional(),
  })
  .transform(({ bucket, path, region, sse, endpoint, accessKeyId, secretAccessKey }) =>
    written("s3", `${bucket}${folder(path)}`, {
      region,
      sse,
      endpoint,
      "access-key-id": accessKeyId,
      "secret-access-key": secretAccessKey,
    }),
  );

const r2 = z
  .strictObject({
    scheme: z.literal("r2"),
    bucket: word,
    path: z.string("has to be a text").exactOptional(),
    accountId: word,
    accessKeyId: credential,
    secretAccessKey: credential,
  })
  .transform(({ bucket, path, accountId, accessKeyId, secretAccessKey }) =>
    written("r2", `${bucket}${folder(path)}`, {
      "account-id": accountId,
      "access-key-id": accessKeyId,
      "secret-access-key": secretAccessKey,
    }),
  );

const gs = z
  .strictObject({ scheme: z.literal("gs"), bucket: word, path: z.string("has to be a text").exactOptional() })
  .transform(({ bucket, path }) => written("gs", `${bucket}${folder(path)}`, {}));

const azure = z
  .strictObject({
    scheme: z.literal("azure"),
    sasUrl: credential.refine((url) => /^https:\/\/[^?]+\?./.test(url), {
      error: "has to be the container's address with its signature: https://…/container?sv=…&sig=…",
    }),
    path: z.string("has to be a text").exactOptional(),
  })
  .transform(({ sasUrl, path }) => {
    const [address = "", query = ""] = sasUrl.replace("https://", "").split("?");
    return `azure://${address.replace(/\/+$/, "")}${folder(path)}?${query}`;
  });

const https = z
  .strictObject({
    scheme: z.literal("https"),
    url: credential.refine((url) => url.startsWith("https://"), {
      error: "has to begin with https://, the only protocol the service pushes by",
    }),
    headers: z.record(z.string(), credential, "has to be an object of texts").exactOptional(),
  })
  .transform(({ url, headers = {} }) => {
    const query = queryOf(
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [`header_${name}`, value])),
    );
    return query === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${query}`;
  });

const splunk = z
  .strictObject({
    scheme: z.literal("splunk"),
    endpoint: word,
    channel: word,
    token: credential,
    sourcetype: word.exactOptional(),
    insecureSkipVerify: z.boolean("has to be true or false").exactOptional(),
  })
  .transform(({ endpoint, channel, token, sourcetype, insecureSkipVerify = false }) =>
    written("splunk", withoutScheme(endpoint), {
      channel,
      "insecure-skip-verify": String(insecureSkipVerify),
      sourcetype,
      header_Authorization: `Splunk ${token.replace(/^Splunk\s+/i, "")}`,
    }),
  );

const datadog = z
  .strictObject({
    scheme: z.literal("datadog"),
    endpoint: word,
    apiKey: credential,
    ddsource: word.exactOptional(),
    service: word.exactOptional(),
    host: word.exactOptional(),
    ddtags: word.exactOptional(),
  })
  .transform(({ endpoint, apiKey, ddsource = "cloudflare", service, host, ddtags }) =>
    written("datadog", withoutScheme(endpoint), {
      "header_DD-API-KEY": apiKey,
      ddsource,
      service,
      host,
      ddtags,
    }),
  );

const sumo = z
  .strictObject({ scheme: z.literal("sumo"), url: credential })
  .transform(({ url }) => `sumo://${withoutScheme(url)}`);

/** A typed destination; its canonical form is the text. */
export const typedDestination = z.discriminatedUnion("scheme", [
  s3,
  r2,
  gs,
  azure,
  https,
  splunk,
  datadog,
  sumo,
]);

function written(
  scheme: string,
  address: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = queryOf(parameters);
  return `${scheme}://${address}${query === "" ? "" : `?${query}`}`;
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** With its leading slash; the braces of {DATE} are the service's and stay. */
function folder(path = ""): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner.split("/").map(encodeFolder).join("/")}`;
}

function encodeFolder(name: string): string {
  return encodeURIComponent(name).replace(/%7B|%7D|%3D|%3A|%2B|%2C/gi, (code) => decodeURIComponent(code));
}

function withoutScheme(address: string): string {
  return address.replace(/^(https|splunk|datadog|sumo):\/\//, "").replace(/\/+$/, "");
}
