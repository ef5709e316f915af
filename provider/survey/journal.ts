import { open, rm, type FileHandle } from "node:fs/promises";
import { z } from "zod";
import { codeOf } from "../basics/files";
import { parseJson } from "../basics/json";
import { CommandError } from "../terminal/errors";
import {
  accountFacts,
  countedKeys,
  listedAccount,
  listedZone,
  zone,
  type AccountFacts,
  type CountedKeys,
  type NamespaceKeys,
  type Zone,
} from "./model";
import type { Scope } from "./zones";

/**
 * Stores what a survey has read so far, as JSON lines in a file that only its owner can read. A survey that ended early
 * for any reason can be resumed from it. The file contains the same data as the output, and no credentials.
 */

const begin = z.strictObject({
  survey: z.strictObject({
    tool: z.string(),
    /** A digest of the options that determine what's read. */
    options: z.string(),
    at: z.string(),
  }),
});
export type Beginning = z.infer<typeof begin>["survey"];

const scope = z.strictObject({
  scope: z.strictObject({
    zones: z.array(listedZone),
    accounts: z.array(listedAccount),
  }),
});
/** Set if part of a zone or account wasn't available. A resumed survey then reads the zone or account again. */
const again = z.literal(true).optional();
const zoneLine = z.strictObject({ zone, again });
/** The schema of any line after the first. */
const laterLine = z.union([
  zoneLine,
  z.strictObject({ account: accountFacts, again }),
  z.strictObject({ keys: countedKeys, again }),
  scope,
]);

const LF = 0x0a;
const OWNER_ONLY = 0o600;

/** The position of a zone's line in the file. */
interface Place {
  readonly offset: number;
  readonly length: number;
}

