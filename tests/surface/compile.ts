import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

/** How a TypeScript compiler takes a program. */
export interface Compilation {
  /** Codes and texts, one line each. */
  readonly errors: readonly string[];
  /** How many files the compiler read. */
  readonly files: number;
}

/**
 * Compiles a program that only imports the modules, one line for each, as a user's compiler does.
 *
 * @param tsc the compiler's `tsc`.
 * @param home a folder whose node_modules has the modules.
 */
export async function compileImports(
  tsc: string,
  home: string,
  modules: readonly string[],
  options: readonly string[],
): Promise<Compilation> {
  const program = join(home, "program.ts");
  const lines = modules.map((name, n) => `import * as module${n} from "${name}";\nvoid module${n};\n`);
  writeFileSync(program, lines.join(""));
  const common = ["--noEmit", "--strict", "--target", "es2020", "--types", "node", "--pretty", "false"];
  const printed = await promisify(execFile)(
    process.execPath,
    [tsc, ...common, ...options, "--listFiles", program],
    { cwd: home, maxBuffer: 1e8 },
  ).then(
    ({ stdout }) => stdout.split("\n"),
    (error: unknown) => outputOf(error).split("\n"),
  );
  return {
    errors: printed.filter((line) => /\berror TS\d+:/.test(line)),
    files: printed.filter((line) => /\.[cm]?ts$/.test(line)).length,
  };
}

/** A compiler that finds errors exits with a code of its own. */
function outputOf(error: unknown): string {
  const { stdout } = failed.parse(error);
  return stdout;
}

const failed = z.looseObject({ stdout: z.string().min(1) });
