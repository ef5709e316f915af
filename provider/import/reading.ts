import { ApiError } from "../api/errors";
import type { Host } from "../runtime/host";
import type { JsonObject } from "../runtime/values";
import type { Found, ImportableType } from "./found";

/** What is not in the program, and why. */
export interface LeftOut {
  /** As messages call it. */
  readonly what: string;
  readonly reason: string;
}

/** Collects what exists. */
export class Reading {
  readonly found: Found[] = [];
  /** Objects that were seen and cannot be declared. */
  readonly leftOut: LeftOut[] = [];
  /** Parts that could not be read. */
  readonly skipped: LeftOut[] = [];
  /** Parts that were read, objects or not. */
  readonly parts: string[] = [];
  /** What a person has to know besides. */
  readonly notes: string[] = [];

  /**
   * @param progress says how far a part has come.
   */
  constructor(
    readonly host: Host,
    readonly progress: (line: string) => void,
  ) {}

  /**
   * Reads one part. What is forbidden is skipped, so that a plan or a token that lacks one product does not stand in the
   * way of the others; whatever else goes wrong ends the command.
   *
   * @param what as in `reading page-security policies of zone 0da4…`.
   */
  async part(what: string, read: () => Promise<void>): Promise<void> {
    const lists = [this.found, this.leftOut, this.notes];
    const before = lists.map((list) => list.length);
    this.progress(`reading ${what}`);
    try {
      await read();
      this.parts.push(what);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      // Half of a part would look like all of it.
      lists.forEach((list, index) => (list.length = before[index] ?? 0));
      this.skipped.push({ what, reason: error.message });
    }
  }

  leave(what: string, reason: string): void {
    this.leftOut.push({ what, reason });
  }

  /**
   * The outputs of an object, as a refresh would record them; undefined where it is gone by now.
   *
   * @param seed what `read` has to know to find it.
   */
  async outputs(resource: ImportableType, id: string, seed: JsonObject): Promise<JsonObject | undefined> {
    const { id: found, props } = await resource.verbs.read(this.host, id, seed);
    return found === "" ? undefined : props;
  }
}

/** The plan or the token lacks it. A credential that Cloudflare does not know at all fails every part alike. */
function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** A reason as a sentence of its own. */
export function ended(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
