import { say, words } from "../phrase";
import { isAhead, situationOf } from "../sections/waf-migration";
import { cell } from "../values";
import type { Judge } from "./sides";

/** Every step forward is one that nobody can take back. */
export const migration: Judge = (all) => {
  if (!isAhead(all)) return [];
  const { now, target } = situationOf(all);
  const zone = cell(all.new.inputs["zoneId"], 40);
  const way =
    now === undefined
      ? `goes to ${target ?? ""}, unless it is there already, which nobody has looked at`
      : `goes from ${now} to ${target ?? ""}`;
  return [["irreversible", say`the WAF migration of zone ${zone} ${words(way)}; there is no way back`]];
};
