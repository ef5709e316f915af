import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { marked } from "marked";
import { parse } from "yaml";
import { LONG } from "../support/long";
import { schemaProblems } from "../support/published";
import { rawSend, visit } from "../support/operation";
import { Desk } from "./support";

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => {
  desk.api.reset();
  visit(desk.api, desk.api.zones.shop);
  desk.api.clearRequests();
});

const FILE = "script-inventory.yaml";
const HOSTS = ["--hosts", "www.shop.example,account.shop.example"];
const COUNT = LONG ? 10_000 : 300;
const NEW = "https://cdn.new.example/tracker.js";
const HOSTILE = "https://evil.example/line\nbreak.js\r\n::error::boo\u001b[31m\u009b\u202e\u2066";

const inventory = async (...args: string[]) => await desk.here("inventory", ...args);
const check = async (...args: string[]) => await inventory("check", "--zone", desk.api.zones.shop, ...args);
const propose = async (...args: string[]) =>
  await inventory("propose", "--zone", desk.api.zones.shop, ...args);
const read = (file = FILE): string => readFileSync(join(desk.cwd, file), "utf8");

/** A day from today, in UTC. */
const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
const approval = (until?: string): string =>
  `approval: { by: Ann Lee, on: ${day(-30)}${until === undefined ? "" : `, until: ${until}`} }`;
const approve = (text: string, until?: string): string => text.replace(/approval: null.*/g, approval(until));

/** An inventory of the seeded zone's own pages, proposed and approved. */
async function approved(...args: string[]): Promise<string> {
  desk.write(FILE, "version: 1\nscripts: []\n");
  const { code } = await propose(
    "--owner",
    "Web team",
    "--justification",
    "The shop needs it",
    "--pin-hashes",
    ...args,
  );
  expect(code).toBe(0);
  const text = approve(read());
  desk.write(FILE, text);
  return text;
}

const json = (
  text: string,
): {
  readonly [key: string]: unknown;
  readonly findings: readonly object[];
  readonly scripts: readonly { readonly seen: { readonly url: string } }[];
} => JSON.parse(text) as never;

