import * as pulumi from "@pulumi/pulumi";
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import { KvNamespace, PageShieldSettings } from "pulumi-edgeguard";

async function program() {
  const zoneId = new pulumi.Config().require("zoneId");
  const sessions = new KvNamespace("sessions", { title: "sessions" });
  new PageShieldSettings("shop", { zoneId, enabled: true });
  return { namespaceId: sessions.id };
}

async function main(verb: string | undefined, isUnchanged: boolean) {
  // The provider is found from the folder that the program runs in: without `workDir` that's an empty temporary folder.
  const stack = await LocalWorkspace.createOrSelectStack(
    { stackName: "dev", projectName: "matrix", program },
    { workDir: __dirname },
  );
  if (verb === "preview") await stack.preview({ onOutput: console.log, expectNoChanges: isUnchanged });
  if (verb === "up") await stack.up({ onOutput: console.log });
  if (verb === "destroy") await stack.destroy({ onOutput: console.log });
}

void main(process.argv[2], process.argv.includes("--expect-no-changes"));
