import { z } from "zod";
import { parseJson, propertyPath } from "../basics/json";
import { LookupError } from "../runtime/lookup";
import { pluralize } from "../basics/words";
import type { InventorySummary } from "./model";
import { say, unlinked, value, words } from "./phrase";

/** The part of a check that the report shows. */
const inventoryCheck = z.looseObject({
  checkedAt: z.iso.datetime(),
  passed: z.boolean(),
  inventory: z.looseObject({ file: z.string() }),
  seen: z.looseObject({ scripts: z.int(), hosts: z.array(z.string()).exactOptional() }),
  findings: z.array(
    z.looseObject({
      kind: z.string(),
      zoneId: z.string(),
      url: z.string().exactOptional(),
      message: z.string(),
    }),
  ),
});

/**
 * Reads the result of checking a script inventory.
 *
 * @param text the output of `edgeguard inventory check --format json`.
 * @throws LookupError if it's anything else.
 */
export function readInventorySummary(text: string): InventorySummary {
  const parsed = inventoryCheck.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = propertyPath(issue?.path ?? []);
    throw new LookupError(
      `--inventory: the file isn't the result of an inventory check${where === "" ? "" : ` (${where}: ${issue?.message ?? ""})`}. Create it with \`edgeguard inventory check --format json\`.`,
    );
  }
  const { passed, checkedAt, seen, inventory, findings } = parsed.data;
  const where = seen.hosts === undefined ? "" : ` on ${seen.hosts.join(", ")}`;
  return {
    passed,
    summary: say`${inventory.file}, checked at ${words(checkedAt)}: ${words(pluralize(seen.scripts, "script"))} seen${unlinked(where)}, ${words(pluralize(findings.length, "finding"))}.`,
    findings: findings.map(({ kind, url, zoneId, message }) =>
      url === undefined
        ? say`${words(kind)}: zone ${value(zoneId)}: ${unlinked(message)}`
        : say`${words(kind)}: ${value(url)} ${unlinked(message)}`,
    ),
  };
}
