import {
  argumentProblem,
  doubtfulConfig,
  hasUnknown,
  omit,
  PROVIDER_NAME,
  readSettings,
  SettingsError,
  unknownConfigKeys,
  type ConfigGetter,
  type JsonObject,
} from "pulumi-edgeguard/plugin";
import type { Received } from "./values";

/** Settings of a provider, as the engine passes them: those of the stack's configuration, or of an explicit provider. */

const NAMESPACE = "edgeguard:";
export const CREDENTIALS: readonly string[] = ["apiToken", "apiEmail", "apiKey"];

/** What engines add to a provider's settings. */
const OF_ENGINE = ["version", "pluginDownloadURL", "pluginChecksums", "__internal"];

/** An explicit provider's name. Undefined for the default one, which engines call `default` or `default_1_2_3`. */
export function explicitName(name: string | undefined): string | undefined {
  return name === undefined || /^(default(_\d.*)?)?$/.test(name) ? undefined : name;
}

/** Reads settings as the lifecycles do. An explicit provider has its own and no others. */
export function configOf(values: JsonObject, name: string | undefined): ConfigGetter {
  const texts = new Map(settings(values).map(([key, text]) => [NAMESPACE + key, text]));
  if (name !== undefined) return (key) => (key === PROVIDER_NAME ? name : texts.get(key));
  const stack = stackConfig(process.env);
  return (key) => texts.get(key) ?? (key.startsWith("cloudflare:") ? stack[key] : undefined);
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
  if (hasUnknown(given)) return [];
  try {
    readSettings(configOf(values, name), process.env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return [error.message];
    throw error;
  }
}

/** Returns warnings about credentials in the stack's configuration that are misplaced or in plain text. */
export function configDoubts({ values, secrets }: Received, project: string): string[] {
  const config: Record<string, string> = { ...stackConfig(process.env) };
  for (const [key, text] of settings(values)) if (text !== undefined) config[NAMESPACE + key] = text;
  const isSecret = (key: string): boolean =>
    !key.startsWith(NAMESPACE) || secrets.includes(key.slice(NAMESPACE.length));
  return doubtfulConfig(config, { project, isSecret, env: process.env });
}

/** Programs pass anything but text as JSON. */
function settings(values: JsonObject): [string, string | undefined][] {
  return Object.entries(omit(values, OF_ENGINE)).map(([key, value]) => [
    key,
    value === null ? undefined : typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

/** The stack's whole configuration, which the engine passes in the environment. */
function stackConfig(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  return JSON.parse(env["PULUMI_CONFIG"] ?? "{}") as Record<string, string>; // The engine's own format.
}
