import "./runtime/node-version";
import { kvEntries } from "./kv/kv-entries";
import { kvNamespace } from "./kv/kv-namespace";
import { logpushJob } from "./logpush/logpush-job";
import { logpushTransformer } from "./logpush/logpush-transformer";
import { managedRulesetOverride } from "./rulesets/managed-ruleset-override";
import { pageShieldPolicy } from "./page-shield/policy";
import { pageShieldSettings } from "./page-shield/settings";
import { wafMigration } from "./migration/waf-migration";
import { Host } from "./runtime/host";
import { Lifeline } from "./runtime/lifeline";
import { openRecord } from "./runtime/operation-record";
import type { ConfigGetter } from "./runtime/settings";
import { HIDDEN } from "./runtime/hidden";
import { ownMember, type JsonObject } from "./basics/json";
import type { Verbs } from "./runtime/verbs";

/**
 * The entry point `pulumi-edgeguard/runtime` for the forwarders in state files. Forwarders from all earlier versions
 * call these exports, so changing a name or parameter would break refresh and destroy for existing stacks.
 */

/**
 * The provider methods of each type, by its name in state files.
 *
 * @internal
 */
export const REGISTER: Readonly<Record<string, Verbs>> = {
  PageShieldSettings: pageShieldSettings.verbs,
  PageShieldPolicy: pageShieldPolicy.verbs,
  KvNamespace: kvNamespace.verbs,
  KvEntries: kvEntries.verbs,
  LogpushJob: logpushJob.verbs,
  LogpushTransformer: logpushTransformer.verbs,
  ManagedRulesetOverride: managedRulesetOverride.verbs,
  WafMigration: wafMigration.verbs,
};

const lifeline = new Lifeline();
let host = new Host({ config: () => undefined, signal: lifeline.signal, closing: lifeline.closing });
let configured = false;

/** Receives the stack's configuration. This is synchronous because the engine doesn't wait for it. */
export function configure(
  _type: string,
  request: { readonly config: { get(key: string): string | undefined } },
): void {
  if (configured) return; // All types in a process get the same configuration and share one host.
  configured = true;
  const config: ConfigGetter = (key) => request.config.get(key);
  host = new Host({
    config,
    signal: lifeline.signal,
    closing: lifeline.closing,
    ...openRecord(process.argv[2], config),
  });
  lifeline.watch(() => host.inFlight);
}

export async function check(type: string, olds: JsonObject, news: JsonObject): Promise<unknown> {
  return await guarded(type, "checked", (verbs) => verbs.check(host, olds, news));
}

export async function diff(type: string, id: string, olds: JsonObject, news: JsonObject): Promise<unknown> {
  return await guarded(type, "compared", async (verbs) => {
    const result = await verbs.diff(host, id, olds, news);
    // State of the provider plugin lacks the provider that a refresh or destroy of a dynamic resource needs.
    return HIDDEN.provider in news && !(HIDDEN.provider in olds) ? { ...result, changes: true } : result;
  });
}

export async function create(type: string, inputs: JsonObject): Promise<unknown> {
  return await guarded(type, "created", (verbs) => verbs.create(host, inputs));
}

export async function read(type: string, id: string, props: JsonObject): Promise<unknown> {
  return await guarded(type, "read", (verbs) => verbs.read(host, id, props));
}

export async function update(type: string, id: string, olds: JsonObject, news: JsonObject): Promise<unknown> {
  return await guarded(type, "updated", (verbs) => verbs.update(host, id, olds, news));
}

async function remove(type: string, id: string, props: JsonObject): Promise<void> {
  await guarded(type, "deleted", async (verbs) => {
    await verbs.delete(host, id, props);
    return null;
  });
}
export { remove as delete };

/** Runs a provider method. Removes secrets from every error that it throws. */
async function guarded<T>(type: string, done: string, work: (verbs: Verbs) => T | Promise<T>): Promise<T> {
  try {
    const verbs = ownMember(REGISTER, type);
    if (verbs === undefined) {
      throw new Error(
        `this version of pulumi-edgeguard has no resource type ${type}. Install the version that wrote the state, or a later one`,
      );
    }
    return await lifeline.answering(() => work(verbs));
  } catch (error) {
    throw presentable(error, `edgeguard: ${type} could not be ${done}`);
  }
}

/**
 * Returns an error that's printed only once. Pulumi would print an error's text and stack trace in the stack's
 * messages, and also fail the resource with the message. The message now appears only on the resource, without the
 * stack trace, which helps only developers of this package.
 */
function presentable(error: unknown, headline: string): Error {
  const original = error instanceof Error ? error : new Error(String(error));
  const shown = new Error(host.presentable(original.message));
  for (const key of ["id", "properties"] as const) {
    const value: unknown = Reflect.get(original, key);
    if (value !== undefined) Object.assign(shown, { [key]: value });
  }
  const reasons: unknown = Reflect.get(original, "reasons");
  if (Array.isArray(reasons)) {
    Object.assign(shown, { reasons: reasons.map((reason) => host.presentable(String(reason))) });
  }
  const debugging = process.env["EDGEGUARD_DEBUG"] === "1";
  shown.stack = debugging
    ? host.redact(original.stack ?? "")
    : "see the error on the resource (set EDGEGUARD_DEBUG=1 for a stack trace)";
  Object.defineProperty(shown, "toString", { value: () => headline });
  return shown;
}
