import * as pulumi from "@pulumi/pulumi";
import { KvNamespace, PageShieldSettings } from "pulumi-edgeguard";

export class Shop extends pulumi.ComponentResource {
  constructor(name: string) {
    super("company:Shop", name);
    const zoneId = new pulumi.Config().require("zoneId");
    new KvNamespace("sessions", { title: "sessions" }, { parent: this });
    new PageShieldSettings(name, { zoneId, enabled: true }, { parent: this });
  }
}
