import { KvEntries, KvNamespace } from "pulumi-edgeguard";

// A resource for each argument that can lose data, by its path: as it is, and with WEAKER as it shouldn't become.
const is = <T>(strong: T, weak: T): T => (process.env["WEAKER"] === undefined ? strong : weak);
const keys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`entries/${index}`, "canary-value"]));

if (is(true, false)) new KvNamespace("forceDestroy", { title: "catalog", forceDestroy: true });

const one = new KvNamespace("one", { title: "one" });
const two = new KvNamespace("two", { title: "two" });
new KvEntries("namespaceId", { namespaceId: is(one.id, two.id), entries: { "moved/key": "1" } });
new KvEntries("entries", { namespaceId: one.id, entries: keys(is(24, 2)) });
new KvEntries("file", { namespaceId: one.id, file: is("many.json", "few.json") });
new KvEntries("directory", {
  namespaceId: two.id,
  directory: { path: "pages", prefix: "pages/", ignore: is([], ["page-*"]) },
});

// The namespace that the local API starts with holds keys that others wrote.
new KvEntries("prune.prefix", {
  namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
  entries: { "config/mine": "1" },
  ...is({}, { prune: { prefix: "config/" } }),
});
