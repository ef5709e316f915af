import * as pulumi from "@pulumi/pulumi";
import { KvEntries } from "pulumi-edgeguard";

const namespaceId = new pulumi.Config().require("namespaceId");

new KvEntries("own", {
  namespaceId,
  entries: {
    "p/a": "1",
    "p/b": { value: "2", expirationTtl: 3600 },
    "p/brief": { value: "3", expirationTtl: 100 },
    "p/past": { value: "gone", expiration: 1 },
  },
  prune: { prefix: "p/" },
});
new KvEntries("other", { namespaceId, entries: { "p/other": "4" } });
