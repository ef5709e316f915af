import { createInterface } from "node:readline";
import { CommandError, UsageError } from "./errors";
import type { Io } from "./io";

/**
 * Asks a yes-or-no question. Without a terminal, this CLI requires --yes, whereas Wrangler assumes yes.
 *
 * @throws UsageError without a terminal, or CommandError if the answer is no.
 */
export async function confirm(io: Io, question: string, yes = false): Promise<void> {
  if (yes) return;
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true)
    throw new UsageError(
      `nothing was deleted, because there's no terminal to ask "${question}". Pass --yes to confirm.`,
    );
  const answer = await ask(io, `${question} [y/n] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was deleted.");
}

/** Reads a line. Returns an empty string at the end of the input or after Ctrl-C. */
function ask({ stdin, stderr }: Io, prompt: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: true });
  return new Promise((resolve) => {
    let answer: string | undefined;
    lines.once("close", () => {
      if (answer === undefined) stderr.write("\n"); // Ends the question's line.
      resolve(answer ?? "");
    });
    lines.once("SIGINT", () => lines.close());
    lines.question(prompt, (line) => {
      answer = line;
      lines.close();
    });
  });
}
