#!/usr/bin/env node
/** The command `edgeguard-local`. `api` starts the local API; the local engine runs every other command. */
import type * as Api from "./api/cli";

/* eslint-disable @typescript-eslint/no-require-imports -- loaded on use: neither command needs the other's modules */
if (process.argv[2] === "api") void (require("./api/cli") as typeof Api).serve(process.argv.slice(3));
else require("./engine/cli");
