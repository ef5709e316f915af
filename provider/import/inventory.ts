import { ApiError } from "../api/errors";
import type { Host } from "../runtime/host";
import type { JsonObject } from "../basics/json";
import type { Scope } from "../runtime/composite-id";
import type { ExistingObject, ImportableType, LeftOut } from "./existing";
import type { Selection } from "./old-state/selection";

/** Collects the existing objects to import. */
export class Inventory {
  readonly found: ExistingObject[] = [];
  /** Objects that can't be declared. */
  readonly leftOut: LeftOut[] = [];
  /** Groups of objects that couldn't be read, such as the managed rulesets in a zone. */
  readonly skipped: LeftOut[] = [];
  /** Names of the groups of objects that were read, including empty groups. */
  readonly parts: string[] = [];
  /** Additional sentences for the summary. */
  readonly notes: string[] = [];

  /**
   * @param progress shows the progress of reading a part.
   * @param selection the objects to import. Without it, all.
   */
  constructor(
    readonly host: Host,
    readonly progress: (line: string) => void,
    readonly selection?: Selection,
  ) {}

  /** Whether to import an object, or parts of it. */
  wants(resource: ImportableType, scope: Scope, id: string): boolean {
    return this.selection?.wants(resource, scope, id) ?? true;
  }

  /**
   * Reads one group of objects. If the plan or token doesn't include the product, skips the group and imports the
   * others. Any other failure ends the command.
   *
   * @param what what's read, such as `reading Page Shield policies in zone 0da4…`.
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
      // An incomplete part would look complete.
      lists.forEach((list, index) => (list.length = before[index] ?? 0));
      this.skipped.push({ what, reason: error.message });
    }
  }

  leaveOut(what: string, reason: string): void {
    this.leftOut.push({ what, reason });
  }

  /**
   * Reads an object's outputs as a refresh would record them. Undefined if the object no longer exists.
   *
   * @param seed what `read` needs to find the object.
   */
  async outputs(resource: ImportableType, id: string, seed: JsonObject): Promise<JsonObject | undefined> {
    const { id: found, props } = await resource.verbs.read(this.host, id, seed);
    return found === "" ? undefined : props;
  }
}

/**
 * Whether the error means that the plan or token doesn't include a product. An invalid credential isn't such an error,
 * because it fails every part.
 */
function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** Ends a reason with a period. */
export function asSentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
