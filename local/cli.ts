#!/usr/bin/env node
/** `edgeguard-local`: `api` serves the local API, everything else is a command of the local engine. */
import type * as Api from "./api/cli";

/* eslint-disable @typescript-eslint/no-require-imports -- loaded on use: neither needs what the other does */
if (process.argv[2] === "api") void (require("./api/cli") as typeof Api).serve(process.argv.slice(3));
else require("./engine/cli");
