import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

// @ts-expect-error -- what a program without type checks may do
new PageShieldPolicy("checkout", {
  zoneId: zoneId.slice(1),
  description: "checkout",
  action: "block",
  expresion: "true",
  value: "script-src self; script-src *",
});
