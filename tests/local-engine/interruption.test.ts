import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI, nameOf, storyOf, type TestStack } from "./support";

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(20);
}

/** Starts `up` in a process of its own and waits until the provider is at work. */
async function startUp(stack: TestStack, call: string) {
  const child = spawn(process.execPath, [CLI, "up", "--yes", "--skip-preview"], {
    cwd: stack.directory,
    env: stack.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const ended = once(child, "close");
  const log = stack.file("world/calls.log");
  await until(() => existsSync(log) && readFileSync(log, "utf8").includes(call));
  return { child, ended, output: () => out };
}

describe("an interruption", () => {
  const story = storyOf({
    resources: { quick: {}, slow: { args: { wait: 60_000 }, opts: { dependsOn: ["quick"] } } },
  });

  it("by kill -9 leaves a lock, which only cancel removes", async () => {
    const stack = story();
    const { child, ended } = await startUp(stack, "create slow");
    child.kill("SIGKILL");
    await ended;
    const locked = await stack.run("up", "--yes", "--skip-preview");
    expect(locked.exitCode).toBe(1);
    expect(locked.err).toContain("the stack is currently locked by 1 lock(s)");
    expect(locked.err).toContain(`(pid ${String(child.pid)})`);
    await stack.ok("cancel", "--yes");
  });

  it("leaves a pending operation, of which the next updates warn until it is cleared", async () => {
    const stack = story();
    const { resources, pending_operations } = await stack.export();
    expect(resources.map(({ urn }) => nameOf(urn))).toEqual(["test-dev", "default", "quick"]);
    expect(pending_operations).toMatchObject([{ type: "creating", resource: { inputs: { label: "slow" } } }]);
    stack.calls();
    stack.scene({ resources: { quick: {}, slow: { args: { wait: 1 } } } });
    expect(await stack.up()).toContain("slow, interrupted while creating");
    expect(stack.calls()).toEqual(["create slow", "created slow"]);
    expect((await stack.export()).pending_operations).toHaveLength(1);
    await stack.ok("refresh", "--yes", "--skip-preview", "--clear-pending-creates");
    expect((await stack.export()).pending_operations).toEqual([]);
  });

  it("by Ctrl-C lets the running step finish and begins no other", async () => {
    const stack = story();
    stack.calls();
    stack.scene({
      resources: { next: { args: { wait: 500 } }, last: { args: { from: { of: "next", take: "made" } } } },
    });
    const { child, ended, output } = await startUp(stack, "create next");
    child.kill("SIGINT");
    expect(await ended).toEqual([1, null]);
    expect(output()).toContain("update canceled");
    expect(stack.calls()).toEqual(["create next", "created next"]);
    expect((await stack.export()).resources.map(({ urn }) => nameOf(urn)).sort()).toEqual([
      "default",
      "next",
      "quick",
      "slow",
      "test-dev",
    ]);
  });

  it("is no matter to an update that does one thing at a time", async () => {
    const stack = story();
    stack.scene({ resources: { x: { args: { wait: 100 } }, y: { args: { wait: 100 } } } });
    await stack.up("--parallel", "1");
    const made = stack.calls().filter((call) => call.startsWith("create"));
    expect(made.map((call) => call.split(" ")[0])).toEqual(["create", "created", "create", "created"]);
  });
});
