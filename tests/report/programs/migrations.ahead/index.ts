import { WafMigration } from "pulumi-edgeguard";

// Forward where it was confirmed; one zone is there already, of another only the situation has changed.
const zone = (last: string) => `5a0c1e7f3b2d4968a7e1c0f2d3b4a6${last}`;
const confirmation = (name: string) => process.env[`CONFIRM_${name}`] ?? "";

new WafMigration("to-validation", {
  zoneId: zone("03"),
  plan: "enterprise",
  target: "validation",
  confirm: confirmation("VALIDATION"),
});
new WafMigration("from-validation", {
  zoneId: zone("0b"),
  plan: "enterprise",
  target: "finished",
  confirm: confirmation("FINISHED"),
});
new WafMigration("blocked", { zoneId: zone("05"), plan: "business", target: "assessed" });
new WafMigration("deployed", { zoneId: zone("04"), target: "assessed" });
new WafMigration("there-already", { zoneId: zone("0c"), plan: "pro", target: "finished" });
