import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { REPOSITORY } from "../support/repository";

/** The declarations that are published. */

const PROVIDER = join(REPOSITORY, "provider");
const TYPES = join(PROVIDER, "dist/types");

const manifest = z.object({
  exports: z.record(z.string(), z.union([z.string(), z.object({ types: z.string() })])),
});

export interface Declaration {
  /** As a program imports it. Undefined for what several entry points share. */
  readonly entryPoint: string | undefined;
  readonly path: string;
  readonly text: string;
}

/** @throws if the roll-up is older than the compiler's output. */
export function declarations(): readonly Declaration[] {
  const rolledUp = statSync(join(TYPES, "index.d.ts"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const emitted = join(PROVIDER, "dist/declarations");
  const newest = readdirSync(emitted, { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(emitted, file)).mtimeMs)
    .reduce((latest, time) => Math.max(latest, time), 0);
  if (rolledUp < newest)
    throw new Error("provider/dist/types is not of the last build. Run `npm run build`.");

  const { exports } = manifest.parse(JSON.parse(readFileSync(join(PROVIDER, "package.json"), "utf8")));
  const entryPoints = new Map(
    Object.entries(exports).flatMap(([name, target]) =>
      typeof target === "string"
        ? []
        : [[join(PROVIDER, target.types), name.replace(/^\./, "pulumi-edgeguard")]],
    ),
  );
  // A file that is no entry point and that none imports is left from an earlier build.
  return [...entryPoints.keys(), join(TYPES, "shared.d.ts")].map((path) => ({
    entryPoint: entryPoints.get(path),
    path,
    text: readFileSync(path, "utf8"),
  }));
}
