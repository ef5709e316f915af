import * as pulumi from "@pulumi/pulumi";
import { MissingCredentialsError } from "../api/credential";
import { Redactor } from "../api/redact";
import { nearest } from "../basics/nearest";
import { refusal } from "./program";
import { isAsync, secretNames } from "./resource";
import {
  CONFIG_KEYS,
  isCredential,
  PROVIDER_NAME,
  readSettings,
  SettingsError,
  settingText,
  type ConfigGetter,
} from "./settings";
import { TYPE_PREFIXES } from "./type-tokens";
import { pick, type JsonObject } from "../basics/json";

/** Arguments of a {@link Provider}, which reads neither the stack's configuration nor the environment. */
export interface ProviderArgs {
  /**
   * The API token. It's a secret in state, even if given as plain text. With an empty token, a preview skips live
   * checks, as it does for a pull request from a fork, and an update fails. Set either `apiToken`, or `apiEmail` and
   * `apiKey`. Updates in place.
   */
  readonly apiToken?: pulumi.Input<string>;
  /** The email of a Global API Key, instead of a token. It's a secret in state. Updates in place. */
  readonly apiEmail?: pulumi.Input<string>;
  /** The Global API Key of that email. It's a secret in state. Updates in place. */
  readonly apiKey?: pulumi.Input<string>;
  /**
   * The ID of the account (32 hex digits) for resources and lookups that don't set one. A `LogpushJob` always sets its
   * own. Changing it replaces the resources that don't set one.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The API's base URL, without a user, password, query or fragment. It must end in an API version such as `/v4`. Updates
   * in place. Another API gets the credential and all requests, so the report lists a change as a danger.
   *
   * @defaultValue `https://api.cloudflare.com/client/v4`
   */
  readonly baseUrl?: pulumi.Input<string>;
  /**
   * How often a request is retried after the first attempt, 0 to 20. Updates in place.
   *
   * @defaultValue 5
   */
  readonly maxRetries?: pulumi.Input<number>;
  /**
   * A limit on requests per second, above 0 and up to 200. Cloudflare's documented limit of 1,200 requests in 5 minutes
   * always applies as well. Updates in place.
   *
   * @defaultValue only the documented rate
   */
  readonly requestsPerSecond?: pulumi.Input<number>;
  /**
   * The maximum number of requests in flight at the same time, 1 to 64. Updates in place.
   *
   * @defaultValue 8
   */
  readonly concurrency?: pulumi.Input<number>;
  /**
   * Whether previews read from the API. Updates in place.
   *
   * @defaultValue true
   */
  readonly liveChecks?: pulumi.Input<boolean>;
  /**
   * How many hours of firewall events a preview counts for changed managed rules, 0 to 720. 0 turns it off. Your plan
   * may allow fewer. Needs the permission Analytics Read. Updates in place.
   *
   * @defaultValue 24
   */
  readonly traffic?: pulumi.Input<number>;
}

/**
 * Separate settings for one account or token, for resources and lookups that receive it as `provider`. They use only
 * this credential: nothing comes from the stack's configuration or the environment. An argument that isn't set has its
 * documented default.
 *
 * State contains the credential only in encrypted form, in the provider's own entry, so `refresh` and `destroy` don't
 * need the program. Changing the token updates the provider but none of its resources. Moving a resource to another
 * provider doesn't replace it, as long as its account stays the same.
 *
 * @example
 * Two accounts in one stack
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { KvNamespace, Provider } from "pulumi-edgeguard";
 *
 * const config = new pulumi.Config();
 * const eu = new Provider("eu", {
 *   apiToken: config.requireSecret("euToken"),
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 * });
 * const us = new Provider("us", {
 *   apiToken: config.requireSecret("usToken"),
 *   accountId: "7d3b4a5f15a0c1e7f3b2d4968a7e1c0f",
 * });
 * new KvNamespace("flags-eu", { title: "flags" }, { provider: eu });
 * new KvNamespace("flags-us", { title: "flags" }, { provider: us });
 * ```
 *
 * @example
 * A token that may only write WAF rules
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { ManagedRulesetOverride, Provider } from "pulumi-edgeguard";
 *
 * const waf = new Provider("waf", {
 *   apiToken: new pulumi.Config().requireSecret("wafToken"),
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 * });
 * new ManagedRulesetOverride(
 *   "managed",
 *   { zoneId: "0da42c8d2132a9ddaf714f9e7c920711", ruleset: "Cloudflare Managed Ruleset" },
 *   { provider: waf },
 * );
 * ```
 *
 * @destroy Removes the provider from the state once no resource needs it. Sends no requests.
 * @throws if an argument is unknown or invalid, or there is no credential.
 * @see https://developers.cloudflare.com/fundamentals/api/get-started/create-token/
 */
export class Provider extends pulumi.ProviderResource {
  /** The account for resources that don't set one. */
  readonly accountId: pulumi.Input<string> | undefined;

