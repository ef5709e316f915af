import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

// What a program without type checks may hand over.
new PageShieldPolicy("checkout", {
  zoneId: zoneId.slice(1),
  description: "checkout",
  action: "block",
  // @ts-expect-error -- no such argument
  expresion: "true",
  value: "script-src self; script-src *; script-scr *",
});
