import { report } from "../../provider/report";
import { UNKNOWN } from "../support/operation";
import { found, refreshedJson, stepOf, kept, dangersOf, sentencesOf } from "./plans";

/** What counts as a danger of Logpush jobs, and what doesn't. */

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const OTHER = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

describe("the section on a Logpush job", () => {
  const filter = (...groups: string[][]): string =>
    JSON.stringify({
      where: {
        or: groups.map((names) => ({ and: names.map((key) => ({ key, operator: "eq", value: "1" })) })),
      },
    });
  const job = (sides: Record<string, unknown>): Record<string, unknown> => ({
    dataset: "http_requests",
    ...sides,
  });
  const change = (old: Record<string, unknown>, next: Record<string, unknown>): string =>
    report(refreshedJson(stepOf("update", "LogpushJob", "j", { old: job(old), new: job(next) })), "markdown")
      .text;

  test("shows which of two groups in the filter loses a condition", () => {
    const text = change({ filter: filter(["A", "X"], ["B", "X"]) }, { filter: filter(["A", "X"], ["B"]) });
    expect(text).not.toContain("the same conditions");
    expect(text).toMatch(/Changed conditions:\n\n```diff\n- +X eq "1"\n```/);
  });

  test("shows unknown or secret output options as such, not as removed fields", () => {
    const old = { outputOptions: { fieldNames: ["ClientIP"], sampleRate: 0.5 } };
    for (const outputOptions of [UNKNOWN, "[secret]", { fieldNames: UNKNOWN }, { fieldNames: "[secret]" }]) {
      const text = change(old, { outputOptions });
      expect(text).not.toContain("No fields are listed anymore");
      expect(text).toMatch(/known after apply|\\\[secret\\\]/);
      expect(text).toContain(
        "some fields might stop being logged: 1 field → fields that the plan doesn't show",
      );
    }
  });
});

describe("a deleted Logpush job", () => {
  const FIELDS = ["ClientIP", "RayID"];
  const WHERE = '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}';
  const job = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
    zoneId: ZONE,
    dataset: "firewall_events",
    name: "security",
    enabled: true,
    destinationConf: "[secret]",
    destinationShown: "s3://logs/waf?region=eu-west-1",
    outputOptions: { fieldNames: FIELDS, sampleRate: 0.5 },
    ...members,
  });
  const lostWith = (
    other: Record<string, unknown> | undefined,
    gone: Record<string, unknown> = job(),
    op = "same",
  ): string[] =>
    sentencesOf(
      "unprotect",
      stepOf("delete", "LogpushJob", "gone", { old: gone }),
      ...(other === undefined ? [] : [stepOf(op, "LogpushJob", "other", { old: other, new: other })]),
    ).filter((sentence) => sentence.includes("is deleted"));
  const LOST =
    "the Logpush job is deleted: firewall_events is no longer pushed to s3://logs/waf?region=eu-west-1";

  test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
    ["pushes the same lines to the same place", job({ name: "other" })],
    ["has more fields", job({ outputOptions: { fieldNames: [...FIELDS, "Action"], sampleRate: 0.5 } })],
    ["has a greater sample", job({ outputOptions: { fieldNames: FIELDS } })],
    ["has no filter", job(), job({ filter: WHERE })],
    ["has the same filter", job({ filter: WHERE }), job({ filter: WHERE.replace(":[", ": [") })],
  ])("is no danger if another job %s", (_, other, gone = job()) => {
    expect(lostWith(other, gone)).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
    ["only has the same bucket", job({ destinationShown: "s3://logs/http?region=eu-west-1" })],
    ["has another region", job({ destinationShown: "s3://logs/waf?region=us-east-1" })],
    ["has an endpoint", job({ destinationShown: "s3://logs/waf?endpoint=x.com&region=eu-west-1" })],
    ["moves, although it shows the same location", job({ destinationMoved: true })],
    ["may move", job({ destinationMoved: UNKNOWN })],
    ["pushes to an unknown place", job({ destinationShown: UNKNOWN }), job({ destinationShown: UNKNOWN })],
    [
      "pushes to a secret place",
      job({ destinationShown: "[secret]" }),
      job({ destinationShown: "[secret]" }),
    ],
    ["has no known place", job({ destinationShown: undefined }), job({ destinationShown: undefined })],
    [
      "has a place that's partly hidden",
      job({ destinationShown: "https://logs.example.com/[secret]" }),
      job({ destinationShown: "https://logs.example.com/[secret]" }),
    ],
    [
      "has a hidden destination",
      job({ destinationShown: "a hidden destination" }),
      job({ destinationShown: "a hidden destination" }),
    ],
    ["has another dataset", job({ dataset: "http_requests" })],
    ["is in another zone", job({ zoneId: OTHER })],
    ["lacks a field", job({ outputOptions: { fieldNames: ["RayID"], sampleRate: 0.5 } })],
    ["has hidden options", job({ outputOptions: "[secret]" })],
    ["has a smaller sample", job({ outputOptions: { fieldNames: FIELDS, sampleRate: 0.1 } })],
    ["has a filter", job({ filter: WHERE })],
    ["has a wider filter", job({ filter: WHERE.replace("500", "400") }), job({ filter: WHERE })],
    ["has a secret filter", job({ filter: "[secret]" }), job({ filter: "[secret]" })],
    ["is disabled", job({ enabled: false })],
    ["may be disabled", job({ enabled: UNKNOWN })],
  ])("is a danger if the only other job %s", (_, other, gone = job()) => {
    expect(lostWith(other, gone)).toHaveLength(1);
  });

  test("is a danger without another job, and the sentence shows the whole location", () => {
    expect(lostWith(undefined)).toEqual([LOST]);
    const long = `https://logs.example.com/in?table=${"t".repeat(300)}`;
    expect(lostWith(undefined, job({ destinationShown: long })).join()).toContain(long);
  });

  test.each(["replace", "create-replacement"])("is a danger if a %s changes its dataset", (op) => {
    const lines = stepOf(op, "LogpushJob", "security", {
      old: job(),
      new: job({ dataset: "http_requests", ...found({}) }),
    });
    const alike = job({ destinationShown: "s3://logs/http?region=eu-west-1", name: "else" });
    const other = kept("LogpushJob", "else", alike);
    expect(sentencesOf("unprotect", lines, other)).toEqual([LOST]);
  });
});

