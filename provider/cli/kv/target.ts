import { UsageError } from "../../terminal/errors";
import { tell, type Io } from "../../terminal/io";
import { accountOf, namespaceOf, readProjectConfig, type ProjectConfig } from "../wrangler-config";
import type { ProjectOptions, SelectorOptions } from "./options";

/** The project a command is run for, as far as it was needed. */
export interface Project {
  /** Undefined where neither the command line nor a configuration file names one. */
  readonly accountId: string | undefined;
  readonly config: ProjectConfig | undefined;
}

export interface Target extends Project {
  readonly namespaceId: string;
  /** As messages call it: `namespace 0f2a…`, with the binding where one was given. */
  readonly name: string;
}

/** @throws CommandError where the configuration file is malformed. */
export function projectOf(io: Io, options: ProjectOptions): Project {
  const config = readProjectConfig(io, options.config);
  const fromFile = config === undefined ? undefined : accountOf(config, options.env);
  const fromEnv = io.env["EDGEGUARD_ACCOUNT_ID"] ?? io.env["CLOUDFLARE_ACCOUNT_ID"];
  if (options.accountId === undefined && fromFile !== undefined && differs(fromFile, fromEnv))
    tell(
      io,
      `edgeguard: account ${fromFile} of ${config?.name ?? "the file"} is used, not the one of the environment.`,
    );
  return { accountId: options.accountId ?? fromFile, config };
}

/** @throws UsageError without a selector; CommandError where the configuration file does not tell. */
export function targetOf(io: Io, options: SelectorOptions): Target {
  const { binding, namespaceId, preview = false, env } = options;
  if (binding === undefined && namespaceId === undefined)
    throw new UsageError("which namespace? Give --binding <name> or --namespace-id <id>.");
  const project = projectOf(io, options);
  if (namespaceId !== undefined) {
    if (preview)
      tell(io, "edgeguard: --preview says nothing beside --namespace-id, which names the namespace itself.");
    return { ...project, namespaceId, name: `namespace ${namespaceId}` };
  }
  if (project.config === undefined)
    throw new UsageError(
      `--binding is looked up in a configuration file, and there is no wrangler.toml, wrangler.json or wrangler.jsonc in ${io.cwd} or above. Give --namespace-id, or the file with --config.`,
    );
  const id = namespaceOf(project.config, { binding: binding ?? "", preview, env });
  return { ...project, namespaceId: id, name: `namespace ${id} (binding ${binding ?? ""})` };
}

function differs(account: string, other: string | undefined): boolean {
  return other !== undefined && other.trim() !== "" && other.trim().toLowerCase() !== account;
}
