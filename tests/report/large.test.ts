import fc from "fast-check";
import { report } from "../../provider/report";
import { buildReport } from "../../provider/report/build";
import { dangerLines } from "../../provider/report/document";
import { COMMENT_CHARACTERS } from "../../provider/report/markdown";
import { Phrase } from "../../provider/report/phrase";
import { readPlan } from "../../provider/report/plan";
import { diagnostic, found, list, stepOf, type MadePlan, type MadeStep, deleted, wouldBlock } from "./plans";
import { LONG } from "../support/long";

const RUNS = LONG ? 1_500 : 4;

/** Reports on large plans stay within a comment, and take time in proportion to the plan. */

/** Characters that take more room in a comment than in a plan, and some that count double. */
const signs = fc.constantFrom(
  "a",
  " ",
  "@a",
  "#1",
  "&",
  "|",
  "`",
  "<b>",
  "\u202e",
  "\u0000",
  "\n",
  "🦊",
  "_*",
  ":tada:",
);
const text = fc
  .tuple(fc.array(signs, { minLength: 1, maxLength: 6 }), fc.constantFrom(1, 20, 100, 1_500))
  .map(([parts, times]) => parts.join("").repeat(times));

const inputs = fc.record({
  zoneId: text,
  title: text,
  description: text,
  name: text,
  dataset: text,
  expression: text,
  value: text.map((sources) => `script-src ${sources}`),
  action: fc.constant("allow"),
  enabled: fc.boolean(),
  forceDestroy: fc.boolean(),
  impact: fc
    .record({
      count: fc.constantFrom(1, 900),
      scripts: fc.array(text, { maxLength: 40 }),
      prunes: fc.array(text, { maxLength: 40 }),
    })
    .map(
      ({ count, scripts, prunes }) =>
        found({
          wouldBlock: wouldBlock(count, scripts),
          prunes: list(...prunes),
        }).impact,
    ),
});
const kinds = fc.constantFrom(
  "PageShieldSettings",
  "PageShieldPolicy",
  "ManagedRulesetOverride",
  "KvNamespace",
  "KvEntries",
  "LogpushJob",
  "LogpushTransformer",
);
const several: fc.Arbitrary<readonly MadeStep[]> = fc
  .record({
    op: fc.constantFrom("create", "update", "delete", "replace"),
    kind: kinds,
    name: text,
    old: inputs,
    next: inputs,
    times: fc.constantFrom(1, 5, 25),
  })
  .map(({ op, kind, name, old, next, times }) =>
    Array.from({ length: times }, (_, index) =>
      stepOf(op, kind, `${name}${index}`, {
        ...(op === "create" ? {} : { old: { ...old, zoneId: `${old.zoneId}${index}` } }),
        ...(op === "delete" ? {} : { new: next }),
      }),
    ),
  );
const message = fc
  .tuple(
    text,
    fc.constantFrom("error", "warning", "info#err"),
    fc.constantFrom("edgeguard: live checks skipped: ", "edgeguard: ", ""),
  )
  .map(([words, severity, start]) => diagnostic(`${start}${words}`, severity));
const others = fc.tuple(text, fc.constantFrom(0, 1, 300)).map(([name, times]): MadeStep[] =>
  Array.from({ length: times }, (_, index) => ({
    op: "delete",
    urn: `urn:pulumi:dev::edge::aws:s3/bucket:Bucket::${name}${index}`,
    oldState: { custom: true },
  })),
);
const plans: fc.Arbitrary<MadePlan> = fc
  .tuple(
    fc.array(several, { maxLength: 6 }),
    others,
    fc.array(message, { maxLength: 12 }),
    fc.constantFrom(1, 8, 30),
  )
  .map(([steps, more, messages, times]) => ({
    steps: [...steps.flat(), ...more],
    diagnostics: Array.from({ length: times }, (_, index) =>
      messages.map((each) => ({ ...each, message: `${String(each["message"])}${index}` })),
    ).flat(),
  }));

test(`a comment never exceeds GitHub's limit, and counts the dangers that it leaves out (${RUNS} of 1,500 plans)`, () => {
  const failed = fc.check(
    fc.property(plans, (made) => {
      const plan = JSON.stringify(made);
      const { text: comment } = report(plan, "markdown");
      expect(comment.length).toBeLessThanOrEqual(COMMENT_CHARACTERS);

      const dangers = dangerLines(buildReport(readPlan(plan)).dangers);
      const [, list = ""] = /^### Review these first\n\n((?:- .*\n)*)/m.exec(`${comment}\n`) ?? [];
      const lines = list.split("\n").filter((line) => line !== "");
      const shown = lines.filter((line) => line.startsWith("- **")).length;
      const [, left = "0"] =
        /^- and ([\d,]+) more: `edgeguard report --format text` shows all/.exec(lines.at(-1) ?? "") ?? [];
      expect(shown + Number(left.replaceAll(",", ""))).toBe(dangers.length);
      if (dangers.length > 0) expect(shown).toBeGreaterThan(0);

      expect(comment.match(/^<details>/gm)?.length).toBe(comment.match(/^<\/details>/gm)?.length);
    }),
    { numRuns: RUNS, endOnFailure: true, ...(LONG ? {} : { seed: 7 }) },
  );
  // The seed is enough: the plan itself would fill the screen.
  const { seed, counterexamplePath: path, errorInstance: error } = failed;
  expect({ seed, path, error }).toEqual({ seed, path: null, error: null });
});

test("a comment shortens a warning that's too long, instead of leaving it out", () => {
  const diagnostics = [diagnostic(`edgeguard: ${"&".repeat(30_000)}`, "info#err")];
  const { text: comment } = report(JSON.stringify({ steps: [], diagnostics }), "markdown");
  expect(comment).toMatch(/^- (&amp;){200,}…$/m);
});

describe("reads each resource only a few times, however many there are:", () => {
  const COUNT = 200;
  const removed = (kind: string): MadeStep[] =>
    Array.from({ length: COUNT }, (_, index) =>
      deleted(
        kind,
        `r${index}`,
        {
          zoneId: `z${index}`,
          title: `t${index}`,
          description: `d${index}`,
          action: "allow",
          enabled: true,
        },
        { ruleId: `r${index}`, previous: { enabled: false } },
      ),
    );

  test.each([
    "PageShieldSettings",
    "PageShieldPolicy",
    "ManagedRulesetOverride",
    "KvNamespace",
    "LogpushJob",
    "LogpushTransformer",
  ])("%s", (kind) => {
    let reads = 0;
    const plan = readPlan(JSON.stringify({ steps: removed(kind) }));
    const steps = new Proxy(plan.steps, {
      get: (target, key, receiver): unknown => {
        if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key, receiver);
      },
    });
    const formatted = jest.spyOn(Phrase.prototype, "toString");
    buildReport({ ...plan, steps });
    expect(reads).toBeLessThan(20 * COUNT);
    expect(formatted.mock.calls.length).toBeLessThan(20 * COUNT);
    formatted.mockRestore();
  });
});