describe("a Logpush job's destination", () => {
  const job = (destinationShown: unknown, members: object = {}): Record<string, unknown> => ({
    dataset: "http_requests",
    enabled: true,
    destinationConf: "[secret]",
    destinationShown,
    ...members,
  });
  const change = (was: Record<string, unknown>, is: Record<string, unknown>): string[] =>
    sentencesOf("unprotect", stepOf("update", "LogpushJob", "j", { old: was, new: { ...is, ...found({}) } }));
  const HERE = "r2://logs?account-id=1";

  const ELSEWHERE = `log lines go to another destination: ${HERE}`;
  const HIDDEN = `log lines may go to another recipient: a hidden part of ${HERE} changes, such as a credential or tenant`;
  test.each<[string, Record<string, unknown>, string]>([
    ["has another account ID", job("r2://logs?account-id=2"), `${ELSEWHERE} → r2://logs?account-id=2`],
    ["differs in what's hidden", job(HERE, { destinationMoved: "0123" }), HIDDEN],
    [
      "differs in what's hidden and easy to guess",
      job(HERE, { destinationMoved: true }),
      `${HIDDEN}; accepting this accepts any value of destinationConf`,
    ],
    [
      "isn't known yet",
      job(UNKNOWN, { destinationMoved: UNKNOWN }),
      `log lines may no longer go to ${HERE}: where they go is known after apply`,
    ],
  ])("is a danger if it %s", (_, is, sentence) => {
    expect(change(job(HERE), is)).toEqual([sentence]);
  });

  test("isn't weakened by a transformer's deletion, which Cloudflare refuses while a job uses it", () => {
    const transformer = { accountId: "a", name: "t", code: "[secret]", codeDigest: "1" };
    expect(dangersOf(stepOf("delete", "LogpushTransformer", "t", { old: transformer }))).toEqual([
      "delete t",
    ]);
  });

  test("calls no argument changed that isn't, if the output options are secret", () => {
    const options = { fieldNames: ["RayID"], sampleRate: 0.5 };
    const said = change(job(HERE, { outputOptions: options }), job(HERE, { outputOptions: "[secret]" }));
    expect(said).toContain(
      "the plan doesn't show whether a smaller share of the log lines is pushed: sampleRate 0.5 → [secret]",
    );
    expect(said.join()).not.toMatch(/attack traffic|transformer/);
  });

  test("has a digest that tells one hidden change from another", () => {
    const digest = (destinationMoved: string): unknown => {
      const step = stepOf("update", "LogpushJob", "j", {
        old: job(HERE),
        new: job(HERE, { destinationMoved }),
      });
      return report(refreshedJson(step), "json").digest;
    };
    expect(digest("0123")).not.toEqual(digest("4567"));
  });

  test("is no danger if only its credentials change", () => {
    expect(change(job(HERE), job(HERE))).toEqual([]);
  });
});

test("a job makes up for a deleted one only if the program declares the fields of both", () => {
  const job = (more: object): Record<string, unknown> => ({
    zoneId: ZONE,
    dataset: "http_requests",
    enabled: true,
    destinationShown: "r2://logs",
    ...more,
  });
  const lost = (more: object): number =>
    sentencesOf(
      "unprotect",
      stepOf("delete", "LogpushJob", "twin", { old: job(more) }),
      kept("LogpushJob", "own", job(more)),
    ).length;
  expect(lost({ outputOptions: { fieldNames: ["RayID"] } })).toBe(0);
  expect(lost({})).toBe(1);
  expect(lost({ outputOptions: { timestampFormat: "rfc3339" } })).toBe(1);
});