describe("edgeguard inventory check", () => {
  test("exits with 0 if every script is approved, with 1 if there's a new one, and with 0 again once that one is approved", async () => {
    await approved(...HOSTS);
    const before = await check(...HOSTS);
    expect(before).toMatchObject({ code: 0, stderr: "" });
    expect(before.stdout).toContain("15 of 15 entries approved. Page Shield has seen 15 scripts");
    expect(before.stdout).toContain("0 findings, 0 notices.");

    const host = "www.shop.example";
    desk.api.detect(desk.api.zones.shop, {
      scripts: [{ url: NEW, host, js_integrity_score: 85, first_page_url: `${host}/cart` }],
    });
    const found = await check(...HOSTS, "--evidence", "found");
    expect(found.code).toBe(1);
    expect(readdirSync(join(desk.cwd, "found"))).toHaveLength(3);
    expect(found.stdout).toContain(`  - new: ${NEW} on www.shop.example/cart, score 85, first seen `);
    expect(found.stderr).toContain("edgeguard: 1 finding in the check of script-inventory.yaml.\n");

    await propose(...HOSTS);
    const proposed = await check(...HOSTS);
    expect(proposed.code).toBe(1);
    expect(proposed.stdout).toMatch(
      / {2}- unapproved: .*tracker\.js on .* the entry on line \d+ has no approval/,
    );

    const lines = read().split("\n");
    const line = lines.findIndex((text) => text.includes("approval: null"));
    desk.write(FILE, [...lines.slice(0, line), `    ${approval()}`, ...lines.slice(line + 1)].join("\n"));
    expect((await check(...HOSTS)).code).toBe(0);
  });

  test("finds changed content, and never reports a script without a hash as unchanged", async () => {
    const { shop } = desk.api.zones;
    const text = await approved(...HOSTS);
    const [app] = await scriptsOf(shop, "https://www.shop.example/assets/app.4f1c2a.js");
    const changed = "c".repeat(64);
    desk.api.detect(shop, { scripts: [{ id: app.id, hash: changed }] });
    const { code, stdout } = await check(...HOSTS);
    expect(code).toBe(1);
    expect(stdout).toContain(
      "  - changed: https://www.shop.example/assets/app.4f1c2a.js on www.shop.example/",
    );
    expect(stdout).toMatch(
      new RegExp(`its content has the hash ${changed}, but the entry on line \\d+ expects ${app.hash}`),
    );
    expect(stdout).toContain("Script content: 14 unchanged, 1 changed.");

    desk.write(FILE, text.replace(`hash: ${app.hash}`, "hash: changes"));
    const expected = await check(...HOSTS);
    expect(expected.code).toBe(0);
    expect(expected.stdout).toContain("Script content: 14 unchanged, 1 expected to change.");

    desk.write(FILE, text.replace(`    hash: ${app.hash}\n`, ""));
    const unwatched = await check(...HOSTS);
    expect(unwatched.code).toBe(0);
    expect(unwatched.stdout).toContain("Script content: 14 unchanged, 1 not watched.");
    desk.write(FILE, text);
    desk.api.detect(shop, { scripts: [{ id: app.id, hash: null }] });
    expect((await check(...HOSTS)).stdout).toContain("Script content: 14 unchanged, 1 not watched.");
  });

  test("finds malicious scripts even if they're approved", async () => {
    await approved(...HOSTS);
    desk.write(FILE, `${read()}  - script: stats-collect.example.com\n    ${approval()}\n`);
    const { code, stdout } = await check("--hosts", "checkout.shop.example");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /- malicious: https:\/\/stats-collect\.example\.com\/c\.js on checkout\.shop\.example\/payment, score 4, .*: its score is below 10, and it's on a threat list \(Cryptominer, Malware\)\. .* It's a finding even though it's approved, unless its entry says falsePositive\./,
    );
    // Threat lists count whatever the threshold.
    const lenient = await check("--hosts", "checkout.shop.example", "--threshold", "2");
    expect(lenient.stdout.match(/- malicious: /g)).toHaveLength(1);
  });

  test("says how old the newest detections are, and fails once they're older than seven days", async () => {
    await approved(...HOSTS);
    expect((await check(...HOSTS)).stdout).toContain(`in 1 zone, last on ${day(0)} (0 days ago).`);
    desk.api.reset(); // The seed was last seen on 2026-09-01.
    const { code, stdout } = await check(...HOSTS, "--evidence", "stale");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /- stale: zone \w+: Page Shield last saw a script \d+ days ago, on 2026-0\S+; after 7 days, detections are stale\./,
    );
    const [evidence = ""] = readdirSync(join(desk.cwd, "stale")).filter((name) => name.endsWith(".md"));
    expect(read(join("stale", evidence))).toMatch(
      /15 of 15 scripts have an approval.* Gaps: zone \w+ \(nothing seen for more than 7 days\)/,
    );
  });

  test("an entry accepts one script's score as a false positive: by whom, why and until when", async () => {
    const { shop } = desk.api.zones;
    const host = "www.shop.example";
    const odd = (score: number): void =>
      desk.api.detect(shop, { scripts: [{ id: "f".repeat(32), url: NEW, host, js_integrity_score: score }] });
    const text = await approved(...HOSTS);
    odd(12);
    const entry = (more: string): string => `${text}  - script: ${NEW}\n    owner: Web team\n${more}`;
    const why = "    justification: Minified by hand\n";
    desk.write(FILE, entry(`${why}    ${approval(day(30))}\n`));
    expect((await check(...HOSTS)).stdout).toMatch(
      /- suspicious: \S+tracker\.js on \S+, score 12, .*below 50\./,
    );
    desk.write(FILE, entry(`${why}    ${approval(day(30))}\n    falsePositive: 12\n`));
    expect(await check(...HOSTS)).toMatchObject({ code: 0 });
    const csv = (await check(...HOSTS, "--format", "csv")).stdout;
    expect(csv).toMatch(new RegExp(`${NEW},.*,"approved, false positive".*Ann Lee`));
    odd(9);
    expect((await check(...HOSTS)).stdout).toMatch(
      /- malicious: \S+tracker\.js on \S+, score 9, .*below 10\./,
    );
    odd(12);
    desk.write(FILE, entry(`${why}    ${approval(day(-1))}\n    falsePositive: 12\n`));
    expect((await check(...HOSTS)).stdout).toContain("- suspicious: ");
    for (const given of [`    ${approval(day(30))}\n`, `${why}    ${approval()}\n`]) {
      desk.write(FILE, entry(`${given}    falsePositive: 12\n`));
      expect((await check(...HOSTS)).stderr).toContain(
        "falsePositive: needs a justification, and an approval with until",
      );
    }
    desk.write(
      FILE,
      entry(`${why}    ${approval(day(30))}\n    falsePositive: 12\n`).replace(NEW, "cdn.new.example"),
    );
    expect((await check(...HOSTS)).stderr).toContain(
      "falsePositive: only an exact URL can be a false positive",
    );
  });

  test("reports an approval that has expired, and one that expires soon", async () => {
    await approved(...HOSTS);
    const text = read();
    const until = (date: string): void =>
      void desk.write(FILE, approve(text.replace(approval(), "approval: null"), date));
    const last = async (...args: string[]): Promise<string | undefined> =>
      /- (\w+): .*?(its approval \(line \d+\) .*)/
        .exec((await check(...HOSTS, ...args)).stdout)
        ?.slice(1)
        .join(" ");
    until(day(-1));
    expect(await last()).toMatch(/^expired its approval \(line \d+\) expired on /);
    until(day(0));
    expect(await last()).toMatch(/^expiring its approval \(line \d+\) expires today\./);
    until(day(13));
    expect(await last()).toMatch(new RegExp(`^expiring .* expires in 13 days, on ${day(13)}\\.`));
    until(day(14));
    expect(await last()).toBeUndefined();
    expect(await last("--expiring-days", "30")).toMatch(/^expiring/);
    until(day(0));
    expect(await last("--expiring-days", "0")).toBeUndefined();
    desk.write(FILE, text.replace(approval(), `approval: { by: Ann Lee, on: ${day(9)} }`));
    expect(await last()).toMatch(
      new RegExp(`^unapproved its approval \\(line \\d+\\) starts on ${day(9)}\\.`),
    );
  });

  test("reports approved scripts that weren't seen, and approvals without a justification or owner, as notices", async () => {
    await approved(...HOSTS);
    desk.write(FILE, `${read()}  - script: https://gone.example/old.js\n    ${approval()}\n`);
    const { code, stdout } = await check(...HOSTS);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "  - not seen: https://gone.example/old.js (line 93): approved, but not seen on www.shop.example, account.shop.example.",
    );
    expect(stdout).toContain("  - no justification: https://gone.example/old.js");
    expect(stdout).toContain("  - no owner: https://gone.example/old.js");
  });

  test("fails if there's nothing to compare: Page Shield is off, can't be read, or has seen no scripts", async () => {
    const { blog, empty, free, shop } = desk.api.zones;
    await approved(...HOSTS);
    const off = await inventory("check", "--zone", empty);
    expect(off).toMatchObject({ code: 1 });
    expect(off.stdout).toContain(`  - off: zone ${empty}: Page Shield is off, so it sees no new scripts.`);
    const wrongHost = await check("--hosts", "ww.shop.example");
    expect(wrongHost.code).toBe(1);
    expect(wrongHost.stdout).toContain(
      `  - nothing seen: zone ${shop}: Page Shield has seen no scripts on ww.shop.example. Check the hosts`,
    );

    // The others are still compared.
    const several = await inventory(
      "check",
      "--zone",
      `${shop},${free}`,
      "--zone",
      blog,
      "--zone",
      shop,
      ...HOSTS,
    );
    expect(several.code).toBe(1);
    expect(several.stdout).toContain("Page Shield has seen 15 scripts");
    expect(several.stdout).toContain("in 3 zones, last on ");
    expect(several.stdout).toContain(
      `  - not read: zone ${free}: Reading Page Shield settings of zone ${free} failed`,
    );
    expect(several.stdout).toContain("lacks the Page Shield Read permission");
    expect(several.stdout).not.toContain("not seen");
  });

  test("fails if Cloudflare's API still fails after the usual retries", async () => {
    await approved(...HOSTS);
    desk.api.fault({ match: { path: "/scripts" }, kind: "status", status: 429, retryAfter: 0 });
    const retried = await desk.at(
      { env: { ...desk.env, EDGEGUARD_MAX_RETRIES: "2" } },
      "inventory",
      "check",
      "--zone",
      desk.api.zones.shop,
      ...HOSTS,
    );
    expect(retried.code).toBe(0);
    desk.api.fault({ match: { path: "/scripts" }, kind: "status", status: 429, retryAfter: 0 });
    const limited = await check(...HOSTS);
    expect(limited.code).toBe(1);
    expect(limited.stdout).toContain("429 Too Many Requests");
  });

  // The local API takes a second for each page of so many.
  test(`reads ${COUNT} scripts page by page and compares each`, async () => {
    const { shop } = desk.api.zones;
    const scripts = Array.from({ length: COUNT }, (_, i) => ({
      url: `https://cdn${i % 7}.libraries.example/${i}.js`,
      last_seen_at: `${day(0)}T00:00:00Z`,
      js_integrity_score: 90,
    }));
    desk.api.detect(shop, { scripts }, "replace");
    desk.write(
      FILE,
      `version: 1\nscripts:\n${scripts
        .slice(1)
        .map(({ url }) => `  - script: ${url}\n    ${approval()}\n`)
        .join("")}`,
    );
    const { code, stdout } = await check();
    expect(code).toBe(1);
    expect(stdout).toContain(
      `${COUNT - 1} of ${COUNT - 1} entries approved. Page Shield has seen ${COUNT} scripts in 1 zone`,
    );
    expect(stdout).toContain("  - new: https://cdn0.libraries.example/0.js");
    expect(desk.api.requests.filter(({ path }) => path.endsWith("/scripts"))).toHaveLength(COUNT / 100);
  });

  test("runs as an installed command", async () => {
    await approved(...HOSTS);
    const { code, stderr } = await desk.bin("inventory", "check", "--zone", desk.api.zones.shop, ...HOSTS);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test.each([
    [["check"], "required option '--zone <ids>' not specified"],
    [["check", "--zone", "shop.example"], "32 hex digits"],
    [
      ["check", "--zone", "0".repeat(32), "--format", "xml"],
      "Allowed choices are text, markdown, json, csv.",
    ],
    [["check", "--zone", "0".repeat(32), "--expiring-days", "soon"], "a whole number from 0 to 3650"],
    [["propose", "--zone", "0".repeat(32), "--threshold", "0"], "a whole number from 1 to 100"],
  ])("refuses the command line %j", async (args, sentence) => {
    const { code, stderr } = await inventory(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) as string });
    expect(desk.api.requests).toEqual([]);
  });

  test("refuses a missing or invalid inventory before it reads anything", async () => {
    expect(await check("--file", "none.yaml")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("the script inventory can't be read: it does not exist") as string,
    });
    desk.write("wrong.yaml", "version: 1\nscripts:\n  - script: '*'\n");
    expect((await check("--file", "wrong.yaml")).stderr).toContain(
      'wrong.yaml:3: scripts[0].script: "*" covers every script',
    );
    expect(desk.api.requests).toEqual([]);
  });
});

