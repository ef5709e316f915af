import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace } from "pulumi-edgeguard";

const file = new pulumi.Config().require("file");
const directory = new pulumi.Config().require("directory");

const catalog = new KvNamespace("catalog", { title: "products" });
new KvEntries("first", { namespaceId: catalog.id, entries: { a: pulumi.secret("canary-a") } });
new KvEntries("second", { namespaceId: catalog.id, entries: { b: { value: "Mg==", base64: true }, d: "4" } });
new KvEntries(
  "bulk",
  { namespaceId: catalog.id, file: file.replace("products", "others"), verify: "none" },
  { ignoreChanges: ["file"] },
);
new KvEntries(
  "files",
  { namespaceId: catalog.id, directory: `${directory}/en` },
  { ignoreChanges: ["directory"] },
);
