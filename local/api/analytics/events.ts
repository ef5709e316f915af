import { z } from "zod";
import type { Plan } from "../limits";

/** Firewall events, as Cloudflare samples and stores them for GraphQL. */

export const firewallEvent = z.strictObject({
  datetime: z.iso.datetime(),
  /** What the rule did: `block`, `log`, `managed_challenge`, `skip`, … */
  action: z.string(),
  source: z.string().default("firewallManaged"),
  ruleId: z.string(),
  clientRequestHTTPHost: z.string().default(""),
  clientRequestPath: z.string().default("/"),
  clientRequestHTTPMethodName: z.string().default("GET"),
  clientCountryName: z.string().default("US"),
  clientIP: z.string().default("192.0.2.1"),
  /** How many events the stored one stands for. */
  sampleInterval: z.int().min(1).default(1),
});
export type FirewallEvent = z.output<typeof firewallEvent>;

/** An event to add. It happened a minute ago, unless its time is given. */
export type FirewallEventInput = Partial<FirewallEvent> & Pick<FirewallEvent, "action" | "ruleId">;

/** The limits of a dataset, as the settings node returns them. Durations are in seconds. */
export interface DatasetLimits {
  readonly enabled: boolean;
  readonly maxDuration: number;
  readonly maxPageSize: number;
  readonly notOlderThan: number;
}

const DAY = 86_400;

/** Simulated limits: only the settings node of a real zone tells the true ones. */
export function limitsOf(plan: Plan, dataset: "groups" | "raw"): DatasetLimits {
  const maxDuration = { free: DAY, pro: DAY, business: 3 * DAY, enterprise: 31 * DAY }[plan];
  const notOlderThan = plan === "pro" ? 3 * DAY : maxDuration;
  return { enabled: dataset === "raw" || plan !== "free", maxDuration, maxPageSize: 10_000, notOlderThan };
}
