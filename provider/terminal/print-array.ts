import { print, type Io } from "./io";

/** Characters that are collected for one write. */
const PART_CHARACTERS = 64 * 1024;

/**
 * Prints a JSON array, an item a line, as the items come. Where the source fails, the array stays open: what reads it
 * then knows that it is not whole.
 */
export async function printArray(io: Io, items: AsyncIterable<object>): Promise<void> {
  let part = "[";
  let first = true;
  for await (const item of items) {
    part += `${first ? "" : ","}\n  ${JSON.stringify(item)}`;
    first = false;
    if (part.length < PART_CHARACTERS) continue;
    await print(io, part);
    part = "";
  }
  await print(io, `${part}${first ? "" : "\n"}]\n`);
}
