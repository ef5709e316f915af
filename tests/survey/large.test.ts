import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeLong } from "../support/long";
import { BIN } from "../cli/support";
import { Ground } from "./support";

const ZONES = 4_000;
const SEEDED = 18;
/** Five minutes of the documented rate limit pass in three seconds. */
const SCALE = 100;
const MAX_RSS_MB = 200;

/** Starts the command as a process whose clocks run as fast as the local API's. */
function start(ground: Ground, ...args: readonly string[]): ChildProcess {
  const preload = join(__dirname, "../support/scaled-time.cjs");
  return spawn(process.execPath, ["--require", preload, BIN, "survey", ...args], {
    cwd: ground.cwd,
    env: {
      PATH: process.env["PATH"] ?? "",
      EDGEGUARD_BASE_URL: ground.api.url,
      CLOUDFLARE_API_TOKEN: "local-token",
      TIME_SCALE: String(SCALE),
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** The most memory that the process has used so far, in MB. */
function peakMb({ pid = 0 }: ChildProcess): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0; // It has ended.
  }
}

async function largeAccount(): Promise<Ground> {
  const began = Date.now();
  return await Ground.with({
    zones: ZONES,
    clock: () => new Date(began + (Date.now() - began) * SCALE),
    rateLimit: { requests: 1_200, windowMs: 300_000, retryAfterSeconds: 300 },
    limits: { maxLoggedRequests: 200_000 },
  });
}

describeLong("a survey of 4,000 zones", () => {
  it("uses less than 200 MB, stays within the documented rate limit, and has the same result if killed and resumed ten times", async () => {
    const ground = await largeAccount();
    const whole = start(ground, "--out", "whole", "--payment-pages", "checkout.*");
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, peakMb(whole))), 50);
    const [code] = (await once(whole, "exit")) as [number | null];
    clearInterval(watch);
    const refused = ground.api.requests.filter(({ status }) => status === 429);
    const sent = ground.api.requests.length;
    console.log(`${sent} requests, ${refused.length} refused, at most ${Math.round(peak)} MB`);
    expect([code, refused.length]).toEqual([0, 0]);
    expect(peak).toBeLessThan(MAX_RSS_MB);
    expect(ground.result("whole").zones).toHaveLength(ZONES + SEEDED);

    ground.api.clearRequests();
    const journal = join(ground.cwd, "killed/.edgeguard-survey.jsonl");
    for (let kill = 0; kill < 10; kill += 1) {
      const resumed = existsSync(journal) ? ["--resume"] : [];
      const killed = start(ground, "--out", "killed", "--payment-pages", "checkout.*", ...resumed);
      const sentBefore = (sent * (kill + Math.random())) / 11;
      while (ground.api.requests.length < sentBefore && killed.exitCode === null) await sleep(20);
      killed.kill("SIGKILL");
      await once(killed, "exit");
    }
    const last = start(ground, "--out", "killed", "--payment-pages", "checkout.*", "--resume");
    expect(await once(last, "exit")).toEqual([0, null]);
    expect({ ...ground.result("killed"), at: "" }).toEqual({ ...ground.result("whole"), at: "" });
    const reads = ground.api.requests.filter(({ path }) => path.endsWith("/waf_migration/status")).length;
    console.log(`zones read more than once: ${reads - ZONES - SEEDED}`);
    expect(reads - ZONES - SEEDED).toBeLessThanOrEqual(10 * ZONES_AT_ONCE);
  }, 1_800_000);
});

/** As in provider/survey/run.ts: what a killed process had in flight. */
const ZONES_AT_ONCE = 4;