  /** @param name identifies the provider in the program and in messages. */
  constructor(name: string, args: ProviderArgs, opts?: pulumi.ResourceOptions) {
    const problem = argumentProblem({ ...args });
    if (problem !== undefined) throw refusal(`edgeguard: Provider ${JSON.stringify(name)} ${problem}`);
    const config = { ...configOf(name, args), [PROVIDER_NAME]: name };
    super("pulumi-nodejs", name, config, opts);
    this.accountId = args.accountId;
    const known = pulumi.output(config).apply((texts: object) => new Map(Object.entries(texts)));
    CONFIGS.set(this, pulumi.unsecret(known));
  }
}

/** The settings of a provider, by key. */
type Config = ReadonlyMap<string, string | undefined>;

const CONFIGS = new WeakMap<Provider, pulumi.Output<Config>>();

/**
 * Returns a provider's settings for calls that the program itself makes. If one setting is unknown, all are. They
 * aren't marked as secret.
 */
export function settingsOf(provider: Provider): pulumi.Output<Config> {
  const found = CONFIGS.get(provider);
  if (found !== undefined) return found;
  throw refusal(
    "edgeguard: a lookup's provider isn't a Provider from this package. Import the lookup and its Provider from the same copy of pulumi-edgeguard.",
  );
}

/** Returns the account for a resource that doesn't set one, if it has an explicit provider. */
export function accountOf(opts: pulumi.CustomResourceOptions = {}): pulumi.Input<string> | undefined {
  const provider = opts.provider ?? opts.parent?.getProvider(TYPE_PREFIXES.dynamic);
  return provider instanceof Provider ? provider.accountId : undefined;
}

/** Returns a mistake that doesn't depend on the arguments' values: an unknown argument, or no credential. */
export function argumentProblem(args: Readonly<Record<string, unknown>>): string | undefined {
  const unknown = Object.keys(args).find((key) => !CONFIG_KEYS.some((known) => known === key));
  if (unknown !== undefined) {
    const meant = nearest(unknown, CONFIG_KEYS);
    return `has no argument ${JSON.stringify(unknown)}. ${meant === undefined ? `Valid arguments: ${CONFIG_KEYS.join(", ")}.` : `Did you mean ${JSON.stringify(meant)}?`}`;
  }
  const isGiven = (key: (typeof CONFIG_KEYS)[number]): boolean => (args[key] ?? undefined) !== undefined;
  if (isGiven("apiToken") || (isGiven("apiEmail") && isGiven("apiKey"))) return undefined;
  return "has no credential, and doesn't use those in the stack's configuration or the environment. Pass apiToken, or apiEmail and apiKey.";
}

/** Converts the arguments for the provider's process. Like stack configuration, each is a string. */
function configOf(name: string, args: ProviderArgs): Record<string, pulumi.Input<string | undefined>> {
  const given: Readonly<Record<string, pulumi.Input<string | number | boolean>>> = { ...args };
  const texts = Object.entries(given).map(
    ([key, value]) => [key, pulumi.output(value).apply(settingText)] as const,
  );
  const valid = whenValid(name, given);
  return Object.fromEntries(
    texts.map(([key, text]) => [
      `edgeguard:${key}`,
      // The provider isn't registered before its arguments are found valid.
      isCredential(key) ? pulumi.secret(pulumi.all([text, valid]).apply(([known]) => known)) : text,
    ]),
  );
}

/** Fails the program if values are invalid, as soon as they're known. */
function whenValid(name: string, args: JsonObject): pulumi.Output<void> {
  if (!isAsync(args)) {
    refuseInvalid(name, args, []);
    return pulumi.output(undefined);
  }
  const secrets = pulumi.output(secretNames(args));
  const checked = pulumi.all([pulumi.output(args), secrets]);
  return pulumi.unsecret(checked.apply(([known, names]) => refuseInvalid(name, known, names)));
}

function refuseInvalid(name: string, args: JsonObject, secrets: readonly string[]): void {
  const texts = new Map(Object.entries(args).map(([key, value]) => [`edgeguard:${key}`, settingText(value)]));
  const get = (key: string): string | undefined => (key === PROVIDER_NAME ? name : texts.get(key));
  const redactor = new Redactor((r) => r.addValue(pick(args, secrets)));
  const problem = problemIn(get);
  if (problem !== undefined) throw refusal(`edgeguard: ${redactor.redact(problem)}`);
}

/**
 * Returns what's wrong with the arguments' values. Missing credentials are allowed in a preview, such as for a pull
 * request from a fork, but not in an update, which would record that there are none.
 */
function problemIn(get: ConfigGetter): string | undefined {
  try {
    const { credential, emptyCredentials, provider } = readSettings(get, {});
    if (credential !== undefined || pulumi.runtime.isDryRun()) return undefined;
    return new MissingCredentialsError("An update", { empty: emptyCredentials, provider }).message;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}
