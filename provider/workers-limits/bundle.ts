import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { CheckError } from "./finding";
import { whyUnreadable } from "../runtime/files";

/**
 * Bytes of a function after compression: it is compressed, with gzip at its default level, as for an upload. Of a folder
 * every file counts but source maps, which are not part of what runs.
 *
 * @throws CheckError where it cannot be read.
 */
export function compressedBytes(bundle: string | Uint8Array): number {
  return gzipSync(typeof bundle === "string" ? Buffer.concat(read(bundle)) : bundle).length;
}

function read(path: string): Buffer[] {
  try {
    return statSync(path).isDirectory()
      ? [...filesOf(path)].map((file) => readFileSync(file))
      : [readFileSync(path)];
  } catch (error) {
    throw new CheckError(`The bundle ${path} cannot be read: ${whyUnreadable(error)}.`);
  }
}

function* filesOf(folder: string): Generator<string> {
  const found = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const one of found) {
    const path = join(folder, one.name);
    if (one.isDirectory()) yield* filesOf(path);
    else if (!one.name.endsWith(".map")) yield path;
  }
}
