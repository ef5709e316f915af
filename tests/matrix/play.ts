import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { z } from "zod";
import { rawSend } from "../support/operation";
import type { Installed } from "./install";
import type { Engine } from "./rows";
import { isWrite } from "../support/is-write";

/** Runs a small stack in an installed project from create to destroy, and checks the API instead of the engine's output. */

export async function play(project: Installed, engine: Engine): Promise<void> {
  const api = await startLocalApi();
  const home = mkdtempSync(join(tmpdir(), "edgeguard-matrix-"));
  mkdirSync(join(home, "state"));
  const pulumi = commandOf(project, engine, home);
  try {
    configure(project, api);
    const before = await stateOf(api);
    if (project.row.program !== "automation") await pulumi("stack", "init", "dev");

    await pulumi("preview");
    equal(writesOf(api), [], "a preview writes nothing");

    await pulumi("up", "--yes", "--skip-preview");
    const created = { enabled: true, namespaces: [...before.namespaces, "sessions"].toSorted() };
    equal(await stateOf(api), created, "up creates what the program declares");

    api.clearRequests();
    await pulumi("preview", "--expect-no-changes");
    equal(writesOf(api), [], "an unchanged stack needs no write");

    await pulumi("destroy", "--yes", "--skip-preview");
    equal(await stateOf(api), before, "destroy leaves the API as it was");
  } finally {
    await api.close();
    rmSync(home, { recursive: true });
  }
}

/** Compares JSON: under jest, what the API returns comes from another realm, with other prototypes. */
function equal(received: unknown, expected: unknown, message: string): void {
  assert.deepEqual(JSON.parse(JSON.stringify(received)), JSON.parse(JSON.stringify(expected)), message);
}

/** The project's unit test passes. */
export async function runUnitTest({ directory, exec }: Installed, command: readonly string[]): Promise<void> {
  await exec(directory, "npx", "--no-install", ...command);
}

/** A right program compiles, and a wrong one beside it doesn't. */
export async function compile({ directory, exec }: Installed): Promise<void> {
  const tsc = join(directory, "node_modules/.bin/tsc");
  await exec(directory, tsc, "--noEmit");
  const wrong =
    'import { PageShieldSettings } from "pulumi-edgeguard";\nnew PageShieldSettings("shop", { zoneId: 7 });\n';
  writeFileSync(join(directory, "index.ts"), wrong);
  const problem = await exec(directory, tsc, "--noEmit").then(
    () => "compiled",
    (error: unknown) => String(error),
  );
  if (!problem.includes("index.ts(2,34): error TS2322")) throw new Error(`a wrong program: ${problem}`);
}

function commandOf({ row, localEngine, exec }: Installed, engine: Engine, home: string) {
  return (...args: readonly string[]): Promise<void> => {
    if (row.program === "automation") return exec(home, "node", "index.js", ...args);
    if (engine === "cli") return exec(home, "pulumi", ...args, "--non-interactive");
    return exec(home, ...localEngine, ...args);
  };
}

function configure({ directory }: Installed, api: LocalApi): void {
  const config = {
    "matrix:zoneId": api.zones.empty,
    "edgeguard:accountId": api.accounts.main,
    "edgeguard:baseUrl": api.url,
  };
  writeFileSync(join(directory, "Pulumi.dev.yaml"), JSON.stringify({ config }));
}

const response = z.object({
  settings: z.object({ enabled: z.boolean() }),
  namespaces: z.array(z.object({ title: z.string() })),
});

async function stateOf(api: LocalApi) {
  const settings = await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield`);
  const namespaces = await rawSend(api, "GET", `/accounts/${api.accounts.main}/storage/kv/namespaces`);
  const read = response.parse({ settings: settings.result, namespaces: namespaces.result });
  return { enabled: read.settings.enabled, namespaces: read.namespaces.map(({ title }) => title).toSorted() };
}

/** Requests of the program: the ones above read only. */
const writesOf = ({ requests }: LocalApi): string[] =>
  requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);
