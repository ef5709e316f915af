import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { REGISTER } from "../register";
import { Host } from "../runtime/host";
import { markMocks } from "../runtime/mocked-run";
import { kindOf } from "../runtime/type-tokens";
import { isJsonObject, omit, ownMember, type JsonObject } from "../basics/json";
import { UNKNOWN } from "../runtime/engine-values";
import type { Verbs } from "../runtime/verbs";

/** A local API, as returned by `startLocalApi` of this package or of `edgeguard-local`. */
export interface ApiAddress {
  /** The base address, such as `http://127.0.0.1:8787/client/v4`. */
  readonly url: string;
  /**
   * A token that the API accepts.
   *
   * @defaultValue `"local-token"`
   */
  readonly token?: string;
}

/** Options of {@link checkedMocks}. */
export interface CheckedMocksOptions {
  /**
   * Your own mocks, for the resources and functions of other packages.
   *
   * @defaultValue A resource gets an ID, and its arguments become its outputs. A function returns its arguments.
   */
  readonly mocks?: Partial<pulumi.runtime.Mocks>;
  /**
   * A local API. The checks read from it in the same way as a preview. Outside preview mode, resources are created
   * there and get the same outputs as in an update. Lookups also read from it, always with its token; a credential in
   * their `config` or `provider` isn't used.
   *
   * @defaultValue None: no requests are sent, lookups fail, and only outputs known to a preview without credentials are set.
   */
  readonly api?: ApiAddress;
}

/**
 * Mocks for `pulumi.runtime.setMocks` that run this package's own checks. An invalid argument fails the test with the
 * same message as in a preview: the resource isn't registered, its outputs fail, and the test runner reports the error.
 *
 * Settings come from the program's configuration (`pulumi.runtime.setAllConfig`), never from the environment, so that a
 * test has the same result everywhere. Use `runProgram` to expect a failure, and to wait for every resource.
 *
 * @example Read an output of a mocked resource
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { KvNamespace } from "pulumi-edgeguard";
 * import { checkedMocks } from "pulumi-edgeguard/testing";
 *
 * export async function namespaceTitle(): Promise<string> {
 *   await pulumi.runtime.setMocks(checkedMocks());
 *   const namespace = new KvNamespace("flags", { accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1", title: "flags" });
 *   return new Promise((done) => namespace.title.apply(done));
 * }
 * ```
 *
 * @param options your own mocks, and a local API.
 */
export function checkedMocks(options: CheckedMocksOptions = {}): pulumi.runtime.Mocks {
  const checker = new Checker(options, {
    info: (line) => void pulumi.log.info(line),
    warn: (line) => void pulumi.log.warn(line),
    refuse: (sentence) => {
      throw new Error(sentence);
    },
  });
  return markMocks(
    { newResource: (args) => checker.newResource(args), call: (args) => checker.call(args) },
    lookupsOf(options),
  );
}

/** Receives the findings of a check. */
export interface Sink {
  info(line: string): void;
  warn(line: string): void;
  /** Called with the problems of a resource. If it returns, the resource is registered anyway. */
  refuse(sentence: string): void;
  registered?(resource: RegisteredResource): void;
}

