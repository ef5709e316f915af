import {
  argumentProblem,
  hasUnknown,
  isCredential,
  omit,
  PROVIDER_NAME,
  readSettings,
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

/**
 * Returns an explicit provider's name. Undefined for the default one, which engines call `default` or `default_1_2_3`.
 * If a program gives its own provider such a name, a blank credential that isn't in the stack's configuration shows
 * that it's explicit.
 */
export function explicitName(name: string | undefined, values: JsonObject): string | undefined {
  if (name === undefined || !isDefaultName(name)) return name;
  const stack = stackConfig(process.env);
  const isForgotten = ([key, text]: Setting): boolean =>
    isCredential(key) && text?.trim() === "" && stack?.[NAMESPACE + key] !== text;
  return settings(values).some(isForgotten) ? name : undefined;
}

const isDefaultName = (name: string): boolean => /^(default(_\d.*)?)?$/.test(name);

/** Returns the function that reads settings for the lifecycles. An explicit provider has only its own settings. */
export function configOf(values: JsonObject, name: string | undefined): ConfigGetter {
  const texts = textsOf(values);
  if (name !== undefined) return (key) => (key === PROVIDER_NAME ? name : texts.get(key));
  const stack = stackConfig(process.env);
  return (key) => texts.get(key) ?? (key.startsWith("cloudflare:") ? stack?.[key] : undefined);
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
  if ((name === undefined || isDefaultName(name)) && !isOfStack(values)) return [DEFAULT_NAMED];
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

function settings(values: JsonObject): Setting[] {
  return Object.entries(omit(values, OF_ENGINE)).map(([key, value]) => [key, settingText(value)]);
}

/** Returns the settings as a stack's configuration has them. */
function textsOf(values: JsonObject): ReadonlyMap<string, string | undefined> {
  return new Map(settings(values).map(([key, text]) => [NAMESPACE + key, text]));
}

type Setting = [key: string, text: string | undefined];

/** Whether these settings come from the stack's configuration, like the default provider's. */
function isOfStack(values: JsonObject): boolean {
  const stack = stackConfig(process.env);
  if (stack === undefined) return true; // Nothing to compare with.
  const given = textsOf(values);
  const added = OF_ENGINE.map((key) => NAMESPACE + key);
  const keys = [...given.keys(), ...Object.keys(stack).filter((key) => key.startsWith(NAMESPACE))];
  return keys.every((key) => added.includes(key) || given.get(key) === stack[key]);
}

/**
 * Returns the stack's configuration from the environment. Pulumi's CLI passes only this provider's keys, without the
 * namespace. Undefined if the engine doesn't pass any.
 */
function stackConfig(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> | undefined {
  const text = env["PULUMI_CONFIG"];
  if (text === undefined) return undefined;
  const config = JSON.parse(text) as Record<string, string>; // The engine's own format.
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.includes(":") ? key : NAMESPACE + key, value]),
  );
}
