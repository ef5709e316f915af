import { createInterface } from "node:readline";
import { CommandError, UsageError } from "./errors";
import type { Io } from "./io";

/**
 * Asks a person y or n. Wrangler assumes a yes where nobody can answer; here it takes --yes.
 *
 * @throws UsageError where nobody can answer; CommandError when the answer is no.
 */
export async function confirm(io: Io, question: string, yes = false): Promise<void> {
  if (yes) return;
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true)
    throw new UsageError(`nothing was deleted: there is no terminal to ask "${question}". Pass --yes.`);
  const answer = await ask(io, `${question} [y/n] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was deleted.");
}

/** The line that is typed; empty where the input ends or Ctrl-C is pressed. */
function ask({ stdin, stderr }: Io, prompt: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: true });
  return new Promise((resolve) => {
    let answer: string | undefined;
    lines.once("close", () => {
      if (answer === undefined) stderr.write("\n"); // Ctrl-C or the end of the input, on the line of the question.
      resolve(answer ?? "");
    });
    lines.once("SIGINT", () => lines.close());
    lines.question(prompt, (line) => {
      answer = line;
      lines.close();
    });
  });
}
