import { report, type DangerKind } from "../../provider/report/index";
import { JUDGES } from "../../provider/report/effects";
import { omit, type JsonObject } from "../../provider/basics/json";
import { Shell } from "../cli/shell";
import {
  found,
  list,
  many,
  planJson,
  read,
  recorded,
  stepOf,
  type MadePlan,
  type MadeStep,
  changed,
  created,
} from "./plans";

/**
 * What `edgeguard report --fail-on` lets through. The recorded plans have a resource for each argument that can lower
 * protection, named after the argument: `weaker.…` lowers each, `stronger.…` raises it again.
 */

const { here } = new Shell("report");

const LOWERING = ["weaker.rulesets", "weaker.page-shield", "weaker.logpush", "weaker.data"];

const kindOf = ({ urn }: MadeStep): string => /dynamic\/edgeguard:(\w+)::/.exec(urn)?.[1] ?? "";
const nameOf = ({ urn }: MadeStep): string => urn.split("::").slice(3).join("::");

/** Steps that aren't recorded: the local API has one account, and migrations are in another plan. */
const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a601";
const rule = { zoneId: ZONE, accountId: "a", ruleset: { name: "OWASP" }, enabled: true };
const job = { zoneId: ZONE, dataset: "http_requests", enabled: true };
const migration = { zoneId: ZONE, target: "finished" };
const MADE: readonly MadeStep[] = [
  stepOf("replace", "ManagedRulesetOverride", "phase", {
    old: rule,
    new: { ...rule, phase: "http_response_firewall_managed" },
  }),
  changed("ManagedRulesetOverride", "accountId", rule, { accountId: "b" }),
  changed(
    "ManagedRulesetOverride",
    "allRulesEnabled",
    { ...rule, allRulesEnabled: true },
    { allRulesEnabled: false },
  ),
  changed(
    "ManagedRulesetOverride",
    "matchedData.publicKey",
    { ...rule, matchedData: { publicKey: "a" } },
    { matchedData: { publicKey: "b" } },
  ),
  changed(
    "ManagedRulesetOverride",
    "exceptions[].logging",
    { ...rule, exceptions: [{ expression: "ssl", skip: "this" }] },
    { exceptions: [{ expression: "ssl", skip: "this", logging: false }] },
  ),
  stepOf("replace", "KvNamespace", "jurisdiction", {
    old: { accountId: "a" },
    new: { accountId: "a", jurisdiction: "eu" },
  }),
  stepOf("replace", "KvNamespace", "accountId", { old: { accountId: "a" }, new: { accountId: "b" } }),
  stepOf("replace", "KvEntries", "accountId", { old: { accountId: "a", keys: 1 }, new: { accountId: "b" } }),
  changed(
    "KvEntries",
    "defaults.expirationTtl",
    { keys: 12 },
    {
      defaults: { expirationTtl: 60 },
      ...found({ expires: list(...many(12)), expiry: "60 s after the update" }),
    },
  ),
  stepOf("replace", "WafMigration", "zoneId", { old: { ...migration, zoneId: "another" }, new: migration }),
  changed("LogpushJob", "filterAttackTraffic", job, { filterAttackTraffic: true }),
  changed("LogpushJob", "transformerId", { ...job, transformerId: 41 }, { transformerId: 42 }),
  changed(
    "LogpushTransformer",
    "code",
    { accountId: "a", code: "[secret]", codeDigest: "1" },
    { codeDigest: "2" },
  ),
  created("WafMigration", "target", migration),
  created("WafMigration", "configuration", { ...migration, configuration: [] }),
];

const STEPS = [...LOWERING.flatMap((name) => recorded(name).steps), ...MADE];

/** Arguments with another danger than `unprotect`. */
const GATES: Readonly<Record<string, Readonly<Record<string, DangerKind>>>> = {
  WafMigration: { zoneId: "irreversible", target: "irreversible", configuration: "irreversible" },
  KvNamespace: { accountId: "irreversible", jurisdiction: "irreversible", forceDestroy: "irreversible" },
  KvEntries: {
    accountId: "replace",
    namespaceId: "replace",
    entries: "removes",
    file: "removes",
    directory: "removes",
    "defaults.expirationTtl": "removes",
    "prune.prefix": "irreversible",
  },
};

/** Each argument that can lower protection, with its danger. */
const ROWS = Object.entries(JUDGES).flatMap(([kind, rows]) =>
  Object.entries(rows)
    .filter(([, judges]) => judges.length > 0)
    .map(([argument]): [string, string, DangerKind] => [
      kind,
      argument,
      GATES[kind]?.[argument] ?? "unprotect",
    ]),
);

describe("lowering an argument stops the pipeline, and the report says so first:", () => {
  test.each(ROWS)("%s, %s (%s)", async (kind, argument, danger) => {
    const step = STEPS.find((each) => kindOf(each) === kind && nameOf(each) === argument);
    expect(step).toBeDefined();
    if (step === undefined) return;
    const { code, stdout, stderr } = await here(["--fail-on", danger], { input: planJson(step) });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        `the plan has dangers of the kinds in --fail-on: ${danger} (${kind} ${argument})`,
      ) as string,
    });
    expect(stdout).toContain(`### Review these first\n\n- **${danger}** \`${kind} ${argument}\``);
  });
});

describe("raising an argument isn't a danger, unless the new value can't be proven to protect as much:", () => {
  test.each([
    ["stronger.rulesets", ["ruleset", "zoneId"]],
    // A policy with other sources than before newly allows some.
    [
      "stronger.page-shield",
      ["extra", "value: 'strict-dynamic'", "value: a hash", "value: fewer", "zoneId", "zoneId"],
    ],
    [
      "stronger.logpush",
      [
        "accountId",
        "dataset",
        "destinationConf",
        "extra",
        "filter: wider",
        "kind",
        "outputOptions.extra",
        "zoneId",
      ],
    ],
  ])("%s", (name, expected) => {
    const { dangers } = report(read(`${name}.json`), "json");
    const names = new Set(
      dangers.filter(({ kind }) => kind === "unprotect").map(({ type, name }) => `${type} ${name}`),
    );
    expect([...names].map((each) => each.replace(/^\w+ /, ""))).toEqual(expected);
  });
});

describe("the report finds the same dangers without credentials, from the arguments alone:", () => {
  test.each(["weaker.rulesets", "weaker.page-shield", "weaker.logpush"])("%s", (name) => {
    const { steps, ...rest } = recorded(name);
    const unseen = steps.map((step) => {
      const inputs = omit((step.newState?.["inputs"] ?? {}) as JsonObject, ["expansion", "impact"]);
      return step.newState === undefined ? step : { ...step, newState: { ...step.newState, inputs } };
    });
    const named = (plan: MadePlan): string[] => [
      ...new Set(
        report(JSON.stringify(plan), "json")
          .dangers.filter(({ kind }) => kind === "unprotect")
          .map(({ type, name }) => `${type} ${name}`),
      ),
    ];
    expect(named({ steps: unseen, ...rest })).toEqual(named({ steps, ...rest }));
  });
});
