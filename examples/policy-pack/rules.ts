import {
  isOurs,
  isVendors,
  list,
  member,
  stackOf,
  text,
  type Declared,
  type Settings,
  type Violation,
} from "./declared";

/** The rules for edge security. Each is a plain function, so that it can be tested and used without an engine. */

/** An `allow` policy stops what it does not name: somebody has to have looked at what the zone loads. */
export function allowNeedsSnapshot(resource: Declared, { reviewedZones }: Settings): string[] {
  const { props } = resource;
  if (!isOurs(resource, "PageShieldPolicy") || text(props, "action") !== "allow") return [];
  const zone = text(props, "zoneId");
  if (zone === undefined || reviewedZones.has(zone)) return [];
  return [
    `an "allow" policy needs a committed snapshot of what zone ${zone} loads: run \`edgeguard detections save --zone ${zone}\`, have the file reviewed, and commit it. Until then, action "log" stops nothing.`,
  ];
}

/** A step that cannot be undone is confirmed by the digest that its preview shows. */
export function migrationNeedsConfirmation(resource: Declared): string[] {
  const { props } = resource;
  if (!isOurs(resource, "WafMigration")) return [];
  const target = text(props, "target");
  if (target === undefined || target === "assessed" || member(props, "confirm") !== undefined) return [];
  return [
    `the migration to "${target}" cannot be undone and is not confirmed: set confirm to the digest that the preview of target "assessed" shows.`,
  ];
}

/** Arguments that are secret whatever a program passes. */
const SECRET_MEMBERS = ["destinationConf", "ownershipChallenge", "__provider"];

/** A log-push job's credential belongs into its destination, which is secret in state, and nowhere else. */
export function noCredentialInPlainSight(resource: Declared): string[] {
  const { props } = resource;
  if (isOurs(resource, "LogpushJob")) {
    const places = Object.keys(props).filter(
      (name) => !SECRET_MEMBERS.includes(name) && holdsCredential(member(props, name)),
    );
    return places.map(
      (name) => `${name} holds what looks like a credential, and is no secret: it belongs into destination.`,
    );
  }
  if (isVendors(resource, "LogpushJob") && holdsCredential(member(props, "destinationConf")))
    return [
      "destinationConf holds a credential, and nothing makes it secret: wrap it in pulumi.secret(), or use the LogpushJob of pulumi-edgeguard, which does.",
    ];
  return [];
}

/** Parameters of destinations that are credentials, and the header that carries one. */
const CREDENTIAL =
  /(?:[?&]|^)(?:access-key-id|secret-access-key|sig|sharedaccesssignature|header_[\w-]+|api[-_]?key|dd-api-key|token|password)=[^&]+|\b(?:Bearer|Basic|Splunk)(?: |%20)[\w.~+/=-]{8,}|\bAKIA[0-9A-Z]{16}\b/i;

function holdsCredential(value: unknown): boolean {
  if (typeof value === "string") return CREDENTIAL.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.keys(value).some((name) => holdsCredential(member(value, name)));
}

/** With forceDestroy a destroy deletes what others wrote: in production a person should have to say so twice. */
export function noForceDestroyInProduction(resource: Declared, { production }: Settings): string[] {
  const { props } = resource;
  if (!isOurs(resource, "KvNamespace") || member(props, "forceDestroy") !== true) return [];
  const stack = stackOf(resource);
  if (!new RegExp(production).test(stack)) return [];
  return [
    `forceDestroy lets a destroy of the production stack ${JSON.stringify(stack)} delete every key of namespace ${JSON.stringify(text(props, "title") ?? resource.name)}: remove it.`,
  ];
}

const MANAGED_PHASE = "http_request_firewall_managed";

/** Every zone that the stack manages has a managed ruleset, by our resource or the vendor's. */
export function zonesNeedManagedRuleset(resources: readonly Declared[]): Violation[] {
  const managed = resources.filter((resource) => deploysManagedRules(resource));
  // A deployment for the whole account reaches zones that only its expression names.
  if (managed.some(({ props }) => text(props, "zoneId") === undefined)) return [];
  const covered = new Set(managed.map(({ props }) => text(props, "zoneId")));
  const first = new Map<string, Declared>();
  for (const resource of resources) {
    const zone = text(resource.props, "zoneId");
    if (zone !== undefined && !covered.has(zone) && !first.has(zone)) first.set(zone, resource);
  }
  return [...first].map(([zone, { urn }]) => ({
    urn,
    message: `zone ${zone} has resources in this stack and no managed ruleset: add a ManagedRulesetOverride for it.`,
  }));
}

function deploysManagedRules(resource: Declared): boolean {
  const { props } = resource;
  if (isOurs(resource, "ManagedRulesetOverride")) return member(props, "enabled") !== false;
  if (isOurs(resource, "WafMigration")) return text(props, "target") !== "assessed";
  if (!isVendors(resource, "Ruleset") || text(props, "phase") !== MANAGED_PHASE) return false;
  return list(props, "rules").some(
    (rule) => text(rule, "action") === "execute" && member(rule, "enabled") !== false,
  );
}
