import type { EntriesContext, NamespaceAddress } from "../../kv/address";
import { Host } from "../../runtime/host";
import { CommandError, UsageError } from "../../terminal/errors";
import { demandCredential, withVariables } from "../../terminal/failure";
import { tell, type Io } from "../../terminal/io";
import { openLocalData } from "./local-data";
import type { DataOptions, SelectorOptions } from "./options";
import { targetOf, type Project, type Target } from "./target";

/** A way to the service for one command. */
export interface Session {
  readonly ctx: EntriesContext;
  readonly accountId: string;
}

export interface NamespaceSession extends Session, NamespaceAddress {
  /** As messages call the namespace. */
  readonly name: string;
}

export interface SessionOptions {
  /** Fires when no further request may begin. */
  readonly closing?: AbortSignal;
}

/** Does `work` on the account, by the settings of the environment (README, "Settings"). */
export async function onAccount<T>(
  io: Io,
  project: Project,
  work: (session: Session) => Promise<T>,
  options: SessionOptions = {},
): Promise<T> {
  const { accountId } = project;
  const config = new Map(accountId === undefined ? [] : [["edgeguard:accountId", accountId]]);
  return await connected(new Host({ config: (key) => config.get(key), ...common(io), ...options }), work);
}

/** Does `work` on a namespace that exists already, of the account or of the local data. */
export async function onNamespace<T>(
  io: Io,
  options: SelectorOptions | DataOptions,
  work: (session: NamespaceSession) => Promise<T>,
  more: SessionOptions & {
    /** Given where it was resolved before. */
    readonly target?: Target;
    /** Whether local data is begun where there is none. */
    readonly writes?: boolean;
  } = {},
): Promise<T> {
  const { target = targetOf(io, options), writes = false, ...session } = more;
  const { namespaceId, name } = target;
  const there = (at: Session): Promise<T> => work({ ...at, namespaceId, name });
  if (!("local" in options) || !options.local) {
    if ("persistTo" in options)
      throw new UsageError("--persist-to belongs to --local: add it, or leave both out.");
    return await onAccount(io, target, there, session);
  }
  const data = await openLocalData(io, options.persistTo, {
    namespaceId,
    title: options.binding ?? namespaceId,
    begin: writes,
  });
  try {
    const config = new Map(Object.entries(data.config));
    const host = new Host({ config: (key) => config.get(key), ...common(io), env: {}, ...session });
    return await connected(host, (at) => work({ ...at, namespaceId, name: `local ${name}` }));
  } finally {
    await data.close();
  }
}

function common(io: Io): Pick<ConstructorParameters<typeof Host>[0], "env" | "out"> {
  const out = (line: string): void => tell(io, withVariables(line));
  return { env: io.env, out: { info: out, warn: out } };
}

async function connected<T>(host: Host, work: (session: Session) => Promise<T>): Promise<T> {
  try {
    const { accountId } = host.settings;
    demandCredential(host.settings);
    if (accountId === undefined)
      throw new CommandError(
        "which account? Give --account-id, account_id in the configuration file, or CLOUDFLARE_ACCOUNT_ID.",
      );
    const { api, settings, ...context } = host.context("kv");
    // Uploads tell of their progress in the provider's way; here the commands do it in their own.
    const say = { ...host.say, info: () => undefined };
    return await work({ ctx: { api, settings, say, pause: (ms) => context.pause(ms) }, accountId });
  } finally {
    await host.close();
  }
}
