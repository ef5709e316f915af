import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { answerWith } from "../../support/bench";
import { visit } from "../../support/operation";
import {
  assertScriptInventory,
  checkScriptInventory,
  inventorySources,
  readScriptInventory,
  ScriptInventoryError,
  scriptSources,
  type InventoryEntry,
  type LookupOptions,
  type ScriptInventory,
} from "pulumi-edgeguard";

const HOSTS = ["account.shop.example"];
const LOGIN = "https://account.shop.example/assets/login.02f6bb.js";

let api: LocalApi;
let opts: LookupOptions;
let warned: string[];
beforeAll(async () => {
  api = await startLocalApi();
  opts = { config: { baseUrl: api.url, apiToken: "local-token", maxRetries: "0" } };
});
afterAll(() => api.close());
beforeEach(() => {
  api.reset();
  visit(api, api.zones.shop);
  api.clearRequests();
  warned = [];
  jest.spyOn(process.stderr, "write").mockImplementation((line) => warned.push(String(line)) > 0);
});
afterEach(() => jest.restoreAllMocks());

/** An inventory in which every entry is approved, unless it says otherwise. */
function inventory(
  ...given: (string | (Partial<InventoryEntry> & { readonly unapproved?: true }))[]
): ScriptInventory {
  const entries = given.map((entry, index): InventoryEntry => {
    const { unapproved, ...rest } = typeof entry === "string" ? { script: entry } : entry;
    const approval = { by: "Ann", on: "2026-01-01" };
    return { script: "", line: index + 3, ...(unapproved === true ? {} : { approval }), ...rest };
  });
  return { file: "list.yaml", sha256: "0".repeat(64), entries };
}
const zone = () => ({ zoneIds: [api.zones.shop], hosts: HOSTS });

describe("checkScriptInventory", () => {
  test("returns findings instead of throwing an error", async () => {
    const { passed, findings, scripts } = await checkScriptInventory(
      { ...zone(), inventory: inventory("account.shop.example") },
      opts,
    );
    expect(passed).toBe(false);
    expect(findings).toEqual([
      {
        kind: "new",
        zoneId: api.zones.shop,
        url: "https://accounts.identity.example/gsi/client.js",
        message:
          "on account.shop.example/login, without a score, first seen 2026-07-29: no entry covers it. Add it with `edgeguard inventory propose` and have it approved, or remove it from the pages.",
      },
    ]);
    expect(scripts.map(({ seen, approval, content }) => [seen.url, approval, content])).toEqual([
      [LOGIN, "approved", "not watched"],
      ["https://account.shop.example/assets/orders.e8d310.js", "approved", "not watched"],
      ["https://accounts.identity.example/gsi/client.js", "new", "not watched"],
    ]);
  });

  test("checks active and infrequent scripts, including duplicates, on the given hosts only", async () => {
    await checkScriptInventory({ ...zone(), inventory: inventory() }, opts);
    expect(api.requests.map(({ path, query }) => [path, query["status"], query["hosts"]])).toEqual([
      [`/zones/${api.zones.shop}/page_shield`, undefined, undefined],
      [`/zones/${api.zones.shop}/page_shield/scripts`, "active,infrequent", "account.shop.example"],
    ]);
    expect(api.requests[1]?.query).toMatchObject({ exclude_duplicates: "false", exclude_cdn_cgi: "false" });
  });

  test("reports a script with its own unapproved entry, even if an approved wildcard covers it", async () => {
    const { findings } = await checkScriptInventory(
      {
        ...zone(),
        inventory: inventory("*.shop.example", "accounts.identity.example", {
          script: LOGIN,
          unapproved: true,
        }),
      },
      opts,
    );
    expect(findings).toMatchObject([{ kind: "unapproved", url: LOGIN, line: 5 }]);
  });

  test("accepts unusual responses: no hash, no score, no page, a hash in capitals", async () => {
    const hash = "ab".repeat(32);
    const record = (id: string, more: object) => ({
      id: id.repeat(32),
      url: LOGIN,
      host: "account.shop.example",
      ...more,
    });
    const result = [
      record("1", { hash: hash.toUpperCase(), js_integrity_score: null, first_page_url: null, status: null }),
      record("2", { hash: null, url: "https://account.shop.example/other.js", surprise: { deep: [1] } }),
    ];
    answerWith(api, { path: "/scripts" }, result);
    const { passed, scripts } = await checkScriptInventory(
      { ...zone(), inventory: inventory("*.shop.example", { script: LOGIN, hash }) },
      opts,
    );
    expect(passed).toBe(true);
    expect(scripts.map(({ seen, content }) => [seen.pages, seen.score, content])).toEqual([
      [["account.shop.example"], undefined, "unchanged"],
      [["account.shop.example"], undefined, "not watched"],
    ]);
  });

  test.each([
    [{ js_integrity_score: "3" }, "js_integrity_score"],
    [{ host: null }, "host"],
    [{ host: undefined }, "host"],
  ])("reports a finding if a script can't be read (%j), instead of leaving it out", async (odd, member) => {
    const record = { id: "1".repeat(32), url: LOGIN, host: "account.shop.example" };
    const result = [record, { ...record, id: "2".repeat(32), url: "https://evil.test/skim.js", ...odd }];
    answerWith(api, { path: "/scripts" }, result);
    const { passed, findings, requirements } = await checkScriptInventory(
      { ...zone(), inventory: inventory("*.shop.example") },
      opts,
    );
    expect(passed).toBe(false);
    expect(findings).toMatchObject([
      { kind: "not read", message: expect.stringContaining(member) as string },
    ]);
    expect(requirements.filter(({ standing }) => standing === "evidenced")).toEqual([]);
  });

  test("reports a URL with two different contents as changed, even if one of them is expected", async () => {
    const [first = ""] = (
      await checkScriptInventory({ ...zone(), inventory: inventory() }, opts)
    ).scripts.flatMap(({ seen }) => (seen.url === LOGIN ? seen.hashes : []));
    api.detect(api.zones.shop, {
      scripts: [{ url: LOGIN, host: "www.shop.example", js_integrity_score: 90, hash: "d".repeat(64) }],
    });
    const { findings, scripts } = await checkScriptInventory(
      { zoneIds: [api.zones.shop], inventory: inventory({ script: LOGIN, hash: first }) },
      opts,
    );
    expect(findings).toContainEqual(expect.objectContaining({ kind: "changed", url: LOGIN }));
    expect(scripts.find(({ seen }) => seen.url === LOGIN)?.seen.hashes).toHaveLength(2);
  });

  test.each([
    [{ zoneIds: [] }, "zoneIds: is empty. List at least one zone ID"],
    [{ zoneIds: ["shop"] }, '"shop" is not a zone ID'],
    [{ expiringDays: 1.5 }, "expiringDays: must be a whole number of days, 0 or more, not 1.5"],
    [{ threshold: 0 }, "threshold must be a number from 1 to 100, not 0"],
    [{ inventory: "/nowhere/list.yaml" }, "the script inventory can't be read: it does not exist"],
  ])("rejects the arguments %j", async (wrong, sentence) => {
    await expect(checkScriptInventory({ ...zone(), inventory: inventory(), ...wrong }, opts)).rejects.toThrow(
      sentence,
    );
    expect(api.requests).toEqual([]);
  });
});

