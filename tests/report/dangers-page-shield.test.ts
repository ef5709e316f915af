import { report } from "../../provider/report";
import { UNKNOWN } from "../support/operation";
import {
  found,
  planJson,
  refreshedJson,
  stepOf,
  type MadeStep,
  created,
  wouldBlock,
  dangersOf,
  sentencesOf,
} from "./plans";

/** What counts as a danger of Page Shield's settings and policies, and what doesn't. */

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const OTHER = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

describe("dangers of renaming a Page Shield resource:", () => {
  const policy = {
    zoneId: ZONE,
    description: "p",
    action: "allow",
    expression: "true",
    value: "script-src 'self'",
  };
  const settings = { zoneId: ZONE, enabled: true };
  const before = { outputs: { previous: { enabled: false } } };
  test.each<[string, string[], MadeStep[]]>([
    [
      "the new policy keeps blocking",
      ["delete old"],
      [
        stepOf("delete", "PageShieldPolicy", "old", { old: policy }),
        created("PageShieldPolicy", "new", { ...policy, ...found() }),
      ],
    ],
    [
      "the new policy doesn't block",
      ["unprotect old", "delete old"],
      [
        stepOf("delete", "PageShieldPolicy", "old", { old: policy }),
        created("PageShieldPolicy", "new", { ...policy, action: "log" }),
      ],
    ],
    [
      "Page Shield stays on",
      ["delete old"],
      [
        stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before }),
        created("PageShieldSettings", "new", { ...settings, useConnectionUrlPath: true }),
      ],
    ],
    [
      "the new resource disables Page Shield",
      ["unprotect old", "delete old"],
      [
        stepOf("delete", "PageShieldSettings", "old", { old: settings }),
        created("PageShieldSettings", "new", { ...settings, enabled: false }),
      ],
    ],
    [
      "Page Shield is disabled, and there's no new resource",
      ["unprotect old", "delete old"],
      [stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before })],
    ],
  ])("%s", (_, dangers, steps) => {
    expect(dangersOf(...steps)).toEqual(dangers);
  });

  test("the report on a rename doesn't claim that settings are restored", () => {
    const renamed = created("PageShieldSettings", "new", settings);
    const deleted = stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before });
    expect(report(refreshedJson(deleted), "markdown").text).toContain("| setting | before | after |");
    expect(report(refreshedJson(deleted, renamed), "markdown").text).not.toContain(
      "| setting | before | after |",
    );
  });
});

test("settings that were gone and are created again are judged, although another resource of the zone is deleted", () => {
  const settings = (enabled: boolean): Record<string, unknown> => ({
    zoneId: ZONE,
    enabled,
    onDestroy: "keep",
  });
  const step = (op: string, name: string, enabled: boolean): MadeStep =>
    stepOf(op, "PageShieldSettings", name, { old: settings(enabled), new: settings(enabled) });
  const plan = planJson(
    stepOf("refresh", "PageShieldSettings", "own", { old: settings(true) }),
    created("PageShieldSettings", "own", settings(false)),
    step("refresh", "b", true),
    stepOf("delete", "PageShieldSettings", "b", { old: settings(true) }),
  );
  expect(report(plan, "json").dangers.map(({ kind, name }) => `${kind} ${name}`)).toContain("unprotect own");
});

test("the report says that a policy's directives aren't known, instead of showing them as removed", () => {
  const policy = { zoneId: ZONE, description: "www", action: "log", value: "script-src 'self'" };
  const text = (value: unknown): string =>
    report(
      refreshedJson(stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, value } })),
      "markdown",
    ).text;
  for (const value of [UNKNOWN, { scriptSrc: ["'self'", UNKNOWN] }]) {
    expect(text(value)).toContain("Its directives are known after apply.");
    expect(text(value)).not.toContain("- script-src");
  }
  expect(text("default-src 'self'")).toContain("- script-src 'self'");
});

