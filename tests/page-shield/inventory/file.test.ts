import { createHash } from "node:crypto";
import { parse as parseYaml } from "yaml";
import { readScriptInventory } from "pulumi-edgeguard";
import { parseInventory } from "../../../provider/page-shield/inventory/file";
import { blocksOf } from "../../support/documents";
import { schemaProblems } from "../../support/published";

const FILE = "script-inventory.yaml";
const parse = (text: string, file = FILE) => parseInventory(file, Buffer.from(text));

/** The message about an inventory. */
function refusal(text: string, file = FILE): string {
  try {
    parse(text, file);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("it was accepted");
}

const WHOLE = `# Reviewed every quarter.
version: 1
scripts:
  - script: https://js.payments.example/v3/pay.js
    justification: Takes card payments
    owner: Payments team
    approval: { by: Ann Lee, on: 2026-09-01, until: 2027-03-01 }
    hash: ${"AB".repeat(32)}
  # Changes with each release.
  - script: "*.shop.example"
    approval:
      by: Ann Lee
      on: 2026-09-01
    hash: changes
  - script: https://cdn.libraries.example/react/*
    justification:
    owner: ""
    approval: null
`;

test("reads an inventory's entries with their lines, and the file's SHA-256", () => {
  expect(parse(WHOLE)).toEqual({
    file: FILE,
    sha256: createHash("sha256").update(WHOLE).digest("hex"),
    entries: [
      {
        script: "https://js.payments.example/v3/pay.js",
        justification: "Takes card payments",
        owner: "Payments team",
        approval: { by: "Ann Lee", on: "2026-09-01", until: "2027-03-01" },
        hash: "ab".repeat(32),
        line: 4,
      },
      {
        script: "*.shop.example",
        approval: { by: "Ann Lee", on: "2026-09-01" },
        hash: "changes",
        line: 10,
      },
      { script: "https://cdn.libraries.example/react/*", line: 15 },
    ],
  });
});

test("reads the same entries from a JSON inventory, whether it's indented with tabs or spaces", () => {
  const document = {
    $schema: "https://unpkg.com/pulumi-edgeguard/schemas/script-inventory.v1.json",
    version: 1,
    scripts: [{ script: "cdn.example.com", approval: { by: "Ann", on: "2026-09-01" } }],
  };
  expect(schemaProblems("script-inventory.v1", document)).toEqual([]);
  for (const indent of [undefined, 2, "\t"]) {
    const { entries } = parse(JSON.stringify(document, undefined, indent), "inventory.json");
    expect(entries).toMatchObject([{ script: "cdn.example.com", approval: { by: "Ann" } }]);
  }
});

test("reports every mistake in an inventory with its line and path, the given value and what's allowed", () => {
  const message = refusal(`version: 1
scripts:
  - script: "*.com"
    approval: { by: "", on: 2026-02-30 }
  - script: https://cdn.example.com/lib/*
    hash: ${"a".repeat(64)}
  - script: https://CDN.example.com:443/lib/*
    approvel: { by: Ann, on: 2026-09-01 }
  - script: cdn.example.com
    approval: { by: Ann, on: 2026-09-01, until: 2026-08-31 }
    hash: abc
`);
  expect(message.split("\n")[0]).toBe("the script inventory has 9 mistakes:");
  for (const line of [
    'script-inventory.yaml:3: scripts[0].script: "*.com" covers a whole top-level domain',
    "script-inventory.yaml:4: scripts[0].approval.by: is empty. Set it to the approver's name.",
    'script-inventory.yaml:4: scripts[0].approval.on: must be a date, as YYYY-MM-DD, not "2026-02-30".',
    'scripts[2]: unknown option "approvel". Did you mean "approval"?',
    "script-inventory.yaml:10: scripts[3].approval.until: is before the date of the approval.",
    'script-inventory.yaml:11: scripts[3].hash: must be the SHA-256 of the script\'s content (64 hex digits) or "changes"',
  ])
    expect(message).toContain(line);
});

test("rejects two inventory entries for the same scripts, even if they're written differently", () => {
  expect(
    refusal("version: 1\nscripts:\n  - script: cdn.example.com\n  - script: https://CDN.example.com/*\n"),
  ).toContain(
    'script-inventory.yaml:4: scripts[1].script: "https://CDN.example.com/*" covers the same scripts as the entry on line 3. Merge the two entries.',
  );
});

test("rejects a hash in an inventory entry unless the entry is an exact URL", () => {
  expect(
    refusal(`version: 1\nscripts:\n  - script: cdn.example.com\n    hash: ${"a".repeat(64)}\n`),
  ).toContain(
    'script-inventory.yaml:4: scripts[0].hash: only an exact URL can have a hash, and "cdn.example.com" may cover several scripts.',
  );
});

test.each([
  ["", "script-inventory.yaml:1: must contain version and scripts"],
  ["- a\n", "script-inventory.yaml:1: must contain version and scripts"],
  ["scripts: []\n", "version: is required"],
  ["version: 2\nscripts: []\n", "script-inventory.yaml:1: version: must be 1, not 2"],
  ["version: 1\n", "scripts: is required"],
  ["version: 1\nscripts: {}\n", "script-inventory.yaml:2: scripts: must be a list"],
  ["version: 1\nscripts:\n  - 7\n", "script-inventory.yaml:3: scripts[0]: must be an object"],
  [
    "version: 1\nscripts:\n  - script: 7\n",
    "script-inventory.yaml:3: scripts[0].script: must be a string, not 7",
  ],
  ["version: 1\nscripts: [\n", "is not valid YAML or JSON"],
  ["<<<<<<< HEAD\nversion: 1\n", "and resolve any merge conflict"],
  [
    "version: 1\nversion: 1\nscripts: []\n",
    "script-inventory.yaml:2: is not valid YAML or JSON: Map keys must be unique",
  ],
  ["version: 1\nscripts: *nobody\n", "is not valid YAML or JSON"],
  ["version: 1\nscripts: !!js/function 'x'\n", "is not valid YAML or JSON"],
])("rejects the inventory %j: %s", (text, reason) => {
  expect(refusal(text)).toContain(reason);
});

test("the inventory in the guide is valid", () => {
  const blocks = blocksOf("docs/guides/script-inventory.md").filter(({ language }) => language === "yaml");
  expect(blocks).toHaveLength(1);
  for (const { text } of blocks) {
    expect(parse(text).entries).toMatchObject([{ owner: "Payments team", line: 5 }]);
    expect(schemaProblems("script-inventory.v1", parseYaml(text))).toEqual([]);
  }
});

test("says how to create a missing inventory", () => {
  expect(() => readScriptInventory("/nowhere/inventory.yaml")).toThrow(
    "the script inventory can't be read: it does not exist (full path: /nowhere/inventory.yaml). Create it with `edgeguard inventory propose",
  );
});

test("the published schema of inventories rejects the same values as the command", () => {
  const entry = { script: "cdn.example.com" };
  for (const wrong of [
    { ...entry, approvel: null },
    { ...entry, approval: { by: "Ann" } },
    { ...entry, hash: 7 },
    {},
  ])
    expect(schemaProblems("script-inventory.v1", { version: 1, scripts: [wrong] })).not.toEqual([]);
  expect(schemaProblems("script-inventory.v1", { version: 1, scripts: null })).not.toEqual([]);
  expect(refusal("version: 1\nscripts:\n")).toContain("scripts: is required and must be a list");
});
