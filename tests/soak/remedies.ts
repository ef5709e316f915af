import type { Args, Declared, Program } from "./program";

/** What a message tells a person to do where the product, by design, does not go on by itself. */
export interface Remedy {
  readonly name: string;
  /** Why it stops there. */
  readonly why: string;
  readonly says: RegExp;
  /** Undefined where it is not what helps this one. */
  readonly change: (declared: Declared) => Declared | undefined;
}

function withArgs(declared: Declared, args: Args): Declared {
  return { ...declared, args: { ...declared.args, ...args } };
}

/** Behind the name of what a derived program calls otherwise. */
export const RENAMED = "-renamed";

export const REMEDIES: readonly Remedy[] = [
  {
    name: "aliases",
    why: "a resource was renamed without one, and its object may not be adopted: a namespace that holds other keys than the program declares, or the program forbids adopting any",
    says: /aliases: \[\{ name|add an alias/,
    change: (declared) =>
      declared.name.endsWith(RENAMED)
        ? {
            ...declared,
            opts: { ...declared.opts, aliases: [{ name: declared.name.slice(0, -RENAMED.length) }] },
          }
        : undefined,
  },
  {
    name: 'adopt: "ifEqual" instead of "never"',
    why: "an interrupted run has made the object without recording it, and the program forbids adopting any",
    says: /adopt: "never" (forbids|prevents)/,
    change: (declared) => withArgs(declared, { adopt: "ifEqual" }),
  },
  {
    name: 'adopt: "takeOver"',
    why: "an interrupted run has left the object half-made, or the program has changed since",
    says: /Set adopt: "takeOver"/,
    change: (declared) => withArgs(declared, { adopt: "takeOver" }),
  },
];

/** What may be otherwise than declared after a kill, by design. */
export const ALLOWANCES = {
  settings:
    "Page Shield settings of which nobody knows what they were: the process died between the first write and its record",
  ref: "a rule with a ref of its own choice that a killed run made without recording it: it is adopted as somebody's, keeps its ref, and stays when the resource goes",
} as const;
export type Allowance = keyof typeof ALLOWANCES;

/** The program as the messages of a run ask for it, and by which remedies; undefined where they ask for nothing. */
export function remedied(
  program: Program,
  text: string,
): { readonly program: Program; readonly names: readonly string[] } | undefined {
  const names: string[] = [];
  const resources = program.resources.map((declared) => {
    const said = messagesOf(text, declared.name);
    for (const { name, says, change } of REMEDIES) {
      const changed = said.some((line) => says.test(line)) ? change(declared) : undefined;
      if (changed === undefined) continue;
      names.push(name);
      return changed;
    }
    return declared;
  });
  return names.length === 0 ? undefined : { program: { ...program, resources }, names };
}

/** Lines under a resource's heading among the diagnostics of both engines. */
function messagesOf(text: string, name: string): string[] {
  const said: string[] = [];
  let isOwn = false;
  for (const line of text.split("\n")) {
    const heading = /^ {2}\S+ \(([^)]+)\):$/.exec(line)?.[1];
    if (heading !== undefined) isOwn = heading === name;
    else if (isOwn) said.push(line);
  }
  return said;
}
