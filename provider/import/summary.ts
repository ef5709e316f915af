import { applying } from "../basics/words";
import { oneLine, quotedForShell } from "./names";
import { handOver } from "./old-state/hand-over";
import type { OldResource } from "./old-state/read";
import { promptFor } from "./program";
import type { Project } from "./project";
import type { LeftOut } from "./existing";
import { asSentence, type Inventory } from "./inventory";
import type { Verified } from "./verify";

/** The command's result. */
export interface Outcome {
  readonly inventory: Inventory;
  readonly verified: readonly Verified[];
  /** The resources to take out of the old state. */
  readonly leaving: readonly OldResource[];
  /** What was written. Undefined if there was nothing to declare. */
  readonly written: Written | undefined;
}

interface Written {
  /** The paths of the written files, relative to the working directory. */
  readonly files: readonly string[];
  /** The output directory, relative to the working directory. Empty if it is the working directory. */
  readonly folder: string;
  readonly project: Project;
  /** The commands that install the packages that the program needs. */
  readonly installs: readonly string[];
  /** Why the program isn't formatted. Undefined if it is. */
  readonly unformatted: string | undefined;
}

/** Returns a text that says what was written, what wasn't, and what to do next. */
export function summary({ inventory, verified, leaving, written }: Outcome): string[] {
  const { skipped, leftOut, notes, selection } = inventory;
  return applying(
    written === undefined
      ? "edgeguard: found nothing to import. Nothing was written."
      : `edgeguard: wrote ${written.files.join(", ")}: ${countsOf(verified)}.`,
    written?.unformatted !== undefined && `The program isn't formatted: ${written.unformatted}.`,
    ...bulletList("Not imported:", skipped),
    ...bulletList("Not declared:", leftOut),
    ...bulletList("Stays in the old state:", [...(selection?.leftOut ?? []), ...(selection?.gone ?? [])]),
    selection !== undefined &&
      selection.others !== "" &&
      `Other resources in the old state: ${selection.others}.`,
    ...hiddenSecrets(verified),
    ...notes,
    selection === undefined &&
      "WAF migrations aren't imported: a WafMigration is a one-time operation, not an existing object.",
    ...(written === undefined ? [] : nextSteps(written, verified)),
    ...(selection === undefined || leaving.length === 0 ? [] : handOver(selection.state.tool, leaving)),
  );
}

/** Counts resources by type: `PageShieldSettings 1, PageShieldPolicy 3`. */
function countsOf(verified: readonly Verified[]): string {
  const counts = new Map<string, number>();
  for (const { found } of verified)
    counts.set(found.resource.type, (counts.get(found.resource.type) ?? 0) + 1);
  return [...counts].map(([type, count]) => `${type} ${count}`).join(", ");
}

function bulletList(headline: string, items: readonly LeftOut[]): string[] {
  return items.length === 0
    ? []
    : [headline, ...items.map(({ what, reason }) => `  - ${what}: ${oneLine(asSentence(reason))}`)];
}

function hiddenSecrets(verified: readonly Verified[]): string[] {
  const hidden = verified.flatMap((one) => one.secrets).filter(({ isShown }) => !isShown);
  if (hidden.length === 0) return [];
  return [
    "Cloudflare doesn't show these credentials. Have them ready, because each command prompts for one:",
    ...hidden.map((secret) => `  ${promptFor(secret)}`),
  ];
}

function nextSteps({ folder, project, installs }: Written, verified: readonly Verified[]): string[] {
  const secrets = verified.flatMap((one) => one.secrets);
  const isShown = secrets.some((secret) => secret.isShown);
  const isHidden = secrets.some((secret) => !secret.isShown);
  return applying(
    "Next, with the Pulumi CLI 3.254 or later:",
    folder !== "" && `  cd ${/^[\w./-]+$/.test(folder) ? folder : quotedForShell(folder)}`,
    ...installs.map((command) => `  ${command}`),
    project.lacksPlugin !== undefined &&
      `  # in Pulumi.yaml, so that Pulumi finds the plugin: plugins: { providers: [{ name: edgeguard, path: ${project.lacksPlugin} }] }`,
    project.text !== undefined && "  pulumi stack init dev",
    isHidden && "  the commands above",
    isShown && "  sh import-config.sh   # sets the credentials that Cloudflare shows",
    "  pulumi import --file import.json --yes --protect=false --generate-code=false",
    "  pulumi preview --expect-no-changes",
    isShown
      ? "Then delete import.json and import-config.sh: they contain secrets that belong only in the stack."
      : "Then delete import.json: its contents belong only in the stack.",
  );
}
