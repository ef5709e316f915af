import { readdirSync } from "node:fs";
import { report, reportDrift } from "../../provider/report/index";
import { DANGERS } from "../../provider/report/model";
import { omit } from "../../provider/basics/json";
import {
  pathOf,
  planJson,
  plansIn,
  stepOf,
  read,
  RECORDED,
  recorded,
  REFRESHED,
  shuffled,
  type MadePlan,
  type MadeStep,
  created,
  deleted,
  changed,
} from "./plans";

/**
 * Plans that the Pulumi CLI wrote, and their reviewed reports. After an intended change, write the report again
 *
 *     edgeguard report tests/report/fixtures/changed.json > tests/report/fixtures/changed.md
 *
 * and review the difference.
 */

describe("recorded plans", () => {
  test.each(RECORDED)("give the reviewed report: %s", (name) => {
    expect(report(read(`${name}.json`), "markdown").text).toBe(read(`${name}.md`));
  });

  test("also give the reviewed report as text and as JSON", () => {
    expect(report(read("changed.json"), "text").text).toBe(read("changed.txt"));
    expect(report(read("migrations.json"), "json").text).toBe(read("migrations.report.json"));
  });

  test("cover every resource and operation", () => {
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

  test("contain nothing from the machine that recorded them", () => {
    const files = readdirSync(pathOf("."), { recursive: true, encoding: "utf8" }).filter((path) =>
      /\.\w+$/.test(path),
    );
    for (const file of files)
      expect(read(file)).not.toMatch(/127\.0\.0\.1|localhost|\/tmp\/|\/home\/|\/root\/|\/work\//);
  });
});

describe("the report on plans in another order", () => {
  test.each(["created", "changed", "replaced", "deleted", "migrations"])("is the same for %s", (name) => {
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

  /** Keeps the lines of one message together. */
  function whole(diagnostics: NonNullable<MadePlan["diagnostics"]>): (typeof diagnostics)[number][][] {
    const groups: (typeof diagnostics)[number][][] = [];
    for (const each of diagnostics) {
      if (String(each["message"]).startsWith("  ")) groups.at(-1)?.push(each);
      else groups.push([each]);
    }
    return groups;
  }
});

describe("messages decide nothing:", () => {
  const OTHERS = [
    'edgeguard: KvEntries config: prune deletes 900 keys that others wrote: "a"',
    "edgeguard: live checks skipped: offline",
    'edgeguard: managed ruleset "waf": Cloudflare Managed Ruleset 88 → 89: 1 rule block → log.',
    "something else",
  ];
  /** The same plan with other texts of the same severity, about the same resources. */
  const reworded = (name: string, from: number): string => {
    const { diagnostics = [], ...plan } = recorded(name);
    return JSON.stringify({
      ...plan,
      diagnostics: diagnostics.map((each, index) => ({
        ...each,
        message: `${OTHERS[(from + index) % OTHERS.length] ?? ""}\n\n`,
      })),
    });
  };
  const judged = (plan: string): unknown => {
    const { dangers, digest } = report(plan, "json", { failOn: DANGERS });
    const { notes, newVersions } = JSON.parse(report(plan, "json").text) as Record<string, unknown>;
    return { dangers, digest, notes, newVersions };
  };

  test.each(RECORDED)("dangers, digests and notes of %s come from the resources alone", (name) => {
    const before = judged(read(`${name}.json`));
    for (const from of [0, 2]) expect(judged(reworded(name, from))).toEqual(before);
  });

  test.each(plansIn("drift"))("drift in %s comes from the resources alone", (name) => {
    const found = (text: string): unknown => {
      const drift = JSON.parse(reportDrift([{ name, text }], "json").text) as Record<string, unknown>;
      return omit(drift, ["warnings", "errors"]);
    };
    const before = found(read(`drift/${name}.json`));
    for (const from of [0, 2]) expect(found(reworded(`drift/${name}`, from))).toEqual(before);
  });
});

describe("secrets in a plan", () => {
  const formats = ["markdown", "text", "json"] as const;

  test.each(RECORDED)("are hidden in the report on %s", (name) => {
    for (const format of formats) expect(report(read(`${name}.json`), format).text).not.toMatch(/canary/i);
  });

  test("aren't in the engine's error message about an argument that the preview refuses", () => {
    expect(read("secret.json")).toContain('is missing a query parameter that s3:// requires: \\"region\\"');
    expect(read("secret.json")).not.toMatch(/canary/i);
  });

  /** Credentials where each scheme carries them, in a plan made with --show-secrets. */
  test.each([
    ["s3", "s3://logs/http?region=us-east-1&access-key-id=AKIACANARY&secret-access-key=CANARY"],
    ["r2", "r2://logs/http?account-id=0&access-key-id=CANARY&secret-access-key=CANARY"],
    ["gs", "gs://CANARY/http"],
    ["azure", "azure://account.blob.core.windows.net/logs?sv=2022&sig=CANARY"],
    ["https", "https://logs.example.com/in?header_Authorization=Basic%20CANARY"],
    ["splunk", "splunk://splunk.example.com:8088/raw?channel=CANARY&header_Authorization=Splunk%20CANARY"],
    ["datadog", "datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=CANARY"],
    ["sumo", "sumo://collectors.sumologic.com/receiver/v1/http/CANARY"],
  ])("are hidden in a destination (%s), even if the plan shows them", (_, destinationConf) => {
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
        created("LogpushJob", "new", job),
        stepOf("update", "LogpushJob", "changed", {
          old: { ...job, destinationConf: "https://a" },
          new: job,
        }),
        deleted("LogpushJob", "old", job),
        changed("KvEntries", "entries", entries, { entries: { a: "CANARY-2" } }),
        created("KvNamespace", "marked", {
          title: { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", value: "CANARY" },
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

  test("are mentioned without a value if they're the only change", () => {
    const job = { dataset: "http_requests", zoneId: "a", destinationConf: "[secret]" };
    const { text } = report(
      planJson(stepOf("update", "LogpushJob", "rotated", { old: job, new: job })),
      "markdown",
    );
    expect(text).toContain("No visible argument changes: the change is in a secret");
  });
});

describe("reading a plan", () => {
  const step = created("KvNamespace", "a", { title: "a" });
  test.each<[string, string, RegExp]>([
    ["nothing", "", /no plan: the input is empty. Pipe in `pulumi preview --json --show-sames`/],
    ["whitespace", " \n", /the input is empty/],
    ["text", "Previewing update (dev)", /isn't a plan from `pulumi preview --json`: Unexpected token/],
    ["half a plan", planJson(step).slice(0, -3), /isn't a plan from `pulumi preview --json`/],
    ["two documents", `${planJson(step)}\n${planJson(step)}`, /isn't a plan from `pulumi preview --json`/],
    ["an empty object", "{}", /it's an empty object/],
    ["a list", "[]", /at the top: .*expected object/],
    ["a state file", JSON.stringify({ version: 3, deployment: {} }), /at the top: Unrecognized keys/],
    ["an unknown operation", planJson({ ...step, op: "split" }), /at steps\.0\.op: Invalid option/],
    [
      "an unknown member of a step",
      JSON.stringify({ steps: [{ ...step, policy: {} }] }),
      /at steps\.0: Unrecognized key: "policy"/,
    ],
    ["a name instead of a URN", planJson({ ...step, urn: "catalog" }), /"catalog" isn't a URN/],
    [
      "inputs that aren't an object",
      planJson({ ...step, newState: { inputs: [] } }),
      /at steps\.0\.newState\.inputs/,
    ],
    [
      "a resource of a later version",
      planJson(created("RateLimit", "a", {})),
      /contains a RateLimit, which this version of edgeguard doesn't recognize/,
    ],
    [
      "a resource named like a member of every object",
      planJson(created("constructor", "a", {})),
      /contains a constructor, which/,
    ],
    [
      "the plan of a refresh",
      read(`${REFRESHED}.json`),
      /the plan of a `pulumi refresh`.*Use `pulumi preview --refresh --json --show-sames`/,
    ],
  ])("refuses %s, with a sentence that says why", (_, text, sentence) => {
    expect(() => report(text, "markdown")).toThrow(sentence);
  });

  test("accepts unknown fields in a resource's state", () => {
    const plan = planJson({ ...step, newState: { inputs: { title: "a" }, deletedWith: "x", tomorrow: [1] } });
    expect(report(`\ufeff${plan}`, "markdown").text).toContain("+ KvNamespace <b>a</b>");
  });
});

describe("the report on explicit providers", () => {
  const provider = (op: string, name: string, token?: string) => ({
    op,
    urn: `urn:pulumi:dev::edge::pulumi:providers:pulumi-nodejs::${name}`,
    ...(op === "create" ? {} : { oldState: { custom: true, inputs: { "edgeguard:apiToken": token } } }),
    ...(op === "delete" ? {} : { newState: { custom: true, inputs: { "edgeguard:apiToken": token } } }),
  });

  test("names changed providers in one line, without their arguments", () => {
    const steps = [
      provider("update", "us", "c4nary"),
      provider("create", "eu", "c4nary"),
      provider("same", "ca"),
    ];
    for (const format of ["markdown", "text", "json"] as const) {
      const { text } = report(planJson(...steps), format);
      expect(text).toMatch(/Providers created, changed or deleted: `?eu`?, `?us`?\./);
      expect(text).not.toMatch(/c4nary|apiToken|pulumi:providers|\bca\b/);
    }
    expect(report(planJson(provider("same", "ca")), "text").text).not.toContain("Providers");
  });

  test("has a danger if a provider sends its credential to another API", () => {
    const step = (op: string, old: object, inputs: object): MadeStep => ({
      ...provider(op, "eu", "c4nary"),
      ...(op === "create" ? {} : { oldState: { custom: true, inputs: { ...old } } }),
      newState: { custom: true, inputs: { ...inputs } },
    });
    const dangers = (...of: Parameters<typeof step>): string[] =>
      report(planJson(step(...of)), "json").dangers.map(
        (each) => `${each.kind} ${each.type} ${each.name}: ${each.sentence.toString()}`,
      );
    const [classes, plugin] = ["edgeguard:baseUrl", "baseUrl"].map((key) => ({
      [key]: "https://proxy.example/v4",
    }));
    const CLOUDFLARE = "https://api.cloudflare.com/client/v4";
    for (const there of [classes ?? {}, plugin ?? {}]) {
      const sends = "unprotect Provider eu: sends its credential and all requests to another API:";
      const lost = [`${sends} ${CLOUDFLARE} → https://proxy.example/v4`];
      expect(dangers("update", {}, there)).toEqual(lost);
      expect(dangers("replace", {}, there)).toEqual(lost);
      expect(dangers("create", {}, there)).toEqual([`${sends} https://proxy.example/v4`]);
      const both = planJson(
        step("create", {}, there),
        ...[{ ...step("same", there, there), urn: `${step("same", {}, {}).urn}-2` }],
      );
      expect(report(both, "json").dangers).toEqual([]);
      expect(dangers("update", there, {})).toEqual([`${sends} https://proxy.example/v4 → ${CLOUDFLARE}`]);
      expect(dangers("update", there, { ...there, "edgeguard:maxRetries": "0" })).toEqual([]);
    }
    expect(dangers("update", {}, { "edgeguard:baseUrl": CLOUDFLARE })).toEqual([]);
    const hidden = { baseUrl: "[secret]" };
    const others = [{ ...step("same", hidden, hidden), urn: `${step("same", {}, {}).urn}-2` }];
    expect(report(planJson(step("create", {}, hidden), ...others), "json").dangers).toHaveLength(1);
    expect(dangers("update", hidden, hidden)).toEqual([
      expect.stringContaining("[secret] → [secret]; accepting this accepts any value of baseUrl"),
    ]);
  });

  test("counts no other change of a provider as a danger, and judges a resource that moves to another provider as usual", () => {
    const weaker = stepOf("update", "PageShieldPolicy", "checkout", {
      old: { zoneId: "z", action: "allow", enabled: true },
      new: { zoneId: "z", action: "allow", enabled: false },
    });
    const moved = {
      ...weaker,
      oldState: {
        ...weaker.oldState,
        provider: "urn:pulumi:dev::edge::pulumi:providers:pulumi-nodejs::default::1",
      },
      newState: {
        ...weaker.newState,
        provider: "urn:pulumi:dev::edge::pulumi:providers:pulumi-nodejs::eu::2",
      },
    };
    const dangersIn = (...steps: readonly MadeStep[]): unknown =>
      (JSON.parse(report(planJson(...steps), "json").text) as { dangers: unknown }).dangers;
    expect(dangersIn(provider("delete", "us"), provider("update", "eu"))).toEqual([]);
    expect(dangersIn(moved, provider("create", "eu"))).toEqual(dangersIn(weaker));
    expect(dangersIn(weaker)).not.toEqual([]);
  });
});

describe("a resource that the program only reads from now on", () => {
  const args = { zoneId: "z", description: "a", action: "log", enabled: true };
  const replace = stepOf("replace", "PageShieldPolicy", "a", { old: args, new: {} });
  const plan = (id: string): string =>
    planJson({ ...replace, newState: { ...replace.newState, id, external: true, outputs: args } });

  test("is reported as forgotten, not deleted, although the engine calls it replaced", () => {
    expect(report(plan("id of a"), "text").text).toBe("edgeguard: edge/dev\n\n1 to forget\n");
  });

  test("is reported as deleted if the program reads another object under its name", () => {
    expect(report(plan("id of b"), "text").text).toContain("unprotect: PageShieldPolicy a");
  });

  test("is reported as created, not replaced, when the program declares it again", () => {
    const declared = stepOf("replace", "PageShieldPolicy", "a", { old: {}, new: args });
    const oldState = { ...declared.oldState, external: true, outputs: args };
    const { dangers, text } = report(planJson({ ...declared, oldState }), "text");
    expect([dangers, text]).toEqual([[], expect.stringContaining("\n1 to create\n")]);
  });
});

test("a plan with --refresh has the steps of resources that an alias renames, and of those that weren't refreshed", () => {
  const policy = { zoneId: "z", description: "p", action: "allow" };
  const off = { ...policy, action: "log" };
  const renamed = stepOf("update", "PageShieldPolicy", "new", { old: policy, new: off });
  const refresh = stepOf("refresh", "PageShieldPolicy", "old", { old: policy, new: policy });
  const oldState = { ...renamed.oldState, urn: refresh.urn };
  const lost = ({ name, kind }: { name: string; kind: string }): string => `${kind} ${name}`;
  expect(report(planJson(refresh, { ...renamed, oldState }), "json").dangers.map(lost)).toEqual([
    "unprotect new",
  ]);
  const gone = stepOf("delete", "PageShieldPolicy", "other", { old: policy });
  expect(report(planJson(refresh, gone), "json").dangers.map(lost)).toEqual([
    "unprotect other",
    "unseen other",
    "delete other",
  ]);
});
