import { z } from "zod";
import { pluralize } from "../../basics/words";
import { isWeaker } from "../../rulesets/compare-effects";
import { rulesetRecord } from "../../rulesets/impact";
import { say, value, words } from "../phrase";
import { hasNoBefore, isDeleted, isReplaced, type StepView } from "../sections/section";
import { asList, asObject, isHidden } from "../values";
import { selectsNoLess } from "./requests";
import { exceptionsOf, mayRun, skipsNoMoreRequests } from "./ruleset-facts";
import { isUnchanged, type Judge } from "./sides";

/** Finds changes of managed rules that would have stopped requests that passed, or of which nobody knows. */
export const stoppedTraffic: Judge = (all, { traffic: most }) => {
  const { step, new: next, impact } = all;
  const isUpdate = step.op !== "same" && step.op !== "import" && !isDeleted(step);
  if (most === undefined || !isUpdate || !mayRun(next) || onlyLogs(all)) return [];
  const { traffic, compared } = z.object(rulesetRecord).parse(impact.members);
  const isWider = runsOnMore(all);
  if (compared?.stronger.length === 0 && !isWider) return [];
  const { changes = [], hours = 0, off = 0, scored = false, isCut = false, notAsked } = traffic ?? {};
  const passed = changes.filter(({ from, to }) => from === "log" && !isWeaker(from, to));
  const events = passed.reduce((sum, each) => sum + each.events, 0);
  const isMore = isCut && events <= most && passed.length > 0;
  const isCounted = compared !== undefined && traffic !== undefined && notAsked === undefined;
  if (!isCounted || isWider || off > 0 || scored || isMore)
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

/** Whether no rule does more than log. */
function onlyLogs({ new: { inputs } }: StepView): boolean {
  const { phase, action, owasp, categories, rules } = inputs;
  const more = [owasp, ...asList(categories), ...Object.values(asObject(rules))];
  const actions = more.map((each) => asObject(each)["action"]);
  return (
    phase !== undefined || // Responses are only logged.
    (action === "log" &&
      actions.every((each) => each === undefined || each === "log") &&
      ![owasp, categories, rules].some(isHidden))
  );
}

/** Whether the rules may run on requests that they didn't run on before. */
function runsOnMore(all: StepView): boolean {
  const { before, new: next } = all;
  if (hasNoBefore(all) || isReplaced(all)) return true;
  const [was, is] = [before.inputs, next.inputs];
  const isMoved = is["position"] !== undefined && !isUnchanged(was["position"], is["position"]);
  const keepsExceptions = exceptionsOf(before).every((known) =>
    skipsNoMoreRequests([known, before], exceptionsOf(next), next),
  );
  return (
    isMoved ||
    !keepsExceptions ||
    isHidden([was["exceptions"], is["exceptions"]]) ||
    !isUnchanged(was["ruleset"], is["ruleset"]) ||
    !selectsNoLess(was["expression"] ?? "true", is["expression"] ?? "true")
  );
}
