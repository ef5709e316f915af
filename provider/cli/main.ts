#!/usr/bin/env node
import "../runtime/node-version";
import { processIo } from "../terminal/io";
import { run } from "./program";

// Not process.exit(): output that's still being written to a pipe would be lost.
void run(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
