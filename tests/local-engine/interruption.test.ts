import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI, nameOf, sharedStack, type TestStack } from "./support";

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(20);
}

/** Starts `up` in a separate process and waits for the provider call. */
async function startUp(stack: TestStack, call: string) {
  const child = spawn(process.execPath, [CLI, "up", "--yes", "--skip-preview"], {
    cwd: stack.directory,
    env: stack.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const ended = once(child, "close");
  const log = stack.file("objects/calls.log");
  await until(() => existsSync(log) && readFileSync(log, "utf8").includes(call));
  return { child, ended, output: () => out };
}

describe("an interrupted update", () => {
  const getStack = sharedStack({
    resources: { quick: {}, slow: { args: { wait: 60_000 }, opts: { dependsOn: ["quick"] } } },
  });

  it("leaves a lock after kill -9, which only cancel removes", async () => {
    const stack = getStack();
    const { child, ended } = await startUp(stack, "create slow");
    child.kill("SIGKILL");
    await ended;
    const locked = await stack.run("up", "--yes", "--skip-preview");
    expect(locked.exitCode).toBe(1);
    expect(locked.err).toContain("the stack is currently locked by 1 lock(s)");
    expect(locked.err).toContain(`(pid ${String(child.pid)})`);
    await stack.ok("cancel", "--yes");
  });

  it("leaves a pending operation after kill -9, and later updates warn about it until it's cleared", async () => {
    const stack = getStack();
    const { resources, pending_operations } = await stack.export();
    expect(resources.map(({ urn }) => nameOf(urn))).toEqual(["test-dev", "default", "quick"]);
    expect(pending_operations).toMatchObject([{ type: "creating", resource: { inputs: { label: "slow" } } }]);
    stack.calls();
    stack.setProgram({ resources: { quick: {}, slow: { args: { wait: 1 } } } });
    expect(await stack.up()).toContain("slow, interrupted while creating");
    expect(stack.calls()).toEqual(["create slow", "created slow"]);
    expect((await stack.export()).pending_operations).toHaveLength(1);
    await stack.ok("refresh", "--yes", "--skip-preview", "--clear-pending-creates");
    expect((await stack.export()).pending_operations).toEqual([]);
  });

  it("finishes the running step after Ctrl-C, and starts no others", async () => {
    const stack = getStack();
    stack.calls();
    stack.setProgram({
      resources: { next: { args: { wait: 500 } }, last: { args: { from: { of: "next", output: "made" } } } },
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

  it("is followed by an update that runs one step at a time with --parallel 1", async () => {
    const stack = getStack();
    stack.setProgram({ resources: { x: { args: { wait: 100 } }, y: { args: { wait: 100 } } } });
    await stack.up("--parallel", "1");
    const made = stack.calls().filter((call) => call.startsWith("create"));
    expect(made.map((call) => call.split(" ")[0])).toEqual(["create", "created", "create", "created"]);
  });
});