/** A resource that the program registered. */
export interface RegisteredResource {
  /** The class name, such as `KvNamespace`, for this package's resources. For others, the full type. */
  readonly type: string;
  /** The resource's name in the program. */
  readonly name: string;
  /** The resource's ID. Undefined in a preview of a new resource. */
  readonly id: string | undefined;
  /** The arguments in canonical form, and what the preview computes, such as `impact`. Secrets are plain text. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

export class Checker implements pulumi.runtime.Mocks {
  readonly #host: Host;
  readonly #sink: Sink;
  readonly #options: CheckedMocksOptions;

  constructor(options: CheckedMocksOptions, sink: Sink) {
    this.#options = options;
    this.#sink = sink;
    const fixed = fixedSettings(options.api);
    this.#host = new Host({
      config: (key) => (fixed.has(key) ? fixed.get(key) : pulumi.runtime.getConfig(key)),
      env: {},
      out: sink,
    });
  }

  async newResource(args: pulumi.runtime.MockResourceArgs): Promise<pulumi.runtime.MockResourceResult> {
    const type = kindOf(args.type);
    const verbs = type === undefined ? undefined : ownMember(REGISTER, type);
    const given: JsonObject = isJsonObject(args.inputs) ? args.inputs : {};
    if (type === undefined || verbs === undefined) return await this.#other(args, given);
    const secrets = Object.keys(given).filter((key) => pulumi.runtime.isRpcSecret(given[key]));
    const result = await this.#checked(verbs, { type, name: args.name, id: args.id, given });
    this.#sink.registered?.({ type, name: args.name, id: result.id, inputs: result.inputs });
    return { id: result.id, state: withSecrets(result.state, secrets) };
  }

  async call(args: pulumi.runtime.MockCallArgs): Promise<pulumi.runtime.MockCallResult> {
    return await (this.#options.mocks?.call?.(args) ?? (args.inputs as pulumi.runtime.MockCallResult));
  }

  async close(): Promise<void> {
    await this.#host.close();
  }

  async #checked(
    verbs: Verbs,
    { type, name, id, given }: { type: string; name: string; id: string | undefined; given: JsonObject },
  ): Promise<{ id: string | undefined; inputs: JsonObject; state: JsonObject }> {
    const sent = asSent(given) as JsonObject; // An object stays an object.
    if (id !== undefined && id !== "") return await this.#read(verbs, id, sent);
    const { inputs, failures } = await verbs.check(this.#host, {}, sent);
    const refuse = (reason: string): void => this.#sink.refuse(`${type} ${JSON.stringify(name)}: ${reason}`);
    for (const { reason } of failures) refuse(reason);
    const shown = shownInputs(inputs);
    if (pulumi.runtime.isDryRun()) return { id: undefined, inputs: shown, state: shown };
    if (this.#options.api !== undefined && failures.length === 0)
      try {
        const made = await verbs.create(this.#host, inputs);
        return { id: made.id, inputs: shown, state: shownInputs(made.outs) };
      } catch (error) {
        refuse(error instanceof Error ? error.message : String(error));
      }
    const zone = verbs.facts.compositeId.isZoneId ? inputs["zoneId"] : undefined;
    const made = typeof zone === "string" ? zone : madeUpId(type, name);
    return { id: made, inputs: shown, state: shown };
  }

  async #read(
    verbs: Verbs,
    id: string,
    sent: JsonObject,
  ): Promise<{ id: string; inputs: JsonObject; state: JsonObject }> {
    if (this.#options.api === undefined) return { id, inputs: shownInputs(sent), state: shownInputs(sent) };
    const read = await verbs.read(this.#host, id, sent);
    return {
      id: read.id,
      inputs: shownInputs(read.inputs ?? {}),
      state: shownInputs(read.props ?? {}),
    };
  }

  async #other(
    args: pulumi.runtime.MockResourceArgs,
    given: JsonObject,
  ): Promise<pulumi.runtime.MockResourceResult> {
    const state = omit(given);
    const result = await (this.#options.mocks?.newResource?.(args) ?? {
      id: args.custom === true && !pulumi.runtime.isDryRun() ? madeUpId(args.type, args.name) : undefined,
      state,
    });
    this.#sink.registered?.({ type: args.type, name: args.name, id: result.id, inputs: state });
    return result;
  }
}

/**
 * Returns the settings for lookups in a test. Without a local API, lookups fail, because they would need a real
 * credential.
 */
export function lookupsOf({ api }: CheckedMocksOptions): Parameters<typeof markMocks>[1] {
  const problem =
    api === undefined
      ? "a lookup in a unit test needs an API to read from. Pass { api: await startLocalApi() } to runProgram or checkedMocks."
      : undefined;
  return { fixed: fixedSettings(api), problem };
}

/**
 * Returns the settings that the program's configuration can't change. With a local API, its token is the only
 * credential.
 */
function fixedSettings(api: ApiAddress | undefined): ReadonlyMap<string, string | undefined> {
  if (api === undefined) return new Map([["edgeguard:liveChecks", "false"]]);
  return new Map([
    ["edgeguard:baseUrl", api.url],
    ["edgeguard:apiToken", api.token ?? "local-token"],
    ["edgeguard:apiEmail", undefined],
    ["edgeguard:apiKey", undefined],
    ["cloudflare:apiToken", undefined],
  ]);
}

/**
 * Converts inputs to the form in which the engine sends them to the provider: secrets are plain text, and unknown
 * values are the engine's own marker.
 */
function asSent(value: unknown): unknown {
  if (pulumi.isUnknown(value)) return UNKNOWN;
  if (pulumi.runtime.isRpcSecret(value)) return asSent(pulumi.runtime.unwrapRpcSecret(value));
  if (Array.isArray(value)) return value.map(asSent);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asSent(member)]));
}

/** Returns the inputs without those that only the engine needs. */
function shownInputs(inputs: JsonObject): JsonObject {
  return omit(
    inputs,
    Object.keys(inputs).filter((key) => key.startsWith("__")),
  );
}

/** Makes outputs secret if the program made their arguments secret. */
function withSecrets(state: JsonObject, secrets: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(state).map(([key, value]) => [key, secrets.includes(key) ? pulumi.secret(value) : value]),
  );
}

/** Generates an ID that other resources accept and that's the same in every run. */
function madeUpId(type: string, name: string): string {
  return createHash("sha256").update(`${type} ${name}`).digest("hex").slice(0, 32);
}
