import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { DeclaredKeys } from "../../provider/kv/declaration";
import { KeyDeclarations, refuseKeyConflicts, type KeyDeclaration } from "../../provider/kv/key-conflicts";

/** A key and a pruned prefix have one owner: a program with a second one is refused. */

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-owner-"));
const FILE = join(FOLDER, "f.json");
const DIRECTORY = join(FOLDER, "d");
beforeAll(() => {
  writeFileSync(FILE, '[{"key":"f/a","value":"1"},{"key":"g/b","value":"2"}]');
  mkdirSync(join(DIRECTORY, "sub"), { recursive: true });
  writeFileSync(join(DIRECTORY, "sub/page"), "3");
});
afterAll(() => rmSync(FOLDER, { recursive: true }));

type Args = Pick<KeyDeclaration, "prefix"> & DeclaredKeys;

/** Why a program with these resources in one namespace is refused. */
async function refusals(program: Record<string, Args>, later: Record<string, Args> = {}): Promise<string[]> {
  const declarations = new KeyDeclarations();
  const declare = (resources: Record<string, Args>): Promise<void>[] =>
    Object.entries(resources).map(([name, { prefix, ...declaration }]) =>
      declarations.add("n", { name, prefix, declaration }),
    );
  const ended = await Promise.allSettled(declare(program));
  ended.push(...(await Promise.allSettled(declare(later))));
  return ended.flatMap((one) => (one.status === "rejected" ? [(one.reason as Error).message] : []));
}

const owner = (prefix: string, more: DeclaredKeys = {}): Args => ({ keys: [], prefix, ...more });

test.each<[string, string, Args, string | undefined]>([
  ["a key in the program", "p/", { keys: ["q/a", "p/b"] }, "p/b"],
  ["a key in a file", "g/", { file: FILE }, "g/b"],
  [
    "a file in a directory",
    "pages/sub/",
    { directory: { path: DIRECTORY, prefix: "pages/" } },
    "pages/sub/page",
  ],
  ["any key, if the prefix is empty", "", { directory: DIRECTORY }, "sub/page"],
  ["other keys in the program", "p/", { keys: ["p", "q/p/"] }, undefined],
  ["other keys in a file", "g/c", { file: FILE }, undefined],
  [
    "other files in a directory",
    "pages/other/",
    { directory: { path: DIRECTORY, prefix: "pages/" } },
    undefined,
  ],
  ["a missing file, which the check reports", "p/", { file: join(FOLDER, "none.json") }, undefined],
])(
  "compares a pruned prefix with %s, and refuses it if it covers a declared key",
  async (_, prefix, other, key) => {
    const refused =
      key === undefined
        ? []
        : [
            expect.stringContaining(
              `KvEntries "owner" prunes the prefix ${JSON.stringify(prefix)} in namespace`,
            ),
          ];
    const last = await refusals({ other, owner: owner(prefix) });
    expect(last).toEqual(refused);
    expect(last.join()).toContain(
      key === undefined ? "" : `would delete ${JSON.stringify(key)}, which KvEntries "other" declares`,
    );
    expect(await refusals({ owner: owner(prefix), other })).toEqual(refused);
  },
);

test("refuses two resources that prune the same prefix, and accepts one", async () => {
  const mine = { keys: ["p/a"] };
  expect(await refusals({ owner: owner("p/", mine) })).toEqual([]);
  expect(await refusals({ owner: owner("p/b/", mine), other: owner("p/", mine) })).not.toEqual([]);
  expect(await refusals({ owner: owner("p/", mine) }, { other: owner("q/", mine) })).toEqual([
    expect.stringContaining('KvEntries "owner" prunes'),
  ]);
});

test.each<[string, Args, Args, string]>([
  ["inline", { keys: ["a", "b"] }, { keys: ["b", "c"] }, "b"],
  ["inline and in a file", { keys: ["g/b"] }, { file: FILE }, "g/b"],
  [
    "in a file and as a file in a directory",
    { file: FILE },
    { directory: { path: DIRECTORY, prefix: "g/" } },
    "g/b",
  ],
])("refuses a key that two resources declare %s, with one error", async (_, one, other, key) => {
  writeFileSync(join(DIRECTORY, "b"), "4");
  const clash = `KvEntries "one" and "other" both declare the key ${JSON.stringify(key)} in namespace n. Declare it in only one of them.`;
  expect(await refusals({ one, other })).toEqual([`edgeguard: ${clash}`]);
  expect(await refusals({ one }, { other })).toEqual([`edgeguard: ${clash}`]);
  expect(await refusals({ one, third: { keys: ["z"] } })).toEqual([]);
});

test("throws a single error if two resources declare the same key, even if the namespace's ID isn't known yet", async () => {
  const declarations = new KeyDeclarations();
  const declaration = { keys: ["a"] };
  const [mine, other] = [
    { name: "one", declaration },
    { name: "other", declaration },
  ];
  const unknown = pulumi.output(new Promise<string>(() => undefined));
  const namespaces = [unknown, "n"] as const;
  const ended = await Promise.allSettled(
    namespaces.flatMap((namespace) => [
      declarations.add(namespace, mine),
      declarations.add(namespace, other),
    ]),
  );
  const reasons = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
  expect(new Set(reasons).size).toBe(1);
  expect(reasons[0]?.message).toContain('both declare the key "a" in the same namespace');
});

test("ignores keys in other namespaces", async () => {
  const declarations = new KeyDeclarations();
  const declaration = { keys: ["p/a"] };
  await declarations.add("n", { name: "owner", prefix: "", declaration });
  await declarations.add("m", { name: "other", declaration });
});

test("a resource that prunes is registered only after its keys were compared, even if values are secret or unknown", async () => {
  const namespaceId = "0".repeat(32);
  const entries = { a: pulumi.secret("1"), b: pulumi.output(new Promise<string>(() => undefined)) };
  expect(refuseKeyConflicts("plain", { namespaceId, entries })).toBe(namespaceId);
  const waiting = refuseKeyConflicts("owner", {
    namespaceId,
    entries: { "p/a": entries.b },
    prune: { prefix: "p/" },
  });
  expect(await new Promise((resolve) => pulumi.output(waiting).apply(resolve))).toBe(namespaceId);
  expect(await pulumi.isSecret(pulumi.output(waiting))).toBe(false);
});