/** Scripts of a zone with this URL, as the API returns them. */
async function scriptsOf(zone: string, url: string): Promise<[{ id: string; hash: string }]> {
  const path = `/zones/${zone}/page_shield/scripts?urls=${encodeURIComponent(url)}`;
  return (await rawSend(desk.api, "GET", path)).result as [{ id: string; hash: string }];
}

describe("the evidence", () => {
  const ELEMENTS = [
    "6.4.3 A method confirms that each script is authorized",
    "6.4.3 A method assures the integrity of each script",
    "6.4.3 An inventory lists every script with a written justification",
    "11.6.1 Alerts on unauthorized changes to security-impacting HTTP headers as the browser receives them",
    "11.6.1 Alerts on unauthorized changes to the script contents of payment pages as the browser receives them",
    "11.6.1 Evaluates the HTTP headers and payment pages as they are received",
    "11.6.1 Runs at least every seven days, or as often as the targeted risk analysis requires",
  ];
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(join(desk.cwd, "evidence")).map((name) => [
        name.replace(/^.*\./, ""),
        read(join("evidence", name)),
      ]),
    );

  test("isn't written if its directory can't be created", async () => {
    await approved(...HOSTS);
    const { code, stderr } = await check(...HOSTS, "--evidence", "/proc/nope/out");
    expect([code, stderr]).toEqual([1, expect.stringContaining("/proc/nope can't be created (ENOENT)")]);
  });

  test("says in every format which elements of the two requirements have evidence, and claims nothing more", async () => {
    const text = await approved(...HOSTS);
    const { stderr } = await check(...HOSTS, "--evidence", "evidence");
    expect(stderr).toMatch(
      /^edgeguard: evidence written to evidence\/script-inventory-\d{8}T\d{6}Z\.md, \.json and \.csv\.\n$/,
    );
    const { md = "", json: document = "", csv = "" } = files();
    const { requirements, ...rest } = json(document) as unknown as {
      readonly requirements: readonly Readonly<
        Record<"requirement" | "element" | "scope" | "standing" | "why", string>
      >[];
    };
    expect([...new Set(requirements.map(({ requirement, element }) => `${requirement} ${element}`))]).toEqual(
      ELEMENTS,
    );
    expect(requirements.map(({ scope, standing }) => `${standing}: ${scope}`)).toEqual([
      "evidenced: external scripts that Page Shield has seen on www.shop.example, account.shop.example",
      "not: other scripts: inline, not in the sample, or in third-party frames",
      "partly: external scripts that Page Shield has seen on www.shop.example, account.shop.example",
      "not: other scripts: inline, not in the sample, or in third-party frames",
      "evidenced: external scripts that Page Shield has seen on www.shop.example, account.shop.example",
      "not: other scripts: inline, not in the sample, or in third-party frames",
      "not: HTTP headers",
      "partly: external scripts that Page Shield has seen on www.shop.example, account.shop.example",
      "not: inline scripts",
      "not: HTTP headers and whole pages",
      "partly: this run",
    ]);
    for (const { requirement, element, scope, standing } of requirements) {
      const words =
        { evidenced: "evidenced", partly: "partly evidenced", not: "not evidenced" }[standing] ?? "";
      expect(md.replaceAll("`", "")).toContain(
        `| ${requirement.replace(".", "\\.")} | ${element} | ${scope} | ${words} |`,
      );
      expect(csv).toContain(`,requirement,`);
      expect(csv).toMatch(new RegExp(`${requirement},"?${element}"?,.*${words}`));
    }

    // Dated, with the digests of the inventory and of what was seen.
    const digest = createHash("sha256").update(text).digest("hex");
    expect(rest).toMatchObject({
      checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      inventory: { file: FILE, sha256: digest, entries: 15, approved: 15 },
      judgedBy: { threshold: 50, expiringDays: 14 },
      seen: { scripts: 15, hosts: ["www.shop.example", "account.shop.example"] },
      standard: "PCI DSS 4.0.1",
    });
    for (const written of [md, csv]) expect(written).toContain(digest);
    const { scripts, seen } = json(document) as unknown as {
      readonly scripts: readonly { readonly seen: object }[];
      readonly seen: { readonly sha256: string };
    };
    const sorted = scripts.map((script) => Object.fromEntries(Object.entries(script.seen).sort()) as object);
    expect(createHash("sha256").update(JSON.stringify(sorted)).digest("hex")).toBe(seen.sha256);
    for (const written of [md, document, csv, (await check(...HOSTS)).stdout])
      expect(written).not.toMatch(/compliant|compliance/i);
  });

  test("doesn't call an element fully evidenced if a script lacks the hash, justification or approval for it", async () => {
    desk.write(FILE, approve(await approved(...HOSTS)));
    const standings = async (text: string): Promise<string[]> => {
      desk.write(FILE, text);
      const { requirements } = json((await check(...HOSTS, "--format", "json")).stdout) as unknown as {
        readonly requirements: readonly { readonly standing: string; readonly scope: string }[];
      };
      return requirements.filter(({ scope }) => scope.startsWith("external")).map(({ standing }) => standing);
    };
    const text = read();
    expect(await standings(text.replace(approval(), "approval: null"))).toEqual([
      "partly",
      "partly",
      "evidenced",
      "partly",
    ]);
    expect(await standings(text.replace(/ {4}hash: .*\n/, ""))).toEqual([
      "evidenced",
      "partly",
      "evidenced",
      "partly",
    ]);
    expect(await standings(text.replace(/ {4}hash: .*\n/g, ""))).toEqual([
      "evidenced",
      "not",
      "evidenced",
      "not",
    ]);
    expect(await standings(text.replace("The shop needs it", ""))).toEqual([
      "evidenced",
      "partly",
      "partly",
      "partly",
    ]);
    expect(await standings("version: 1\nscripts: []\n")).toEqual(["not", "not", "not", "not"]);
  });

  test("calls no script harmless or unchanged if the Cloudflare plan has no scores and hashes", async () => {
    const { blog } = desk.api.zones;
    await rawSend(desk.api, "PUT", `/zones/${blog}/page_shield`, { enabled: true });
    visit(desk.api, blog);
    desk.write(FILE, "version: 1\nscripts: []\n");
    await inventory("propose", "--zone", blog);
    expect(read()).toContain("without a score");
    expect(read()).not.toContain("hash:");
    desk.write(FILE, approve(read()));
    const { code, stdout } = await inventory("check", "--zone", blog, "--format", "json");
    expect(code).toBe(0);
    const { scripts, requirements } = json(stdout) as unknown as Record<string, Record<string, string>[]>;
    expect(scripts?.map(({ content }) => content)).toEqual(Array(4).fill("not watched"));
    expect(requirements?.filter(({ element = "" }) => element.includes("integrity"))).toMatchObject([
      {
        standing: "not",
        why: "0 of 4 scripts have the content that the inventory expects. The others: 4 not watched.",
      },
      { standing: "not" },
    ]);
  });

  test("lists the hosts that were checked in every format, and reports a host without detections as a finding", async () => {
    await approved(...HOSTS);
    const hosts = ["--hosts", "www.shop.example,acount.shop.example,*.shop.example,nothing*"];
    for (const format of ["text", "markdown", "csv", "json"]) {
      const { code, stdout } = await check(...hosts, "--format", format);
      expect(code).toBe(1);
      const plain = stdout.replace(/[`\\]/g, "");
      expect(plain).toContain("on www.shop.example, acount.shop.example, *.shop.example, nothing*");
      expect([...plain.matchAll(/has seen no scripts on (\S+)\. /g)].map(([, host]) => host)).toEqual([
        "acount.shop.example",
        "nothing*",
      ]);
    }
    desk.write("check.json", (await check(...HOSTS, "--format", "json")).stdout);
    const { stdout } = await desk.here(
      "report",
      join(__dirname, "../report/fixtures/created.json"),
      "--inventory",
      "check.json",
      "--format",
      "text",
    );
    expect(stdout).toContain("15 scripts seen on www.shop.example, account.shop.example, 0 findings.");
  });

  test("lists a zone that can't be read as a gap for every element", async () => {
    await approved(...HOSTS);
    const { blog, shop } = desk.api.zones;
    const { stdout } = await inventory("check", "--zone", `${shop},${blog}`, ...HOSTS, "--format", "json");
    expect(stdout).not.toContain('"standing": "evidenced"');
    expect(stdout).toContain(`Gaps: zone ${blog} (Page Shield is off).`);
  });

  test("escapes URLs and inventory text, so that they can't become markup, formulas, new lines or commands in any format", async () => {
    const { shop } = desk.api.zones;
    const urls = [
      'https://evil.example/a"b,c.js?x=|y|<img src=x>&z=`code`',
      '=HYPERLINK("https://evil.example","click")',
      "@SUM(1+1)|x",
      "-2+3",
      HOSTILE,
    ];
    const scripts = urls.map((url) => ({ url, js_integrity_score: 90 }));
    desk.api.detect(shop, { scripts }, "replace");
    visit(desk.api, shop);
    desk.write(
      FILE,
      `version: 1\nscripts:\n  - script: evil.example\n    owner: "=cmd|' /C calc'!A0"\n    ${approval()}\n    justification: "| </td> [x](javascript:1)"\n`,
    );
    const outputs = await Promise.all(
      ["text", "markdown", "csv", "json"].map(async (format) => (await check("--format", format)).stdout),
    );
    const [text = "", markdown = "", csv = "", document = ""] = outputs;
    for (const output of outputs) expect(output.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text + markdown).not.toMatch(/^::error::/mu);
    const html = marked.parse(markdown, { async: false });
    expect(html).not.toMatch(/<img|<a /);
    expect(html).toContain("<td>=cmd|&#39; /C calc&#39;!A0</td>\n<td>Ann Lee, ");
    for (const cell of cellsOf(csv)) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    expect(cellsOf(csv)).toContain("'-2+3");
    expect(cellsOf(csv)).toContain(
      "https://evil.example/line\nbreak.js\\u000d\n::error::boo\\u001b[31m\\u009b\\u202e\\u2066",
    );
    expect(json(document).scripts.map(({ seen }) => seen.url)).toContain(HOSTILE);
    expect(json(document).findings).toHaveLength(3);
  });

  test("never contains a credential: neither the token nor one in a URL", async () => {
    const canary = "canary-4f9a7c1e";
    const { shop } = desk.api.zones;
    await approved(...HOSTS);
    desk.api.detect(shop, {
      scripts: [{ url: `https://user:${canary}@cdn.example.com/a.js`, js_integrity_score: 90 }],
    });
    const env = { ...desk.env, CLOUDFLARE_API_TOKEN: canary };
    const outputs = [
      await check("--evidence", "secrets"),
      await check("--format", "json"),
      await propose(),
      await desk.at({ env }, "inventory", "check", "--zone", shop),
    ].flatMap(({ stdout, stderr }) => [stdout, stderr]);
    const written = readdirSync(join(desk.cwd, "secrets")).map((name) => read(join("secrets", name)));
    for (const text of [...outputs, ...written, read()]) expect(text).not.toContain(canary);
    expect(outputs[0]).toContain("https://[secret]@cdn.example.com/a.js");
    expect(outputs[0]).toContain("its URL has a username, which makes it look like another host");
  });
});

