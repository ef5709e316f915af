import { report } from "../../provider/report";
import type { Traffic } from "../../provider/rulesets/impact";
import { found, refreshedJson, stepOf, type MadeStep } from "./plans";

/** What the gate says about requests that a change of managed rules would have stopped. */

const args = {
  zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a501",
  ruleset: { id: "e".repeat(32) },
  expression: "true",
};

/** An update that turns 3 rules from log to block. */
function tightened(
  traffic?: Partial<Traffic>,
  compared: object = { weaker: [], stronger: ["3 rules log → block"] },
): MadeStep {
  const counted = { hours: 24, changes: [], exceptions: [], ...traffic };
  const members = {
    compared: { digest: "0", ...compared },
    ...(traffic === undefined ? {} : { traffic: counted }),
  };
  return stepOf("update", "ManagedRulesetOverride", "waf", {
    old: { ...args, action: "log" },
    new: { ...args, action: "block", ...found(members) },
  });
}
const logged = (events: number) => ({ changes: [{ from: "log", to: "block", events, rules: 3 }] });

function judged(step: MadeStep, traffic: number | undefined, accepted: readonly string[] = []) {
  const options = { failOn: ["traffic", "unseen"], traffic, accepted: new Set(accepted) } as const;
  const written = report(refreshedJson(step), "json", options);
  return { ...written, kinds: written.dangers.map(({ kind, verdict }) => `${kind} ${verdict}`) };
}

test("more events than allowed fail, so many pass", () => {
  const { kinds, text } = judged(tightened(logged(1_243)), 1_242);
  expect(kinds).toEqual(["traffic fails"]);
  expect(text).toContain("would have stopped up to 1,243 events of the last 24 h that passed");
  expect(judged(tightened(logged(1_243)), 1_243).kinds).toEqual([]);
  expect(judged(tightened(logged(1_243)), undefined).kinds).toEqual([]);
});

test("events that were challenged didn't pass, and a loosening stops none", () => {
  const changes = [
    { from: "managed_challenge", to: "block", events: 9, rules: 1 },
    { from: "log", to: "off", events: 9, rules: 1 },
  ];
  expect(judged(tightened({ changes }), 0).kinds).toEqual([]);
  expect(judged(tightened(logged(9), { weaker: ["1 rule log → off"], stronger: [] }), 0).kinds).toEqual([
    "unprotect passes",
  ]);
});

test.each([
  ["events weren't counted", { notAsked: "Cloudflare didn't answer" }],
  ["rules were off", { off: 12 }],
  ["scores change", { scored: true }],
])("a tightening is unseen if %s", (_, traffic) => {
  expect(judged(tightened(traffic), 100).kinds).toEqual(["unseen fails"]);
  expect(judged(tightened(traffic), undefined).kinds).toEqual([]);
});

const exception = { expression: 'http.host eq "a"', skip: "this" };
const nothingStronger = found({ compared: { weaker: [], stronger: [], moved: [], digest: "0" } });

test.each<[string, object, object]>([
  [
    "it was disabled",
    { enabled: false },
    found({ compared: { weaker: [], stronger: ["1 rule off → block"], digest: "0" } }),
  ],
  ["it runs on more requests", { expression: 'http.host eq "a"' }, nothingStronger],
  ["an exception is removed", { exceptions: [exception] }, nothingStronger],
  ["it moves", { position: "last" }, { position: "first", ...nothingStronger }],
  ["another ruleset runs", { ruleset: { id: "d".repeat(32) } }, nothingStronger],
])("an update that stops more is unseen if nothing was counted: %s", (_, old, next) => {
  const step = (more: object = {}): MadeStep =>
    stepOf("update", "ManagedRulesetOverride", "waf", {
      old: { ...args, ...old },
      new: { ...args, ...next, ...more },
    });
  expect(judged(step(), 100).kinds).toContain("unseen fails");
  expect(judged(step(), undefined).kinds).not.toContain("unseen fails");
  expect(judged(step({ action: "log" }), 100).kinds).not.toContain("unseen fails");
});

test("a new deployment is unseen unless it only logs", () => {
  const step = (more: object): MadeStep =>
    stepOf("create", "ManagedRulesetOverride", "waf", { new: { ...args, ...more } });
  const owasp = { paranoiaLevel: 1, action: "block" };
  expect(judged(step({}), 100).kinds).toEqual(["unseen fails"]);
  expect(judged(step({ action: "log", owasp }), 100).kinds).toEqual(["unseen fails"]);
  expect(judged(step({ action: "log" }), 100).kinds).toEqual([]);
  expect(judged(step({ enabled: false }), 100).kinds).toEqual([]);
});

test("a count of which Cloudflare returned only a part fails if it's enough, and else is unseen", () => {
  const cut = tightened({ ...logged(3), isCut: true });
  expect(judged(cut, 2).kinds).toEqual(["traffic fails"]);
  expect(judged(cut, 100).kinds).toEqual(["unseen fails"]);
});

test("of sampled events, the upper end of the range counts", () => {
  const changes = [{ from: "log", to: "block", least: 80, events: 120, rules: 1 }];
  expect(judged(tightened({ changes, isSampled: true }), 100).kinds).toEqual(["traffic fails"]);
  expect(judged(tightened({ changes, isSampled: true }), 120).kinds).toEqual([]);
});

test("a digest covers the change and not the counts, and only a higher limit accepts events", () => {
  const [few, many] = [judged(tightened(logged(10)), 0), judged(tightened(logged(9_999)), 0)];
  expect(many.digest).toBe(few.digest);
  const all = [...few.digests];
  expect(judged(tightened(logged(10)), 0, all).kinds).toEqual(["traffic fails"]);
  const narrower = stepOf("update", "ManagedRulesetOverride", "waf", {
    old: { ...args, enabled: true },
    new: {
      ...args,
      expression: 'http.host eq "a"',
      ...found({ traffic: { hours: 24, exceptions: [], ...logged(10) } }),
    },
  });
  const other = stepOf("update", "ManagedRulesetOverride", "waf", {
    old: { ...args, enabled: true },
    new: {
      ...args,
      expression: 'http.host eq "a"',
      ...found({ traffic: { hours: 24, exceptions: [], ...logged(20) } }),
    },
  });
  expect(judged(narrower, undefined).digest).toBe(judged(other, undefined).digest);
});
