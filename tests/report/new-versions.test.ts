import { report, reportAll, reportDrift } from "../../provider/report";
import { DANGERS } from "../../provider/report/model";
import { diagnostic, planJson, read, stepOf } from "./plans";

/** What a refresh says about new versions of managed rulesets, in the report. */

const news = (ref: string): string =>
  `edgeguard: managed ruleset ${JSON.stringify(ref)}: Cloudflare Managed Ruleset 88 → 89: 1 rule block → log.`;
const deployment = (name: string, ref: string) =>
  stepOf("same", "ManagedRulesetOverride", name, { old: { ref }, new: { ref } });
const planOf = (
  name: string,
  ref: string,
  ...messages: readonly string[]
): { name: string; text: string } => {
  const { steps } = JSON.parse(planJson(deployment("waf", ref))) as { steps: { urn: string }[] };
  const named = steps.map((step) => ({ ...step, urn: step.urn.replace(":dev:", `:${name}:`) }));
  return {
    name,
    text: JSON.stringify({ steps: named, diagnostics: messages.map((each) => diagnostic(each)) }),
  };
};
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

test("names the rule's ref if the plan doesn't show which resource has that ref", () => {
  const { text } = planOf("dev", "edgeguard/a", news('team/"b": c'));
  expect(versionsIn(report(text, "json").text)).toEqual([
    {
      about: 'managed ruleset "team/\\"b\\": c"',
      text: "Cloudflare Managed Ruleset 88 → 89: 1 rule block → log.",
    },
  ]);
});

test("lists each message about a new ruleset version once, and no other messages", () => {
  const others = [
    'edgeguard: managed ruleset "edgeguard/a": adopted rule 1: action block → log: 1',
    "edgeguard: Rule 1 of zone 2 stays as it is",
    'managed ruleset "edgeguard/a": Cloudflare Managed Ruleset 88 → 89: not from this package',
  ];
  const { text } = planOf("dev", "edgeguard/a", ...others, news("edgeguard/a"), news("edgeguard/a"));
  expect(versionsIn(report(text, "json").text)).toHaveLength(1);
  expect(report(planJson(deployment("waf", "edgeguard/a")), "text").text).not.toContain("New versions");
});

test("a report on several stacks names the stack that runs the new ruleset version", () => {
  const plans = [planOf("blog", "edgeguard/a", news("edgeguard/a")), planOf("shop", "edgeguard/a")];
  expect(reportAll(plans, "text").text).toContain(
    "New versions of managed rulesets:\n  - blog: ManagedRulesetOverride waf: Cloudflare Managed Ruleset 88 → 89: 1 rule block → log.\n",
  );
});
