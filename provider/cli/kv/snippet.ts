import { bindingOf, isToml, type ProjectConfig } from "../wrangler-config";

/** A new namespace, and the binding for it. */
export interface CreatedNamespace {
  readonly env: string | undefined;
  readonly binding: string;
  readonly preview: boolean;
  readonly id: string;
}

/** The text to add to the configuration file, and what to do with it. */
export interface Snippet {
  /** The snippet for stdout. The file is always valid TOML after you append the snippet. */
  readonly text: string;
  /** The advice for stderr. */
  readonly advice: string;
}

/** Returns the snippet for a new namespace. A binding has one table for both `id` and `preview_id`, so if the file
 * already has that table, the snippet is a comment.
 */
export function snippetFor(config: ProjectConfig | undefined, created: CreatedNamespace): Snippet {
  const { env, binding, preview, id } = created;
  const where = config?.name ?? "the configuration file";
  const member = preview ? "preview_id" : "id";
  const existing = config && bindingOf(config, { binding, env });
  const previous = existing?.[member];
  const replacing = previous === undefined ? "" : `, replacing ${JSON.stringify(previous)}`;
  const named = `${JSON.stringify(binding)}${env === undefined ? "" : ` in environment ${JSON.stringify(env)}`}`;

  if (config?.format === "json") {
    const section = { kv_namespaces: [{ binding, [member]: id }] };
    const text = `${JSON.stringify(env === undefined ? section : { env: { [env]: section } }, undefined, 2)}\n`;
    const advice =
      existing === undefined
        ? `Add to ${where}:`
        : `${where} already has the binding ${named}. Set its ${JSON.stringify(member)}${replacing}:`;
    return { text, advice };
  }
  const set = `${member} = ${JSON.stringify(id)}`;
  const comment = `\n# binding = ${JSON.stringify(binding)}, ${set}\n`;
  if (existing !== undefined)
    return {
      text: comment,
      advice: `${where} already has the binding ${named}. Set ${set} in its table${replacing}.`,
    };
  const table = env === undefined ? "kv_namespaces" : `env.${tomlKey(env)}.kv_namespaces`;
  // The leading line break is for a file whose last line doesn't end with one.
  const text = `\n[[${table}]]\nbinding = ${JSON.stringify(binding)}\n${set}\n`;
  if (config === undefined || isToml(config.text + text)) return { text, advice: `Add to ${where}:` };
  return {
    text: comment,
    advice: `${where} already defines ${table} as an inline array. Add { binding = ${JSON.stringify(binding)}, ${set} } to that array.`,
  };
}

function tomlKey(text: string): string {
  return /^[A-Za-z0-9_-]+$/.test(text) ? text : JSON.stringify(text);
}
