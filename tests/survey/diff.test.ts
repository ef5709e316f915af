import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SURVEY_SCHEMA, type Account, type Head, type Survey } from "../../provider/survey/model";
import { Shell } from "../cli/shell";
import { judged, sampleHead, sampleZone } from "./sample";

/** What `edgeguard survey diff` says of two files. */

const shell = new Shell("survey");

let head: Head;
beforeAll(async () => {
  head = await sampleHead(0);
});

type Parts = Partial<Omit<Survey, "zones">> & { readonly zones?: readonly object[] };

function write(name: string, { zones = [ZONE], ...parts }: Parts): string {
  const file = { $schema: SURVEY_SCHEMA, ...head, zoneCount: zones.length, ...parts, zones };
  writeFileSync(join(shell.cwd, name), JSON.stringify(file));
  return name;
}

const diff = (...args: readonly string[]): ReturnType<Shell["here"]> => shell.here(["diff", ...args]);

/** The lines of a comparison below its headings, each with its verdict. */
async function compared(before: Parts, after: Parts): Promise<string[]> {
  const { code, stdout } = await diff(write("old.json", before), write("new.json", after));
  expect(code).toBe(0);
  const verdicts = { Worse: "worse", Better: "better", Neither: "neutral" } as const;
  let verdict = "";
  return stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, heading = ""] = /^(Worse|Better|Neither)\b/.exec(line) ?? [];
      if (heading in verdicts) verdict = verdicts[heading as keyof typeof verdicts];
      return line.startsWith("  ") ? [`${verdict}: ${line.trim().replace(/^zone-2\.example: /, "")}`] : [];
    });
}

const comparedZone = (before: object, after: object): Promise<string[]> =>
  compared({ zones: [judged({ ...ZONE, ...before })] }, { zones: [judged({ ...ZONE, ...after })] });

const ZONE = sampleZone(2);
const [POLICY] = itemsOf(ZONE.policies);
const [MANAGED] = itemsOf(ZONE.deployments);
const [JOB] = itemsOf(ZONE.jobs);
const EFFECT = itemOf(MANAGED?.effect);
const SCRIPTS = itemOf(ZONE.scripts);
const ENFORCED = { ...POLICY, effect: "enforced" };
const NO_RULESETS = { notReadable: "right", what: "Account Rulesets Read" };
const NO_SHIELD = { notReadable: "right", what: "Page Shield Read" };

function itemOf<T>(given: T): Exclude<T, { readonly notReadable: unknown } | undefined> {
  if (typeof given !== "object" || given === null || "notReadable" in given)
    throw new Error("not in the sample");
  return given as Exclude<T, { readonly notReadable: unknown } | undefined>;
}

function itemsOf<T>(given: readonly T[] | { readonly notReadable: unknown }): readonly T[] {
  return itemOf<readonly T[] | { readonly notReadable: unknown }>(given);
}

const exception = (expression: string, skips: number | "all") => ({
  description: "",
  expression,
  skips,
  stops: skips === "all",
});

const malicious = (...urls: readonly string[]) => ({
  scripts: {
    ...SCRIPTS,
    malicious: urls.length,
    suspicious: 0,
    worst: urls.map((url) => ({ url, host: "a.example", isMalicious: true, onPaymentPage: false })),
  },
});
const owasp = (paranoiaLevel: number, scoreThreshold: number, action: string) => ({
  owasp: { state: "on", paranoiaLevel, scoreThreshold, action },
});
const migration = (readiness: string, ...because: readonly string[]) => ({
  migration: { readiness, state: "start", because },
});

const managed = (more: object = {}) => ({ deployments: [{ ...MANAGED, ...more }] });
const effect = (more: object) => managed({ effect: { ...EFFECT, ...more } });
const excepting = (...exceptions: readonly object[]) => managed({ exceptions });
const policies = (...each: readonly object[]) => ({ policies: each.map((more) => ({ ...POLICY, ...more })) });
const enforced = (more: object = {}) => policies({ ...ENFORCED, ...more });
const job = (more: object = {}) => ({ jobs: [{ ...JOB, ...more }] });
const unapproved = (count: number | null) => ({ scripts: { ...SCRIPTS, unapproved: count } });

