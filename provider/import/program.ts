import { usesOf, type Code } from "./code";
import type { Drafter, IdConstant, UsedSecret } from "./draft";
import type { LeftOut } from "./existing";
import { asSentence } from "./inventory";
import type { Surface } from "../runtime/type-tokens";
import type { Verified } from "./verify";

/** A generated program before it's printed as TypeScript or YAML. */
export interface Program {
  readonly surface: Surface;
  /** The functions and constants that the resources' arguments use. */
  readonly uses: ReadonlySet<string>;
  readonly secrets: readonly UsedSecret[];
  /** The constants for account IDs, then those for zone IDs, that the resources' arguments use. */
  readonly ids: readonly (readonly IdConstant[])[];
  readonly resources: readonly Declaration[];
  /** One sentence for each object that the program doesn't declare, with the reason. */
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

/** Returns the command that sets a secret, followed by a comment that describes the secret. */
export function promptFor({ key, meaning }: UsedSecret): string {
  return `${setCommand(key)}   # ${meaning}`;
}

/** Returns a command that sets a secret. The command prompts for the value, so that it isn't in the shell's history. */
export function setCommand(key: string): string {
  return `pulumi config set --secret ${key}`;
}
