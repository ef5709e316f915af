import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { DeclaredKeys } from "../../provider/kv/declared";
import { Declarers, soleOwner, type Declarer } from "../../provider/kv/sole-owner";

/** Each key has one owner, and a prefix that is pruned too: a program that declares it twice is refused. */

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-owner-"));
const FILE = join(FOLDER, "f.json");
const DIRECTORY = join(FOLDER, "d");
beforeAll(() => {
  writeFileSync(FILE, '[{"key":"f/a","value":"1"},{"key":"g/b","value":"2"}]');
  mkdirSync(join(DIRECTORY, "sub"), { recursive: true });
  writeFileSync(join(DIRECTORY, "sub/page"), "3");
});
afterAll(() => rmSync(FOLDER, { recursive: true }));

type Args = Pick<Declarer, "prefix"> & DeclaredKeys;

/** The reasons for which a program with these resources, all of one namespace, is refused. */
async function refusals(program: Record<string, Args>, later: Record<string, Args> = {}): Promise<string[]> {
  const declarers = new Declarers();
  const declare = (resources: Record<string, Args>): Promise<void>[] =>
    Object.entries(resources).map(([name, { prefix, ...declaration }]) =>
      declarers.add("n", { name, prefix, declaration }),
    );
  const ended = await Promise.allSettled(declare(program));
  ended.push(...(await Promise.allSettled(declare(later))));
  return ended.flatMap((one) => (one.status === "rejected" ? [(one.reason as Error).message] : []));
}

const owner = (prefix: string, more: DeclaredKeys = {}): Args => ({ keys: [], prefix, ...more });

test.each<[string, string, Args, string | undefined]>([
  ["a key of the program", "p/", { keys: ["q/a", "p/b"] }, "p/b"],
  ["a key in a file", "g/", { file: FILE }, "g/b"],
  [
    "a file of a directory",
    "pages/sub/",
    { directory: { path: DIRECTORY, prefix: "pages/" } },
    "pages/sub/page",
  ],
  ["any key under the empty prefix", "", { directory: DIRECTORY }, "sub/page"],
  ["no key of the program", "p/", { keys: ["p", "q/p/"] }, undefined],
  ["no key in a file", "g/c", { file: FILE }, undefined],
  ["no file of a directory", "pages/other/", { directory: { path: DIRECTORY, prefix: "pages/" } }, undefined],
  ["a file that is missing: the check says so", "p/", { file: join(FOLDER, "none.json") }, undefined],
])("a prefix over %s", async (_, prefix, other, key) => {
  const refused =
    key === undefined
      ? []
      : [
          expect.stringContaining(
            `KvEntries "owner" prunes the prefix ${JSON.stringify(prefix)} of namespace`,
          ),
        ];
  const last = await refusals({ other, owner: owner(prefix) });
  expect(last).toEqual(refused);
  expect(last.join()).toContain(
    key === undefined ? "" : `KvEntries "other" declares ${JSON.stringify(key)} under it`,
  );
  expect(await refusals({ owner: owner(prefix), other })).toEqual(refused);
});

test("two owners of one prefix are refused, and one alone is not", async () => {
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
    "in a file and as a file of a directory",
    { file: FILE },
    { directory: { path: DIRECTORY, prefix: "g/" } },
    "g/b",
  ],
])("a key that two resources declare %s is refused once, by name", async (_, one, other, key) => {
  writeFileSync(join(DIRECTORY, "b"), "4");
  const clash = `KvEntries "one" and "other" both declare the key ${JSON.stringify(key)} of namespace n: keep it in one of them.`;
  expect(await refusals({ one, other })).toEqual([`edgeguard: ${clash}`]);
  expect(await refusals({ one }, { other })).toEqual([`edgeguard: ${clash}`]);
  expect(await refusals({ one, third: { keys: ["z"] } })).toEqual([]);
});

test("one namespace that is not known yet is told by its output; the pair is refused by one error", async () => {
  const declarers = new Declarers();
  const declaration = { keys: ["a"] };
  const [mine, other] = [
    { name: "one", declaration },
    { name: "other", declaration },
  ];
  const unknown = pulumi.output(new Promise<string>(() => undefined));
  const namespaces = [unknown, "n"] as const;
  const ended = await Promise.allSettled(
    namespaces.flatMap((namespace) => [declarers.add(namespace, mine), declarers.add(namespace, other)]),
  );
  const reasons = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
  expect(new Set(reasons).size).toBe(1);
  expect(reasons[0]?.message).toContain('both declare the key "a" of one namespace');
});

test("another namespace is none of its business", async () => {
  const declarers = new Declarers();
  const declaration = { keys: ["p/a"] };
  await declarers.add("n", { name: "owner", prefix: "", declaration });
  await declarers.add("m", { name: "other", declaration });
});

test("who prunes waits with the namespace for the look at the others, and no secret and no unknown value matters", async () => {
  const namespaceId = "0".repeat(32);
  const entries = { a: pulumi.secret("1"), b: pulumi.output(new Promise<string>(() => undefined)) };
  expect(soleOwner("plain", { namespaceId, entries })).toBe(namespaceId);
  const waiting = soleOwner("owner", { namespaceId, entries: { "p/a": entries.b }, prune: { prefix: "p/" } });
  expect(await new Promise((resolve) => pulumi.output(waiting).apply(resolve))).toBe(namespaceId);
  expect(await pulumi.isSecret(pulumi.output(waiting))).toBe(false);
});