/** What changed, the zone before and after it, and what the comparison says. */
type Case = [what: string, before: object, after: object, ...said: string[]];

const UNCHANGED: readonly Case[] = [
  [
    "everything is in another order",
    policies({ ...ENFORCED, id: "1" }, {}),
    policies({}, { ...ENFORCED, id: "1" }),
  ],
  ["a policy has another description", enforced(), enforced({ description: "Else" })],
  ["a job has another name", job(), job({ name: "renamed" })],
  [
    "two policies have swapped their names",
    policies({ ...ENFORCED, id: "1", description: "a" }, { id: "2", description: "b" }),
    policies({ ...ENFORCED, id: "1", description: "b" }, { id: "2", description: "a" }),
  ],
  [
    "a rule was created again, with another ref",
    managed(),
    managed({ ruleId: "f".repeat(32), ref: "f".repeat(32) }),
  ],
  ["only the new survey has an inventory", unapproved(null), unapproved(3)],
  ["only the old survey has an inventory", unapproved(3), unapproved(null)],
  [
    "neither survey could read a part, and the failures read differently",
    { jobs: { notReadable: "failed", what: "request 1" } },
    { jobs: { notReadable: "failed", what: "request 2" } },
  ],
  [
    "exceptions are in another order",
    excepting(exception("a", 1), exception("b", 1)),
    excepting(exception("b", 1), exception("a", 1)),
  ],
  [
    "a deployment that's off has more exceptions",
    managed({ enabled: false, state: "off" }),
    managed({ enabled: false, state: "off", exceptions: [] }),
  ],
];
const NEUTRAL: readonly Case[] = [
  [
    "the token lost the permission for rulesets",
    managed(),
    managed({ state: "perhaps", effect: NO_RULESETS }),
    "neutral: Cloudflare Managed Ruleset: readable -> not readable: missing permission Account Rulesets Read",
  ],
  [
    "a ruleset whose rules were all off can't be read",
    managed({ state: "off", effect: { ...EFFECT, rulesOn: 0 } }),
    managed({ state: "perhaps", effect: NO_RULESETS }),
    "neutral: Cloudflare Managed Ruleset: readable -> not readable: missing permission Account Rulesets Read",
  ],
  [
    "the token got the permission for Page Shield",
    { pageShield: NO_SHIELD, policies: NO_SHIELD, scripts: NO_SHIELD },
    {},
    "neutral: Page Shield: not readable: missing permission Page Shield Read -> readable",
    "neutral: policies: not readable: missing permission Page Shield Read -> readable",
    "neutral: scripts: not readable: missing permission Page Shield Read -> readable",
  ],
  ["the zone's plan changed", { plan: "pro" }, { plan: "free" }, "neutral: plan: pro -> free"],
  [
    "what blocks a migration can no longer be counted",
    migration("blocked", "x"),
    migration("notCounted"),
    "neutral: WAF migration: blocked -> notCounted",
  ],
  [
    "Cloudflare published a version with fewer rules",
    managed(),
    effect({ version: "88", rulesOn: 280 }),
    "neutral: Cloudflare Managed Ruleset: version: 87 -> 88",
  ],
  [
    "an action that blocks was replaced by another one",
    managed(),
    effect({ action: "block" }),
    "neutral: Cloudflare Managed Ruleset: action: default -> block",
  ],
  [
    "a policy allows something else",
    enforced({ value: "script-src 'self'" }),
    enforced({ value: "script-src *" }),
    `neutral: policy "Checkout ": allows: script-src 'self' -> script-src *`,
  ],
  [
    "a job that was off is gone",
    job({ state: "off" }),
    { jobs: [] },
    'neutral: Logpush job "logs": off -> none',
  ],
  [
    "a policy has an action that Cloudflare added",
    enforced(),
    policies({ effect: "warn" }),
    'neutral: policy "Checkout ": enforced -> warn',
  ],
];
const GRADED: readonly Case[] = [
  [
    "a job no longer pushes attack traffic",
    job(),
    job({ filterAttackTraffic: true }),
    'worse: Logpush job "logs": lines left out: none -> attack traffic',
  ],
  [
    "a job's lines no longer go through a transformer",
    job({ filterAttackTraffic: true, transformerId: 42 }),
    job({ filterAttackTraffic: true }),
    'better: Logpush job "logs": lines left out: attack traffic, by transformer 42 -> attack traffic',
  ],
  [
    "a job pushes only a sample of some lines",
    job({ fields: 2, outputOptions: "1a" }),
    job({ fields: 1, outputOptions: "2b", filter: "3c", sampleRate: 0.01 }),
    'worse: Logpush job "logs": lines left out: none -> by the filter, all but a sample (0.01)',
    'worse: Logpush job "logs": fields: 2 -> 1',
    'neutral: Logpush job "logs": filter (digest): none -> 3c',
    'neutral: Logpush job "logs": output options (digest): 1a -> 2b',
  ],
  [
    "some rules of a ruleset only log, and payloads are no longer logged",
    managed({ payloadLogging: true }),
    effect({ rulesOnLog: 5 }),
    "worse: Cloudflare Managed Ruleset: rules that do more than log in version 87: 290 -> 285",
    "worse: Cloudflare Managed Ruleset: payload logging: on -> off",
    "neutral: Cloudflare Managed Ruleset: rules on log in version 87: 0 -> 5",
  ],
  [
    "Page Shield no longer uses Cloudflare's reporting endpoint, or the paths of connections",
    { pageShield: { enabled: true, useReportingEndpoint: true, useConnectionUrlPath: true } },
    { pageShield: { enabled: true, useReportingEndpoint: false, useConnectionUrlPath: false } },
    "worse: Page Shield: Cloudflare's reporting endpoint: on -> off",
    "worse: Page Shield: paths of connections: on -> off",
  ],
  [
    "Page Shield was turned off",
    { pageShield: { enabled: true } },
    { pageShield: { enabled: false } },
    "worse: Page Shield: on -> off",
  ],
  [
    "a policy is enforced",
    policies({ effect: "logging" }),
    enforced(),
    'better: policy "Checkout ": logging -> enforced',
  ],
  [
    "a deployment with exceptions was removed",
    effect({ versionsBehind: 3 }),
    { deployments: [] },
    "worse: Cloudflare Managed Ruleset: on -> none",
    "worse: protected by a managed ruleset: on -> off",
  ],
  [
    "the account no longer covers the zone",
    { deployments: [], accountDeployments: [MANAGED] },
    { deployments: [], accountDeployments: [] },
    "worse: protected by a managed ruleset: on -> off",
  ],
  [
    "a ruleset only logs",
    managed(),
    effect({ action: "log" }),
    "worse: Cloudflare Managed Ruleset: action: default -> log",
  ],
  [
    "an exception skips more rules",
    excepting(exception("a", 1), exception("b", 1)),
    excepting(exception("b", "all"), exception("a", 1)),
    "worse: Cloudflare Managed Ruleset: exception if b: 1 rule -> all rules",
  ],
  [
    "an exception was replaced by another one",
    excepting(exception("a", 1)),
    excepting(exception("not c", "all")),
    "worse: Cloudflare Managed Ruleset: exception if not c: none -> all rules",
    "better: Cloudflare Managed Ruleset: exception if a: 1 rule -> none",
  ],
  [
    "a rule executes another ruleset",
    managed(),
    managed({ rulesetId: "f".repeat(32), effect: { ...EFFECT, name: "Exposed" } }),
    "worse: Cloudflare Managed Ruleset: on -> none",
    "better: Exposed: none -> on",
  ],
  [
    "an exception was added",
    excepting(),
    managed(),
    'worse: Cloudflare Managed Ruleset: exception if http.request.uri.path eq "/health": none -> all rules',
  ],
  [
    "half of the rules were turned off",
    managed(),
    effect({ rulesOn: 145, rulesOff: 159 }),
    "worse: Cloudflare Managed Ruleset: rules that do more than log in version 87: 290 -> 145",
  ],
  ["OWASP only logs", owasp(2, 40, "block"), owasp(2, 40, "log"), "worse: OWASP: action: block -> log"],
  [
    "OWASP has a higher level and a higher threshold",
    owasp(1, 25, "block"),
    owasp(3, 60, "block"),
    "worse: OWASP: score threshold: 25 -> 60",
    "better: OWASP: paranoia level: 1 -> 3",
  ],
  [
    "OWASP is on",
    { owasp: { state: "off" } },
    { owasp: { state: "on", paranoiaLevel: 1 } },
    "better: OWASP: off -> on",
  ],
  [
    "one malicious script is gone, and another one is new",
    malicious("https://a.example/1.js"),
    malicious("https://a.example/2.js"),
    "worse: malicious or suspicious script https://a.example/2.js: none -> seen on a.example",
    "better: malicious or suspicious script https://a.example/1.js: seen on a.example -> none",
  ],
  [
    "the migration began",
    migration("ready"),
    migration("underWay"),
    "better: WAF migration: ready -> underWay",
  ],
  [
    "a blocker is gone",
    migration("blocked", "a", "b"),
    migration("blocked", "b"),
    "better: WAF migration: blockers: 2 -> 1",
  ],
  [
    "the zone is paused",
    { status: "active" },
    { status: "paused" },
    "worse: status: active -> paused",
    "worse: protected by a managed ruleset: on -> off",
  ],
  [
    "a job fails",
    job({ state: "working" }),
    job({ state: "failing" }),
    'worse: Logpush job "logs": working -> failing',
  ],
];

