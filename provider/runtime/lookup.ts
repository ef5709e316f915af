import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { printable } from "../basics/printable";
import { Host } from "./host";
import { checkInputs } from "./inputs";
import { mockedRun, type MockedRun } from "./mocked-run";
import { settingsOf, type Provider } from "./provider";
import { checkStackConfig, currentRun, refusal } from "./program";
import { SettingsError, type CONFIG_KEYS, type ConfigGetter } from "./settings";
import { isJsonObject } from "../basics/json";
import { MissingCredentialsError } from "../api/credential";

/** Settings for a single call: keys from the `edgeguard:` namespace, with string values. */
export type LookupConfig = Readonly<
  Partial<Record<Exclude<(typeof CONFIG_KEYS)[number], "liveChecks">, string>>
>;

/** Options of every lookup. */
export interface LookupOptions {
  /**
   * Settings and credentials for this call only, instead of the stack's configuration and the environment. Calls that
   * pass the same object share connections.
   *
   * @defaultValue In a program, the stack's `edgeguard:` keys, then the environment. In a plain script, the environment.
   */
  readonly config?: LookupConfig;
  /**
   * A provider whose settings and credential this call uses, instead of the stack's configuration and the environment.
   * Set either `config` or `provider`. If one of the provider's arguments is unknown in a preview, the result of a
   * lookup in its `Output` form is unknown as well.
   *
   * @defaultValue none
   */
  readonly provider?: Provider;
}

/** The zone that a lookup reads. */
export interface ZoneArgs {
  /** The zone's ID (32 hex digits). */
  readonly zoneId: string;
}

/** Arguments of a lookup's `Output` form: each may be an output or a promise. */
export type Inputs<T> = { readonly [K in keyof T]: pulumi.Input<T[K]> };

/**
 * Thrown when a lookup gets invalid arguments or finds nothing, or when an assertion fails. In a program, the engine
 * shows only the message. The error has no stack trace, because Node 20 takes half a minute to render one through the
 * SDK's source maps.
 */
export class LookupError extends pulumi.RunError {
  override readonly name: string = "LookupError";

  constructor(message: string) {
    super(inProgram() ? `edgeguard: ${message}` : message);
    if (inProgram()) this.stack = this.message;
  }
}

/** A lookup in its two forms. Each form is exported under its own name, so that an editor shows its docs. */
export interface Lookup<Args, Result> {
  readonly plain: (args: Args, opts?: LookupOptions) => Promise<Result>;
  readonly output: (args: Inputs<Args>, opts?: LookupOptions) => pulumi.Output<Result>;
}

/** A lookup, with what the provider plugin needs to run it. */
export interface ServedLookup {
  readonly traits: LookupTraits;
  readonly shape: Readonly<Record<string, z.ZodType>>;
  answer(host: Host, args: unknown): Promise<unknown>;
}

/** All lookups by name, for the provider plugin. The modules that define lookups add them. */
export const LOOKUPS = new Map<string, ServedLookup>();

interface LookupTraits {
  /** Whether the lookup's `accountId` defaults to `edgeguard:accountId`. */
  readonly ofAccount?: boolean;
  /** Whether the result of the output form is secret. */
  readonly secret?: boolean;
}

/**
 * Defines both forms of a lookup: `lookup<Args, Result>(name)(shape, read)`. `read` receives the arguments checked by
 * `shape` and, for error messages, the name of the form that was called.
 */
export function lookup<Args extends object, Result>(name: string, traits: LookupTraits = {}) {
  return <S extends Readonly<Record<keyof Args, z.ZodType>>>(
    shape: S,
    read: (host: Host, args: z.output<z.ZodObject<S>>, form: string) => Result | Promise<Result>,
  ): Lookup<Args, Result> => {
    const answer = async (host: Host, form: string, given: unknown): Promise<Result> => {
      const values = isJsonObject(given) ? given : {};
      const account =
        traits.ofAccount === true ? { accountId: values["accountId"] ?? host.settings.accountId } : {};
      return await read(host, readArgs(form, shape, { ...values, ...account }), form);
    };
    LOOKUPS.set(name, { traits, shape, answer: (host, args) => answer(host, name, args) });
    return {
      plain: (args, opts = {}) => ask(opts, (host) => answer(host, name, args)),
      output: (args, opts = {}) => {
        const form = `${name}Output`;
        // Secret from the start, because marking a byte array later would break it up.
        const given = traits.secret === true ? pulumi.secret(args) : pulumi.output(args);
        const ask = (known: unknown): Promise<Result> =>
          askOrUnknown(form, opts, (host) => answer(host, form, known));
        if (opts.provider === undefined) return given.apply(ask);
        return pulumi.all([given, settingsOf(opts.provider)]).apply(([known]) => ask(known));
      },
    };
  };
}

/**
 * Runs one lookup. In a Pulumi program, the engine shows an expected error as one sentence. A plain script gets the
 * error unchanged.
 */
export async function ask<T>(opts: LookupOptions, work: (host: Host) => T | Promise<T>): Promise<T> {
  if (!inProgram()) return await work(hostOf(opts));
  const done = pulumi.runtime.rpcKeepAlive(); // So that an inline program waits for the response.
  let host: Host | undefined;
  try {
    checkStackConfig();
    host = opts.provider === undefined ? hostOf(opts) : await hostOfProvider(opts.provider, opts);
    return await work(host);
  } catch (error) {
    if (host === undefined || !isExpected(error)) throw error;
    throw refusal(`edgeguard: ${host.presentable(error.message)}`);
  } finally {
    done();
  }
}

