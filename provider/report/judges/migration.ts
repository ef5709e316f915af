import { say, words } from "../phrase";
import { isAhead, situationOf } from "../sections/waf-migration";
import { cell } from "../values";
import type { Judge } from "./sides";

/** Finds migration steps. Cloudflare can't undo any of them. */
export const migration: Judge = (all) => {
  if (!isAhead(all)) return [];
  const { now, target } = situationOf(all);
  const zone = cell(all.new.inputs["zoneId"], 40);
  const way =
    now === undefined
      ? `will go to ${target ?? ""}, unless it's already there (the live check was skipped)`
      : `will go from ${now === "start" ? "not started" : now} to ${target ?? ""}`;
  return [["irreversible", say`the WAF migration of zone ${zone} ${words(way)}; Cloudflare can't undo it`]];
};
