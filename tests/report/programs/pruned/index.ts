import { KvEntries } from "pulumi-edgeguard";

// The namespace that the local API starts with holds keys that others wrote.
const namespaceId = "5a0c1e7f3b2d4968a7e1c0f2d3b4b601";
new KvEntries("config", {
  namespaceId,
  entries: { "config/shop": "canary-config" },
  prune: { prefix: "config/" },
});
new KvEntries("features", {
  namespaceId,
  entries: { "feature:old-cart": "off" },
  prune: { prefix: "feature:", maxDeletes: 1 },
});
new KvEntries("plain", { namespaceId, entries: { "plain/a": "1" } });