/**
 * Runs a lookup. Without credentials, a preview warns and leaves the result unknown instead of failing, so that pull
 * requests from forks can be previewed.
 */
function askOrUnknown<T>(what: string, opts: LookupOptions, work: (host: Host) => Promise<T>): Promise<T> {
  // The SDK makes the whole output unknown.
  return ask(opts, (host) => unlessSkipped(host, what, () => work(host), pulumi.unknown as T));
}

/**
 * Does work that needs credentials. Without them, a preview warns and returns `skipped`, and an update fails.
 *
 * @param isPreview by default, whether the program that this process runs is being previewed.
 * @param result what's said of the result.
 */
export async function unlessSkipped<T, S>(
  host: Host,
  what: string,
  work: () => Promise<T>,
  skipped: S,
  {
    isPreview = inProgram() && pulumi.runtime.isDryRun(),
    result = "unknown",
  }: { readonly isPreview?: boolean; readonly result?: string } = {},
): Promise<T | S> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MissingCredentialsError && isPreview)) throw error;
    const line = `${what}: skipped in this preview, so its result is ${result}. ${error.message}`;
    host.say.warn(line, `no credentials for ${what}`);
    return skipped;
  }
}

/**
 * Checks the arguments of a lookup and converts them to canonical form.
 *
 * @throws LookupError that lists every wrong argument, what was given and what's allowed.
 */
export function readArgs<S extends z.ZodRawShape>(
  what: string,
  shape: S,
  given: unknown,
): z.output<z.ZodObject<S>> {
  const values = isJsonObject(given) ? given : {};
  const { failures } = checkInputs(shape, values);
  if (failures.length > 0) {
    const problems = failures.map(({ property, reason }) => `${property}: ${reason.replace(/\.$/, "")}`);
    throw new LookupError(`${what}: ${problems.join("; ")}.`);
  }
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return z.object(shape).parse(Object.fromEntries(set));
}

/** Prints a warning before there's a host: in the stack's messages, or on stderr in a plain script. */
export function warn(line: string): void {
  (inProgram() ? ENGINE : STDERR).warn(`edgeguard: ${printable(line)}`);
}

function inProgram(): boolean {
  return currentRun() !== undefined;
}

function isExpected(error: unknown): error is Error {
  return [SettingsError, MissingCredentialsError, ApiError].some((kind) => error instanceof kind);
}

/**
 * Hosts by `config`, provider or program run. Each mocked run has its own hosts, because other runs must not use its
 * API.
 */
const HOSTS = new WeakMap<object, Host>();
const MOCKED_HOSTS = new WeakMap<MockedRun, WeakMap<object, Host>>();
const PLAIN_SCRIPT = {};

/** Returns the host for a lookup's `config` or, without one, for the program's run. */
function hostOf({ config }: LookupOptions): Host {
  const mocked = mockedRun();
  if (config === undefined) {
    const owner = currentRun() ?? PLAIN_SCRIPT;
    return cachedHost(owner, mocked, (key) => pulumi.runtime.getConfig(key), process.env);
  }
  const given = new Map(Object.entries(config));
  return cachedHost(config, mocked, (key) => given.get(key.replace(/^edgeguard:/, "")), {});
}

async function hostOfProvider(provider: Provider, { config }: LookupOptions): Promise<Host> {
  if (config !== undefined)
    throw refusal("edgeguard: a lookup has both config and provider: pass only one of them.");
  const mocked = mockedRun(); // Before awaiting anything, because the wait may outlast the run.
  const settings = settingsOf(provider);
  if (!(await isKnown(settings)))
    throw refusal(
      "edgeguard: a lookup's provider has an argument that's unknown in this preview. Use the lookup's output form, whose result is then unknown until the update.",
    );
  const texts = await new Promise<ReadonlyMap<string, string | undefined>>((known) => settings.apply(known));
  return cachedHost(provider, mocked, (key) => texts.get(key), {});
}

/**
 * Returns the host for a lookup. In a unit test with this package's mocks, it uses the test's address and credential,
 * even if the program or the environment sets others.
 */
function cachedHost(
  owner: object,
  mocked: MockedRun | undefined,
  config: ConfigGetter,
  env: Readonly<Record<string, string | undefined>>,
): Host {
  const hosts = mocked === undefined ? HOSTS : (MOCKED_HOSTS.get(mocked) ?? new WeakMap<object, Host>());
  if (mocked !== undefined) MOCKED_HOSTS.set(mocked, hosts);
  const found = hosts.get(owner);
  if (found !== undefined) return found;
  const out = inProgram() ? ENGINE : STDERR;
  const made =
    mocked === undefined
      ? new Host({ config, env, out })
      : new Host({
          config: (key) => (mocked.fixed.has(key) ? mocked.fixed.get(key) : config(key)),
          env: {},
          out,
          problem: mocked.problem,
        });
  hosts.set(owner, made);
  return made;
}

/**
 * Reads an output's `isKnown`, which the SDK's types omit. Without this check, the code would wait forever for an
 * unknown setting.
 */
async function isKnown(output: pulumi.Output<unknown>): Promise<boolean> {
  return (await Reflect.get(output, "isKnown")) !== false;
}

const ENGINE = {
  info: (line: string): void => void pulumi.log.info(line),
  warn: (line: string): void => void pulumi.log.warn(line),
};

/** Writes messages to stderr, because a script's stdout is for its own output. */
const STDERR = {
  info: (line: string): void => void process.stderr.write(`${line}\n`),
  warn: (line: string): void => void process.stderr.write(`${line}\n`),
};
