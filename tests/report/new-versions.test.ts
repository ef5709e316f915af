import { report, reportAll, reportDrift } from "../../provider/report";
import { DANGERS } from "../../provider/report/model";
import { diagnostic, found, planJson, read, stepOf, type MadeStep, kept, changed } from "./plans";

/** What a refresh or preview finds out about new versions of managed rulesets, in the report. */

const TYPE = "ManagedRulesetOverride";
const NEWS = "Cloudflare Managed Ruleset 88 → 89: 1 rule block → log.";
const REF = "edgeguard/a";
const refreshed = { operation: "refresh", revision: 1, seen: [] };

/** The steps of a deployment that a refresh reads, and that then stays as it is. */
const refresh = (versions?: readonly string[]): MadeStep[] => {
  const recorded = { ref: REF };
  const now = versions === undefined ? recorded : { ref: REF, impact: { ...refreshed, versions } };
  return [stepOf("refresh", TYPE, "waf", { old: recorded, new: recorded }), kept(TYPE, "waf", now)];
};
const planOf = (stack: string, versions?: readonly string[]): { name: string; text: string } => ({
  name: stack,
  text: planJson(
    ...refresh(versions).map((step) => ({ ...step, urn: step.urn.replace(":dev:", `:${stack}:`) })),
  ),
});
const versionsIn = (text: string): unknown => (JSON.parse(text) as { newVersions: unknown }).newVersions;

test("reports a new ruleset version as information, never as a danger, even if it protects less", () => {
  const { dangers, digest, failed, text } = report(read("new-versions.json"), "json", { failOn: DANGERS });
  expect({ dangers, digest, failed }).toEqual({ dangers: [], digest: undefined, failed: false });
  expect(versionsIn(text)).toEqual([
    { about: "ManagedRulesetOverride pinned", text: expect.stringContaining("is pinned to 87") as string },
    { about: "ManagedRulesetOverride waf", text: expect.stringContaining(" 88 → 89: 3 new") as string },
  ]);
});

test("the drift report lists new ruleset versions beside manual changes, but not as drift", () => {
  const plan = { name: "new-versions.json", text: read("new-versions.json") };
  const { drifted, text } = reportDrift([plan], "json");
  expect(drifted).toBe(false);
  expect(versionsIn(text)).toEqual(versionsIn(report(plan.text, "json").text));
});

test("lists what a preview finds out about a changed deployment", () => {
  const step = stepOf("update", TYPE, "waf", {
    old: { ref: REF },
    new: { ref: REF, ...found({ versions: [NEWS] }) },
  });
  expect(versionsIn(report(planJson(step), "json").text)).toEqual([{ about: `${TYPE} waf`, text: NEWS }]);
});

test("doesn't repeat what an earlier preview or refresh found out", () => {
  const preview = { ref: REF, ...found({ versions: [NEWS] }) };
  const known = { ref: REF, impact: { ...refreshed, versions: [NEWS] } };
  const repeated = [
    changed(TYPE, "waf", preview, { description: "a" }),
    changed(TYPE, "waf", known, { description: "a" }),
    kept(TYPE, "waf", preview),
  ];
  for (const step of repeated) expect(versionsIn(report(planJson(step), "json").text)).toEqual([]);
});

test("lists each new ruleset version once, whatever the messages say", () => {
  const messages = [
    `edgeguard: managed ruleset "edgeguard/a": ${NEWS}`,
    'edgeguard: managed ruleset "edgeguard/a": adopted rule 1: action block → log: 1',
    'edgeguard: managed ruleset "other": Cloudflare Managed Ruleset 89 → 90: 1 rule block → log.',
  ].map((each) => diagnostic(each));
  const versions = (...lines: readonly string[]): unknown =>
    versionsIn(report(JSON.stringify({ steps: refresh(lines), diagnostics: messages }), "json").text);
  expect(versions(NEWS, NEWS)).toEqual([{ about: `${TYPE} waf`, text: NEWS }]);
  expect(versions()).toEqual([]);
  expect(report(planOf("dev").text, "text").text).not.toContain("New versions");
});

test("a report on several stacks names the stack that runs the new ruleset version", () => {
  const plans = [planOf("blog", [NEWS]), planOf("shop")];
  expect(reportAll(plans, "text").text).toContain(
    `New versions of managed rulesets:\n  - blog: ManagedRulesetOverride waf: ${NEWS}\n`,
  );
});
