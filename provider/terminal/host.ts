import { Host } from "../runtime/host";
import { withVariables } from "./failure";
import { printToStderr, type Io } from "./io";
import type { StatusLine } from "./status-line";

/** Returns the host for a command that sends many requests. It prints only warnings. */
export function hostOf(
  io: Io,
  { account }: { readonly account?: string },
  closing: AbortSignal,
  status: StatusLine,
): Host {
  const config = new Map(account === undefined ? [] : [["edgeguard:accountId", account]]);
  const warn = (line: string): void => {
    status.clear();
    printToStderr(io, withVariables(line));
  };
  // The resources' info lines are meant for previews. Only warnings matter here.
  const out = { info: () => undefined, warn };
  return new Host({ config: (key) => config.get(key), env: io.env, out, closing });
}
