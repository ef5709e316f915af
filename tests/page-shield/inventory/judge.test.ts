import { parseInventory } from "../../../provider/page-shield/inventory/file";
import { judgeInventory, type ZoneReading } from "../../../provider/page-shield/inventory/judge";
import { WRITERS } from "../../../provider/cli/inventory/formats";

type Script = ZoneReading["scripts"][number];

const ZONE = "0".repeat(32);
const APP = "https://cdn.example.com/app.js";
const HASH = "a".repeat(64);

const inventory = (more = "{ by: Ann, on: 2026-01-01 }", hash = HASH) =>
  parseInventory(
    "list.yaml",
    Buffer.from(`version: 1\nscripts:\n  - script: ${APP}\n    approval: ${more}\n    hash: ${hash}\n`),
  );
const script = (more: Partial<Script> = {}): Script => ({
  id: "1",
  url: APP,
  host: "shop.example",
  hash: HASH,
  ...more,
});
const judge = (
  scripts: readonly Script[],
  {
    list = inventory(),
    now = "2026-11-22T12:00:00Z",
    problem,
  }: {
    readonly list?: ReturnType<typeof inventory>;
    readonly now?: string;
    readonly problem?: ZoneReading["problem"];
  } = {},
) =>
  judgeInventory(list, [{ zoneId: ZONE, scripts, ...(problem && { problem }) }], {
    now: new Date(now),
    threshold: 50,
    expiringDays: 0,
    hosts: undefined,
  });

describe("a script's content", () => {
  const contentOf = (...scripts: readonly Script[]) => judge(scripts).scripts[0]?.content;

  test("counts as unchanged only if it has the expected hash wherever it was seen", () => {
    const without: Script = { id: "2", url: APP, host: "pay.shop.example" };
    expect(contentOf(script(), script({ id: "2" }))).toBe("unchanged");
    expect(contentOf(script(), without)).toBe("not watched");
    expect(contentOf(without, script({ hash: "b".repeat(64) }))).toBe("changed");
  });

  test("is never complete evidence, and every output format says when Cloudflare fetched it", () => {
    const check = judge([
      script({ fetchedAt: "2026-11-01T00:00:00Z" }),
      script({ id: "2", fetchedAt: "2020-01-01T00:00:00Z" }),
    ]);
    for (const format of ["csv", "markdown", "json"] as const)
      expect(WRITERS[format](check)).toContain("2020-01-01");
    const integrity = check.requirements.find(({ element }) => element.includes("integrity"));
    expect(integrity).toMatchObject({
      standing: "partly",
      why: "1 of 1 script has the content that the inventory expects. Cloudflare fetches the content itself, so it may differ from what a browser received.",
    });
  });
});

test.each(["not read", "off"] as const)(
  "a check that couldn't check its only zone (%s) doesn't count as a run",
  (kind) => {
    const { requirements } = judge([], { problem: { kind, message: "no" } });
    expect(requirements.at(-1)).toMatchObject({
      scope: "this run",
      standing: "not",
      why: expect.stringContaining(`It couldn't check any zone. Gaps: zone ${ZONE}`) as string,
    });
  },
);

test("a check reports a script that's on a threat list without a category", () => {
  const { findings } = judge([script({ urlReportedMalicious: true, maliciousUrlCategories: [] })]);
  expect(findings[0]?.message).toContain("it's on a threat list (reported). Remove it");
});

test.each([false, true])(
  "a URL with a username counts as new, even if the same URL without one is approved (seen first: %s)",
  (isFirst) => {
    const seen = [script(), script({ id: "2", url: "https://user:canary@cdn.example.com/app.js" })];
    const check = judge(isFirst ? seen.reverse() : seen);
    expect(check.scripts.map(({ approval }) => approval).sort()).toEqual(["approved", "new"]);
    expect(check.findings).toMatchObject([{ kind: "new", url: "https://[secret]@cdn.example.com/app.js" }]);
    expect(check.notices.filter(({ kind }) => kind === "not seen")).toEqual([]);
    expect(JSON.stringify(check)).not.toContain("canary");
  },
);

test.each([
  ["{ by: Ann, on: 2026-01-01, until: 2026-11-22 }", "2026-11-22T23:59:59Z", "approved"],
  ["{ by: Ann, on: 2026-01-01, until: 2026-11-22 }", "2026-11-23T00:00:00Z", "expired"],
  ["{ by: Ann, on: 2026-11-23 }", "2026-11-22T09:59:59Z", "not yet approved"],
  ["{ by: Ann, on: 2026-11-23 }", "2026-11-22T10:00:00Z", "approved"],
])("an entry with the approval %s, checked at %s, is %s", (approval, now, state) => {
  expect(judge([script()], { list: inventory(approval), now }).scripts[0]?.approval).toBe(state);
});
