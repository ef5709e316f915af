import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface SinkFile {
  /**
   * The file's path: the scheme, the bucket or host, and the path there, such as
   * `s3/my-bucket/logs/ownership-challenge-1f2e3d4c.txt`.
   */
  readonly path: string;
}

/** A temporary directory that represents all Logpush destinations, from the first write until the API closes. */
export class Sink {
  readonly #texts = new Map<string, string>();
  #folder: string | undefined;

  get folder(): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "edgeguard-logpush-"));
    return this.#folder;
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    this.#texts.set(path, text);
  }

  files(): SinkFile[] {
    return [...this.#texts.keys()].sort().map((path) => ({ path }));
  }

  /** Returns a file's content. Undefined if it isn't a file in the sink. */
  read(path: string): string | undefined {
    return this.#texts.get(path);
  }

  close(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
