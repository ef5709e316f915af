import { Command, InvalidArgumentError, Option } from "commander";
import { CONTROL_PATH } from "./route";
import { type Credential, defaultCredentials, type Dialect, type LocalApiOptions } from "./options";
import { type LocalApi, startLocalApi } from "./server";
import { LocalApiStartError } from "./lease";

interface Arguments {
  readonly port: number;
  readonly dialect: Dialect;
  readonly strict: boolean;
  readonly sparse: boolean;
  readonly token: string;
  readonly persistTo?: string;
  readonly latency: number;
  readonly readLag: number;
  readonly listLag: number;
}

const program = new Command("local-api")
  .description("A stateful stand-in for the edge API, on this machine only.")
  .option("--port <number>", "0 takes a free port", wholeNumber, 8787)
  .addOption(
    new Option("--dialect <name>", "side to take where specification and published API differ")
      .choices(["published", "seed"])
      .default("published"),
  )
  .option("--strict", "refuse what only the other dialect knows", false)
  .option("--sparse", "leave out of answers what the published document does not require", false)
  .option("--token <text>", "the accepted API token", defaultCredentials[0].token)
  .option("--persist-to <folder>", "keep the state there between runs")
  .option("--latency <ms>", "wait before each answer", wholeNumber, 0)
  .option("--read-lag <ms>", "reads see a write only after this long", wholeNumber, 0)
  .option("--list-lag <ms>", "listings alone see a write only after this long", wholeNumber, 0);

void main();

async function main(): Promise<void> {
  const chosen = program.parse().opts<Arguments>();
  const credentials: Credential[] = [{ token: chosen.token }, defaultCredentials[1]];
  const options: LocalApiOptions = {
    port: chosen.port,
    dialect: chosen.dialect,
    strict: chosen.strict,
    sparse: chosen.sparse,
    credentials,
    latencyMs: chosen.latency,
    readLagMs: chosen.readLag,
    listLagMs: chosen.listLag,
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
  const stop = () => void api.close();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

function greeting(api: LocalApi, { token, dialect, persistTo }: Arguments): string {
  const zones = api
    .snapshot()
    .zones.map(({ id, name, plan }) => `  ${id}  ${name.padEnd(26)} ${plan}`)
    .join("\n");
  const accounts = Object.entries(api.accounts)
    .map(([name, id]) => `  ${id}  ${name}`)
    .join("\n");
  const kept = persistTo === undefined ? "forgotten when it stops" : `kept in ${persistTo}`;
  return `Local edge API (${dialect} dialect) at ${api.url}
Its state is ${kept}. Faults, request log and state: ${new URL(CONTROL_PATH, api.url).href}

Account:
${accounts}

Zones:
${zones}

Point a Pulumi program at it:
  pulumi config set edgeguard:baseUrl ${api.url}
  pulumi config set --secret edgeguard:apiToken ${token}
or by the environment:
  export EDGEGUARD_BASE_URL=${api.url} CLOUDFLARE_API_TOKEN=${token}

Ctrl-C stops it.`;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}
