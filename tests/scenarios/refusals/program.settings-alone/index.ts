import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";

new PageShieldSettings("shop", { zoneId: new pulumi.Config().require("zoneId"), enabled: true });
