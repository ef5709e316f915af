import { KvNamespace, WafMigration } from "pulumi-edgeguard";

const catalog = new KvNamespace("catalog", { title: "catalog" });
new WafMigration(
  "older",
  { zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a603", target: "finished" },
  { dependsOn: catalog },
);
