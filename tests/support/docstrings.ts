import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./engine";

/** An `@example` of a docstring. */
export interface Example {
  /** Relative to the repository. */
  readonly file: string;
  /** The name of the class, function or argument that the docstring documents. */
  readonly name: string;
  readonly code: string;
}

/** All examples in the docstrings of provider/. */
export function examples(): Example[] {
  const folder = join(REPOSITORY, "provider");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !/^(dist|node_modules)\//.test(path))
    .sort()
    .flatMap((path) => examplesIn(join("provider", path)));
}

function examplesIn(file: string): Example[] {
  const source = readFileSync(join(REPOSITORY, file), "utf8");
  return [
    ...source.matchAll(/^\/\*\*\n((?: \*.*\n)*?) \*\/\nexport (?:declare |abstract |async )*\w+ (\w+)/gm),
  ].flatMap(([, doc = "", name = ""]) =>
    doc
      .replace(/^ \* ?/gm, "")
      .split(/^@example/m)
      .slice(1)
      .map((part) => ({ file, name, code: /^```ts\n([^]*?)^```/m.exec(part)?.[1] ?? "" })),
  );
}
