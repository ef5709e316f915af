import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("one", { zoneId, enabled: true });
// Rendering a trace through the source maps of the SDK takes Node 20 half a minute.
Error.stackTraceLimit = 0;
throw new pulumi.RunError("the program's own mistake");
