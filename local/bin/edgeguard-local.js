#!/usr/bin/env node
// Not built, so that npm finds it when it links a fresh checkout, before anything is.
require("../dist/cli.js");
