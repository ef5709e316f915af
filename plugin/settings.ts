import {
  argumentProblem,
  hasUnknown,
  isCredential,
  omit,
  PROVIDER_NAME,
  readSettings,
  sameJson,
  SettingsError,
  settingText,
  unknownConfigKeys,
  type ConfigGetter,
  type JsonObject,
} from "pulumi-edgeguard/plugin";
import type { Received } from "./values";

/**
 * Converts a provider's settings from the engine's form. They come from the stack's configuration or an explicit
 * provider.
 */

const NAMESPACE = "edgeguard:";

/** Keys that engines add to a provider's settings. */
const OF_ENGINE = ["version", "pluginDownloadURL", "pluginChecksums", "__internal"];

/** Returns an explicit provider's name. Undefined for the default one, which engines call `default` or `default_1_2_3`. */
export function explicitName(name = ""): string | undefined {
  return isDefaultName(name) ? undefined : name;
}

const isDefaultName = (name: string): boolean => /^(default(_\d.*)?)?$/.test(name);

/** Returns the function that reads settings for the lifecycles. An explicit provider has only its own settings. */
export function configOf(values: JsonObject, name: string | undefined): ConfigGetter {
  const texts = new Map(Object.entries(textsOf(values)).map(([key, text]) => [NAMESPACE + key, text]));
  return (key) => (key === PROVIDER_NAME ? name : texts.get(key));
}

/** Returns what's wrong with a provider's settings. */
export function settingsProblems({ values }: Received, name: string | undefined): string[] {
  const given = omit(values, OF_ENGINE);
  const keys = Object.keys(given);
  if (name === undefined) {
    const [unknown] = unknownConfigKeys(keys.map((key) => NAMESPACE + key));
    if (unknown !== undefined) return [unknown];
  } else {
    const problem = argumentProblem(given);
    if (problem !== undefined) return [`Provider ${JSON.stringify(name)} ${problem}`];
  }
  if (name === undefined && !isOfStack(values)) return [DEFAULT_NAMED];
  if (hasUnknown(given)) return [];
  try {
    readSettings(configOf(values, name), process.env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return [error.message];
    throw error;
  }
}

const DEFAULT_NAMED =
  "A provider in the program can't be named `default` or `default_…`: those names belong to the provider that uses the stack's configuration, so settings that it omits would come from there or from the environment. Give it another name.";

/** Returns the settings as a stack's configuration has them. */
function textsOf(values: JsonObject): Readonly<Record<string, string | undefined>> {
  const given = Object.entries(omit(values, OF_ENGINE));
  return Object.fromEntries(given.map(([key, value]) => [key, settingText(value)]));
}

/**
 * Whether these settings are the stack's, like the default provider's. The engine passes those of this package, without
 * their namespace.
 */
function isOfStack(values: JsonObject): boolean {
  const stack = process.env["PULUMI_CONFIG"];
  // Nothing to compare with, but the stack's provider has no reason for a blank credential.
  if (stack === undefined)
    return !Object.entries(textsOf(values)).some(([key, text]) => isCredential(key) && text?.trim() === "");
  return sameJson(textsOf(values), omit(JSON.parse(stack) as Record<string, string>, OF_ENGINE)); // The engine's own format.
}
