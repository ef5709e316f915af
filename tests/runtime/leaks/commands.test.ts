import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { run } from "../../../provider/cli/program";
import { LONG } from "../../support/long";
import { FailingApi, failuresOf, type Plan } from "./failures";
import { OTHERS, prepare } from "./rows";

/** Whatever a response repeats, no command prints or writes the secrets of the objects that it reads. */

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-leaks-"));
const FAILURES = failuresOf(Object.values(OTHERS));
/** The normal run takes every so many cells. */
const EVERY = LONG ? 1 : 29;

let api: LocalApi;
let failing: FailingApi;
beforeAll(async () => {
  api = await startLocalApi();
  failing = await FailingApi.inFrontOf(api);
  await prepare(api, FOLDER);
});
afterAll(async () => {
  failing.close();
  await api.close();
  rmSync(FOLDER, { recursive: true });
});

const COMMANDS: Readonly<Record<string, (out: string) => readonly string[]>> = {
  import: (out) => ["import", "--zone", api.zones.empty, "--account", api.accounts.main, "--out", out],
  survey: (out) => ["survey", "--budget", "100", "--zones", "zones.txt", "--out", out],
  "inventory propose": (out) => ["inventory", "propose", "--zone", api.zones.shop, "--file", `${out}.yaml`],
};

interface Printed {
  readonly said: string;
  /** By name. */
  readonly files: ReadonlyMap<string, string>;
}

let runs = 0;

/** Runs a command in a folder of its own. */
async function runIn(command: string): Promise<Printed> {
  const cwd = mkdtempSync(join(FOLDER, "run-"));
  const stream = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY: false });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const env = {
    EDGEGUARD_BASE_URL: failing.url,
    EDGEGUARD_MAX_RETRIES: "0",
    EDGEGUARD_DEBUG: "1",
    // A rate budget of its own.
    CLOUDFLARE_API_TOKEN: `local-token-${(runs += 1)}`,
    EDGEGUARD_ACCOUNT_ID: api.accounts.main,
  };
  const io = { stdin, stdout, stderr, env, cwd, interrupted: () => new AbortController().signal };
  const out = join(cwd, "out");
  writeFileSync(join(cwd, "zones.txt"), "shop.example\n");
  await run([...(COMMANDS[command]?.(out) ?? [])], io);
  stdout.end();
  stderr.end();
  const names = readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = names.flatMap((each) =>
    each.isFile() ? [[each.name, readFileSync(join(each.parentPath, each.name), "utf8")] as const] : [],
  );
  rmSync(cwd, { recursive: true });
  return { said: (await said).join("\n"), files: new Map(files) };
}

const HAVE_SECRETS = ["import.json", "import-config.sh"];

function leaksIn({ said, files }: Printed): string[] {
  const texts = new Map([["what it said", said], ...files]);
  return Object.values(OTHERS).flatMap((canary) => {
    const pieces = Array.from({ length: canary.length - 7 }, (_, at) => canary.slice(at, at + 8));
    return [...texts].flatMap(([name, given]) => {
      // `pulumi import` and `pulumi config set --secret` read the secrets from these files.
      if (HAVE_SECRETS.includes(name) && canary === OTHERS.destination) return [];
      const found = pieces.find((piece) => given.includes(piece));
      if (found === undefined) return [];
      const at = given.indexOf(found);
      return [`${name}: …${given.slice(Math.max(0, at - 200), at + 60)}`];
    });
  });
}

test.each(Object.keys(COMMANDS))(
  `edgeguard %s leaks nothing${LONG ? "" : " (a sample)"}`,
  async (command) => {
    let first: Printed | undefined;
    const requests = await failing.during(undefined, async () => {
      first = await runIn(command);
    });
    expect(requests).toBeGreaterThan(1);
    const leaks = first === undefined ? ["nothing ran"] : leaksIn(first);
    let cells = 1;
    for (let at = 0; at < requests; at += 1)
      for (const [index, [kind, failure]] of [...FAILURES].entries()) {
        if ((at * FAILURES.size + index) % EVERY !== 0) continue;
        cells += 1;
        const plan: Plan = { failure, fails: (request) => request === at };
        await failing.during(plan, async () => {
          const found = leaksIn(await runIn(command));
          leaks.push(...found.map((leak) => `${kind} to request ${at} of ${requests}: ${leak}`));
        });
      }
    if (LONG) console.log(`edgeguard ${command}: ${cells} cells`);
    expect(leaks).toEqual([]);
  },
  LONG ? 3_600_000 : 60_000,
);
