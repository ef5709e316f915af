import { createHash } from "node:crypto";
import { Writable } from "node:stream";
import { writeHtml } from "../../provider/survey/html";
import type { Deployment, NotReadable, Zone } from "../../provider/survey/model";
import { COLUMN_NAMES, rowOf } from "../../provider/survey/table";
import { tasksOf } from "../../provider/survey/tasks";
import { CHARTS } from "../../provider/survey/page/charts";
import { columnsOf } from "../../provider/survey/page/columns";
import { matches, searchable, sorted, wordsOf } from "../../provider/survey/page/rows";
import { headOf } from "../../provider/survey/totals";
import { HOSTILE, judged, sampleHead, sampleZone, sampleZones } from "./sample";

/** The file as a browser gets it. How it looks and acts in one: `npm run look:survey --prefix docs`. */

class Text extends Writable {
  text = "";
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function page(zones: number): Promise<string> {
  const out = new Text();
  await writeHtml(out, await sampleHead(zones), sampleZones(zones));
  return out.text;
}

/** The contents of the elements with this opening tag. */
function insides(html: string, tag: RegExp): string[] {
  const found = new RegExp(`<(${tag.source})>(.*?)</`, "gs");
  return [...html.matchAll(found)].map((match) => match.at(-1) ?? "");
}

function data(html: string, id: string): unknown {
  return JSON.parse(insides(html, new RegExp(`script type="application/json" id="${id}"`))[0] ?? "");
}

it("survey.html's CSP allows only its own script and style, by their hashes", async () => {
  const html = await page(3);
  const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
  const hash = (text = ""): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const [style, ...otherStyles] = insides(html, /style/);
  const [script, ...otherScripts] = html.split("<script>").slice(1);
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    `script-src ${hash(script?.split("</script>")[0])}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  expect([...otherStyles, ...otherScripts]).toEqual([]);
});

it("survey.html loads nothing from URLs, and its markup has no event handlers or inline styles", async () => {
  const html = await page(3);
  const markup = html.replace(/<(script|style)\b[^>]*>.*?<\/\1>/gs, "");
  expect(markup).not.toMatch(/\s(src|srcset|href|on\w+|style)=/);
});

it("survey.html escapes markup in names, so that it can't end the script element", async () => {
  const html = await page(40);
  const [json = ""] = insides(html, /script type="application\/json" id="zones"/);
  expect(json).not.toMatch(/[<>&\u2028\u2029]/);
  expect(html.match(/<script\b/g)).toHaveLength(3);
  expect(data(html, "zones")).toEqual(Array.from({ length: 40 }, (_, number) => sampleZone(number)));
  expect(sampleZone(3).name).toBe(HOSTILE);
  expect(data(html, "head")).toEqual(await sampleHead(40));
});

it("survey.html is complete for a survey without zones", async () => {
  expect(data(await page(0), "zones")).toEqual([]);
});

it("writing survey.html waits for a slow disk instead of keeping all zones in memory", async () => {
  let read = 0;
  let written = 0;
  let most = 0;
  const slow = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _, done) => {
      most = Math.max(most, read - written);
      written += chunk.toString().split('"hasPaymentPages"').length - 1;
      setImmediate(done);
    },
  });
  async function* counted(): AsyncGenerator<Zone, void, undefined> {
    for await (const zone of sampleZones(1_000)) {
      read += 1;
      yield zone;
    }
  }
  await writeHtml(slow, await sampleHead(1), counted());
  expect(written).toBe(1_000);
  expect(most).toBeLessThan(60);
});

it.each([1, 2])("writing survey.html fails if the disk is full at write %i", async (last) => {
  let writes = 0;
  const full = new Writable({
    write: (_, __, done) => {
      writes += 1;
      done(writes === last ? new Error("ENOSPC: no space left on device") : null);
    },
  });
  full.on("error", () => undefined); // Whoever opened the file hears of it, too.
  await expect(writeHtml(full, await sampleHead(1), sampleZones(100))).rejects.toThrow("ENOSPC");
});

it("writing survey.html fails if the zones can't be read", async () => {
  async function* broken(): AsyncGenerator<Zone, void, undefined> {
    yield await Promise.resolve(sampleZone(0));
    throw new Error("the journal is gone");
  }
  await expect(writeHtml(new Text(), await sampleHead(1), broken())).rejects.toThrow("the journal is gone");
});

it("survey.html's charts show the same counts as survey.json", async () => {
  const zones = Array.from({ length: 200 }, (_, number) => sampleZone(number));
  const facts = {
    at: "2026-11-02T09:30:00.000Z",
    accounts: [],
    stacks: [{ name: "edge/prod", resources: 4 }],
  };
  const head = await headOf({ ...facts, paymentPages: [] }, sampleZones(zones.length));
  const sums = CHARTS.map((chart) => {
    const sum: Record<string, number> = {};
    for (const zone of zones)
      for (const [bar, count] of Object.entries(chart.of(zone))) sum[bar] = (sum[bar] ?? 0) + count;
    return [chart.id, sum] as const;
  });
  for (const [id, sum] of sums) {
    const total: Readonly<Record<string, number>> =
      (id === "tasks" ? head.taskCounts : head.totals[id]) ?? {};
    expect([id, withoutZeros(sum)]).toEqual([id, withoutZeros(total)]);
  }
  expect(sums.map(([id]) => id).toSorted()).toEqual(["tasks", ...Object.keys(head.totals)].toSorted());
});

function withoutZeros(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

it("every table cell in survey.html shows a value, or why the value isn't known", async () => {
  const columns = columnsOf(await sampleHead(20));
  const cells = (number: number): Record<string, string> =>
    Object.fromEntries(columns.map(({ title, text }) => [title, text(sampleZone(number))]));
  expect(cells(7)).toEqual({
    Zone: "zone-7.example",
    Plan: "Free",
    "To do": "Suspicious script, 1 more",
    "Page Shield": "On",
    Policies: "1 logging",
    Scripts: "2 malicious, 2 unapproved, 7 seen",
    "Managed rulesets": "2 deployed, 3 versions behind, 1 exception",
    OWASP: "PL4, score 40, log",
    "WAF migration": "Ready",
    Logpush: "1 new",
    "Not in a stack": "1 object",
  });
  expect(cells(5)).toMatchObject({
    Plan: "not readable: missing permission Zone Read",
    Policies: "not readable: not in the plan (Page Shield policies)",
    "WAF migration": "not readable: GET /waf_migration/status returned 500",
    Logpush: "not readable: missing permission Logs Write",
  });
  for (let number = 0; number < 200; number += 1) expect(Object.values(cells(number))).not.toContain("");
});

it("survey.html and survey.csv describe unreadable parts the same, and don't count deployments that are off", async () => {
  const columns = columnsOf(await sampleHead(1));
  const zone = sampleZone(7);
  const page = (title: string, given: Zone): string | undefined =>
    columns.find((each) => each.title === title)?.text(given);
  const csv = (column: string, given: Zone): unknown => rowOf(given)[COLUMN_NAMES.indexOf(column)];
  for (const why of ["right", "plan", "account", "failed"] as const) {
    const jobs: NotReadable = { notReadable: why, what: "<What>" };
    expect(csv("jobs", { ...zone, jobs })).toBe(page("Logpush", { ...zone, jobs }));
    expect(csv("jobs", { ...zone, jobs })).toMatch(/^not readable: .*<What>/);
  }
  expect([csv("versions_behind", zone), csv("exceptions", zone)]).toEqual([3, 1]);
  const deployments = zone.deployments;
  if (!Array.isArray(deployments)) throw new Error("the sample has no deployments");
  const off = judged({
    ...zone,
    deployments: deployments.map((each) => ({ ...each, state: "off" as const })),
  });
  expect([csv("versions_behind", off), csv("exceptions", off)]).toEqual([0, 0]);
  expect(page("Managed rulesets", off)).toBe("None");
  expect(CHARTS.find(({ id }) => id === "managedRulesets")?.of(off)).toEqual({ none: 1 });
});

it.each<[string, string, Partial<Zone>, Partial<Deployment>]>([
  [
    "is paused",
    "no: the zone is paused, so Cloudflare checks none of its requests",
    { status: "paused" },
    {},
  ],
  [
    "runs its only ruleset for some requests",
    'for some requests: "Cloudflare Managed Ruleset" runs only for some requests: http.host eq "a.example"',
    {},
    { expression: 'http.host eq "a.example"' },
  ],
  [
    "only checks for exposed credentials",
    'no: "Cloudflare Managed Ruleset" only checks for exposed credentials',
    {},
    { rulesetId: "c2e184081120413c86c3ab7e14069605" },
  ],
  [
    "only logs",
    'no: "Cloudflare Managed Ruleset" only logs',
    {},
    {
      effect: {
        name: "Cloudflare Managed Ruleset",
        version: "87",
        versionsBehind: 0,
        rulesOn: 1,
        rulesOff: 0,
        rulesOnLog: 1,
        onlyLogs: true,
      },
    },
  ],
  [
    "skips the ruleset for every request",
    'no: "Cloudflare Managed Ruleset" is skipped for all requests by an exception',
    {},
    { exceptions: [{ description: "", expression: "not false", skips: "all", stops: true }] },
  ],
])("a survey doesn't count a zone as protected if it %s", async (_, protection, zone, deployment) => {
  const [own] = [sampleZone(6).deployments].flat();
  if (own === undefined || "notReadable" in own) throw new Error("the sample has no deployments");
  const made = judged({
    ...sampleZone(6),
    ...zone,
    accountDeployments: [],
    deployments: [{ ...own, ...deployment }],
  });
  expect(rowOf(made)[COLUMN_NAMES.indexOf("protected")]).toBe(protection);
  const { totals } = await headOf({ at: "", accounts: [], stacks: [], paymentPages: [] }, only(made));
  expect(totals["managedRulesets"]).toMatchObject({ on: 0, notReadable: 0 });
  expect(tasksOf(made).map(({ kind }) => kind)).toContain(
    zone.status === "paused" ? "paused" : "noManagedRuleset",
  );
  const column = columnsOf(await sampleHead(1)).find(({ title }) => title === "Managed rulesets");
  expect(column?.text(made)).toMatch(/^1 deployed, not (protected|for all requests)/);
});

async function* only(zone: Zone): AsyncGenerator<Zone, void, undefined> {
  yield await Promise.resolve(zone);
}

it("survey.html counts a zone as protected by its account's rulesets, and shows unknown values as not known", async () => {
  const columns = columnsOf(await sampleHead(1));
  const cell = (title: string, given: Zone): string | undefined =>
    columns.find((each) => each.title === title)?.text(given);
  const chart = CHARTS.find(({ id }) => id === "managedRulesets");
  const refused: NotReadable = { notReadable: "right", what: "Account Rulesets Read" };
  const [own] = [sampleZone(7).deployments].flat();
  if (own === undefined || "notReadable" in own) throw new Error("the sample has no deployments");
  const bare = { ...sampleZone(11), deployments: [] };
  const covered = judged({ ...bare, accountDeployments: [own] });
  const unknown = judged({ ...bare, accountDeployments: refused });
  expect([chart?.of(covered), chart?.of(unknown)]).toEqual([{ on: 1 }, { notReadable: 1 }]);
  expect(chart?.of(judged({ ...unknown, deployments: [own] }))).toEqual({ on: 1 });
  const kinds = (zone: Zone): string[] => tasksOf(zone).map(({ kind }) => kind);
  expect(kinds(judged({ ...bare, accountDeployments: [] }))).toContain("noManagedRuleset");
  for (const zone of [covered, unknown]) expect(kinds(zone)).not.toContain("noManagedRuleset");
  expect(cell("To do", { ...bare, tasks: [], jobs: refused })).toBe("Not known");
  expect(cell("To do", { ...sampleZone(11), tasks: [] })).toBe("Nothing");
});

it("survey.html shows the account column only for several accounts, and the stack column only if stacks were given", async () => {
  const head = await sampleHead(1);
  const [account] = head.accounts;
  const accounts = [account, { ...account, id: "2", name: "Second" }].flatMap((each) =>
    each?.id === undefined
      ? []
      : [{ ...each, zones: 1, rulesets: [], deployments: [], jobs: [], namespaces: [] }],
  );
  const columns = columnsOf({ ...head, accounts, stacks: [] });
  expect(columns.map(({ title }) => title).slice(0, 2)).toEqual(["Zone", "Account"]);
  expect(columns.map(({ title }) => title)).not.toContain("Not in a stack");
  expect(columns[1]?.text({ ...sampleZone(0), accountId: "2" })).toBe("Second");
});

it("survey.html sorts unknown values last in both directions, and keeps the order of equal rows", () => {
  const rows = [
    ["b", 2],
    ["u", undefined],
    ["a", 1],
    ["c", 2],
  ] as const;
  const key = ([, value]: (typeof rows)[number]): number | undefined => value;
  const names = (sortedRows: readonly (typeof rows)[number][]): string =>
    sortedRows.map(([name]) => name).join(" ");
  expect(names(sorted(rows, key))).toBe("a b c u");
  expect(names(sorted(rows, key, "descending"))).toBe("b c a u");
});

it("survey.html searches a zone's values in any case and word order, but not its property names", () => {
  const text = searchable(sampleZone(7));
  expect(matches(text, wordsOf("  Stats-0.COLLECT  zone-7 "))).toBe(true);
  expect(matches(text, wordsOf("zone-8"))).toBe(false);
  expect(matches(text, wordsOf("hasPaymentPages"))).toBe(false);
});
