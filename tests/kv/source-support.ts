import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { catalogOf, type Source, type Summary } from "../../provider/kv/catalog";
import { openSource, type Declaration } from "../../provider/kv/declaration";
import { checkEntry, type Entry } from "../../provider/kv/entry";
import { SourceError } from "../../provider/kv/source-handle";
import { folderPerTest } from "../support/bench";

/** Part of every invalid value; no message may contain it. */
export const CANARY = "canary-7f3a";

/** A program's folder with its sources, empty before each test. */
export class ProjectFolder {
  readonly path = folderPerTest("kv");

  put(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), content);
  }

  open(declaration: Declaration): Source {
    return openSource(declaration, this.path);
  }

  async entriesOf(declaration: Declaration): Promise<Entry[]> {
    const entries: Entry[] = [];
    const source = this.open(declaration);
    for await (const some of source.read()) {
      for (const given of some) {
        const checked = checkEntry(given, source.defaults);
        if ("problems" in checked) throw new SourceError(checked.problems[0]);
        entries.push(checked.entry);
      }
    }
    await source.close?.();
    return entries;
  }

  async problemsOf(declaration: Declaration): Promise<readonly string[]> {
    const { problems } = await summarize(this.open(declaration));
    expect(problems.join("\n")).not.toContain(CANARY);
    return problems;
  }
}

export async function summarize(source: Source, now?: number): Promise<Summary> {
  const { keys, bytes, digest, problems, expired } = await catalogOf(source, now);
  return { keys, bytes, digest, problems, expired };
}

export const text = (key: string, value: string): Entry => ({ key, value, base64: false });
