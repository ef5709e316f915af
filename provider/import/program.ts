import { usesOf, type Code } from "./code";
import type { Drafter, IdConstant, UsedSecret } from "./draft";
import { asSentence, type LeftOut } from "./inventory";
import type { Surface } from "../runtime/type-tokens";
import type { Verified } from "./verify";

/** A generated program, before it's printed in a language. */
export interface Program {
  readonly surface: Surface;
  /** The functions and constants that its arguments use. */
  readonly uses: ReadonlySet<string>;
  readonly secrets: readonly UsedSecret[];
  /** The accounts, then the zones, that its arguments refer to. */
  readonly ids: readonly (readonly IdConstant[])[];
  readonly resources: readonly Declaration[];
  /** Sentences about what isn't declared. */
  readonly leftOut: readonly string[];
}

export interface Declaration {
  readonly type: string;
  readonly name: string;
  /** The constant that contains the resource. Undefined if nothing refers to the resource. */
  readonly variable: string | undefined;
  readonly args: Code;
  readonly comment: string | undefined;
}

export function programOf(
  surface: Surface,
  drafting: Drafter,
  verified: readonly Verified[],
  leftOut: readonly LeftOut[],
): Program {
  const uses = new Set(verified.flatMap(({ args }) => [...usesOf(args)]));
  return {
    surface,
    uses,
    secrets: verified.flatMap(({ secrets }) => secrets),
    ids: [drafting.accounts, drafting.zones]
      .map((constants) => constants.filter(({ text }) => uses.has(text)))
      .filter((constants) => constants.length > 0),
    resources: verified.map(({ found, name, args }) => ({
      type: found.resource.type,
      name,
      variable: drafting.variableOf(found),
      args,
      comment: found.comment,
    })),
    leftOut: leftOut.map(({ what, reason }) => `Not declared: ${what}: ${asSentence(reason)}`),
  };
}

/** Returns the command for a secret, with what it is. */
export function promptFor({ key, meaning }: UsedSecret): string {
  return `${setCommand(key)}   # ${meaning}`;
}

/** Returns a command that sets a secret. It prompts for the value, to keep that out of the shell's history. */
export function setCommand(key: string): string {
  return `pulumi config set --secret ${key}`;
}