export class Journal {
  readonly #zones = new Map<string, Place>();
  readonly accounts = new Map<string, AccountFacts>();
  readonly #keys = new Map<string, NamespaceKeys>();
  scope: Scope | undefined;
  #end = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    readonly file: FileHandle,
    readonly beginning: Beginning,
  ) {}

  /** @throws CommandError if the file exists. */
  static async create(path: string, beginning: Beginning): Promise<Journal> {
    let file: FileHandle;
    try {
      file = await open(path, "wx+", OWNER_ONLY);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      throw new CommandError(
        `${path} contains an unfinished survey. Continue it with --resume, or delete the file to start over.`,
      );
    }
    const journal = new Journal(file, beginning);
    try {
      await journal.#append({ survey: beginning });
      return journal;
    } catch (error) {
      await file.close();
      await rm(path);
      throw error;
    }
  }

  /**
   * Opens the journal of an unfinished survey. Drops an incomplete last line and all lines marked `again`: those parts
   * weren't available, perhaps because of the outage that ended the survey.
   *
   * @throws CommandError if there's no journal, it's damaged, or it belongs to a survey with different options.
   */
  static async resume(path: string, wanted: Omit<Beginning, "at">): Promise<Journal> {
    let file: FileHandle;
    try {
      file = await open(path, "r+");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      throw new CommandError(`there's no unfinished survey to resume: ${path} doesn't exist. Omit --resume.`);
    }
    try {
      let journal: Journal | undefined;
      let number = 0;
      let end = 0;
      for await (const { bytes, offset } of linesOf(file)) {
        number += 1;
        const line = parseJson(bytes.toString());
        if (journal === undefined) {
          const first = begin.safeParse(line).data?.survey;
          if (first === undefined)
            throw new CommandError(
              `${path} doesn't contain an unfinished survey. Delete the file to start over.`,
            );
          refuseOther(path, first, wanted);
          journal = new Journal(file, first);
        } else if (!journal.#note(line, { offset, length: bytes.length })) {
          throw new CommandError(`${path}: line ${number} is damaged. Delete the file to start over.`);
        }
        end = offset + bytes.length + 1;
      }
      if (journal === undefined)
        throw new CommandError(
          `${path} doesn't contain an unfinished survey. Delete the file to start over.`,
        );
      await file.truncate(end);
      journal.#end = end;
      return journal;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  has(zoneId: string): boolean {
    return this.#zones.has(zoneId);
  }

  get zoneCount(): number {
    return this.#zones.size;
  }

  async begin(given: Scope): Promise<void> {
    this.scope = given;
    await this.#append({ scope: given });
  }

  /** @param isIncomplete whether a resumed survey has to read the account again. */
  async addAccount(given: AccountFacts, isIncomplete = false): Promise<void> {
    const account = withReadableParts(accountFacts, given);
    await this.#append({ account, ...flag(isIncomplete) });
    this.accounts.set(account.id, account);
  }

  async addKeys(given: CountedKeys, isIncomplete = false): Promise<void> {
    await this.#append({ keys: given, ...flag(isIncomplete) });
    this.#noteKeys(given);
  }

  /** Returns the number of keys in a namespace. Undefined if they haven't been counted yet. */
  keysOf(accountId: string, namespaceId: string): NamespaceKeys | undefined {
    return this.#keys.get(`${accountId} ${namespaceId}`);
  }

  #noteKeys({ accountId, namespaceId, keys }: CountedKeys): void {
    this.#keys.set(`${accountId} ${namespaceId}`, keys);
  }

  async addZone(given: Zone, isIncomplete = false): Promise<void> {
    const line = { zone: withReadableParts(zone, given), ...flag(isIncomplete) };
    this.#zones.set(given.id, await this.#append(line));
  }

  /** Yields the zones that have been read, one at a time, in the order of the list of zones. */
  async *zones(): AsyncGenerator<Zone, void, undefined> {
    for (const { id } of this.scope?.zones ?? []) {
      const zone = await this.zone(id);
      if (zone !== undefined) yield zone;
    }
  }

  /** Returns a zone from the journal. Undefined if the survey hasn't read it yet. */
  async zone(id: string): Promise<Zone | undefined> {
    const place = this.#zones.get(id);
    if (place === undefined) return undefined;
    const { buffer } = await this.file.read(Buffer.alloc(place.length), 0, place.length, place.offset);
    return zoneLine.parse(parseJson(buffer.toString())).zone;
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.file.close();
  }

  /**
   * Appends a line immediately, so that a killed process loses at most the line that it was writing.
   *
   * @throws the system's error if the line can't be written. Earlier lines stay readable, and no more lines are
   * written.
   */
  async #append(line: object): Promise<Place> {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    const place = { offset: this.#end, length: bytes.length - 1 };
    this.#end += bytes.length;
    const writing = this.#writing.then(() => this.#write(bytes, place.offset));
    this.#writing = writing;
    await writing;
    return place;
  }

  async #write(bytes: Buffer, offset: number): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at, offset + at);
      at += bytesWritten; // A disk that's nearly full takes only a part.
    }
  }

  /** Processes a line from the file. Returns whether it's a valid line of a journal. */
  #note(line: unknown, place: Place): boolean {
    const read = laterLine.safeParse(line).data;
    if (read === undefined) return false;
    if ("again" in read) return true;
    if ("zone" in read) this.#zones.set(read.zone.id, place);
    else if ("account" in read) this.accounts.set(read.account.id, read.account);
    else if ("keys" in read) this.#noteKeys(read.keys);
    else this.scope = read.scope;
    return true;
  }
}

/**
 * Returns a zone or account that can be read back from the journal. A part that doesn't match the schema is marked as
 * not readable, so that the rest isn't lost.
 */
function withReadableParts<T extends object>(schema: z.ZodType<T>, given: T): T {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const what = "Cloudflare's response has a format that this version of edgeguard doesn't recognize";
  const parts = read.error.issues.map(({ path: [part] }) => [part, { notReadable: "failed", what }] as const);
  return schema.parse({ ...given, ...Object.fromEntries(parts) });
}

function flag(isIncomplete: boolean): { again?: true } {
  return isIncomplete ? { again: true } : {};
}

function refuseOther(path: string, found: Beginning, wanted: Omit<Beginning, "at">): void {
  if (found.tool !== wanted.tool)
    throw new CommandError(
      `${path} was written by ${found.tool}, and this is ${wanted.tool}. Resume the survey with that version, or delete the file to start over.`,
    );
  if (found.options !== wanted.options)
    throw new CommandError(
      `${path} belongs to a survey with different options. To resume that survey, pass the same --account, --zones, --payment-pages and --inventory. To start another one, pass a different directory with --out.`,
    );
}

/** Yields the complete lines of a file, with one chunk in memory at a time. */
async function* linesOf(
  file: FileHandle,
): AsyncGenerator<{ bytes: Buffer; offset: number }, void, undefined> {
  let rest = Buffer.alloc(0);
  let offset = 0;
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(LF); at !== -1; at = rest.indexOf(LF)) {
      yield { bytes: rest.subarray(0, at), offset };
      offset += at + 1;
      rest = rest.subarray(at + 1);
    }
  }
}