describe("edgeguard report --inventory", () => {
  const PLAN = join(__dirname, "../report/fixtures/created.json");
  const report = async (...args: string[]) =>
    await desk.here("report", PLAN, "--inventory", "check.json", ...args);

  test("shows the check in each format of the report, and doesn't change the exit code", async () => {
    await approved(...HOSTS);
    desk.write("check.json", (await check("--format", "json")).stdout);
    const { code, stdout } = await report("--format", "markdown");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /### Script inventory\n\n`script-inventory\.yaml`, checked at .*Z: 23 scripts seen, 8 findings\.\n\n- malicious: `https:/,
    );
    const text = (await report("--format", "text")).stdout;
    expect(text).toMatch(/Script inventory: script-inventory\.yaml, checked at .* 8 findings\./);
    expect(text).toContain(
      "  - new: https://js.payments.example/v3/pay.js on checkout.shop.example/payment, score 96",
    );
    const document = json((await report("--format", "json")).stdout);
    expect(schemaProblems("report.v1", document)).toEqual([]);
    expect(document).toMatchObject({ inventory: { passed: false } });

    desk.write("check.json", (await check(...HOSTS, "--format", "json")).stdout);
    expect((await report()).stdout).toContain("<details><summary>Script inventory</summary>");
  });

  test("refuses a file that isn't the output of a check", async () => {
    for (const wrong of ["{}", "not JSON", JSON.stringify({ passed: true })]) {
      desk.write("check.json", wrong);
      const { code, stdout, stderr } = await report();
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("--inventory: the file isn't the result of an inventory check");
    }
  });
});

