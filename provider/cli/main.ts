#!/usr/bin/env node
import "../runtime/node-version";
import { processIo } from "../terminal/io";
import { run } from "./program";

// Set, not called: what is still being written to a pipe gets there.
void run(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
