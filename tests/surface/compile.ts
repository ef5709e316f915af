import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** How a TypeScript compiler takes a program. */
export interface Compilation {
  /** Codes and texts, one line each. */
  readonly errors: readonly string[];
  /** How many files the compiler read. */
  readonly files: number;
}

/**
 * Compiles a program of one line, which imports the module, as a user's compiler does.
 *
 * @param tsc the compiler's `tsc`.
 * @param home a folder whose node_modules has the module.
 */
export async function compileImport(
  tsc: string,
  home: string,
  module: string,
  options: readonly string[],
): Promise<Compilation> {
  const program = join(home, "program.ts");
  writeFileSync(program, `import * as imported from "${module}";\nexport default imported;\n`);
  const common = ["--noEmit", "--strict", "--target", "es2020", "--types", "node", "--pretty", "false"];
  const lines = await promisify(execFile)(
    process.execPath,
    [tsc, ...common, ...options, "--listFiles", program],
    { cwd: home, maxBuffer: 1e8 },
  ).then(
    ({ stdout }) => stdout.split("\n"),
    (error: unknown) => outputOf(error).split("\n"),
  );
  return {
    errors: lines.filter((line) => /\berror TS\d+:/.test(line)),
    files: lines.filter((line) => line.endsWith(".ts") || line.endsWith(".cts") || line.endsWith(".mts"))
      .length,
  };
}

/** A compiler that finds errors exits with a code of its own. */
function outputOf(error: unknown): string {
  if (error instanceof Error && "stdout" in error && typeof error.stdout === "string" && error.stdout !== "")
    return error.stdout;
  throw error;
}
