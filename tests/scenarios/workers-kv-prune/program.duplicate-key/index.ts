import { writeFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { KvEntries } from "pulumi-edgeguard";

writeFileSync("entries.json", JSON.stringify([{ key: "b", value: "2" }]));

const namespaceId = new pulumi.Config().require("namespaceId");
new KvEntries("inline", { namespaceId, entries: { a: "1", b: "1" } });
new KvEntries("bulk", { namespaceId, file: "entries.json" });