describe("assertScriptInventory", () => {
  const args = () => ({ ...zone(), inventory: inventory("account.shop.example") });

  test("throws an error that lists the findings and contains the complete result", async () => {
    const failure: unknown = await assertScriptInventory(args(), opts).catch((error: unknown) => error);
    if (!(failure instanceof ScriptInventoryError)) throw new Error(`not the findings: ${String(failure)}`);
    expect(failure.message.split("\n")).toEqual([
      "the scripts don't match list.yaml (1 finding):",
      expect.stringMatching(/^ {2}new: https:\/\/accounts\.identity\.example\/gsi\/client\.js on /) as string,
    ]);
    expect(failure.check.findings).toHaveLength(1);
  });

  test("only warns with onFindings set to warn, and prints nothing if everything is approved", async () => {
    await assertScriptInventory({ ...args(), onFindings: "warn" }, opts);
    expect(warned.join("")).toContain("the scripts don't match list.yaml (1 finding):");
    warned = [];
    const all = inventory("account.shop.example", "accounts.identity.example");
    await assertScriptInventory({ ...zone(), inventory: all }, opts);
    expect(warned).toEqual([]);
  });

  test("fails if Page Shield can't be read, with a message that doesn't contain the token", async () => {
    const secret = { config: { baseUrl: api.url, apiToken: "canary-token-91", maxRetries: "0" } };
    const failure: unknown = await assertScriptInventory(args(), secret).catch((error: unknown) => error);
    expect(String(failure)).toContain("not read: zone");
    expect(String(failure)).not.toContain("canary");
  });

  test("rejects an invalid value of onFindings", async () => {
    await expect(assertScriptInventory({ ...args(), onFindings: "ignore" }, opts)).rejects.toThrow(
      'onFindings must be "fail" or "warn", not "ignore".',
    );
  });
});

