import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, LocalApi } from "edgeguard-local";
import { finished, type Project, type RunResult } from "../support/engine";
import type { Random } from "./random";

/** A few faults for the next requests. */
export function faultsFor(random: Random): Fault[] {
  return Array.from({ length: random.int(0, 5) }, () => fault(random));
}

const METHODS = ["POST", "PUT", "GET", "DELETE", "PATCH"];
const PLACES = [
  "page_shield$",
  "page_shield/policies",
  "entrypoint",
  "/rulesets",
  "/rules",
  "logpush/jobs",
  "logpush/transformers",
  "/namespaces$",
  "/bulk",
  "/keys$",
  "waf",
];

function fault(random: Random): Fault {
  const match = {
    ...random.maybe("method", () => random.pick(METHODS), 0.6),
    ...random.maybe("path", () => random.pick(PLACES), 0.5),
  };
  const scope = { match, times: random.pick([1, 1, 1, 2, 4]) };
  return random.pick<() => Fault>([
    () => ({ ...scope, kind: "status", status: 429, retryAfter: random.pick([0, 1]) }),
    () => ({ ...scope, kind: "status", status: random.pick([500, 502, 503, 504]) }),
    () => ({ ...scope, kind: "status", status: random.pick([403, 409]), times: 1 }),
    () => ({ ...scope, kind: "dropBefore" }),
    () => ({ ...scope, kind: "dropAfter" }),
    () => ({ ...scope, kind: "truncated" }),
    () => ({ ...scope, kind: "slow", delayMs: random.int(20, 400), when: random.pick(["before", "after"]) }),
    () => ({
      ...scope,
      kind: "raw",
      status: random.pick([200, 502, 503]),
      body: "<html><h1>Bad gateway</h1></html>",
    }),
    () => ({ ...scope, kind: "unsuccessful", fraction: random.pick([0.3, 1]) }),
    () => ({ ...scope, kind: "emptyPage" }),
  ])();
}

/** Which process is killed, and after how many requests. */
export interface Kill {
  readonly what: "host" | "engine";
  readonly afterRequests: number;
  readonly delayMs: number;
}

export function killFor(random: Random, resources: number): Kill {
  return {
    what: random.pick(["host", "engine"]),
    afterRequests: random.int(1, resources * 4),
    delayMs: random.int(0, 30),
  };
}

/** Runs a command, and kills its engine or provider host. */
export async function runAndKill(
  api: LocalApi,
  project: Project,
  args: readonly string[],
  { what, afterRequests, delayMs }: Kill,
): Promise<RunResult> {
  const child = project.start(...args);
  const result = finished(child);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const isDue = (): boolean => api.requests.length >= afterRequests;
  while (isRunning() && !isDue()) await sleep(15);
  await sleep(delayMs);
  if (isRunning()) {
    if (what === "engine") child.kill("SIGKILL");
    else for (const pid of hostsOf(project)) kill(pid);
  }
  const ended = await result;
  // The remaining processes end within a second, and so do their requests.
  for (let waited = 0; hostsOf(project).length > 0; waited += 20) {
    if (waited > 10_000) throw new Error("the provider host still runs without its engine");
    await sleep(20);
  }
  while (api.requests.some(({ endedAt, status }) => endedAt === null && status === null)) await sleep(20);
  await project.run("cancel", "--yes");
  return ended;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    const hasEnded = typeof error === "object" && error !== null && "code" in error && error.code === "ESRCH";
    if (!hasEnded) throw error;
  }
}

/** IDs of this project's provider host processes. */
function hostsOf(project: Project): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => {
      try {
        return (
          readlinkSync(`/proc/${pid}/cwd`) === project.dir &&
          readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("cmd/dynamic-provider")
        );
      } catch {
        return false; // It ended meanwhile, or belongs to another user.
      }
    })
    .map(Number);
}
