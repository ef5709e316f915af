import { existsSync } from "node:fs";
import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { inSeries } from "../basics/words";
import { CommandError } from "../terminal/errors";
import { makeFolder } from "../terminal/files";
import { withHost } from "../terminal/host";
import type { Io } from "../terminal/io";
import { StatusLine } from "../terminal/status-line";
import type { Host } from "../runtime/host";

/** The mode of a file that only its owner can read. */
export const SECRET_MODE = 0o600;

const GITIGNORE = ".gitignore";

/**
 * An import's output directory. Files are written to a temporary directory first and moved when all of them are ready,
 * so a failure leaves the files in the output directory unchanged.
 */
export class Staging {
  /** The absolute path of the output directory. */
  readonly folder: string;
  readonly #force: boolean;
  readonly #kept: string[] = [];
  #temporary: string | undefined;

  constructor(cwd: string, out: string, force: boolean) {
    this.folder = resolve(cwd, out);
    this.#force = force;
  }

  /**
   * Throws if a file exists, to avoid overwriting it. Called before the first request, and again for file names that
   * come from responses.
   */
  refuseExisting(...files: readonly string[]): void {
    if (this.#force) return;
    const [first, ...more] = files.filter((file) => existsSync(join(this.folder, file)));
    if (first === undefined) return;
    const [exist, them] = more.length === 0 ? ["exists", "it"] : ["exist", "them"];
    throw new CommandError(
      `${inSeries([first, ...more])} already ${exist} in ${this.folder}. Nothing was written. Pass another directory with --out, or --force to overwrite ${them}.`,
    );
  }

  /** Returns the temporary path for `file`. */
  async stage(file: string): Promise<string> {
    this.refuseExisting(file);
    if (this.#temporary === undefined) {
      makeFolder(this.folder);
      this.#temporary = await mkdtemp(join(this.folder, ".edgeguard-import-")); // Only the owner can read it.
      // If the process is killed, the folder stays behind, and Git shouldn't pick it up.
      await writeFile(join(this.#temporary, GITIGNORE), "*\n");
    }
    const path = join(this.#temporary, file);
    makeFolder(dirname(path));
    return path;
  }

  /** Marks a staged file to be moved. */
  keep(file: string): void {
    this.#kept.push(file);
  }

  /** Whether a file in that directory will be moved. */
  has(folder: string): boolean {
    return this.#kept.some((file) => file.startsWith(`${folder}/`));
  }

  async write(file: string, text: string, mode?: number): Promise<void> {
    await writeFile(await this.stage(file), text, mode === undefined ? {} : { mode });
    this.keep(file);
  }

  /**
   * Moves the staged files to the output directory.
   *
   * @param ignored patterns to add to .gitignore unless it already has them.
   * @returns the files, relative to `from`.
   */
  async finish(from: string, ignored: readonly string[]): Promise<string[]> {
    const files = [...this.#kept];
    for (const file of files) {
      const target = join(this.folder, file);
      makeFolder(dirname(target));
      await rename(join(this.#temporary ?? "", file), target); // Keeps its mode when it replaces a file.
    }
    if (await this.#ignore(ignored)) files.push(GITIGNORE);
    await this.discard();
    return files.sort(byDepth).map((file) => relative(from, join(this.folder, file)));
  }

  /**
   * Runs a command that reads from the API and writes its files here. After Ctrl-C, requests in progress end.
   *
   * @param unfinished what to say after Ctrl-C. Without it, the command says so itself.
   */
  async use(
    io: Io,
    { account, unfinished }: { readonly account: string | undefined; readonly unfinished?: string },
    work: (host: Host, status: StatusLine, stop: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const status = new StatusLine(io);
    const closing = io.interrupted();
    const settings = { "edgeguard:accountId": account };
    try {
      const needs = { settings, closing, status, ...(unfinished !== undefined && { unfinished }) };
      await withHost(io, needs, (host) => work(host, status, closing));
    } finally {
      status.clear();
      await this.discard();
    }
  }

  /** Removes every file that wasn't moved. The output directory stays, even if it's new and empty. */
  async discard(): Promise<void> {
    if (this.#temporary !== undefined) await rm(this.#temporary, { recursive: true, force: true });
    this.#temporary = undefined;
  }

  async #ignore(patterns: readonly string[]): Promise<boolean> {
    const path = join(this.folder, GITIGNORE);
    const text = existsSync(path) ? await readFile(path, "utf8") : "";
    const bare = (pattern: string): string => pattern.trim().replace(/^\/|\/$/g, "");
    const known = new Set(text.split(/\r?\n/).map(bare));
    const missing = patterns.filter((pattern) => !known.has(bare(pattern)));
    if (missing.length === 0) return false;
    const gap = text === "" || text.endsWith("\n") ? "" : "\n";
    await appendFile(path, `${gap}${missing.map((pattern) => `${pattern}\n`).join("")}`);
    return true;
  }
}

function byDepth(a: string, b: string): number {
  return a.split("/").length - b.split("/").length;
}
