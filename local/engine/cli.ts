#!/usr/bin/env node
/** Runs the local engine as a command. The first Ctrl-C lets running steps finish; the second one stops immediately. */
import { killChildren } from "./children";
import { runEngine } from "./index";

const interruption = new AbortController();

process.on("SIGINT", () => {
  if (interruption.signal.aborted) process.exit(130);
  process.stderr.write("Finishing the running steps. Press Ctrl-C again to stop at once.\n");
  interruption.abort();
});
process.on("SIGTERM", () => interruption.abort());
process.on("exit", killChildren);

// A closed pipe (`| head`) must not end a run halfway.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);

void runEngine(process.argv.slice(2), { signal: interruption.signal }).then((exitCode) => {
  process.exitCode = exitCode;
});
