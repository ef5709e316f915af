import { kvEntries } from "../kv/kv-entries";
import { kvNamespace } from "../kv/kv-namespace";
import { logpushJob } from "../logpush/logpush-job";
import { logpushTransformer } from "../logpush/logpush-transformer";
import { managedRulesetOverride } from "../rulesets/managed-ruleset-override";
import { pageShieldPolicy } from "../page-shield/policy";
import { pageShieldSettings } from "../page-shield/settings";
import type { ObjectAddress, Scope } from "../runtime/composite-id";
import type { JsonObject } from "../basics/json";
import type { Verbs } from "../runtime/verbs";
import type { Code, Members } from "./code";
import type { Named } from "./names";

/** A resource type that `edgeguard import` supports. */
export interface ImportableType {
  /** The class's name. */
  readonly type: string;
  readonly verbs: Verbs;
  readonly schemaVersion: number;
  /** The names of arguments and outputs that are secret in the state. */
  readonly secret: readonly string[];
  /** Computed inputs that aren't outputs. */
  readonly inputsOnly: readonly string[];
}

function importable({ verbs }: { readonly verbs: Verbs }): ImportableType {
  const { type, schemaVersion, secret = {}, secretOutputs = [], inputsOnly = [] } = verbs.facts;
  return { type, schemaVersion, verbs, secret: [...Object.keys(secret), ...secretOutputs], inputsOnly };
}

export const TYPES = {
  pageShieldSettings: importable(pageShieldSettings),
  pageShieldPolicy: importable(pageShieldPolicy),
  managedRulesetOverride: importable(managedRulesetOverride),
  logpushJob: importable(logpushJob),
  logpushTransformer: importable(logpushTransformer),
  kvNamespace: importable(kvNamespace),
  kvEntries: importable(kvEntries),
} as const;

/** An existing object, as a program would declare it. */
export interface ExistingObject extends Named, ObjectAddress {
  readonly resource: ImportableType;
  /** How messages refer to the object: `policy 0f2a… "checkout"`. */
  readonly what: string;
  /** Returns the arguments for the program. Called once, after all objects have names. */
  args(writing: ArgumentWriter): Members;
  /** The outputs that `read` returned. */
  readonly outputs: JsonObject;
  /** Converts the arguments to inputs as the resource class does. By default, they're unchanged. */
  classInputs?(args: JsonObject): JsonObject;
  /** The IDs of the parts that an old state lists. By default, it lists the object itself. */
  readonly contains?: readonly string[];
  /** A key that must be unique among the declarations of a type. By default, all inputs together. */
  readonly identity?: string;
  /** Inputs whose recorded form differs from what `check` returns during the import. */
  readonly recordedAs?: JsonObject;
  /** The comment to print above the resource. */
  readonly comment?: string;
}

/** An object that isn't in the program, or a group of objects that couldn't be read, with the reason. */
export interface LeftOut {
  /** How messages refer to the object or group. */
  readonly what: string;
  readonly reason: string;
}

/** What an argument's code can use: IDs, secrets and other resources. */
export interface ArgumentWriter {
  /** Whether the program can call the builders for destinations and filters. The plugin's SDKs have none. */
  readonly hasBuilders: boolean;
  /** Returns the constant that contains the ID of a zone or account. */
  scope(scope: Scope): Code;
  /** Returns another resource's ID in the program. Undefined if that resource was left out. */
  idOf(found: ExistingObject): Code | undefined;
  /**
   * Returns a secret from the stack's configuration.
   *
   * @param name the part of the secret's key after the resource's name: `secret-access-key`.
   * @param value the secret as Cloudflare shows it.
   */
  secret(name: string, value: ConfigSecret): Code;
}

export interface ConfigSecret {
  /** The value to record in the state, or the placeholder that Cloudflare shows instead. */
  readonly value: string;
  /** Whether Cloudflare shows the value. If it does, the import file contains the value. */
  readonly isShown: boolean;
  /** A description of the secret for users: `secret access key of the bucket logs`. */
  readonly meaning: string;
}
