import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace } from "pulumi-edgeguard";

const { id: namespaceId } = new KvNamespace("site", { title: "site" });

// A few entries, inline. Their values are secret in state.
new KvEntries("flags", {
  namespaceId,
  entries: {
    "flag:checkout": "on",
    "flag:banner": { value: "until tomorrow", expirationTtl: 24 * 60 * 60 },
  },
});

// Many entries, from a file in Wrangler's bulk format. Their values never reach the state.
const redirects = new KvEntries("redirects", { namespaceId, file: "redirects.json" });

// A key for each file in a directory, text or binary.
const pages = new KvEntries("pages", {
  namespaceId,
  directory: { path: "pages", prefix: "page/" },
});

export const keys = pulumi.all([redirects.keys, pages.keys]).apply(([some, more]) => some + more);
