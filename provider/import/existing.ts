import type { z } from "zod";
import { kvEntries } from "../kv/kv-entries";
import { kvNamespace } from "../kv/kv-namespace";
import { logpushJob } from "../logpush/logpush-job";
import { managedRulesetOverride } from "../rulesets/managed-ruleset-override";
import { pageShieldPolicy } from "../page-shield/policy";
import { pageShieldSettings } from "../page-shield/settings";
import type { ObjectAddress, Scope } from "../runtime/composite-id";
import type { Lifecycle } from "../runtime/lifecycle";
import type { JsonObject } from "../runtime/values";
import { verbsOf, type Verbs } from "../runtime/verbs";
import type { Code, Members } from "./code";
import type { Named } from "./names";

/** A resource type that `edgeguard import` supports. */
export interface ImportableType {
  /** The class's name. */
  readonly type: string;
  readonly verbs: Verbs;
  readonly schemaVersion: number;
  /** Names of arguments and outputs that are secret in state. */
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

/** An existing object, in the form in which a program would declare it. */
export interface ExistingObject extends Named, ObjectAddress {
  readonly resource: ImportableType;
  /** The object's name in messages: `policy 0f2a… "checkout"`. */
  readonly what: string;
  /** The arguments in the program. Called once, after all objects have names. */
  args(writing: ArgumentWriter): Members;
  /** Outputs, as `read` returns them. */
  readonly outputs: JsonObject;
  /** How the resource class turns its arguments into inputs. Default: unchanged. */
  classInputs?(args: JsonObject): JsonObject;
  /** The inputs that no two declarations of a type may have in common. Default: all inputs. */
  readonly identity?: string;
  /** Inputs that the state records in a different form from what `check` returns here. */
  readonly recordedAs?: JsonObject;
  /** A comment above it in the program. */
  readonly comment?: string;
}

/** What the program provides for use in arguments. */
export interface ArgumentWriter {
  /** The constant with the ID. */
  scope(scope: Scope): Code;
  /** Another resource's ID in the program; undefined if that resource was left out. */
  idOf(found: ExistingObject): Code | undefined;
  /**
   * A secret from the stack's configuration.
   *
   * @param name the part of its key after the resource's name: `secret-access-key`.
   * @param value the secret as Cloudflare shows it.
   */
  secret(name: string, value: ConfigSecret): Code;
}

export interface ConfigSecret {
  /** The value for the state, or the placeholder that Cloudflare shows instead. */
  readonly value: string;
  /** Whether Cloudflare shows the value, which means the import file contains it. */
  readonly isShown: boolean;
  /** A description for readers: `secret access key of the bucket logs`. */
  readonly meaning: string;
}
