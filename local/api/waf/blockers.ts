import type { ApiFailure } from "../envelope";
import type { Limits } from "../limits";
import { bypassing } from "./conversion";
import type { WafZone } from "./entities";
import { wafFailures } from "./failures";

/** Why the zone has no migration option (S1). */
export function overridesLeft({ overrides }: WafZone): ApiFailure[] {
  return overrides.length === 0 ? [] : [wafFailures.overridesLeft(overrides.length)];
}

/** Why the vendor's support has to migrate the zone (S1); counts the firewall rules that are to be migrated. */
export function supportNeeded(zone: WafZone, limits: Limits): ApiFailure[] {
  const { maxMigratableRules: mostRules, maxMigratableExpressionBytes: mostBytes } = limits;
  const rules = bypassing(zone);
  const tooMany = rules.length > mostRules ? [wafFailures.tooManyRules(rules.length, mostRules)] : [];
  const tooLong = rules.flatMap(({ id, expression }) => {
    const bytes = Buffer.byteLength(expression);
    return bytes > mostBytes ? [wafFailures.expressionTooLong(id, bytes, mostBytes)] : [];
  });
  return [...tooMany, ...tooLong];
}
