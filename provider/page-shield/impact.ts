import { z } from "zod";
import type { ImpactRecord, RecordShape } from "../runtime/impact";
import { members } from "../basics/published";

/** What an operation finds out about Page Shield's policies and settings. */

/** Of what Page Shield has seen on the covered pages, the part that a policy blocks. Each URL is counted once. */
export interface Blocked {
  /** How many active URLs the policy doesn't allow. */
  readonly count: number;
  /** How many of these are malicious: on a threat list, or with a JS integrity score below 10. */
  readonly malicious: number;
  /** The first five, malicious ones first, without usernames, passwords and values of query parameters. */
  readonly urls: readonly string[];
  /**
   * The JS integrity score of each of `urls` that has one below 50. Below 10 is malicious, 10 to 49 suspicious. Absent if
   * none has.
   */
  readonly scores?: Readonly<Record<string, number>>;
  /** A digest of all URLs. */
  readonly digest: string;
}

/** What an enforced `allow` policy would block, as of the preview of the change. */
export interface WouldBlock {
  /** The number of active scripts that Page Shield has seen on the covered pages. If it's 0, no count proves anything. */
  readonly seen: number;
  /** Absent if only a browser can tell (`'strict-dynamic'`). */
  readonly scripts?: Blocked;
  /** Connections, such as `fetch()`. Absent if the policy doesn't restrict them, or they couldn't be read. */
  readonly connections?: Blocked;
  /** Of these, what the policy in force before the change doesn't block. */
  readonly newly: Blocked;
  /**
   * What restricts more than before, and of which Page Shield reports nothing: directives, and sources that scripts and
   * connections lose, such as `script-src without 'unsafe-inline' (inline scripts)`.
   */
  readonly unreported: readonly string[];
}

const blocked = members({
  count: z.int().min(0),
  malicious: z.int().min(0),
  urls: z.array(z.string()).readonly(),
  scores: z.record(z.string(), z.number()).exactOptional(),
  digest: z.string(),
}) satisfies z.ZodType<Blocked>;

const wouldBlock = members({
  seen: z.int().min(0),
  scripts: blocked.exactOptional(),
  connections: blocked.exactOptional(),
  newly: blocked,
  unreported: z.array(z.string()).readonly(),
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
