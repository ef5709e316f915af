import type { ResourceValidationPolicy, StackValidationPolicy } from "@pulumi/policy";
import { isCloudflare, isEdgeguard, member, propsOf, type Declared } from "./declared";
import { UNKNOWN } from "../runtime/engine-values";
import { NOTHING, onEachResource, type PolicyOptions } from "./define";
import { onZones, type ZonePolicyOptions } from "./zones";

/**
 * Rejects Logpush credentials in plain text.
 *
 * This package's `LogpushJob` always keeps its destination and ownership token secret, so the policy looks for
 * credentials in its other arguments, except for `name` and `filter`. Pulumi shows a policy every value in plain text,
 * secret or not. So the policy rejects every `LogpushJob` from `@pulumi/cloudflare` that has a credential in its
 * destination, even if it's wrapped in `pulumi.secret()`.
 *
 * @example A pack with this policy alone
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { noPlainCredential } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [noPlainCredential()] });
 * ```
 */
export function noPlainCredential({ enforcementLevel }: PolicyOptions = {}): ResourceValidationPolicy {
  return onEachResource(
    { name: "no-plain-credential", description: "Logpush credentials are secret.", enforcementLevel },
    NOTHING,
    plainCredentials,
  );
}

/** Arguments that aren't checked: two are always secret, and a name or filter may only look like a credential. */
const UNCHECKED_MEMBERS: readonly string[] = ["destinationConf", "ownershipChallenge", "name", "filter"];

function plainCredentials(resource: Declared): string[] {
  const { props } = resource;
  if (isEdgeguard(resource, "LogpushJob")) {
    const places = Object.keys(props).filter(
      (name) => !UNCHECKED_MEMBERS.includes(name) && hasCredential(member(props, name)),
    );
    return places.map(
      (name) =>
        `${name} contains what looks like a credential, but it isn't marked as secret. Move the credential to destination.`,
    );
  }
  if (isCloudflare(resource, "LogpushJob") && hasCredential(member(props, "destinationConf")))
    return [
      "destinationConf contains a credential, which the state may keep in plain text. Use LogpushJob from pulumi-edgeguard, which always keeps it secret.",
    ];
  return [];
}

/** Matches destination parameters that contain credentials, authorization headers and access keys. */
const CREDENTIAL =
  /(?:[?&]|^)(?:access-key-id|secret-access-key|sig|sharedaccesssignature|header_[\w-]+|api[-_]?key|dd-api-key|token|password)=[^&]+|(?:\bAuthorization\b["']?\s*[:=]?\s*|=)["']?(?:Bearer|Basic|Splunk)(?: |%20)[\w.~+/=-]{8,}|\bAKIA[0-9A-Z]{16}\b/i;

/**
 * Matches a word after `Bearer`, `Basic` or `Splunk`. It's a credential only if it looks random: "Basic
 * authentication" is plain English.
 */
const AFTER_SCHEME = /\b(?:Bearer|Basic|Splunk)(?: |%20)([\w.~+/=-]{8,})/gi;

/** Matches words with both letters and digits, or with at least two capitals that each follow a lowercase letter. */
const RANDOM = /[A-Za-z].*\d|\d.*[A-Za-z]|[a-z][A-Z].*[a-z][A-Z]/;

function hasCredential(value: unknown): boolean {
  if (typeof value === "string")
    return (
      CREDENTIAL.test(value) || [...value.matchAll(AFTER_SCHEME)].some(([, word = ""]) => RANDOM.test(word))
    );
  if (typeof value !== "object" || value === null) return false;
  return Object.keys(value).some((name) => hasCredential(member(value, name)));
}

/**
 * Rejects a stack with a zone that has resources but no enabled `LogpushJob`, from this package or `@pulumi/cloudflare`,
 * that pushes the dataset `firewall_events`. A job counts whatever its filter and sample rate.
 *
 * The policy knows only this stack's jobs: list a zone whose job another stack or the dashboard has in `exceptZones`.
 * {@link edgePolicies} doesn't contain the policy, because Logpush isn't part of every plan.
 *
 * @example Every zone logs its firewall events
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { edgePolicies, zonesLogFirewallEvents } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [...edgePolicies(), zonesLogFirewallEvents()] });
 * ```
 */
export function zonesLogFirewallEvents(options: ZonePolicyOptions = {}): StackValidationPolicy {
  return onZones(
    { name: "zones-log-firewall-events", description: "Every zone's firewall events are pushed." },
    options,
    (own) =>
      own.some(pushesFirewallEvents)
        ? undefined
        : {
            lacks: "no Logpush job pushes the firewall events of",
            advice: "Add an enabled LogpushJob with dataset firewall_events",
          },
  );
}

/** What isn't known yet counts, and is checked in the update. */
function pushesFirewallEvents(resource: Declared): boolean {
  const isOurs = isEdgeguard(resource, "LogpushJob");
  if (!isOurs && !isCloudflare(resource, "LogpushJob")) return false;
  // A job of @pulumi/cloudflare is disabled unless its program enables it.
  const { dataset, enabled = isOurs } = propsOf(resource);
  return [UNKNOWN, "firewall_events"].includes(String(dataset)) && enabled !== false;
}
