import { PROXY_REFUSED } from "./retry";
import { parseUrl } from "../basics/url";

/** The environment variables that set a proxy. As in the HTTP library, the first one that's set is used. */
const VARIABLES = [
  ["http_proxy", "HTTP_PROXY"],
  ["https_proxy", "HTTPS_PROXY"],
] as const;

interface Proxy {
  /** The environment variable's name. */
  readonly name: string;
  /** The variable's value, in quotes and without credentials. */
  readonly shown: string;
}

/** Thrown when a proxy prevented a request from being sent. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code = PROXY_REFUSED;

  constructor(
    message: string,
    /** What to do, as a sentence. */
    readonly advice: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Returns the proxies that the environment sets, with the proxy for http first.
 *
 * @throws ProxyError for a value that the HTTP library can't use.
 */
export function proxies(env: Readonly<Record<string, string | undefined>>): readonly Proxy[] {
  return VARIABLES.flatMap((names) => {
    const name = names.find((each) => env[each] !== undefined);
    const value = name === undefined ? undefined : env[name];
    if (name === undefined || value === undefined || value === "") return [];
    const scheme = /^https?:\/\//i.exec(value)?.[0] ?? "";
    const host = value.slice(Math.max(scheme.length, value.lastIndexOf("@") + 1)).split(/[/?#]/)[0] ?? "";
    const shown = JSON.stringify(scheme + host);
    if (scheme === "" || parseUrl(value) === undefined) {
      throw new ProxyError(
        `${name}: ${shown} is not a proxy URL`,
        `Set ${name} to a full URL, such as "http://${host === "" ? "proxy.example:3128" : host}", or unset it.`,
      );
    }
    return [{ name, shown }];
  });
}

/**
 * Rewrites the HTTP library's error about a proxy that rejected the request, so that the message names the variable.
 */
export function explainProxy(error: unknown, url: URL): unknown {
  const text = error instanceof Error ? error.message : "";
  const status = /^Proxy response \((\d+)\) !== 200/.exec(text)?.[1];
  if (status === undefined) return error;
  const all = proxies(process.env);
  const { name = "HTTPS_PROXY", shown = "" } = (url.protocol === "https:" ? all.at(-1) : all[0]) ?? {};
  return new ProxyError(
    `the proxy ${shown} from ${name} refused to connect to ${url.host} (status ${status})`,
    `Check ${name} and the proxy's access rules, or add ${url.hostname} to NO_PROXY.`,
    { cause: error },
  );
}
