import "./runtime/node-version";

import { REGISTER } from "./register";
import { LOOKUPS, type ServedLookup } from "./runtime/lookup";
import type { Verbs } from "./runtime/verbs";

/** The entry point `pulumi-edgeguard/plugin` for the provider plugin of the same version. Programs don't use it. */

export { Host, type HostOptions } from "./runtime/host";
export { propertyPath, isJsonObject, omit, ownMember, pick, sameJson, type JsonObject } from "./basics/json";
export { Lifeline } from "./runtime/lifeline";
export { unlessSkipped } from "./runtime/lookup";
export { withoutBookkeeping } from "./runtime/impact";
export { listObjects } from "./runtime/listed";
export { openRecord } from "./runtime/operation-record";
export { argumentProblem } from "./runtime/provider";
export { namesOfSecrets } from "./runtime/secrets";
export { hasUnknown, WIRE_SECRET, UNKNOWN } from "./runtime/engine-values";
export {
  isCredential,
  PROVIDER_NAME,
  readSettings,
  SettingsError,
  settingText,
  unknownConfigKeys,
  type ConfigGetter,
} from "./runtime/settings";
export { makesSavedPlan } from "./runtime/program";
export { HIDDEN, KEPT } from "./runtime/hidden";
export { computedInputsOf } from "./runtime/resource-type";
export { kindOf, TYPE_PREFIXES } from "./runtime/type-tokens";
export { partsOfUrn, type UrnParts } from "./runtime/urn";
export type { Facts } from "./runtime/lifecycle";
export type { Verbs } from "./runtime/verbs";
export { zoneParts, type ZonePart } from "./protected-zone";
export { VERSION } from "./version";

/** The provider methods of each resource type. */
export const RESOURCES: Readonly<Record<string, Verbs>> = REGISTER;

/** Returns all lookups by name. */
export function lookups(): ReadonlyMap<string, ServedLookup> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- most programs need none, and the start would take longer
  require("./index"); // Enters every lookup.
  return LOOKUPS;
}