describe("the report on Page Shield", () => {
  const policy = {
    zoneId: ZONE,
    description: "www",
    action: "allow",
    enabled: true,
    value: "script-src 'self'",
  };
  const blocked = (count: number): object =>
    found({
      wouldBlock: wouldBlock(count, ["https://a.example/a.js"].slice(0, count)),
    });
  const settings = { zoneId: ZONE, enabled: true };
  const previous = { previous: { enabled: false } };
  test.each<[string, string[], MadeStep]>([
    [
      "a policy blocks scripts that the zone loads",
      ["blocks p"],
      created("PageShieldPolicy", "p", { ...policy, ...blocked(7) }),
    ],
    ["a policy blocks nothing", [], created("PageShieldPolicy", "p", { ...policy, ...blocked(0) })],
    [
      "a new policy is disabled",
      [],
      created("PageShieldPolicy", "p", { ...policy, enabled: false, ...found() }),
    ],
    [
      "a policy now only reports",
      ["unprotect p"],
      stepOf("update", "PageShieldPolicy", "p", {
        old: policy,
        new: { ...policy, action: "log", ...found() },
      }),
    ],
    [
      "a policy is disabled",
      ["unprotect p"],
      stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, enabled: false } }),
    ],
    [
      "a policy is deleted",
      ["unprotect p", "delete p"],
      stepOf("delete", "PageShieldPolicy", "p", { old: policy }),
    ],
    [
      "a policy moves to another zone",
      ["unprotect p", "replace p"],
      stepOf("replace", "PageShieldPolicy", "p", {
        old: policy,
        new: { ...policy, zoneId: OTHER, ...found() },
      }),
    ],
    [
      "a policy keeps blocking",
      [],
      stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, description: "web" } }),
    ],
    [
      "a policy that only reported is deleted",
      ["unprotect p", "delete p"],
      stepOf("delete", "PageShieldPolicy", "p", { old: { ...policy, action: "log" } }),
    ],
    [
      "Page Shield is disabled for the zone",
      ["unprotect s"],
      stepOf("update", "PageShieldSettings", "s", { old: settings, new: { ...settings, enabled: false } }),
    ],
    [
      "a new resource disables Page Shield without live checks",
      ["unprotect s"],
      created("PageShieldSettings", "s", { ...settings, enabled: false }),
    ],
    [
      "a new resource disables Page Shield, which was already off",
      [],
      created("PageShieldSettings", "s", {
        ...settings,
        enabled: false,
        ...found({ settings: { enabled: false } }),
      }),
    ],
    [
      "Page Shield records less with a new resource",
      ["unprotect s"],
      created("PageShieldSettings", "s", {
        ...settings,
        useConnectionUrlPath: false,
        ...found({ settings: { enabled: true, useConnectionUrlPath: true } }),
      }),
    ],
    [
      "a destroy disables Page Shield, as it was before",
      ["unprotect s", "delete s"],
      stepOf("delete", "PageShieldSettings", "s", { old: settings, outputs: previous }),
    ],
    [
      "Page Shield stays enabled after a destroy",
      ["delete s"],
      stepOf("delete", "PageShieldSettings", "s", {
        old: { ...settings, onDestroy: "keep" },
        outputs: previous,
      }),
    ],
  ])("lists the expected dangers if %s", (_, dangers, step) => {
    expect(dangersOf(step)).toEqual(dangers);
  });

  test("shows the settings that a destroy restores, and a setting that's no longer declared", () => {
    const old = { ...settings, useConnectionUrlPath: true };
    const outputs = { previous: { enabled: true, useConnectionUrlPath: false } };
    const destroyed = report(
      refreshedJson(stepOf("delete", "PageShieldSettings", "s", { old, outputs })),
      "markdown",
    ).text;
    expect(destroyed).toContain(
      "| setting | before | after |\n| --- | --- | --- |\n| `useConnectionUrlPath` | `true` | `false` |",
    );
    const less = report(
      refreshedJson(stepOf("update", "PageShieldSettings", "s", { old, new: settings, outputs })),
      "markdown",
    ).text;
    expect(less).toContain("| `useConnectionUrlPath` | `true` | back to `false` |");
  });
});

test("names the directive that applied before, if a policy falls back to another one", () => {
  const policy = { zoneId: ZONE, description: "www", action: "allow", expression: "true", enabled: true };
  const change = stepOf("update", "PageShieldPolicy", "p", {
    old: { ...policy, value: "script-src 'self'; img-src *" },
    new: { ...policy, value: "default-src 'self' cdn.example; img-src *" },
  });
  expect(sentencesOf("unprotect", change)).toEqual([
    `policy www newly allows cdn.example in default-src: "script-src 'self'" → "default-src 'self' cdn.example"`,
  ]);
});
