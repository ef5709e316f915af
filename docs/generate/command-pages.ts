import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { block, code, lines, section, type Page } from "./markdown";
import { REPOSITORY } from "../../tests/support/repository";

/** A command with its help, as `--help` prints it. */
interface Command {
  readonly words: readonly string[];
  readonly description: string;
  readonly help: string;
  readonly commands: readonly Command[];
}

/** A page for each command of `edgeguard`, and two for `edgeguard-local`. */
export function commandPages(): Page[] {
  const edgeguard = commandOf(["edgeguard"], "provider/bin/edgeguard.js");
  const engine = commandOf(["edgeguard-local"], "local/bin/edgeguard-local.js");
  const api = commandOf(["edgeguard-local", "api"], "local/bin/edgeguard-local.js");
  return [...edgeguard.commands, engine, api].map(pageOf);
}

function commandOf(words: readonly string[], bin: string): Command {
  const args = [join(REPOSITORY, bin), ...words.slice(1), "--help"];
  const help = execFileSync(process.execPath, args, { encoding: "utf8" }).trimEnd();
  const listed = /^Commands:\n((?: {2}.*\n?)*)/m.exec(help)?.[1] ?? "";
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].flatMap(([, name = ""]) =>
    name === "help" ? [] : [name],
  );
  const description = /^Usage:.*\n\n((?:.+\n)+)/.exec(`${help}\n`)?.[1]?.replace(/\s+/g, " ").trim() ?? "";
  return { words, description, help, commands: names.map((name) => commandOf([...words, name], bin)) };
}

function pageOf(command: Command): Page {
  const title = command.words.join(" ");
  const name = command.words.length > 1 ? command.words.join("-").replace(/^edgeguard-(?!local)/, "") : title;
  return {
    path: `cli/${name}.md`,
    title: code(title),
    summary: sentence(command.description),
    body: lines(
      sentence(command.description),
      help(command),
      ...command.commands.flatMap((each) => sections(each, 2)),
    ),
  };
}

function sections(command: Command, level: number): string[] {
  return [
    section(level, code(command.words.slice(1).join(" ")), sentence(command.description), help(command)),
    ...command.commands.flatMap((each) => sections(each, level + 1)),
  ];
}

function help({ help: text }: Command): string {
  return block("text", text);
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) || capital === "" ? capital : `${capital}.`;
}