describe("edgeguard survey diff", () => {
  it.each(UNCHANGED)("reports no change if %s", async (_, before, after, ...said) => {
    expect(await comparedZone(before, after)).toEqual(said);
  });

  it.each(NEUTRAL)("reports a neutral change if %s", async (_, before, after, ...said) => {
    expect(await comparedZone(before, after)).toEqual(said);
  });

  it.each(GRADED)("reports changes as better or worse if %s", async (_, before, after, ...said) => {
    expect(await comparedZone(before, after)).toEqual(said);
    // The other way round, the verdicts are reversed.
    const reversed = await comparedZone(after, before);
    const verdicts = (lines: readonly string[]): string[] =>
      lines.map((line) => line.split(":")[0] ?? "").sort();
    const opposite = { worse: "better", better: "worse", neutral: "neutral" } as const;
    expect(verdicts(reversed)).toEqual(
      verdicts(said)
        .map((each) => opposite[each as keyof typeof opposite])
        .sort(),
    );
  });

  it.each([
    ["only the old survey", ["edge/prod"], []],
    ["only the new survey", [], ["edge/prod"]],
  ])("ignores stacks if %s was given stacks", async (_, old, now) => {
    const withStacks = (names: readonly string[]): Parts => ({
      stacks: names.map((name) => ({ name, resources: 1 })),
      zones: [
        names.length > 0
          ? { ...ZONE, policies: [{ ...POLICY, stack: null }] }
          : { ...ZONE, unmanaged: undefined, policies: [{ ...POLICY, stack: undefined }] },
      ],
    });
    expect(await compared(withStacks(old), withStacks(now))).toEqual([]);
  });

  it("reports objects that a stack now manages", async () => {
    const stacks = [{ name: "edge/prod", resources: 1 }];
    const zone = (policy: object): Parts => ({ stacks, zones: [{ ...ZONE, policies: [policy] }] });
    expect(await compared(zone({ ...POLICY, stack: null }), zone({ ...POLICY, stack: "edge/prod" }))).toEqual(
      ['better: policy "Checkout ": stack: none -> edge/prod'],
    );
    const other = {
      ...zone({ ...POLICY, stack: "other/prod" }),
      stacks: [...stacks, { name: "other/prod", resources: 1 }],
    };
    expect(await compared(zone({ ...POLICY, stack: null }), other)).toEqual([
      'neutral: policy "Checkout ": stack: none -> other/prod',
    ]);
  });

  it("reports zones that are in only one survey as neutral", async () => {
    const [a, b, c] = [sampleZone(2), sampleZone(6), sampleZone(8)];
    expect(await compared({ zones: [a, b] }, { zones: [c, a] })).toEqual([
      "neutral: zone-6.example: zone: surveyed -> not surveyed",
      "neutral: zone-8.example: zone: not surveyed -> surveyed",
    ]);
  });

  it("matches a zone by its ID if its name couldn't be read", async () => {
    const unnamed = { name: { notReadable: "right", what: "Zone Read" }, pageShield: { enabled: false } };
    expect(await comparedZone({ pageShield: { enabled: true } }, unnamed)).toEqual([
      `worse: ${ZONE.id}: Page Shield: on -> off`,
    ]);
  });

  it("compares the jobs and namespaces of accounts", async () => {
    const account = (jobs: Account["jobs"], ...titles: readonly string[]): Parts => ({
      accounts: [
        {
          id: "a".repeat(32),
          name: "main",
          zones: 1,
          rulesets: [],
          deployments: [],
          jobs,
          namespaces: titles.map((title) => ({ id: title, title, keys: { count: 1, more: false } })),
        },
      ],
    });
    const job = itemOf(JOB);
    expect(
      await compared(
        account([{ ...job, state: "working" }], "flags"),
        account([{ ...job, state: "off" }], "redirects"),
      ),
    ).toEqual([
      'worse: main: Logpush job "logs": working -> off',
      'neutral: main: namespace "redirects": none -> exists',
      'neutral: main: namespace "flags": exists -> none',
    ]);
  });

  it("reports the same neutral change in many zones on one line", async () => {
    const zones = [1, 2, 3, 4].map((number) => ({
      ...sampleZone(number),
      name: `zone-${number}.example`,
      pageShield: { enabled: true },
    }));
    const blind = zones.map((zone) => ({ ...zone, pageShield: NO_SHIELD }));
    expect(await compared({ zones }, { zones: blind })).toEqual([
      "neutral: zone-1.example and 3 other zones: Page Shield: readable -> not readable: missing permission Page Shield Read",
    ]);
  });

  it("distinguishes objects with the same name by their IDs", async () => {
    const two = (effect: string) => ({
      policies: [
        { ...ENFORCED, id: "1", effect },
        { ...ENFORCED, id: "2" },
      ],
    });
    expect(await comparedZone(two("off"), two("logging"))).toEqual([
      'better: policy "Checkout " (1): off -> logging',
    ]);
  });

  it("shortens long text, and escapes control characters in names", async () => {
    const value = (sources: string) => ({
      policies: [{ ...ENFORCED, description: "a\u001b[31m\u2028", value: sources }],
    });
    const [line = ""] = await comparedZone(value(`a${"x".repeat(4_000)}`), value("b"));
    expect(line).toContain('policy "a\\u001b[31m\\u2028": allows: a');
    expect(line.length).toBeLessThan(250);
  });

  it("warns if the first survey is newer than the second", async () => {
    const [newer, older] = [
      write("a.json", { at: "2026-11-02T00:00:00.000Z" }),
      write("b.json", { at: "2026-10-02T00:00:00.000Z" }),
    ];
    const { stdout, stderr } = await diff(newer, older);
    expect(stderr).toBe(
      "edgeguard: a.json is newer than b.json, so better and worse are reversed. Pass the older survey first.\n",
    );
    expect(stdout).toContain("Nothing that is compared has changed.");
    expect((await diff(older, newer)).stderr).toBe("");
  });

  it("says to update edgeguard if a later version wrote a survey", async () => {
    const { code, stderr } = await diff(write("later.json", { version: 2 as never }), write("now.json", {}));
    expect(code).toBe(1);
    expect(stderr).toContain("If a later version wrote it, update pulumi-edgeguard");
    expect(
      (await diff(write("other.json", { tool: "pulumi-edgeguard 9.9.9" }), "now.json")).stdout,
    ).toContain("Nothing that is compared has changed.");
  });
});
