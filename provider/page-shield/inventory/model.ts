import { z } from "zod";
import type { LiteralUnion } from "../../runtime/fields";
import { members, schemaUrl, type SchemaUrl } from "../../runtime/published";

/** The result of a check: an interface for programs, and the model of its JSON. */

const APPROVALS = ["approved", "expiring", "expired", "not yet approved", "unapproved", "new"] as const;
const CONTENTS = ["unchanged", "changed", "expected to change", "not watched"] as const;
const FINDINGS = [
  "malicious",
  "new",
  "unapproved",
  "expired",
  "changed",
  "expiring",
  "off",
  "not read",
  "nothing seen",
] as const;
const NOTICES = ["not seen", "no justification", "no owner"] as const;

/** Whether an entry approves a script on the day of the check. `new`: no entry covers it. */
export type ApprovalState = (typeof APPROVALS)[number];
/** What's known about a script's content. `not watched`: its entry has no hash, or Page Shield lacks one. */
export type ContentState = (typeof CONTENTS)[number];
/** Why a check doesn't pass. */
export type FindingKind = (typeof FINDINGS)[number];
/** What a check mentions without failing. */
export type NoticeKind = (typeof NOTICES)[number];

/** A reason why a check doesn't pass. */
export interface InventoryFinding {
  /** What was found. */
  readonly kind: FindingKind;
  /** The zone. */
  readonly zoneId: string;
  /** The script. Absent if the finding is about the zone. */
  readonly url?: string;
  /** One of the given hosts, if nothing was seen on its pages. */
  readonly host?: string;
  /** The line of the entry that covers the script. */
  readonly line?: number;
  /** What was found, and what to do. */
  readonly message: string;
}

/** Something about an entry that doesn't fail the check. */
export interface InventoryNotice {
  /** What was noticed. */
  readonly kind: NoticeKind;
  /** The script as the entry writes it. */
  readonly script: string;
  /** The line of the entry. */
  readonly line: number;
  /** What was noticed. */
  readonly message: string;
}

/** A script that Page Shield has seen in a zone. */
export interface InventoriedScript {
  /** The zone. */
  readonly zoneId: string;
  /** The URL. The script's URL, with any username and password hidden. */
  readonly url: string;
  /** Where the script was first seen: pages if the plan shows them, otherwise hosts. */
  readonly pages: readonly string[];
  /** How recently and how often it was seen. */
  readonly status?: LiteralUnion<"active" | "infrequent">;
  /** When it was first seen, in ISO 8601. */
  readonly firstSeenAt?: string;
  /** When it was last seen, in ISO 8601. */
  readonly lastSeenAt?: string;
  /** When Cloudflare last fetched the content for its hash, in ISO 8601; the oldest if there are several. */
  readonly fetchedAt?: string;
  /** The script's worst score, from 1 to 99; lower is worse. */
  readonly score?: number;
  /** Categories of the threat lists that contain the script's URL or domain. */
  readonly threats: readonly string[];
  /** The SHA-256 of the script's content. Several if Page Shield fetched different versions. Empty if Page Shield has none. */
  readonly hashes: readonly string[];
}

/** The entry that covers a script. */
export interface CoveringEntry {
  /** The script as the entry writes it. */
  readonly script: string;
  /** The entry's line. */
  readonly line: number;
  /** Why the pages need the script. */
  readonly justification?: string;
  /** Who is responsible for the script. */
  readonly owner?: string;
  /** Who approved the script. */
  readonly approvedBy?: string;
  /** The day of the approval. */
  readonly approvedOn?: string;
  /** The last day of the approval. */
  readonly approvedUntil?: string;
  /** The expected SHA-256, or `"changes"`. */
  readonly expectedHash?: string;
}

/** A script, and how it compares with the inventory. */
export interface CheckedScript {
  /** What Page Shield has seen of the script. */
  readonly seen: InventoriedScript;
  /** The entry that covers the script. Absent if none does. */
  readonly entry?: CoveringEntry;
  /** Whether the entry approves it. */
  readonly approval: ApprovalState;
  /** What's known about the script's content. */
  readonly content: ContentState;
  /**
   * Whether the script's score is below the threshold, or a threat list names the script. Approval doesn't change that.
   */
  readonly malicious: boolean;
}

/** A zone that was checked. */
export interface CheckedZone {
  /** The zone. */
  readonly zoneId: string;
  /** The number of scripts that Page Shield has seen. */
  readonly scripts: number;
  /** Why the zone couldn't be checked, or why the check says nothing about today. */
  readonly problem?: string;
}

/** What a check shows about one element of a requirement. */
export interface RequirementStanding {
  /** The requirement of PCI DSS. */
  readonly requirement: "6.4.3" | "11.6.1";
  /** What the requirement asks for, in short. */
  readonly element: string;
  /** The part of the element that `standing` is about. */
  readonly scope: string;
  /** Whether the check is evidence for that part. */
  readonly standing: "evidenced" | "partly" | "not";
  /** The reason. */
  readonly why: string;
}

