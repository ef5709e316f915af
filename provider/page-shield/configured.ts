import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { zoneId } from "../runtime/fields";
import type { Host } from "../runtime/host";
import type { Bag } from "../runtime/values";
import { recordId } from "./detected";
import { flag, furtherMembers, present, text } from "../runtime/members";
import {
  ask,
  askOutput,
  readArgs,
  type Inputs,
  type Known,
  type LookupOptions,
  type ZoneArgs,
} from "../runtime/lookup";

/** What people have set for a zone's page security: its settings and policies. */

/** Page security of a zone as it is (seed 000, "Settings"). What the service does not give is absent. */
export interface PageShieldSettingsState {
  readonly enabled: boolean;
  /** When settings were last stored, ISO 8601. */
  readonly updatedAt?: string;
  /** Whether browsers report to the vendor's endpoint; read under either of its two names on the wire. */
  readonly useReportingEndpoint?: boolean;
  readonly useConnectionUrlPath?: boolean;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

const SETTINGS_MEMBERS = {
  enabled: z.boolean(),
  updated_at: text,
  use_cloudflare_reporting_endpoint: flag,
  use_platform_reporting_endpoint: flag,
  use_connection_url_path: flag,
};

const settings = z.looseObject(SETTINGS_MEMBERS).transform((raw): PageShieldSettingsState => ({
  ...present({
    enabled: raw.enabled,
    updatedAt: raw.updated_at,
    useReportingEndpoint: raw.use_cloudflare_reporting_endpoint ?? raw.use_platform_reporting_endpoint,
    useConnectionUrlPath: raw.use_connection_url_path,
  }),
  ...furtherMembers(raw, SETTINGS_MEMBERS),
}));

/** A policy as the service holds it (seed 000, "Policy"); its texts are as they are stored. */
export interface PageShieldPolicyState {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly description?: string;
  readonly action: Known<"log" | "allow" | "add_reporting_directives">;
  /** Which requests it covers, in the vendor's filter language. */
  readonly expression: string;
  /** A boolean, whichever of its two forms the service uses. */
  readonly enabled: boolean;
  /** CSP text. */
  readonly value: string;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

const POLICY_MEMBERS = {
  id: z.string(),
  description: text,
  action: z.string(),
  expression: z.string(),
  enabled: z.union([z.boolean(), z.enum(["true", "false"])]),
  value: z.string(),
};

const policy = z.looseObject(POLICY_MEMBERS).transform((raw): PageShieldPolicyState => ({
  ...present({
    id: raw.id,
    description: raw.description,
    action: raw.action,
    expression: raw.expression,
    enabled: raw.enabled === true || raw.enabled === "true",
    value: raw.value,
  }),
  ...furtherMembers(raw, POLICY_MEMBERS),
}));

async function readSettings(host: Host, lookup: string, given: unknown): Promise<PageShieldSettingsState> {
  const args = readArgs(lookup, { zoneId }, given);
  return await host.api.get(`/zones/${args.zoneId}/page_shield`, {
    what: `Reading page security of zone ${args.zoneId}`,
    schema: settings,
  });
}

async function listPolicies(
  host: Host,
  lookup: string,
  given: unknown,
): Promise<readonly PageShieldPolicyState[]> {
  const args = readArgs(lookup, { zoneId }, given);
  const { records } = await host.api.list(`/zones/${args.zoneId}/page_shield/policies`, {
    what: `Listing the policies of zone ${args.zoneId}`,
    record: policy,
  });
  return records;
}

async function readPolicy(host: Host, lookup: string, given: unknown): Promise<PageShieldPolicyState> {
  const args = readArgs(lookup, { zoneId, policyId: recordId("policy") }, given);
  return await host.api.get(`/zones/${args.zoneId}/page_shield/policies/${args.policyId}`, {
    what: `Reading policy ${args.policyId} of zone ${args.zoneId}`,
    schema: policy,
  });
}

/**
 * Page security of a zone (seed 000, "Get settings").
 *
 * @throws when the zone id is malformed, the token lacks Page Shield Read, or the plan lacks page security.
 */
export function getPageShieldSettings(
  args: ZoneArgs,
  opts: LookupOptions = {},
): Promise<PageShieldSettingsState> {
  return ask(opts, (host) => readSettings(host, "getPageShieldSettings", args));
}

/** `getPageShieldSettings` for arguments that are outputs. Unknown in a preview without credentials. */
export function getPageShieldSettingsOutput(
  args: Inputs<ZoneArgs>,
  opts: LookupOptions = {},
): pulumi.Output<PageShieldSettingsState> {
  const what = "getPageShieldSettingsOutput";
  return askOutput(what, args, opts, (host, known) => readSettings(host, what, known));
}

/**
 * All policies of a zone; the service gives them in one answer (seed 000, "List policies").
 *
 * @throws when the zone id is malformed, the token lacks Page Shield Read, or the plan lacks policies.
 */
export function getPageShieldPolicies(
  args: ZoneArgs,
  opts: LookupOptions = {},
): Promise<readonly PageShieldPolicyState[]> {
  return ask(opts, (host) => listPolicies(host, "getPageShieldPolicies", args));
}

/** `getPageShieldPolicies` for arguments that are outputs. Unknown in a preview without credentials. */
export function getPageShieldPoliciesOutput(
  args: Inputs<ZoneArgs>,
  opts: LookupOptions = {},
): pulumi.Output<readonly PageShieldPolicyState[]> {
  const what = "getPageShieldPoliciesOutput";
  return askOutput(what, args, opts, (host, known) => listPolicies(host, what, known));
}

export interface PolicyLookupArgs extends ZoneArgs {
  /** The policy's id, 32 hexadecimal digits, as `getPageShieldPolicies` gives it. */
  readonly policyId: string;
}

/**
 * One policy of a zone (seed 000, "Get policy").
 *
 * @throws when an id is malformed, the zone has no such policy, or the token lacks Page Shield Read.
 */
export function getPageShieldPolicy(
  args: PolicyLookupArgs,
  opts: LookupOptions = {},
): Promise<PageShieldPolicyState> {
  return ask(opts, (host) => readPolicy(host, "getPageShieldPolicy", args));
}

/** `getPageShieldPolicy` for arguments that are outputs. Unknown in a preview without credentials. */
export function getPageShieldPolicyOutput(
  args: Inputs<PolicyLookupArgs>,
  opts: LookupOptions = {},
): pulumi.Output<PageShieldPolicyState> {
  const what = "getPageShieldPolicyOutput";
  return askOutput(what, args, opts, (host, known) => readPolicy(host, what, known));
}
