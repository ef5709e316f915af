import { readdirSync } from "node:fs";
import { report } from "../../provider/report";
import { pathOf, planOf, own, read, RECORDED, recorded, REFRESHED, shuffled, type MadePlan } from "./plans";

/**
 * Plans that the Pulumi CLI has written, and what was reviewed of them. After a change that is meant:
 *
 *     edgeguard report tests/report/fixtures/changed.json > tests/report/fixtures/changed.md
 *
 * and look at the difference.
 */

describe("a recorded plan is told as it was reviewed:", () => {
  test.each(RECORDED)("%s", (name) => {
    expect(report(read(`${name}.json`), "markdown").text).toBe(read(`${name}.md`));
  });

  test("also as text and as JSON", () => {
    expect(report(read("changed.json"), "text").text).toBe(read("changed.txt"));
    expect(report(read("migrations.json"), "json").text).toBe(read("migrations.report.json"));
  });

  test("all kinds of resources and of steps are among them", () => {
    const steps = RECORDED.flatMap((name) => recorded(name).steps);
    const kinds = new Set(steps.flatMap(({ urn }) => /dynamic\/edgeguard:(\w+)::/.exec(urn)?.[1] ?? []));
    expect([...kinds].sort()).toEqual([
      "KvEntries",
      "KvNamespace",
      "LogpushJob",
      "ManagedRulesetOverride",
      "PageShieldPolicy",
      "PageShieldSettings",
      "WafMigration",
    ]);
    for (const kind of kinds) {
      const ops = new Set(steps.filter(({ urn }) => urn.includes(`:${kind}::`)).map(({ op }) => op));
      expect({ kind, ops: [...ops] }).toEqual({
        kind,
        ops: expect.arrayContaining(["create", "update", "replace", "delete"]) as string[],
      });
    }
    expect([...new Set(steps.map(({ op }) => op))].sort()).toEqual([
      "create",
      "create-replacement",
      "delete",
      "delete-replaced",
      "discard",
      "import",
      "read",
      "refresh",
      "replace",
      "same",
      "update",
    ]);
  });

  test("nothing of the machine that recorded them is in them", () => {
    const files = readdirSync(pathOf("."));
    for (const file of files)
      expect(read(file)).not.toMatch(/127\.0\.0\.1|localhost|\/tmp\/|\/home\/|\/root\/|\/work\//);
  });
});

describe("whatever the order in which the engine came to it", () => {
  test.each(["created", "changed", "replaced", "deleted", "migrations"])("%s is told alike", (name) => {
    const { steps, diagnostics = [], ...rest } = recorded(name);
    for (const seed of [1, 2, 3]) {
      const other = {
        ...rest,
        steps: shuffled(steps, seed),
        diagnostics: shuffled(whole(diagnostics), seed).flat(),
      };
      expect(report(JSON.stringify(other), "markdown").text).toBe(read(`${name}.md`));
    }
  });

  /** What was said at once stays together. */
  function whole(diagnostics: NonNullable<MadePlan["diagnostics"]>): (typeof diagnostics)[number][][] {
    const groups: (typeof diagnostics)[number][][] = [];
    for (const each of diagnostics) {
      if (String(each["message"]).startsWith("  ")) groups.at(-1)?.push(each);
      else groups.push([each]);
    }
    return groups;
  }
});

describe("secrets", () => {
  const formats = ["markdown", "text", "json"] as const;

  test.each(RECORDED)("of %s are nowhere", (name) => {
    for (const format of formats) expect(report(read(`${name}.json`), format).text).not.toMatch(/canary/i);
  });

  test("the engine does repeat one that is refused", () => {
    expect(read("secret.json")).toContain("canary-secret-key");
  });

  /** Each as its scheme carries it (facts 7.4), in a plan that was made with --show-secrets. */
  test.each([
    ["s3", "s3://logs/http?region=us-east-1&access-key-id=AKIACANARY&secret-access-key=CANARY"],
    ["r2", "r2://logs/http?account-id=0&access-key-id=CANARY&secret-access-key=CANARY"],
    ["gs", "gs://CANARY/http"],
    ["azure", "azure://account.blob.core.windows.net/logs?sv=2022&sig=CANARY"],
    ["https", "https://logs.example.com/in?header_Authorization=Basic%20CANARY"],
    ["splunk", "splunk://splunk.example.com:8088/raw?channel=CANARY&header_Authorization=Splunk%20CANARY"],
    ["datadog", "datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=CANARY"],
    ["sumo", "sumo://collectors.sumologic.com/receiver/v1/http/CANARY"],
  ])("of a destination of %s stay out, even where the plan shows them", (_, destinationConf) => {
    const job = {
      dataset: "http_requests",
      zoneId: "a",
      destinationConf,
      ownershipChallenge: "CANARY-token",
    };
    const entries = { namespaceId: "n", entries: { a: "CANARY" }, keys: 1 };
    const plan = JSON.stringify({
      config: { "edgeguard:apiToken": "CANARY" },
      steps: [
        own("create", "LogpushJob", "new", { new: job }),
        own("update", "LogpushJob", "changed", { old: { ...job, destinationConf: "https://a" }, new: job }),
        own("delete", "LogpushJob", "old", { old: job }),
        own("update", "KvEntries", "entries", {
          old: entries,
          new: { ...entries, entries: { a: "CANARY-2" } },
        }),
        own("create", "KvNamespace", "marked", {
          new: {
            title: {
              "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
              value: "CANARY",
            },
          },
        }),
      ],
      diagnostics: [
        {
          urn: "urn:pulumi:dev::edge::pulumi-nodejs:dynamic/edgeguard:LogpushJob::new",
          message: `error: pulumi-nodejs:dynamic/edgeguard:LogpushJob resource 'new': property destinationConf value {&{{${destinationConf}} has a problem: CANARY}} has a problem: lacks a region\n`,
          severity: "error",
        },
      ],
    });
    for (const format of formats) {
      const { text } = report(plan, format);
      expect(text).not.toContain("CANARY");
      expect(text).toContain("lacks a region");
    }
    expect(report(plan, "text").text).toMatch(/destinationConf\s+│ \[secret\]/);
  });

  test("that alone differ are said to", () => {
    const job = { dataset: "http_requests", zoneId: "a", destinationConf: "[secret]" };
    const { text } = report(
      planOf(own("update", "LogpushJob", "rotated", { old: job, new: job })),
      "markdown",
    );
    expect(text).toContain("None of the arguments that a plan shows differs: what does is secret");
  });
});

describe("what is no plan is refused with a sentence, not guessed:", () => {
  const step = own("create", "KvNamespace", "a", { new: { title: "a" } });
  test.each<[string, string, RegExp]>([
    ["nothing", "", /there is no plan: the input is empty. Pipe `pulumi preview --json --show-sames` in/],
    ["white space", " \n", /the input is empty/],
    ["text", "Previewing update (dev)", /is not a plan of `pulumi preview --json`: Unexpected token/],
    ["half a plan", planOf(step).slice(0, -3), /is not a plan of `pulumi preview --json`/],
    ["two documents", `${planOf(step)}\n${planOf(step)}`, /is not a plan of `pulumi preview --json`/],
    ["an empty object", "{}", /it holds nothing at all/],
    ["a list", "[]", /at the top: .*expected object/],
    ["a state file", JSON.stringify({ version: 3, deployment: {} }), /at the top: Unrecognized keys/],
    ["an unknown operation", planOf({ ...step, op: "split" }), /at steps\.0\.op: Invalid option/],
    [
      "an unknown member of a step",
      JSON.stringify({ steps: [{ ...step, policy: {} }] }),
      /at steps\.0: Unrecognized key: "policy"/,
    ],
    ["a name that is no URN", planOf({ ...step, urn: "catalog" }), /"catalog" is not a URN/],
    [
      "inputs that are no object",
      planOf({ ...step, newState: { inputs: [] } }),
      /at steps\.0\.newState\.inputs/,
    ],
    [
      "a resource of tomorrow",
      planOf(own("create", "RateLimit", "a", { new: {} })),
      /holds a RateLimit, which this version of edgeguard does not know/,
    ],
    [
      "one called as a member of every object",
      planOf(own("create", "constructor", "a", { new: {} })),
      /holds a constructor, which/,
    ],
    [
      "a refresh",
      read(`${REFRESHED}.json`),
      /the plan of a refresh.*use `pulumi preview --refresh --json --show-sames`/,
    ],
  ])("%s", (_, text, sentence) => {
    expect(() => report(text, "markdown")).toThrow(sentence);
  });

  test("members of a state that are new are no reason to refuse", () => {
    const plan = planOf({ ...step, newState: { inputs: { title: "a" }, deletedWith: "x", tomorrow: [1] } });
    expect(report(`\ufeff${plan}`, "markdown").text).toContain("+ KvNamespace <b>a</b>");
  });
});
