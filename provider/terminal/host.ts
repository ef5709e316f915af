import { CancelledError } from "../api/errors";
import { Host, type HostOptions } from "../runtime/host";
import { InterruptedError } from "./errors";
import { requireCredential, withVariables } from "./failure";
import { printToStderr, type Io } from "./io";
import type { StatusLine } from "./status-line";

interface HostNeeds extends Pick<HostOptions, "env" | "signal" | "closing"> {
  /** Settings from the command line, such as `edgeguard:accountId`. */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  /** The line that shows progress instead of the resources' info lines, which are meant for previews. */
  readonly status?: StatusLine;
  /** What to say after Ctrl-C, such as `Nothing was written.` */
  readonly unfinished?: string;
}

/**
 * Runs a command's work with a connection to Cloudflare.
 *
 * @throws SettingsError if the environment's settings are invalid, or CommandError without a credential.
 */
export async function withHost<T>(
  io: Io,
  { settings = {}, status, unfinished, ...needs }: HostNeeds,
  work: (host: Host) => Promise<T>,
): Promise<T> {
  const warn = (line: string): void => {
    status?.clear();
    printToStderr(io, withVariables(line));
  };
  const info = status === undefined ? warn : () => undefined;
  const host = new Host({ config: (key) => settings[key], env: io.env, out: { info, warn }, ...needs });
  try {
    requireCredential(host.settings);
    return await work(host);
  } catch (error) {
    const isStopped = (needs.signal ?? needs.closing)?.aborted === true && error instanceof CancelledError;
    throw isStopped && unfinished !== undefined ? new InterruptedError(`interrupted. ${unfinished}`) : error;
  } finally {
    await host.close();
  }
}
