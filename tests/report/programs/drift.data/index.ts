import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, WafMigration } from "pulumi-edgeguard";

// A resource for each way that someone can change it manually, and some of another provider.
const renamed = new KvNamespace("renamed", { title: "catalog" });
const gone = new KvNamespace("gone", { title: "sessions" });

const entries = {
  "flag/express": "canary-value-1",
  "flag/banner": "canary-value-2",
  "flag/old": "canary-value-3",
};
new KvEntries("unchanged", { namespaceId: renamed.id, entries: { "other/key": "canary-value" } });
new KvEntries("missing", { namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601", entries });
new KvEntries("values", { namespaceId: renamed.id, entries, verify: "values" });
new KvEntries("gone-with-namespace", { namespaceId: gone.id, entries: { "session/1": "canary-value" } });

new WafMigration("assessed", {
  zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a603",
  plan: "enterprise",
  target: "assessed",
});
new WafMigration("switched", { zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a604", target: "assessed" });

// What a read finds changes with READ.
class Ticket extends pulumi.dynamic.Resource {
  constructor(name: string, title: string) {
    const create = (inputs: object) => Promise.resolve({ id: "7", outs: inputs });
    const read = (id: string, props: object = {}) => {
      const inputs =
        process.env["READ"] === undefined ? props : { ...props, title: "canary-title", owner: "canary" };
      return Promise.resolve({ id, props: inputs, inputs });
    };
    super({ create, read }, name, { title });
  }
}
new Ticket("change-request", "canary-old-title");
