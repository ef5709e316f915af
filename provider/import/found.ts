import type { z } from "zod";
import { kvEntries } from "../kv/kv-entries";
import { kvNamespace } from "../kv/kv-namespace";
import { logpushJob } from "../logpush/logpush-job";
import { managedRulesetOverride } from "../rulesets/managed-ruleset-override";
import { pageShieldPolicy } from "../page-shield/policy";
import { pageShieldSettings } from "../page-shield/settings";
import type { Lifecycle } from "../runtime/lifecycle";
import type { JsonObject } from "../runtime/values";
import { verbsOf, type Verbs } from "../runtime/verbs";
import type { Code, Members } from "./code";
import type { Named } from "./names";

/** A type of resource that can be imported. */
export interface ImportableType {
  /** The class's name. */
  readonly type: string;
  readonly verbs: Verbs;
  readonly schemaVersion: number;
  /** Names of arguments and outputs that are secret in a state. */
  readonly secret: readonly string[];
}

function importable<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): ImportableType {
  const { type, schemaVersion, secret = {}, secretOutputs = [] } = lifecycle;
  return {
    type,
    schemaVersion,
    verbs: verbsOf(lifecycle),
    secret: [...Object.keys(secret), ...secretOutputs],
  };
}

export const TYPES = {
  pageShieldSettings: importable(pageShieldSettings),
  pageShieldPolicy: importable(pageShieldPolicy),
  managedRulesetOverride: importable(managedRulesetOverride),
  logpushJob: importable(logpushJob),
  kvNamespace: importable(kvNamespace),
  kvEntries: importable(kvEntries),
} as const;

/** An object that exists, in the form of a declaration. */
export interface Found extends Named {
  readonly resource: ImportableType;
  /** As messages call it: `policy 0f2a… "checkout"`. */
  readonly what: string;
  readonly scope: Scope;
  /** Arguments as they are written. Called once, when every object has its name. */
  args(writing: Writing): Members;
  /** Outputs, as `read` gives them. */
  readonly outputs: JsonObject;
  /** What the class makes of its arguments before it hands them on. Default: nothing. */
  handedOn?(args: JsonObject): JsonObject;
  /** What no two declarations of a type may share; by default all that is declared. */
  readonly claim?: string;
  /** Inputs that the state holds in another form than the one that can be checked here. */
  readonly recordedAs?: JsonObject;
  /** Stands above it in the program. */
  readonly comment?: string;
}

/** What the object belongs to. */
export type Scope =
  { readonly kind: "zone"; readonly id: string } | { readonly kind: "account"; readonly id: string };

/** What the program offers to its declarations. */
export interface Writing {
  /** The constant that holds the id. */
  scope(scope: Scope): Code;
  /** The id of another resource of the program; undefined where that one was left out. */
  idOf(found: Found): Code | undefined;
  /**
   * A value that the stack's configuration holds as a secret.
   *
   * @param name what it is, after the resource's name: `secret-access-key`.
   * @param value what Cloudflare shows of it.
   */
  secret(name: string, value: ConfigSecret): Code;
}

export interface ConfigSecret {
  /** What the state is to hold: the value itself, or what Cloudflare shows in its place. */
  readonly value: string;
  /** Whether Cloudflare gives it back, so that it stands in the import file. */
  readonly isShown: boolean;
  /** For people: `secret access key of the bucket logs`. */
  readonly meaning: string;
}
