import * as pulumi from "@pulumi/pulumi";
import { KvNamespace, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");
const sessions = new KvNamespace("sessions", { title: "sessions" });

new PageShieldSettings("shop", { zoneId, enabled: true });

export const namespaceId = sessions.id;
