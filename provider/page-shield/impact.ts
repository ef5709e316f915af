import { z } from "zod";
import type { ImpactRecord, RecordShape } from "../runtime/impact";
import { members } from "../basics/published";

/** What an operation finds out about Page Shield's policies and settings. */

/** What an enforced `allow` policy would block, as of the preview of the change. Each URL is counted once. */
export interface WouldBlock {
  /** The number of active scripts on the covered pages that the policy doesn't allow. */
  readonly count: number;
  /**
   * The number of active scripts that Page Shield has seen on the covered pages. If it's 0, a `count` of 0 proves
   * nothing.
   */
  readonly seen: number;
  /** The first five URLs that the policy would block, without usernames, passwords and the values of query parameters. */
  readonly scripts: readonly string[];
  /** A digest of all URLs that the policy would block. */
  readonly digest: string;
}

const wouldBlock = members({
  count: z.int().min(0),
  seen: z.int().min(0),
  scripts: z.array(z.string()).readonly(),
  digest: z.string(),
}) satisfies z.ZodType<WouldBlock>;

/** What an operation found out about a Page Shield policy. */
export interface PolicyImpact extends ImpactRecord {
  readonly wouldBlock?: WouldBlock;
}
export const policyRecord = {
  wouldBlock: wouldBlock.exactOptional(),
} as const satisfies RecordShape<PolicyImpact>;

/** What an operation found out about a zone's Page Shield settings. */
export interface SettingsImpact extends ImpactRecord {
  /** The zone's settings before a new resource changes them. */
  readonly settings?: {
    readonly enabled?: boolean;
    readonly useReportingEndpoint?: boolean;
    readonly useConnectionUrlPath?: boolean;
  };
}
const settings = members({
  enabled: z.boolean().exactOptional(),
  useReportingEndpoint: z.boolean().exactOptional(),
  useConnectionUrlPath: z.boolean().exactOptional(),
});
export const settingsRecord = {
  settings: settings.exactOptional(),
} as const satisfies RecordShape<SettingsImpact>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = {
  existingPolicy: "existingPolicy",
  wouldBlock: "wouldBlock",
  settings: "settings",
} as const;
