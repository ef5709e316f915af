import { z } from "zod";
import { ApiError } from "../../api/errors";
import { firstFew } from "../../basics/words";
import { fullTitle, type EntriesContext, type NamespaceAddress } from "../../kv/address";
import { namespaceNamed } from "../../kv/listing";
import type { Host } from "../../runtime/host";
import { CommandError, UsageError } from "../../terminal/errors";
import { withHost } from "../../terminal/host";
import { printToStderr, type Io } from "../../terminal/io";
import { accountOf, namespaceOf, readProjectConfig, type ProjectConfig } from "../wrangler-config";
import { openLocalData } from "./local-data";

// Finds the account and namespace that a command's options select, and connects to them.

const CONFIG_FILES = "wrangler.toml, wrangler.json or wrangler.jsonc";

/** The options of all `kv` commands. The parser knows which of them a command takes. */
export interface KvOptions {
  readonly env?: string;
  readonly accountId?: string;
  readonly config?: string;
  readonly preview?: boolean;
  readonly binding?: string;
  readonly namespaceId?: string;
  readonly title?: string;
  readonly newName?: string;
  readonly yes?: boolean;
  readonly local?: boolean;
  readonly persistTo?: string;
  readonly path?: string;
  readonly ttl?: number;
  readonly expiration?: number;
  readonly metadata?: string;
  readonly prefix?: string;
  readonly text?: boolean;
  readonly dryRun?: boolean;
}

/** The project that a command runs for. */
export interface Project {
  /** The account's ID. Undefined if neither the command line nor a configuration file sets one. */
  readonly accountId: string | undefined;
  readonly config: ProjectConfig | undefined;
  /** The configuration file's environment. As in Wrangler, CLOUDFLARE_ENV selects one of a file that has any. */
  readonly env: string | undefined;
}

export interface Target extends Project {
  /** Undefined if only the account knows which namespace has the title. */
  readonly namespaceId: string | undefined;
  /** The namespace's name in messages: `namespace 0f2a…`, with the binding if one was given, or its title. */
  readonly name: string;
}

/**
 * @param envNeedsFile whether `--env` requires a configuration file.
 * @throws CommandError if the configuration file is malformed, or has no such environment.
 */
export function projectOf(io: Io, options: KvOptions, { envNeedsFile = true } = {}): Project {
  const config = readProjectConfig(io, options.config);
  const { env: asked } = options;
  if (asked !== undefined && config === undefined && envNeedsFile)
    throw new UsageError(
      `--env needs a configuration file, but there is no ${CONFIG_FILES} in ${io.cwd} or its parent directories. Leave out --env, or pass a file with --config.`,
    );
  const hasAny = Object.keys(config?.env ?? {}).length > 0;
  const env = (asked ?? (hasAny ? io.env["CLOUDFLARE_ENV"] : undefined)) || undefined;
  if (asked === undefined && env !== undefined)
    printToStderr(io, `edgeguard: using the environment ${JSON.stringify(env)} from CLOUDFLARE_ENV.`);
  const fromFile = config === undefined ? undefined : accountOf(config, env);
  const variable =
    io.env["EDGEGUARD_ACCOUNT_ID"] === undefined ? "CLOUDFLARE_ACCOUNT_ID" : "EDGEGUARD_ACCOUNT_ID";
  const fromEnv = io.env[variable];
  if (options.accountId === undefined && fromFile !== undefined && differs(fromFile, fromEnv))
    printToStderr(
      io,
      `edgeguard: using account ${fromFile} from ${config?.name ?? "the file"}, not the one in ${variable}.`,
    );
  return { accountId: options.accountId ?? fromFile, config, env };
}

/**
 * @throws UsageError if no option selects a namespace, or CommandError if the configuration file doesn't have the
 * namespace's ID.
 */
export function targetOf(io: Io, options: KvOptions): Target {
  const { binding, namespaceId, title, preview = false } = options;
  if (binding === undefined && namespaceId === undefined && title === undefined)
    throw new UsageError("no namespace. Pass --binding <name>, --namespace-id <id> or --title <title>.");
  const project = projectOf(io, options);
  if (title !== undefined) {
    if (options.local === true)
      throw new UsageError(
        "--title finds a namespace of the account. With --local, pass --binding or --namespace-id.",
      );
    return { ...project, namespaceId, name: `namespace ${JSON.stringify(fullTitle(title, preview))}` };
  }
  if (namespaceId !== undefined) {
    if (preview)
      printToStderr(
        io,
        "edgeguard: --preview has no effect with --namespace-id, which already selects one namespace.",
      );
    return { ...project, namespaceId, name: `namespace ${namespaceId}` };
  }
  if (project.config === undefined)
    throw new UsageError(
      `--binding needs a configuration file, but there is no ${CONFIG_FILES} in ${io.cwd} or its parent directories. Pass --namespace-id, or pass a file with --config.`,
    );
  const id = namespaceOf(project.config, { binding: binding ?? "", preview, env: project.env });
  return { ...project, namespaceId: id, name: `namespace ${id} (binding ${binding ?? ""})` };
}

