import * as pulumi from "@pulumi/pulumi";
import { WafMigration } from "pulumi-edgeguard";

const config = new pulumi.Config();

const args = { zoneId: config.require("zoneId"), plan: "pro", target: "finished" } as const;

new WafMigration("shop", { ...args, confirm: config.require("confirm") }, { protect: true });
