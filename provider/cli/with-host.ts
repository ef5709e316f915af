import { CancelledError } from "../api/errors";
import { Host } from "../runtime/host";
import { InterruptedError } from "../terminal/errors";
import { requireCredential, withVariables } from "../terminal/failure";
import { printToStderr, type Io } from "../terminal/io";

/**
 * Runs work with a connection to Cloudflare.
 *
 * @param unfinished the message after Ctrl-C.
 */
export async function withHost<T>(io: Io, unfinished: string, work: (host: Host) => Promise<T>): Promise<T> {
  const stop = io.interrupted();
  const warn = (line: string): void => printToStderr(io, withVariables(line));
  const host = new Host({ config: () => undefined, env: io.env, out: { info: warn, warn }, signal: stop });
  try {
    requireCredential(host.settings);
    return await work(host);
  } catch (error) {
    if (stop.aborted && error instanceof CancelledError)
      throw new InterruptedError(`interrupted. ${unfinished}`);
    throw error;
  } finally {
    await host.close();
  }
}
