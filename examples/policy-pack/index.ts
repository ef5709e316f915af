import {
  PolicyPack,
  type PolicyConfigSchema,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { Declared, Settings, Violation } from "./declared";
import { workerFindings } from "./workers";
import * as rules from "./rules";
import { reviewedZones } from "./snapshots";

/** The folder where pulumi runs. The pack's own process runs in the folder of the pack; PWD is still the program's. */
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
    onResource(
      "allow-needs-snapshot",
      "Page Shield policies with action allow have a reviewed snapshot.",
      rules.allowNeedsSnapshot,
    ),
    onResource(
      "migration-needs-confirmation",
      "WAF migrations are confirmed.",
      rules.migrationNeedsConfirmation,
    ),
    onResource("no-plaintext-credential", "Logpush credentials are secret.", rules.noPlaintextCredential),
    onResource(
      "no-force-destroy-in-production",
      "Destroying a production stack keeps KV namespaces that hold data.",
      rules.noForceDestroyInProduction,
    ),
    onStack(
      "zones-need-managed-ruleset",
      "Every zone has a managed ruleset.",
      "mandatory",
      rules.zonesNeedManagedRuleset,
    ),
    onStack("workers-limits", "Workers are within the limits of their plan.", "mandatory", (all, settings) =>
      workerFindings(all, settings, "error"),
    ),
    onStack(
      "workers-near-limits",
      "Workers are not near the limits of their plan.",
      "advisory",
      (all, settings) => workerFindings(all, settings, "warning"),
    ),
  ],
});
