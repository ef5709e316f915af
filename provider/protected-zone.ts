import * as pulumi from "@pulumi/pulumi";
import { LogpushJob, type LogpushJobArgs } from "./logpush/logpush-job";
import { PageShieldPolicy, type PageShieldPolicyArgs } from "./page-shield/policy";
import { PageShieldSettings, type PageShieldSettingsArgs } from "./page-shield/settings";
import { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "./rulesets/managed-ruleset-override";
import type { JsonObject } from "./basics/json";
import { refusal } from "./runtime/program";
import type { TypedClass } from "./runtime/resource";
import { TYPE_PREFIXES } from "./runtime/type-tokens";

/** Arguments of a {@link ProtectedZone}. Apart from `zoneId` and `without`, each has the arguments of one resource. */
export interface ProtectedZoneArgs {
  /** The zone's ID (32 hex digits). Changing it replaces everything. */
  readonly zoneId: pulumi.Input<string>;
  /** Arguments of the `PageShieldSettings`. By default, `enabled` is true. */
  readonly pageShieldSettings?: Partial<Omit<PageShieldSettingsArgs, "zoneId">>;
  /**
   * Arguments of the `PageShieldPolicy`. By default, it logs all scripts from other hosts, on all pages, and blocks
   * nothing: `description` is `"Scripts from other hosts"`, `action` is `"log"`, `expression` is `"true"`, and `value` is
   * `"script-src 'self'"`.
   */
  readonly pageShieldPolicy?: Partial<Omit<PageShieldPolicyArgs, "zoneId">>;
  /** Arguments of the first `ManagedRulesetOverride`. By default, `ruleset` is `"Cloudflare Managed Ruleset"`. */
  readonly managedRuleset?: Partial<Omit<ManagedRulesetOverrideArgs, "zoneId">>;
  /** Arguments of the second `ManagedRulesetOverride`. By default, `ruleset` is `"Cloudflare OWASP Core Ruleset"`. */
  readonly owaspRuleset?: Partial<Omit<ManagedRulesetOverrideArgs, "zoneId">>;
  /**
   * Arguments of the `LogpushJob`. By default, `dataset` is `"firewall_events"`. Its destination has no default: set
   * `destinationConf`, or leave the job out.
   */
  readonly logpushJob?: Partial<Omit<LogpushJobArgs, "zoneId">>;
  /**
   * The resources to leave out, by the names of their arguments, such as `["logpushJob"]`: those that the zone's plan
   * doesn't include, for example. Adding a name deletes that resource.
   *
   * @defaultValue `[]`
   */
  readonly without?: readonly Exclude<keyof ProtectedZoneArgs, "zoneId" | "without">[];
}

type PartType = TypedClass &
  (new (name: string, args: never, opts: pulumi.CustomResourceOptions) => pulumi.Resource);

/** A resource of a component. */
export interface ZonePart {
  /** The component's argument that has the arguments of this resource. */
  readonly argument: string;
  readonly type: PartType;
  readonly name: string;
  readonly args: object;
}

const LOG_OTHER_HOSTS = { action: "log", expression: "true", value: "script-src 'self'" };

/** The resources with their default arguments, in the order of their creation, in which rulesets then run. */
const PARTS: Readonly<Record<string, readonly [PartType, object]>> = {
  managedRuleset: [ManagedRulesetOverride, { ruleset: "Cloudflare Managed Ruleset" }],
  owaspRuleset: [ManagedRulesetOverride, { ruleset: "Cloudflare OWASP Core Ruleset" }],
  pageShieldSettings: [PageShieldSettings, { enabled: true }],
  pageShieldPolicy: [PageShieldPolicy, { description: "Scripts from other hosts", ...LOG_OTHER_HOSTS }],
  logpushJob: [LogpushJob, { dataset: "firewall_events" }],
};

/** Returns the resources of a component. Its arguments are a program's, or those in an engine's message. */
export function zoneParts(component: string, { zoneId, without, ...given }: JsonObject): ZonePart[] {
  const left: readonly unknown[] = Array.isArray(without) ? without : [];
  const unknown = [...Object.keys(given), ...left].find((each) => !Object.hasOwn(PARTS, String(each)));
  if (unknown !== undefined)
    throw refusal(
      `edgeguard: ProtectedZone ${JSON.stringify(component)}: ${JSON.stringify(unknown)} is not one of its resources. They are ${Object.keys(PARTS).join(", ")}.`,
    );
  const parts = Object.entries(PARTS).filter(([argument]) => !left.includes(argument));
  return parts.map(([argument, [type, defaults]]) => {
    const args = { zoneId, ...defaults, ...(given[argument] ?? {}) };
    return { argument, type, name: `${component}-${argument}`, args };
  });
}

/**
 * A zone with Page Shield, a Page Shield policy that only logs, the Cloudflare Managed Ruleset, the OWASP Core Ruleset, and
 * a job that pushes firewall events to your storage: a component, whose resources have their own steps in a preview.
 *
 * Its resources are created one after the other. Each is called `<name>-<argument>`, such as `shop-owaspRuleset`. Arguments that you set take precedence over the
 * component's. To leave a resource out, list it in `without`: Page Shield policies, the managed rulesets and Logpush
 * depend on the zone's plan.
 *
 * To declare one of its resources with its class instead, list it in `without`, and give the class the same name and
 * arguments and an alias with the component as the parent. The next preview shows no changes.
 *
 * The managed rulesets need the account's ID: the setting `edgeguard:accountId`, or `accountId` in both. Token permissions:
 * those of its resources.
 *
 * @example
 * A zone whose firewall events are pushed to your storage
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { ProtectedZone } from "pulumi-edgeguard";
 *
 * new ProtectedZone("shop", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   owaspRuleset: { owasp: { paranoiaLevel: 2 } },
 *   logpushJob: { destinationConf: new pulumi.Config().requireSecret("eventsDestination") },
 * });
 * ```
 *
 * @example
 * Declare one of its resources with its class
 * ```ts
 * import { ManagedRulesetOverride, ProtectedZone } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 * const zone = new ProtectedZone("shop", { zoneId, without: ["owaspRuleset", "logpushJob"] });
 * new ManagedRulesetOverride(
 *   "shop-owaspRuleset",
 *   { zoneId, ruleset: "Cloudflare OWASP Core Ruleset" },
 *   { aliases: [{ parent: zone }] },
 * );
 * ```
 *
 * @destroy Destroys each of its resources as its own page says.
 * @throws If an argument or `without` has a name that isn't one of its resources.
 */
export class ProtectedZone extends pulumi.ComponentResource {
  /** @param name the component's name, with which the names of its resources begin. */
  constructor(name: string, args: ProtectedZoneArgs, opts?: pulumi.ComponentResourceOptions) {
    super(`${TYPE_PREFIXES.plugin}ProtectedZone`, name, {}, opts);
    let dependsOn: pulumi.Resource[] = [];
    for (const part of zoneParts(name, { ...args }))
      // The defaults, and what the type of the component's argument allows.
      dependsOn = [new part.type(part.name, part.args as never, { parent: this, dependsOn })];
    this.registerOutputs();
  }
}