/** The result of comparing a script inventory with what Page Shield has seen. */
export interface InventoryCheck {
  /** When it was checked, in ISO 8601. */
  readonly checkedAt: string;
  /** Whether there are no findings. */
  readonly passed: boolean;
  /** The inventory: its file, the file's SHA-256, how many entries it has, and how many are approved. */
  readonly inventory: {
    readonly file: string;
    readonly sha256: string;
    readonly entries: number;
    readonly approved: number;
  };
  /** What was seen: the SHA-256 of `scripts[].seen`, how many scripts, and on pages of which hosts (absent: all). */
  readonly seen: { readonly sha256: string; readonly scripts: number; readonly hosts?: readonly string[] };
  /** The limits for findings: scores below `threshold`, and approvals that expire in fewer than `expiringDays` days. */
  readonly judgedBy: { readonly threshold: number; readonly expiringDays: number };
  /** The zones, in the order given. */
  readonly zones: readonly CheckedZone[];
  /** Findings that fail the check, worst first. */
  readonly findings: readonly InventoryFinding[];
  /** What else the check noticed. */
  readonly notices: readonly InventoryNotice[];
  /** Every script that was seen, by zone and URL. */
  readonly scripts: readonly CheckedScript[];
  /** The standard that `requirements` is about. */
  readonly standard: "PCI DSS 4.0.1";
  /** What this check shows about each element, for an auditor to judge. */
  readonly requirements: readonly RequirementStanding[];
}

const texts = z.array(z.string()).readonly();
const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** What `edgeguard inventory check --format json` writes. */
export const inventoryCheckDocument: z.ZodType<
  InventoryCheck & { readonly $schema: SchemaUrl<"inventory-check.v1"> }
> = members({
  $schema: z.literal(schemaUrl("inventory-check.v1")),
  checkedAt: z.iso.datetime().describe("When the check ran, in UTC."),
  passed: z.boolean().describe("Whether there are no findings."),
  inventory: members({
    file: z.string(),
    sha256: sha256.describe("The SHA-256 of the file."),
    entries: count,
    approved: count.describe("How many entries were approved on the day of the check."),
  }),
  seen: members({
    sha256: sha256.describe("The SHA-256 of what was seen. `jq -jcS '[.scripts[].seen]'` writes its text."),
    scripts: count,
    hosts: texts
      .exactOptional()
      .describe("The check covers only pages on these hosts. If absent, it covers all pages."),
  }),
  judgedBy: members({ threshold: z.number(), expiringDays: count }).describe(
    "The limits for findings: scores below `threshold`, and approvals that expire in fewer than `expiringDays` days.",
  ),
  zones: z
    .array(
      members({
        zoneId: z.string(),
        scripts: count.describe("The number of scripts that Page Shield has seen."),
        problem: z
          .string()
          .exactOptional()
          .describe("Why the zone couldn't be checked, or why the check says nothing about today."),
      }),
    )
    .readonly(),
  findings: z
    .array(
      members({
        kind: z.enum(FINDINGS),
        zoneId: z.string(),
        url: z.string().exactOptional().describe("The script's URL. Absent if the item is about the zone."),
        host: z.string().exactOptional().describe("One of `seen.hosts`, if nothing was seen on its pages."),
        line: z.int().exactOptional().describe("The line of the entry that covers the script."),
        message: z.string(),
      }),
    )
    .readonly()
    .describe("Findings that fail the check, worst first."),
  notices: z
    .array(members({ kind: z.enum(NOTICES), script: z.string(), line: z.int(), message: z.string() }))
    .readonly()
    .describe("Notes that don't fail the check."),
  scripts: z
    .array(
      members({
        seen: members({
          zoneId: z.string(),
          url: z.string().describe("The script's URL, with any username and password hidden."),
          pages: texts.describe(
            "Where the script was first seen: pages if the plan shows them, otherwise hosts.",
          ),
          status: z.string().exactOptional(),
          firstSeenAt: z.string().exactOptional(),
          lastSeenAt: z.string().exactOptional(),
          fetchedAt: z
            .string()
            .exactOptional()
            .describe(
              "When Cloudflare last fetched the content for its hash; the oldest if there are several.",
            ),
          score: z
            .number()
            .exactOptional()
            .describe("The script's worst score, from 1 to 99; lower is worse."),
          threats: texts.describe("Categories of the threat lists that contain the script's URL or domain."),
          hashes: texts.describe(
            "The SHA-256 of the script's content. Several if Page Shield fetched different versions.",
          ),
        }),
        entry: members({
          script: z.string(),
          line: z.int(),
          justification: z.string().exactOptional(),
          owner: z.string().exactOptional(),
          approvedBy: z.string().exactOptional(),
          approvedOn: z.string().exactOptional(),
          approvedUntil: z.string().exactOptional(),
          expectedHash: z.string().exactOptional().describe("The expected content's SHA-256, or `changes`."),
        })
          .exactOptional()
          .describe("The entry that covers the script. Absent if none does."),
        approval: z
          .enum(APPROVALS)
          .describe("Whether the entry approves the script. `new`: no entry covers it."),
        content: z
          .enum(CONTENTS)
          .describe(
            "Whether the content is the expected one. `not watched`: the entry has no hash, or Page Shield has no hash for the script.",
          ),
        malicious: z.boolean(),
      }),
    )
    .readonly(),
  standard: z.literal("PCI DSS 4.0.1"),
  requirements: z
    .array(
      members({
        requirement: z.enum(["6.4.3", "11.6.1"]),
        element: z.string(),
        scope: z.string().describe("The part of the element that `standing` is about."),
        standing: z.enum(["evidenced", "partly", "not"]),
        why: z.string(),
      }),
    )
    .readonly()
    .describe("What this check shows about each element, for an auditor to judge."),
});
