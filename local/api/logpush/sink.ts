import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface SinkFile {
  /**
   * The file's path: the scheme, the bucket or host, and the path there, such as
   * `s3/my-bucket/logs/ownership-challenge-1f2e3d4c.txt`.
   */
  readonly path: string;
  readonly bytes: number;
}

/**
 * A directory that represents all Logpush destinations. By default, a temporary directory that exists from the first
 * write until the API closes.
 */
export class Sink {
  #folder: string | undefined;
  readonly #kept: string | undefined;

  constructor(kept: string | undefined) {
    this.#kept = kept;
    this.#folder = kept;
  }

  get folder(): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "edgeguard-logpush-"));
    return this.#folder;
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  files(): SinkFile[] {
    const { folder } = this;
    mkdirSync(folder, { recursive: true });
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((path) => ({ path: path.replaceAll("\\", "/"), stat: statSync(join(folder, path)) }))
      .filter(({ stat }) => stat.isFile())
      .map(({ path, stat }) => ({ path, bytes: stat.size }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Returns a file's content. Undefined if it isn't a file in the sink. */
  read(path: string): string | undefined {
    return this.files().some((file) => file.path === path)
      ? readFileSync(join(this.folder, path), "utf8")
      : undefined;
  }

  close(): void {
    if (this.#kept === undefined && this.#folder !== undefined)
      rmSync(this.#folder, { recursive: true, force: true });
  }
}
