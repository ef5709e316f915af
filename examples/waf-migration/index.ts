import * as pulumi from "@pulumi/pulumi";
import { WafMigration } from "pulumi-edgeguard";

const config = new pulumi.Config();

// Reads and tells, as long as the target is "assessed". To go on: set target to "finished", preview, and put the digest
// that the preview shows into confirm. There is no way back.
const target = config.get("target") === "finished" ? "finished" : "assessed";
const confirm = config.get("confirm");

const migration = new WafMigration(
  "waf",
  { zoneId: config.require("zoneId"), target, ...(confirm === undefined ? {} : { confirm }) },
  { protect: true },
);

export const { compatible, migrationState, proposedConfiguration } = migration;
