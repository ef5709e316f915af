import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace } from "pulumi-edgeguard";

const { id: namespaceId } = new KvNamespace("site", { title: "site" });

// A handful, inline. Values are secret in the state, as they may hold anything.
new KvEntries("flags", {
  namespaceId,
  entries: {
    "flag:checkout": "on",
    "flag:banner": { value: "until tomorrow", expirationTtl: 24 * 60 * 60 },
  },
});

// Many, from a file as the vendor's tool takes it. No value of it reaches the state.
const redirects = new KvEntries("redirects", { namespaceId, file: "redirects.json" });

// A key for each file of a folder, whatever it holds.
const pages = new KvEntries("pages", {
  namespaceId,
  directory: { path: "pages", prefix: "page/" },
});

export const keys = pulumi.all([redirects.keys, pages.keys]).apply(([some, more]) => some + more);
