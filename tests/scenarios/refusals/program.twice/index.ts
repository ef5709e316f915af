import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("one", { zoneId, enabled: true });
new PageShieldSettings("two", { zoneId, enabled: false });
