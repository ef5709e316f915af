import { writeFileSync } from "node:fs";
import { KvEntries, KvNamespace } from "pulumi-edgeguard";

writeFileSync("entries.json", JSON.stringify([{ key: "b", value: "2" }]));

const { id: namespaceId } = new KvNamespace("new", { title: "made by this program" });
new KvEntries("inline", { namespaceId, entries: { a: "1", b: "1" } });
new KvEntries("bulk", { namespaceId, file: "entries.json" });
