import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalApiStartError } from "./start-error";
import { type Snapshot, snapshotSchema } from "./state";

const FILE_NAME = "local-api.json";

/** The state that an earlier run left in `folder`; undefined when there is none. */
export function load(folder: string): Snapshot | undefined {
  const file = join(folder, FILE_NAME);
  if (!existsSync(file)) return undefined;
  try {
    return snapshotSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    throw new LocalApiStartError(
      `${file} is not a state of this local API: delete it, or persist to another folder.`,
      { cause },
    );
  }
}

/** Written beside and moved into place, so that a killed process leaves the old state or the new one. */
export function save(folder: string, snapshot: Snapshot): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, FILE_NAME);
  writeFileSync(`${file}.new`, JSON.stringify(snapshot, null, 2));
  renameSync(`${file}.new`, file);
}
