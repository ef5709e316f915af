import { applying } from "../../basics/words";
import { quotedForShell } from "../names";
import type { OldResource, OldState } from "./read";

/** Returns the commands that take resources out of the old state, with what to know about them. */
export function handOver(tool: OldState["tool"], resources: readonly OldResource[]): string[] {
  return applying(
    "Only if that preview shows no changes, take these resources out of the old state, which deletes nothing. Then remove them from the old configuration before its next run:",
    ...commandsOf(tool, resources).map((line) => `  ${line}`),
    resources.some(({ type }) => type === "cloudflare_ruleset") &&
      "After that, no program manages the rulesets' other rules, which stay as they are.",
  );
}

function commandsOf(tool: OldState["tool"], resources: readonly OldResource[]): readonly string[] {
  const addresses = resources.map(({ address }) => quotedForShell(address));
  return tool === "pulumi"
    ? // Dependents first: Pulumi lists a resource after those that it depends on.
      addresses.map((urn) => `pulumi state delete --yes ${urn}`).reverse()
    : [`${tool} state rm`, ...addresses.map((address) => `  ${address}`)].join(" \\\n").split("\n");
}
