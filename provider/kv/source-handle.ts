import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { NotRegularError, readErrorReason } from "../basics/files";

/** Thrown if a source of entries can't be read, or contains entries that Cloudflare would reject. */
export class SourceError extends Error {
  override readonly name: string = "SourceError";
}

const CHUNK_BYTES = 1024 * 1024;

/** An open file, with a check for whether it has changed since it was opened. */
export class SourceHandle {
  /** The file's name in messages. */
  readonly name: string;
  readonly #file: FileHandle;
  /** The file's size and modification time when it was opened. */
  readonly #stamp: string;

  private constructor(name: string, file: FileHandle, stamp: string) {
    this.name = name;
    this.#file = file;
    this.#stamp = stamp;
  }

  /** @throws SourceError */
  static async open(path: string, name: string): Promise<SourceHandle> {
    try {
      const file = await openFile(path);
      return new SourceHandle(name, file, await stampOf(file));
    } catch (error) {
      throw new SourceError(`${name} can't be read: ${readErrorReason(error)} (full path: ${path})`);
    }
  }

  /**
   * Fills the buffer from `offset` in the file. Returns fewer bytes only at the end of the file. @throws SourceError
   */
  async read(into: Buffer, offset: number): Promise<Buffer> {
    let length = 0;
    while (length < into.length) {
      const { bytesRead } = await this.#file
        .read(into, length, into.length - length, offset + length)
        .catch((error: unknown) => {
          throw new SourceError(`${this.name} can't be read: ${readErrorReason(error)}`);
        });
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return into.subarray(0, length);
  }

  /** Computes the file's SHA-256: 64 hex digits. @throws SourceError */
  async sha256(): Promise<string> {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let piece: Buffer;
    for (let at = 0; (piece = await this.read(buffer, at)).length > 0; at += piece.length) hash.update(piece);
    return hash.digest("hex");
  }

  /** Whether the file is unchanged since it was opened. */
  async isUntouched(): Promise<boolean> {
    return (await stampOf(this.#file)) === this.#stamp;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/**
 * Opens a regular file for reading. A pipe would block until someone writes to it, a device may never end, and neither
 * can be read twice.
 *
 * @throws NotRegularError
 */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await file.stat();
  if (found.isFile()) return file;
  await file.close();
  throw new NotRegularError(found.isDirectory());
}

async function stampOf(file: FileHandle): Promise<string> {
  const { size, mtimeNs } = await file.stat({ bigint: true });
  return `${size} ${mtimeNs}`;
}
