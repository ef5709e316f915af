import {
  isEdgeguard,
  isCloudflare,
  list,
  member,
  stackOf,
  text,
  type Declared,
  type Settings,
  type Violation,
} from "./declared";

/** An `allow` policy blocks what it doesn't list, so somebody has to review what the zone loads first. */
export function allowNeedsSnapshot(resource: Declared, { reviewedZones }: Settings): string[] {
  const { props } = resource;
  if (!isEdgeguard(resource, "PageShieldPolicy") || text(props, "action") !== "allow") return [];
  const zone = text(props, "zoneId");
  if (zone === undefined || reviewedZones.has(zone)) return [];
  return [
    `action: "allow" needs a committed snapshot of what zone ${zone} loads. Run \`edgeguard detections save --zone ${zone}\`, have the file reviewed and commit it. Until then, use action "log", which blocks nothing.`,
  ];
}

/** An irreversible step needs the digest that its preview shows. */
export function migrationNeedsConfirmation(resource: Declared): string[] {
  const { props } = resource;
  if (!isEdgeguard(resource, "WafMigration")) return [];
  const target = text(props, "target");
  if (target === undefined || target === "assessed" || member(props, "confirm") !== undefined) return [];
  return [
    `target: the migration to "${target}" can't be undone and is not confirmed. Set confirm to the digest that the preview of target "assessed" shows.`,
  ];
}

/** Arguments that are always secret, whatever the program passes. */
const SECRET_MEMBERS = ["destinationConf", "ownershipChallenge", "__provider"];

/** A Logpush credential belongs in the destination, which is secret in state, and nowhere else. */
export function noPlaintextCredential(resource: Declared): string[] {
  const { props } = resource;
  if (isEdgeguard(resource, "LogpushJob")) {
    const places = Object.keys(props).filter(
      (name) => !SECRET_MEMBERS.includes(name) && holdsCredential(member(props, name)),
    );
    return places.map(
      (name) =>
        `${name} contains what looks like a credential but isn't secret. Move the credential to destination.`,
    );
  }
  if (isCloudflare(resource, "LogpushJob") && holdsCredential(member(props, "destinationConf")))
    return [
      "destinationConf contains a credential but isn't secret. Wrap it in pulumi.secret(), or use the LogpushJob of pulumi-edgeguard, which makes it secret.",
    ];
  return [];
}

/** Destination parameters that carry credentials, authorization headers and access keys. */
const CREDENTIAL =
  /(?:[?&]|^)(?:access-key-id|secret-access-key|sig|sharedaccesssignature|header_[\w-]+|api[-_]?key|dd-api-key|token|password)=[^&]+|\b(?:Bearer|Basic|Splunk)(?: |%20)[\w.~+/=-]{8,}|\bAKIA[0-9A-Z]{16}\b/i;

function holdsCredential(value: unknown): boolean {
  if (typeof value === "string") return CREDENTIAL.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.keys(value).some((name) => holdsCredential(member(value, name)));
}

/** forceDestroy deletes keys that others wrote. In production, somebody should have to turn it on first. */
export function noForceDestroyInProduction(resource: Declared, { production }: Settings): string[] {
  const { props } = resource;
  if (!isEdgeguard(resource, "KvNamespace") || member(props, "forceDestroy") !== true) return [];
  const stack = stackOf(resource);
  if (!new RegExp(production).test(stack)) return [];
  return [
    `forceDestroy lets \`pulumi destroy\` of the production stack ${JSON.stringify(stack)} delete every key of namespace ${JSON.stringify(text(props, "title") ?? resource.name)}. Remove forceDestroy.`,
  ];
}

const MANAGED_PHASE = "http_request_firewall_managed";

/** Every zone of the stack needs a managed ruleset, deployed with pulumi-edgeguard or @pulumi/cloudflare. */
export function zonesNeedManagedRuleset(resources: readonly Declared[]): Violation[] {
  const managed = resources.filter((resource) => deploysManagedRules(resource));
  // A deployment without a zone is the account's: only its expression tells which zones it covers.
  if (managed.some(({ props }) => text(props, "zoneId") === undefined)) return [];
  const covered = new Set(managed.map(({ props }) => text(props, "zoneId")));
  const first = new Map<string, Declared>();
  for (const resource of resources) {
    const zone = text(resource.props, "zoneId");
    if (zone !== undefined && !covered.has(zone) && !first.has(zone)) first.set(zone, resource);
  }
  return [...first].map(([zone, { urn }]) => ({
    urn,
    message: `zone ${zone} has resources in this stack but no managed ruleset. Add a ManagedRulesetOverride for it.`,
  }));
}

function deploysManagedRules(resource: Declared): boolean {
  const { props } = resource;
  if (isEdgeguard(resource, "ManagedRulesetOverride")) return member(props, "enabled") !== false;
  if (isEdgeguard(resource, "WafMigration")) return text(props, "target") !== "assessed";
  if (!isCloudflare(resource, "Ruleset") || text(props, "phase") !== MANAGED_PHASE) return false;
  return list(props, "rules").some(
    (rule) => text(rule, "action") === "execute" && member(rule, "enabled") !== false,
  );
}
