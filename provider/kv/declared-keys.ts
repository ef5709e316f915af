import { pathsOf } from "./source-directory";
import { SourceError } from "./source-error";
import { z } from "zod";
import { openSource } from "./source";

/** Which keys a KvEntries declares: their names, or where they are read from. */
export const declaredKeysOf = z.array(
  z.object({
    keys: z.array(z.string()).optional(),
    file: z.string().optional(),
    directory: z
      .union([
        z.string(),
        z.object({
          path: z.string(),
          prefix: z.string().optional(),
          ignore: z.array(z.string()).optional(),
        }),
      ])
      .optional(),
  }),
);
export type DeclaredKeys = z.infer<typeof declaredKeysOf>[number];

/** The declared keys, as far as they can be read: the check says what is wrong with a source. */
export async function declaredKeys({
  keys: names,
  ...declaration
}: DeclaredKeys): Promise<ReadonlySet<string>> {
  const keys = new Set(names);
  if (names !== undefined) return keys;
  try {
    const source = openSource(declaration, process.cwd());
    if (source.kind === "directory") {
      for await (const path of pathsOf(source.options)) keys.add(source.options.prefix + path);
      return keys;
    }
    for await (const some of source.examine())
      for (const { given } of some) if (typeof given.key === "string") keys.add(given.key);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
  }
  return keys;
}
