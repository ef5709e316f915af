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
  /** Where they are, relative to the working directory; empty for itself. */
  readonly folder: string;
  /** Whether Pulumi.yaml is among them. */
  readonly isNewProject: boolean;
  /** Whether the program finds the package it imports. */
  readonly isInstalled: boolean;
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
      ? ["edgeguard: found nothing to declare. Nothing was written."]
      : [`edgeguard: wrote ${written.files.join(", ")}: ${countsOf(settled)}.`, ...compiled(written)]),
    ...listed("Not imported:", skipped),
    ...listed("Not declared:", leftOut),
    ...secretsOf(settled),
    ...notes,
    "WAF migrations are not imported: WafMigration is a step that a zone takes once, not an object it has.",
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

function compiled({ unformatted, problems }: Written): string[] {
  return [
    ...(unformatted === undefined ? [] : [`The program is not formatted: ${unformatted}.`]),
    ...(problems === undefined
      ? [
          "The program was not compiled: typescript and pulumi-edgeguard are not installed in its folder or above.",
        ]
      : problems.length === 0
        ? ["The program compiles under strict rules."]
        : [
            "The program does not compile, which is a bug in this command. Report it with these lines:",
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
    "Cloudflare does not show these credentials. Take them from where you keep them; each command asks for its value:",
    ...hidden.map(({ key, meaning }) => `  ${setCommand(key)}   # ${meaning}`),
  ];
}

function nextSteps({ folder, isNewProject, isInstalled }: Written, settled: readonly Settled[]): string[] {
  const secrets = settled.flatMap((one) => one.secrets);
  const isShown = secrets.some((secret) => secret.isShown);
  const isHidden = secrets.some((secret) => !secret.isShown);
  return [
    "Next, with the Pulumi CLI 3.254 or later:",
    ...(folder === ""
      ? []
      : [`  cd ${/^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`]),
    ...(isInstalled ? [] : ["  npm install pulumi-edgeguard @pulumi/pulumi typescript ts-node"]),
    ...(isNewProject ? ["  pulumi stack init dev"] : []),
    ...(isHidden ? ["  the commands above"] : []),
    ...(isShown ? ["  sh import-config.sh   # sets the credentials that Cloudflare shows"] : []),
    "  pulumi import --file import.json --yes --protect=false --generate-code=false",
    "  pulumi preview --expect-no-changes",
    isShown
      ? "Then delete import.json and import-config.sh: they hold secrets that belong in the stack only."
      : "Then delete import.json: it holds what belongs in the stack only.",
  ];
}
