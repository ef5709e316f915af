import * as pulumi from "@pulumi/pulumi";
import { WafMigration } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new WafMigration("shop", { zoneId, plan: "enterprise", target: "assessed" }, { protect: true });
