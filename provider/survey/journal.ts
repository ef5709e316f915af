import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { z } from "zod";
import { codeOf } from "../basics/files";
import { parseJson } from "../basics/json";
import { visible } from "../basics/printable";
import { CommandError } from "../terminal/errors";
import { account, listedAccount, listedZone, zone, type Account, type Zone } from "./model";
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
const zoneLine = z.strictObject({ zone });
/** The schema of any line after the first. */
const laterLine = z.union([zoneLine, z.strictObject({ account }), scope]);

const OWNER_ONLY = 0o600;

/** The position of a zone's line in the file. */
interface Place {
  readonly offset: number;
  readonly length: number;
}

export class Journal {
  readonly #zones = new Map<string, Place>();
  readonly accounts = new Map<string, Account>();
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
      file = await open(path, "ax+", OWNER_ONLY);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      throw new CommandError(
        `${path} contains an unfinished survey. Continue it with --resume, or delete the file to start over.`,
      );
    }
    const journal = new Journal(file, beginning);
    await journal.#append({ survey: beginning });
    return journal;
  }

  /**
   * Opens the journal of an unfinished survey. Drops an incomplete last line.
   *
   * @throws CommandError if there's no journal, it's damaged, or it belongs to a survey with different options.
   */
  static async resume(path: string, wanted: Omit<Beginning, "at">): Promise<Journal> {
    let file: FileHandle;
    try {
      file = await open(path, constants.O_RDWR | constants.O_APPEND);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      throw new CommandError(`there's no unfinished survey to resume: ${path} doesn't exist. Omit --resume.`);
    }
    try {
      let journal: Journal | undefined;
      let number = 0;
      let end = 0;
      const { size } = await file.stat();
      for await (const text of file.readLines({ start: 0, autoClose: false })) {
        const place = { offset: end, length: Buffer.byteLength(text) };
        if (end + place.length >= size) break; // A killed process left the line without its end.
        end += place.length + 1;
        number += 1;
        const line = parseJson(text);
        if (journal === undefined) journal = new Journal(file, beginningIn(path, line, wanted));
        else if (!journal.#note(line, place))
          throw new CommandError(`${path}: line ${number} is damaged. Delete the file to start over.`);
      }
      journal ??= new Journal(file, beginningIn(path, undefined, wanted));
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

  async begin(given: Scope): Promise<Scope> {
    this.scope = given;
    await this.#append({ scope: given });
    return given;
  }

  async addAccount(given: Account): Promise<void> {
    const facts = withReadableParts(account, given);
    await this.#append({ account: facts });
    this.accounts.set(facts.id, facts);
  }

  async addZone(given: Zone): Promise<void> {
    this.#zones.set(given.id, await this.#append({ zone: withReadableParts(zone, given) }));
  }

  /** Yields the zones that have been read, one at a time, in the order of the list of zones. */
  async *zones(): AsyncGenerator<Zone, void, undefined> {
    for (const { id } of this.scope?.zones ?? []) {
      const place = this.#zones.get(id);
      if (place === undefined) continue;
      const { buffer } = await this.file.read(Buffer.alloc(place.length), 0, place.length, place.offset);
      yield zoneLine.parse(parseJson(buffer.toString())).zone;
    }
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
    const text = visible(JSON.stringify(line)); // Other line breaks than \n would end a line, too.
    const place = { offset: this.#end, length: Buffer.byteLength(text) };
    this.#end += place.length + 1;
    this.#writing = this.#writing.then(() => this.file.appendFile(`${text}\n`));
    await this.#writing;
    return place;
  }

  /** Processes a line from the file. Returns whether it's a valid line of a journal. */
  #note(line: unknown, place: Place): boolean {
    const read = laterLine.safeParse(line).data;
    if (read === undefined) return false;
    if ("zone" in read) this.#zones.set(read.zone.id, place);
    else if ("account" in read) this.accounts.set(read.account.id, read.account);
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

/** @throws CommandError unless the first line is that of the wanted survey. */
function beginningIn(path: string, line: unknown, wanted: Omit<Beginning, "at">): Beginning {
  const found = begin.safeParse(line).data?.survey;
  if (found === undefined)
    throw new CommandError(`${path} doesn't contain an unfinished survey. Delete the file to start over.`);
  if (found.tool !== wanted.tool)
    throw new CommandError(
      `${path} was written by ${found.tool}, and this is ${wanted.tool}. Resume the survey with that version, or delete the file to start over.`,
    );
  if (found.options !== wanted.options)
    throw new CommandError(
      `${path} belongs to a survey with different options. To resume that survey, pass the same --account, --zones, --payment-pages and --inventory. To start another one, pass a different directory with --out.`,
    );
  return found;
}
