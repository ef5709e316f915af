import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { catalogOf, type Summary } from "../../provider/kv/catalog";
import type { Entry } from "../../provider/kv/entry";
import { openSource, SourceError, type Declaration, type Source } from "../../provider/kv/source";

/** Stands in every bad value: no message may hold it. */
export const CANARY = "canary-7f3a";

/** Folder of a program, with the sources that it declares. */
export class ProjectFolder {
  readonly path = mkdtempSync(join(tmpdir(), "edgeguard-kv-"));

  put(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), content);
  }

  open(declaration: Declaration): Source {
    return openSource(declaration, this.path);
  }

  async entriesOf(declaration: Declaration): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const some of this.open(declaration).examine()) {
      for (const { checked } of some) {
        if ("problems" in checked) throw new SourceError(checked.problems[0]);
        entries.push(checked.entry);
      }
    }
    return entries;
  }

  async problemsOf(declaration: Declaration): Promise<readonly string[]> {
    const { problems } = await summarize(this.open(declaration));
    expect(problems.join("\n")).not.toContain(CANARY);
    return problems;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export async function summarize(source: Source, now?: number): Promise<Summary> {
  const { keys, bytes, digest, problems, expired, warnings } = await catalogOf(source, now);
  return { keys, bytes, digest, problems, expired, warnings };
}

export const text = (key: string, value: string): Entry => ({ key, value, base64: false });
