import { existsSync } from "node:fs";
import { join } from "node:path";
import { foldersFrom } from "../terminal/files";
import { oneLine } from "./names";
import { setCommand } from "./program";
import { ended, type LeftOut, type Reading } from "./reading";
import type { Settled } from "./settle";

/** What the command did. */
export interface Outcome {
  readonly reading: Reading;
  readonly settled: readonly Settled[];
  /** Undefined where there was nothing to declare. */
  readonly written: Written | undefined;
}

interface Written {
  /** Relative to the working directory. */
  readonly files: readonly string[];
  readonly folder: string;
  /** Why it is not formatted, where it is not. */
  readonly unformatted: string | undefined;
  /** What the compiler said; undefined where it was not asked. */
  readonly problems: readonly string[] | undefined;
}

/** What a person has to know afterwards, and what to do next. */
export function summary({ reading, settled, written }: Outcome): string[] {
  const { skipped, leftOut, notes } = reading;
  return [
    ...(written === undefined
      ? ["edgeguard: there is nothing to declare, so nothing was written."]
      : [`edgeguard: wrote ${written.files.join(", ")}: ${countsOf(settled)}.`, ...told(written)]),
    ...listed("Not imported:", skipped),
    ...listed("Not declared:", leftOut),
    ...secretsOf(settled),
    ...notes,
    "Migrations of the managed rules are not imported: WafMigration is a step that a zone takes once, not an object it has.",
    ...(written === undefined ? [] : nextSteps(written, settled)),
  ];
}

/** `PageShieldSettings 1, PageShieldPolicy 3` */
function countsOf(settled: readonly Settled[]): string {
  const counts = new Map<string, number>();
  for (const { found } of settled)
    counts.set(found.resource.type, (counts.get(found.resource.type) ?? 0) + 1);
  return [...counts].map(([type, count]) => `${type} ${count}`).join(", ");
}

function told({ unformatted, problems }: Written): string[] {
  return [
    ...(unformatted === undefined ? [] : [`The program is not formatted: ${unformatted}.`]),
    ...(problems === undefined
      ? [
          "The program was not compiled: that takes typescript and pulumi-edgeguard, installed in its folder or above.",
        ]
      : problems.length === 0
        ? ["The program compiles under strict rules."]
        : [
            "The program does not compile, which is a defect of this command; report it with these lines:",
            ...problems.map((line) => `  ${line}`),
          ]),
  ];
}

function listed(headline: string, items: readonly LeftOut[]): string[] {
  return items.length === 0
    ? []
    : [headline, ...items.map(({ what, reason }) => `  - ${what}: ${oneLine(ended(reason))}`)];
}

function secretsOf(settled: readonly Settled[]): string[] {
  const hidden = settled.flatMap((one) => one.secrets).filter(({ isShown }) => !isShown);
  if (hidden.length === 0) return [];
  return [
    "The service does not show these credentials. Take them from where you keep them; each command asks for its value:",
    ...hidden.map(({ key, meaning }) => `  ${setCommand(key)}   # ${meaning}`),
  ];
}

function nextSteps({ folder }: Written, settled: readonly Settled[]): string[] {
  const secrets = settled.flatMap((one) => one.secrets);
  const isShown = secrets.some((secret) => secret.isShown);
  const isHidden = secrets.some((secret) => !secret.isShown);
  return [
    ...(isInProject(folder)
      ? []
      : [
          `There is no Pulumi.yaml in ${folder} or above. The next steps need a project there: that file with "name" and "runtime: nodejs", and pulumi-edgeguard, @pulumi/pulumi, typescript and ts-node installed.`,
        ]),
    "Next, in that folder, with the Pulumi CLI 3.254 or later:",
    ...(isHidden ? ["  the commands above"] : []),
    ...(isShown ? ["  sh import-config.sh   # sets the credentials that the service shows"] : []),
    "  pulumi import --file import.json --yes --protect=false --generate-code=false",
    "  pulumi preview --expect-no-changes",
    `Then delete import.json${isShown ? " and import-config.sh: they hold" : ": it holds"} what belongs into a state only.`,
  ];
}

function isInProject(folder: string): boolean {
  const names = ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"];
  return [...foldersFrom(folder)].some((at) => names.some((name) => existsSync(join(at, name))));
}
