import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
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

/**
 * The entry points, and the files that they share.
 *
 * @throws if the roll-up is older than the compiler's output.
 */
export function declarations(): readonly Declaration[] {
  const rolledUp = statSync(join(TYPES, "index.d.ts"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const emitted = join(PROVIDER, "dist/declarations");
  const newest = readdirSync(emitted, { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(emitted, file)).mtimeMs)
    .reduce((latest, time) => Math.max(latest, time), 0);
  if (rolledUp < newest)
    throw new Error("provider/dist/types is not of the last build. Run `npm run build`.");

  const { exports } = manifest.parse(JSON.parse(readFileSync(join(PROVIDER, "package.json"), "utf8")));
  const found = new Map<string, Declaration>();
  const visit = (path: string, entryPoint?: string): void => {
    if (found.has(path)) return;
    const text = readFileSync(path, "utf8");
    found.set(path, { entryPoint, path, text });
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (fileName.startsWith("./")) visit(join(TYPES, fileName.replace(/\.js$/, ".d.ts")));
  };
  const entryPoints = Object.entries(exports).flatMap(([name, target]) =>
    typeof target === "string" ? [] : [[name.replace(/^\./, "pulumi-edgeguard"), target.types] as const],
  );
  for (const [name, types] of entryPoints) visit(join(PROVIDER, types), name);
  return [...found.values()];
}
