import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerFile, folderPerFile } from "../support/bench";
import { Operation, UNKNOWN } from "../support/operation";

/** A key and a pruned prefix have one owner: a program with a second one is refused. */

const FOLDER = folderPerFile("owner");
const FILE = join(FOLDER, "f.json");
const DIRECTORY = join(FOLDER, "d");
const api = apiPerFile();
beforeAll(() => {
  writeFileSync(FILE, '[{"key":"f/a","value":"1"},{"key":"g/b","value":"2"}]');
  mkdirSync(join(DIRECTORY, "sub"), { recursive: true });
  writeFileSync(join(DIRECTORY, "sub/page"), "3");
});

type Args = Readonly<Record<string, unknown>>;
const NAMESPACE_ID = "0".repeat(32);
const operation = (): Operation => new Operation(api, { config: { "edgeguard:liveChecks": "false" } });

/** Why a program with these resources in one namespace is refused. */
async function refusals(program: Record<string, Args>, op = operation()): Promise<string[]> {
  const all: string[] = [];
  for (const [name, args] of Object.entries(program))
    all.push(
      ...(await op.refusals("KvEntries", {
        accountId: api.accounts.main,
        namespaceId: NAMESPACE_ID,
        ...args,
        __resourceName: name,
      })),
    );
  return all;
}

const inline = (...keys: string[]): Args => ({ entries: Object.fromEntries(keys.map((key) => [key, "1"])) });
const owner = (prefix: string, more: Args = inline()): Args => ({ ...more, prune: { prefix } });

test.each<[string, string, Args, string | undefined]>([
  ["a key in the program", "p/", inline("q/a", "p/b"), "p/b"],
  ["a key whose value isn't known yet", "p/", { entries: { "p/b": UNKNOWN } }, "p/b"],
  ["a key in a file", "g/", { file: FILE }, "g/b"],
  [
    "a file in a directory",
    "pages/sub/",
    { directory: { path: DIRECTORY, prefix: "pages/" } },
    "pages/sub/page",
  ],
  ["any key, if the prefix is empty", "", { directory: DIRECTORY }, "sub/page"],
  ["other keys in the program", "p/", inline("p", "q/p/"), undefined],
  ["other keys in a file", "g/c", { file: FILE }, undefined],
  [
    "other files in a directory",
    "pages/other/",
    { directory: { path: DIRECTORY, prefix: "pages/" } },
    undefined,
  ],
])(
  "compares a pruned prefix with %s, and refuses it if it covers a declared key",
  async (_, prefix, other, key) => {
    const refused =
      key === undefined
        ? []
        : [
            `KvEntries "owner" prunes the prefix ${JSON.stringify(prefix)} in namespace ${NAMESPACE_ID}, so it would delete ${JSON.stringify(key)}, which KvEntries "other" declares. Move all keys under the prefix to "owner", or choose a longer prefix.`,
          ];
    expect(await refusals({ other, owner: owner(prefix) })).toEqual(refused);
    expect(await refusals({ owner: owner(prefix), other })).toEqual(refused);
  },
);

test("refuses two resources that prune the same prefix, and accepts one", async () => {
  const mine = inline("p/a");
  expect(await refusals({ owner: owner("p/", mine) })).toEqual([]);
  expect(await refusals({ owner: owner("p/b/", mine), other: owner("p/", mine) })).not.toEqual([]);
  expect(await refusals({ owner: owner("p/", mine), other: owner("q/", mine) })).toEqual([
    expect.stringContaining('KvEntries "owner" prunes'),
  ]);
});

test.each<[string, Args, Args, string]>([
  ["inline", inline("a", "b"), inline("b", "c"), "b"],
  ["inline and in a file", inline("g/b"), { file: FILE }, "g/b"],
  [
    "in a file and as a file in a directory",
    { file: FILE },
    { directory: { path: DIRECTORY, prefix: "g/" } },
    "g/b",
  ],
])("refuses a key that two resources declare %s, and names both", async (_, one, other, key) => {
  writeFileSync(join(DIRECTORY, "b"), "4");
  expect(await refusals({ one, other })).toEqual([
    `KvEntries "one" and "other" both declare the key ${JSON.stringify(key)} in namespace ${NAMESPACE_ID}. Declare it in only one of them.`,
  ]);
  expect(await refusals({ one, third: inline("z") })).toEqual([]);
});

test("accepts a resource that is checked twice, and the same keys in other namespaces", async () => {
  const op = operation();
  expect(await refusals({ one: inline("a") }, op)).toEqual([]);
  expect(await refusals({ one: inline("a") }, op)).toEqual([]);
  expect(await refusals({ other: { ...inline("a"), namespaceId: "1".repeat(32) } }, op)).toEqual([]);
  expect(await refusals({ unknown: { ...inline("a"), namespaceId: UNKNOWN } }, op)).toEqual([]);
});

test("compares the keys of a resource that doesn't change, without reading its file", async () => {
  const made = await new Operation(api).up("KvNamespace", { accountId: api.accounts.main, title: "kept" });
  const args = { accountId: api.accounts.main, namespaceId: made.id, file: FILE, __resourceName: "kept" };
  const kept = await new Operation(api).up("KvEntries", args);
  const op = new Operation(api);
  expect((await op.preview("KvEntries", args, kept)).step).toBe("same");
  expect(await refusals({ other: { ...inline("f/a"), namespaceId: made.id } }, op)).toEqual([
    expect.stringContaining('KvEntries "kept" and "other" both declare the key "f/a"'),
  ]);
});