describe("inventorySources", () => {
  test("allows what's approved on the given day, and nothing else", () => {
    const { scriptSrc, leftOut } = inventorySources(
      inventory(
        "https://cdn.example.com/app.js?v=2",
        "https://cdn.example.com/a;b,c'd.js",
        "*.shop.example",
        "pay.example:8443",
        "https://cdn.example.com/lib/*",
        "blob:https://shop.example/1",
        {
          script: "https://ended.example/a.js",
          approval: { by: "Ann", on: "2025-01-01", until: "2025-12-31" },
        },
        { script: "https://nobody.example/a.js", unapproved: true },
      ),
    );
    expect(scriptSrc).toEqual([
      "https://*.shop.example",
      "https://cdn.example.com/a%3Bb%2Cc%27d.js",
      "https://cdn.example.com/app.js",
      "https://cdn.example.com/lib/",
      "https://pay.example:8443",
    ]);
    expect(leftOut).toEqual([
      "blob:https://shop.example/1",
      "https://ended.example/a.js",
      "https://nobody.example/a.js",
    ]);
    expect(warned).toEqual([
      expect.stringContaining(
        "left out 2 unapproved scripts in list.yaml. An enforced policy will block them: https://ended.example/a.js, https://nobody.example/a.js.",
      ) as string,
      expect.stringMatching(
        /left out 1 approved script in list\.yaml that a policy can't allow individually: .*: blob:https:\/\/shop\.example\/1\.\n$/,
      ) as string,
    ]);
  });

  test("uses the approvals of the given day, so that a policy doesn't change by itself", () => {
    const ended = inventory({
      script: "cdn.example.com",
      approval: { by: "Ann", on: "2025-01-01", until: "2025-12-31" },
    });
    expect(inventorySources(ended, { on: "2025-12-31" }).scriptSrc).toEqual(["https://cdn.example.com"]);
    expect(inventorySources(ended, { on: "2026-01-01" }).scriptSrc).toEqual([]);
    for (const on of ["soon", "2026-02-30", "2026-2-3"])
      expect(() => inventorySources(ended, { on })).toThrow(
        `\`on\` must be a date in YYYY-MM-DD format, not "${on}".`,
      );
  });

  test("warns about an unapproved script that a policy still allows", () => {
    const { scriptSrc } = inventorySources(
      inventory("cdn.example.com", { script: "https://cdn.example.com/bad.js", unapproved: true }),
    );
    expect(scriptSrc).toEqual(["https://cdn.example.com"]);
    expect(warned).toEqual([
      "edgeguard: inventorySources: a policy will allow 1 script in list.yaml without an approval, because an approved host or path covers it: https://cdn.example.com/bad.js.\n",
    ]);
  });
});

describe("warnings of inventorySources", () => {
  const unapproved = (script: string) => ({ script, unapproved: true }) as const;

  test("report unapproved hosts and paths as allowed if an approved wildcard covers them", () => {
    inventorySources(
      inventory(
        "*.example.com",
        unapproved("ads.example.com"),
        unapproved("https://x.example.com/ads/*"),
        unapproved("*.cdn.example.com"),
        unapproved("example.com"),
        unapproved("ads.example.com:8443"),
      ),
    );
    expect(warned).toEqual([
      expect.stringMatching(/will block them: example\.com, ads\.example\.com:8443\.\n$/) as string,
      expect.stringMatching(
        /will allow 3 scripts in list\.yaml without an approval, .*: ads\.example\.com, https:\/\/x\.example\.com\/ads\/\*, \*\.cdn\.example\.com\.\n$/,
      ) as string,
    ]);
  });

  test("report a URL that ends in a slash as left out, because its source would allow everything below it", () => {
    const exact = [
      "https://tag.example.com/?id=ours",
      "https://cdn.example.com/lib/",
      "https://js.example.com",
    ];
    expect(inventorySources(inventory(...exact))).toEqual({ scriptSrc: [], leftOut: exact });
    expect(warned).toEqual([
      expect.stringMatching(
        /left out 3 approved scripts in list\.yaml that a policy can't allow individually/,
      ) as string,
    ]);
    warned = [];
    expect(inventorySources(inventory("*.example.com", ...exact)).scriptSrc).toEqual([
      "https://*.example.com",
    ]);
    expect(warned).toEqual([]);
  });
});

test("scriptSources with an inventory leaves out scripts that were seen but aren't approved", () => {
  const seen = ["https://cdn.example.com/a.js", "https://cdn.example.com/b.js", "https://other.example/c.js"];
  const scripts = seen.map((url) => ({ url, host: "www.shop.example", jsIntegrityScore: 90 }));
  const options = {
    inventory: inventory("https://cdn.example.com/a.js", "other.example"),
    granularity: "host",
  };
  expect(scriptSources(scripts, options)).toEqual({
    scriptSrc: ["https://cdn.example.com/a.js", "https://other.example"],
    leftOut: [
      {
        url: "https://cdn.example.com/b.js",
        host: "www.shop.example",
        jsIntegrityScore: 90,
        reason: "unapproved",
      },
    ],
  });
});

test("an inventory's path is relative to the working directory", () => {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-inventory-"));
  try {
    const file = join(folder, "list.yaml");
    writeFileSync(file, "version: 1\nscripts:\n  - script: cdn.example.com\n");
    expect(readScriptInventory(relative(process.cwd(), file))).toMatchObject({ entries: [{ line: 3 }] });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
