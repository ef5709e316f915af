import { WafMigration } from "pulumi-edgeguard";

// A zone for each case, looked at.
const zone = (last: string) => `5a0c1e7f3b2d4968a7e1c0f2d3b4a6${last}`;

new WafMigration("to-validation", { zoneId: zone("03"), plan: "enterprise", target: "assessed" });
new WafMigration("from-validation", { zoneId: zone("0b"), plan: "enterprise", target: "assessed" });
new WafMigration("blocked", { zoneId: zone("05"), plan: "business", target: "assessed" });
new WafMigration("deployed", { zoneId: zone("04"), target: "assessed" });
