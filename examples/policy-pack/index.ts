import {
  PolicyPack,
  type PolicyConfigSchema,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { Declared, Settings, Violation } from "./declared";
import { functionFindings } from "./functions";
import * as rules from "./rules";
import { reviewedZones } from "./snapshots";

/** `pulumi preview --policy-pack policy-pack`, from the folder of the program. */

/** Where pulumi was run. The pack's own process works in the folder of the pack, and is told of no other. */
const folder = process.env["PWD"] ?? process.cwd();

interface Config {
  readonly plan: Settings["plan"];
  readonly usageModel: Settings["usageModel"];
  readonly production: string;
  readonly snapshots: readonly string[];
}

const configSchema: PolicyConfigSchema = {
  properties: {
    plan: { type: "string", enum: ["free", "paid", "enterprise"], default: "paid" },
    usageModel: { type: "string", enum: ["bundled", "unbound", "standard"], default: "standard" },
    production: { type: "string", default: "^(prod|production|live)" },
    snapshots: { type: "array", items: { type: "string" }, default: ["detections.json"] },
  },
};

function settingsOf({ snapshots, ...config }: Config): Settings {
  return { ...config, folder, reviewedZones: reviewedZones(folder, snapshots) };
}

function onResource(
  name: string,
  description: string,
  rule: (resource: Declared, settings: Settings) => string[],
): ResourceValidationPolicy {
  return {
    name,
    description,
    enforcementLevel: "mandatory",
    configSchema,
    validateResource: (resource, report) => {
      for (const message of rule(resource, settingsOf(resource.getConfig<Config>()))) report(message);
    },
  };
}

function onStack(
  name: string,
  description: string,
  enforcementLevel: "mandatory" | "advisory",
  rule: (resources: readonly Declared[], settings: Settings) => Violation[],
): StackValidationPolicy {
  return {
    name,
    description,
    enforcementLevel,
    configSchema,
    validateStack: (stack, report) => {
      const settings = settingsOf(stack.getConfig<Config>());
      for (const { message, urn } of rule(stack.resources, settings)) report(message, urn);
    },
  };
}

new PolicyPack("edge-security", {
  policies: [
    onResource("allow-needs-snapshot", "An allow policy has a reviewed snapshot.", rules.allowNeedsSnapshot),
    onResource("migration-needs-confirmation", "A migration is confirmed.", rules.migrationNeedsConfirmation),
    onResource("no-credential-in-plain-sight", "Credentials are secrets.", rules.noCredentialInPlainSight),
    onResource(
      "no-force-destroy-in-production",
      "Namespaces of production are not emptied by a destroy.",
      rules.noForceDestroyInProduction,
    ),
    onStack(
      "zones-need-managed-ruleset",
      "Every zone has a managed ruleset.",
      "mandatory",
      rules.zonesNeedManagedRuleset,
    ),
    onStack("edge-function-limits", "Edge functions are within their limits.", "mandatory", (all, settings) =>
      functionFindings(all, settings, "error"),
    ),
    onStack(
      "edge-function-near-limits",
      "Edge functions are not near their limits.",
      "advisory",
      (all, settings) => functionFindings(all, settings, "warning"),
    ),
  ],
});