/** The cells of a CSV text. */
function cellsOf(csv: string): string[] {
  return [...csv.matchAll(/(?:^|,|\n)(?:"((?:[^"]|"")*)"|([^",\n]*))/g)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  );
}

describe("edgeguard inventory propose", () => {
  test("creates a file with every script that isn't malicious, all of them unapproved", async () => {
    const { code, stderr } = await propose("--file", "fresh.yaml", "--owner", "Web: team #1");
    expect(code).toBe(0);
    expect(stderr).toContain("edgeguard: fresh.yaml has 20 new entries without an approval.");
    expect(stderr).toContain(
      " malicious or suspicious scripts not proposed: https://cdn.extension-helper.example/inject.js, ",
    );
    const text = read("fresh.yaml");
    expect(text.split("\n").slice(0, 9)).toEqual([
      "# yaml-language-server: $schema=https://unpkg.com/pulumi-edgeguard/schemas/script-inventory.v1.json",
      "version: 1",
      "scripts:",
      "  # Seen on account.shop.example/login, first on 2026-07-09, score 95.",
      "  - script: https://account.shop.example/assets/login.02f6bb.js",
      '    justification: ""',
      '    owner: "Web: team #1"',
      "    approval: null # To approve: { by: <name>, on: <YYYY-MM-DD>, until: <YYYY-MM-DD> }",
      "    hash: bbe37c54cb916fb10339bd01ca62c814961b1da7c5904c15cb11dc3ec56a6b64",
    ]);
    expect((await check("--file", "fresh.yaml", "--format", "json")).stdout).toContain('"approved": 0');
    const again = await propose("--file", "fresh.yaml");
    expect(again.stderr).toContain(
      "fresh.yaml already covers all the scripts that were seen, except those listed below.",
    );
    expect(read("fresh.yaml")).toBe(text);
  });

  test.each([
    [
      "comments, quotes and odd spacing",
      "# Ours\nversion:   1\nscripts:\n    -   script:   'cdn.libraries.example'   # CDN\n        owner: >-\n          Web\n          team\n        # To be reviewed\n\n# The end\nextra: &x\n",
    ],
    [
      "Windows line endings",
      "version: 1\r\nscripts:\r\n- script: cdn.libraries.example # CDN\r\n  # why\r\n",
    ],
    ["no newline at end of file", "version: 1\nscripts:\n- script: cdn.libraries.example"],
    [
      "a block scalar at the end",
      "version: 1\nscripts:\n  - script: cdn.libraries.example\n    justification: |\n      Two\n\n      lines\n",
    ],
    [
      "keys after the list",
      "scripts:\n  - script: cdn.libraries.example\n    owner: Web\n\n# Format\nversion: 1\n",
    ],
  ])("adds entries, and keeps the existing ones and every comment: %s", async (_what, given) => {
    const text = given.replace("extra: &x\n", "");
    desk.write(FILE, text);
    expect((await propose(...HOSTS)).code).toBe(0);
    const added = read();
    const scripts = (of: string): unknown[] => (parse(of) as { scripts: unknown[] }).scripts;
    expect(scripts(added).slice(0, 1)).toEqual(scripts(text));
    for (const [comment] of text.matchAll(/# .*/g)) expect(added).toContain(comment.trimEnd());
    expect(added.match(/approval: null/g)).toHaveLength(13);
    expect((await propose(...HOSTS)).stderr).toContain("already covers all the scripts");
  });

  test("adds to a JSON file", async () => {
    desk.write(
      "list.json",
      '{\n\t"version": 1,\n\t"scripts": [\n\t\t{ "script": "cdn.libraries.example" }\n\t]\n}\n',
    );
    expect((await propose("--file", "list.json", ...HOSTS)).code).toBe(0);
    const text = read("list.json");
    expect(schemaProblems("script-inventory.v1", JSON.parse(text))).toEqual([]);
    expect((JSON.parse(text) as { scripts: object[] }).scripts).toHaveLength(14);
    expect((await propose("--file", "new.json")).code).toBe(0);
    expect(schemaProblems("script-inventory.v1", JSON.parse(read("new.json")))).toEqual([]);
  });

  test("proposes one entry for a script on several zones, without a hash if the content differs between zones", async () => {
    const { shop, empty } = desk.api.zones;
    const script = (hash: string) => ({ scripts: [{ url: NEW, js_integrity_score: 90, hash }] });
    desk.api.detect(shop, script("a".repeat(64)), "replace");
    desk.api.detect(empty, script("b".repeat(64)), "replace");
    desk.write(FILE, "version: 1\nscripts: []\n");
    const { stderr } = await inventory("propose", "--zone", `${shop},${empty}`);
    expect(stderr).toContain(`edgeguard: zone ${empty}: Page Shield is off`);
    expect(read().match(/- script: /g)).toHaveLength(1);
    expect(read()).toContain("with 2 different hashes, so no hash is filled in.");
    expect(read()).not.toContain("hash: ");
  });

  test("pins a hash only if the URL names a version, unless --pin-hashes asks for all", async () => {
    const at = (path: string) => `https://js.vendor.example/${path}`;
    const versioned = ["jquery-3.7.1.min.js", "app.02f6bb.js", "v84a3a4012de94ce1/beacon.js", "2.4/x.js"];
    const evergreen = ["v3/", "gtag/js?id=G-1.2", "facade/loader.js", "tag.min.js"];
    const scripts = [...versioned, ...evergreen].map((path) => ({
      url: at(path),
      js_integrity_score: 90,
      hash: "a".repeat(64),
    }));
    desk.api.detect(desk.api.zones.shop, { scripts }, "replace");
    const pinned = async (...more: string[]): Promise<string[]> => {
      desk.write("pins.json", '{ "version": 1, "scripts": [] }');
      expect((await propose("--file", "pins.json", ...more)).code).toBe(0);
      const list = JSON.parse(read("pins.json")) as { scripts: { script: string; hash?: string }[] };
      return list.scripts.flatMap(({ script, hash }) => (hash === undefined ? [] : [script])).sort();
    };
    expect(await pinned()).toEqual(versioned.map(at).sort());
    expect(await pinned("--pin-hashes")).toEqual([...versioned, ...evergreen].map(at).sort());
    desk.write(FILE, "version: 1\nscripts: []\n");
    await propose();
    expect(read().match(/without a version in its URL, so no hash is filled in\./g)).toHaveLength(4);
  });

  test("proposes one entry for exactly that URL if a URL looks like YAML, a comment or a wildcard", async () => {
    const urls = [
      "https://cdn.example.com/a: b #c.js",
      "https://cdn.example.com/*",
      "https://cdn.example.com/{x}[y]'z'.js?a=\"b\"",
      "data:text/javascript,alert(1)",
    ];
    desk.api.detect(
      desk.api.zones.shop,
      {
        scripts: urls.map((url) => ({
          url,
          host: "evil.example/\n  - script: '*.example.com'",
          last_seen_at: `${day(0)}T00:00:00Z`,
          js_integrity_score: 90,
        })),
      },
      "replace",
    );
    desk.write(FILE, "version: 1\nscripts: [] # none yet\n");
    expect((await propose()).code).toBe(0);
    expect(read().match(/^ {2}- script: .*/gm)).toEqual([
      "  - script: data:text/javascript,alert(1)",
      "  - script: https://cdn.example.com/%2A",
      "  - script: https://cdn.example.com/%7Bx%7D[y]'z'.js?a=%22b%22",
      "  - script: https://cdn.example.com/a:%20b%20",
    ]);
    desk.write(FILE, approve(read()));
    expect((await check()).code).toBe(0);
  });

  test("leaves the file unchanged if a zone can't be read or the file isn't an inventory", async () => {
    const text = "version: 1\nscripts: []\n";
    desk.write(FILE, text);
    const { code, stderr } = await inventory(
      "propose",
      "--zone",
      `${desk.api.zones.shop},${desk.api.zones.free}`,
    );
    expect(code).toBe(1);
    expect(stderr).toContain("script-inventory.yaml is unchanged.");
    expect(read()).toBe(text);
    desk.write("other.yaml", "a: 1\n");
    expect((await propose("--file", "other.yaml")).code).toBe(1);
    expect(read("other.yaml")).toBe("a: 1\n");
    expect((await propose("--file", "missing/inventory.yaml")).stderr).toContain("can't be written");
    expect(existsSync(join(desk.cwd, "missing"))).toBe(false);
    expect(readdirSync(desk.cwd).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("leaves the file unchanged if a record can't be read", async () => {
    const text = "version: 1\nscripts: []\n";
    desk.write(FILE, text);
    const body = JSON.stringify({ success: true, result: [{ id: "1", url: NEW }], errors: [], messages: [] });
    desk.api.fault({
      match: { path: "/scripts" },
      kind: "raw",
      status: 200,
      body,
      contentType: "application/json",
    });
    expect(await propose()).toMatchObject({ code: 1 });
    expect(read()).toBe(text);
  });

  test("writes a list in brackets with an entry per line, so that each can be reviewed", async () => {
    desk.write(FILE, "version: 1\nscripts: [{ script: cdn.libraries.example }]\n");
    expect((await propose()).code).toBe(0);
    expect(read()).toContain("scripts:\n  - { script: cdn.libraries.example }\n  # Seen on ");
  });
});
