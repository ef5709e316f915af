import * as pulumi from "@pulumi/pulumi";
import { WafMigration } from "pulumi-edgeguard";

const config = new pulumi.Config();

// With target "assessed", this only reads. To migrate, set target to "finished", preview, and set confirm to the digest that
// the preview shows. Cloudflare can't undo the migration.
const target = config.get("target") === "finished" ? "finished" : "assessed";
const confirm = config.get("confirm");

const migration = new WafMigration(
  "waf",
  { zoneId: config.require("zoneId"), target, ...(confirm === undefined ? {} : { confirm }) },
  { protect: true },
);

export const { compatible, migrationState, proposedConfiguration } = migration;
