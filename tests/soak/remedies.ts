import { TYPE_PREFIXES } from "../../provider/runtime/type-tokens";
import type { Args, Declared, Program } from "./program";

/** A change that a message asks the user for, if the product stops by design. */
export interface Remedy {
  readonly name: string;
  /** Why it stops. */
  readonly why: string;
  readonly says: RegExp;
  /** Undefined if it doesn't apply to this resource. */
  readonly change: (declared: Declared) => Declared | undefined;
}

function withArgs(declared: Declared, args: Args): Declared {
  return { ...declared, args: { ...declared.args, ...args } };
}

/** Suffix of a renamed resource. */
export const RENAMED = "-renamed";

const oldUrn = ({ type, name }: Declared): string =>
  `urn:pulumi:dev::soak::${TYPE_PREFIXES.dynamic}${type}::${name.slice(0, -RENAMED.length)}`;

export const REMEDIES: readonly Remedy[] = [
  {
    name: "aliases",
    why: "a resource was renamed without an alias, and its object can't be adopted: a namespace has keys that the program doesn't declare, or the program sets adopt: never",
    says: /add its old URN|add an alias/,
    change: (declared) =>
      declared.name.endsWith(RENAMED)
        ? {
            ...declared,
            opts: { ...declared.opts, aliases: [oldUrn(declared)] },
          }
        : undefined,
  },
  {
    name: 'adopt: "ifEqual" instead of "never"',
    why: "an interrupted run created the object without recording it, and the program sets adopt: never",
    says: /adopt: "never" prevents/,
    change: (declared) => withArgs(declared, { adopt: "ifEqual" }),
  },
  {
    name: 'adopt: "takeOver"',
    why: "an interrupted run left the object half-done, or the program changed since",
    says: /set adopt: "takeOver"/i,
    change: (declared) => withArgs(declared, { adopt: "takeOver" }),
  },
];

/** What may differ from the program after a kill, by design. */
export const ALLOWANCES = {
  settings:
    "the original Page Shield settings are unknown: the process died between the first write and recording it",
  ref: "a killed run created a rule with a custom ref without recording it: it's adopted as someone else's, keeps its ref, and stays when the resource is deleted",
} as const;
export type Allowance = keyof typeof ALLOWANCES;

/** Changes the program as the messages of a run ask for; undefined if they ask for nothing. */
export function applyRemedies(
  program: Program,
  text: string,
): { readonly program: Program; readonly names: readonly string[] } | undefined {
  const names: string[] = [];
  const resources = program.resources.map((declared) => {
    const lines = messagesOf(text, declared.name);
    for (const { name, says, change } of REMEDIES) {
      const changed = lines.some((line) => says.test(line)) ? change(declared) : undefined;
      if (changed === undefined) continue;
      names.push(name);
      return changed;
    }
    return declared;
  });
  return names.length === 0 ? undefined : { program: { ...program, resources }, names };
}

/** The lines below a resource's heading in the diagnostics of either engine. */
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
