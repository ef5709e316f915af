import { Command, InvalidArgumentError, Option } from "commander";
import { CONTROL_PATH } from "./route";
import { type Credential, defaultCredentials, type Dialect, type LocalApiOptions } from "./options";
import { type LocalApi, startLocalApi } from "./server";
import { LocalApiStartError } from "./state-folder";

/** The command `edgeguard-local api`, which serves the API until Ctrl-C. */

interface Arguments {
  readonly port: number;
  readonly dialect: Dialect;
  readonly zones: number;
  readonly token: string;
  readonly persistTo?: string;
}

const program = new Command("edgeguard-local api")
  .description("serve a stateful stand-in for Cloudflare's API on 127.0.0.1 until Ctrl-C")
  .option("--port <number>", "the port to listen on; 0 picks a free one", portNumber, 8787)
  .option(
    "--persist-to <directory>",
    "keep the state in this directory, which is written when the command ends; default: discard it",
  )
  .option(
    "--zones <number>",
    "add this many simulated zones, which are the same at every start",
    wholeNumber,
    0,
  )
  .option("--token <text>", "the API token to accept", defaultCredentials[0].token)
  .addOption(
    new Option(
      "--dialect <name>",
      "which source to follow where Cloudflare's OpenAPI document and guides differ",
    )
      .choices(["openapi", "documented"])
      .default("openapi"),
  )
  .addHelpText(
    "after",
    `
It prints its zones and how to point a program at it. GET ${CONTROL_PATH} lists the control routes for faults, the request
log and the state.

Example:
  $ edgeguard-local api --port 8787 --persist-to .edgeguard/local-api`,
  );

/** Starts the API and prints how to use it. `args` are the arguments after `api`. */
export async function serve(args: readonly string[]): Promise<void> {
  const chosen = program.parse(args, { from: "user" }).opts<Arguments>();
  const credentials: Credential[] = [{ token: chosen.token }, defaultCredentials[1]];
  const options: LocalApiOptions = {
    port: chosen.port,
    zones: chosen.zones,
    dialect: chosen.dialect,
    credentials,
    ...(chosen.persistTo === undefined ? {} : { persistTo: chosen.persistTo }),
  };

  let api: LocalApi;
  try {
    api = await startLocalApi(options);
  } catch (error) {
    if (!(error instanceof LocalApiStartError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
    return;
  }

  console.log(greeting(api, chosen));
  const stop = () => {
    api.close().catch((error: unknown) => {
      console.error(`The state was not written: ${String(error)}`);
      process.exitCode = 1;
    });
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
}

function greeting(api: LocalApi, { token, dialect, persistTo, zones: simulated }: Arguments): string {
  const all = api.snapshot().zones;
  const listed = all.slice(0, all.length - simulated);
  const zones = listed.map(({ id, name, plan }) => `  ${id}  ${name.padEnd(26)} ${plan}`).join("\n");
  const accounts = Object.entries(api.accounts)
    .map(([name, id]) => `  ${id}  ${name}`)
    .join("\n");
  const kept =
    persistTo === undefined
      ? "is discarded when this command ends"
      : `is written to ${persistTo} when this command ends`;
  return `Local API (${dialect} dialect) at ${api.url}
Its state ${kept}. List of control routes (faults, request log, state): GET ${new URL(CONTROL_PATH, api.url).href}
Logpush destinations are directories: s3://bucket/path is ${api.logpush.folder}/s3/bucket/path

Account:
${accounts}

Zones:
${zones}${simulated === 0 ? "" : `\n  and ${simulated} simulated zones: GET ${api.url}/zones`}

To point programs and the edgeguard command at it, run this in their terminal:
  export EDGEGUARD_BASE_URL=${api.url} CLOUDFLARE_API_TOKEN=${token}
To point only one stack at it:
  pulumi config set edgeguard:baseUrl ${api.url}
  pulumi config set --secret edgeguard:apiToken ${token}

Press Ctrl-C to stop it.`;
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError("Pass a port, 0 to 65535.");
  return port;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("Pass a whole number, 0 or more.");
  return Number(text);
}