function differs(account: string, other: string | undefined): boolean {
  return other !== undefined && other.trim() !== "" && other.trim().toLowerCase() !== account;
}

/** One command's connection to Cloudflare. */
export interface Session {
  readonly ctx: EntriesContext;
  readonly accountId: string;
}

export interface NamespaceSession extends Session, NamespaceAddress {
  /** The namespace's name in messages. */
  readonly name: string;
}

export interface SessionOptions {
  /** Aborts when no more requests may start. */
  readonly closing?: AbortSignal;
}

/** Runs `work` on the account with the settings from the environment. */
export async function onAccount<T>(
  io: Io,
  project: Project,
  work: (session: Session) => Promise<T>,
  options: SessionOptions = {},
): Promise<T> {
  return await connected(io, { settings: { "edgeguard:accountId": project.accountId }, ...options }, work);
}

/** Runs `work` on an existing namespace, either the account's or one in the local data. */
export async function onNamespace<T>(
  io: Io,
  options: KvOptions,
  work: (session: NamespaceSession) => Promise<T>,
  more: SessionOptions & {
    /** The namespace, if the caller has already found it. */
    readonly target?: Target;
    /** Whether to create the local namespace if it doesn't exist. */
    readonly writes?: boolean;
  } = {},
): Promise<T> {
  const { target = targetOf(io, options), writes = false, ...session } = more;
  const { namespaceId, name } = target;
  const there = async (at: Session): Promise<T> => {
    if (namespaceId !== undefined) return await work({ ...at, namespaceId, name });
    const title = fullTitle(options.title ?? "", options.preview);
    const found = await namespaceNamed(at.ctx.api, at.accountId, title);
    if (typeof found === "string") throw new CommandError(found);
    return await work({
      ...at,
      namespaceId: found.id,
      name: `namespace ${found.id} (${JSON.stringify(title)})`,
    });
  };
  if (options.local !== true || namespaceId === undefined) {
    if (options.persistTo !== undefined)
      throw new UsageError("--persist-to needs --local. Add --local, or leave out --persist-to.");
    return await onAccount(io, target, there, session);
  }
  const data = await openLocalData(io, {
    folder: options.persistTo,
    beside: target.config?.path,
    namespaceId,
    title: options.binding ?? namespaceId,
    begin: writes,
  });
  if (data.begun) printToStderr(io, `edgeguard: created an empty local ${name} in ${data.folder}.`);
  try {
    const needs = { settings: data.settings, env: {}, ...session };
    return await connected(io, needs, (at) => work({ ...at, namespaceId, name: `local ${name}` }));
  } finally {
    await data.close();
  }
}

function connected<T>(
  io: Io,
  needs: Parameters<typeof withHost>[1],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return withHost(io, needs, async (host) => {
    const accountId = host.settings.accountId ?? (await onlyAccount(host));
    const { api, settings, ...context } = host.context("kv");
    // The commands report progress themselves, on one line.
    const say = { ...host.say, info: () => undefined };
    return await work({ ctx: { ...context, api, settings, say }, accountId });
  });
}

const account = z.looseObject({ id: z.string(), name: z.string().default("") });

/** @throws CommandError unless the token can see exactly one account. */
async function onlyAccount({ api }: Host): Promise<string> {
  const list = { what: "Listing the accounts", record: account };
  const { records } = await api.list("/accounts", list).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 403) return { records: [] };
    throw error;
  });
  const [only, ...others] = records;
  if (only !== undefined && others.length === 0) return only.id;
  const names = records.map(({ id, name }) => `${id} (${api.quote(name)})`);
  throw new CommandError(
    `no account. Pass --account-id, or set account_id in the configuration file, or set CLOUDFLARE_ACCOUNT_ID.${names.length === 0 ? "" : ` The token can see ${firstFew(names, MOST_ACCOUNTS)}.`}`,
  );
}

const MOST_ACCOUNTS = 5;
