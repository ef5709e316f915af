import { z } from "zod";
import { pluralize } from "../../basics/words";
import { isWeaker } from "../../rulesets/compare-effects";
import { rulesetRecord } from "../../rulesets/impact";
import { say, value, words } from "../phrase";
import type { Judge } from "./sides";

/** Finds changes of managed rules that would have stopped requests that passed, or of which nobody knows. */
export const stoppedTraffic: Judge = ({ step, impact }, { traffic: most }) => {
  if (most === undefined || step.op !== "update") return [];
  const { traffic, compared } = z.object(rulesetRecord).parse(impact.members);
  if (compared?.stronger.length === 0) return [];
  const { changes = [], hours = 0, off = 0, scored = false, isCut = false, notAsked } = traffic ?? {};
  const passed = changes.filter(({ from, to }) => from === "log" && !isWeaker(from, to));
  const events = passed.reduce((sum, each) => sum + each.events, 0);
  const isMore = isCut && events <= most && passed.length > 0;
  if (compared === undefined || off > 0 || scored || isMore || notAsked !== undefined)
    return [
      ["unseen", words("may stop requests that passed: firewall events don't tell, or weren't counted")],
    ];
  if (events <= most) return [];
  const allowed = value(`--fail-on traffic=${events}`);
  return [
    [
      "traffic",
      say`${words(`would have stopped up to ${pluralize(events, "event")} of the last ${hours} h that passed`)}; ${allowed} allows so many`,
    ],
  ];
};
