import { z } from "zod";
import type { ImpactOf } from "../runtime/impact";
import { members } from "../runtime/published";

/** What an operation finds out about Page Shield's policies and settings. */

const wouldBlock = members({
  count: z
    .int()
    .min(0)
    .describe("The number of active scripts on the covered pages that the policy doesn't allow."),
  seen: z
    .int()
    .min(0)
    .describe(
      "The number of active scripts that Page Shield has seen on the covered pages. If it's 0, a `count` of 0 proves nothing.",
    ),
  scripts: z.array(z.string()).readonly().describe("The first five URLs that the policy would block."),
  digest: z.string().describe("A digest of all URLs that the policy would block."),
});

/** What an enforced `allow` policy would block, as of the preview of the change. Each URL is counted once. */
export type WouldBlock = z.output<typeof wouldBlock>;

export const policyRecord = { wouldBlock: wouldBlock.exactOptional() } as const;
/** What an operation found out about a Page Shield policy. */
export type PolicyImpact = ImpactOf<typeof policyRecord>;

const settings = members({
  enabled: z.boolean().exactOptional(),
  useReportingEndpoint: z.boolean().exactOptional(),
  useConnectionUrlPath: z.boolean().exactOptional(),
});
export const settingsRecord = {
  settings: settings.exactOptional().describe("The zone's settings before a new resource changes them."),
} as const;
/** What an operation found out about a zone's Page Shield settings. */
export type SettingsImpact = ImpactOf<typeof settingsRecord>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = {
  existingPolicy: "existingPolicy",
  wouldBlock: "wouldBlock",
  settings: "settings",
} as const;
