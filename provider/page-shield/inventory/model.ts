import type { LiteralUnion } from "../../runtime/fields";
import type { InventoryEntry } from "./file";

/** The result of an inventory check, as a program gets it and as JSON. */

/** What a low score or a threat list can mean for a script, worst first. */
export const THREATS = ["malicious", "suspicious", "false positive"] as const;

/** Whether an entry approves a script on the day of the check. `new` means that no entry covers the script. */
export type ApprovalState = "approved" | "expiring" | "expired" | "not yet approved" | "unapproved" | "new";
/**
 * Whether a script's content matches the expected hash. `not watched` means there's no hash to compare, in either the
 * entry or Page Shield.
 */
export type ContentState = "unchanged" | "changed" | "expected to change" | "not watched";
/** The kind of problem that makes a check fail. */
export type FindingKind =
  | "malicious"
  | "suspicious"
  | "new"
  | "unapproved"
  | "expired"
  | "changed"
  | "expiring"
  | "off"
  | "not read"
  | "nothing seen"
  | "stale";
/** The kind of note that doesn't make a check fail. */
export type NoticeKind = "not seen" | "no justification" | "no owner";

/** A problem that makes a check fail. */
export interface InventoryFinding {
  /** The kind of problem. */
  readonly kind: FindingKind;
  /** The zone. */
  readonly zoneId: string;
  /** The script. Absent if the finding is about the zone. */
  readonly url?: string;
  /** The requested host on which no scripts were seen. Absent for other findings. */
  readonly host?: string;
  /** The line of the entry that covers the script. */
  readonly line?: number;
  /** The problem, and what to do about it. */
  readonly message: string;
}

/** A note about an entry. It doesn't make the check fail. */
export interface InventoryNotice {
  /** The kind of note. */
  readonly kind: NoticeKind;
  /** The entry's `script`, as it's written in the file. */
  readonly script: string;
  /** The line of the entry. */
  readonly line: number;
  /** The note, and what to do about it. */
  readonly message: string;
}

/** A script that Page Shield has seen in a zone. */
export interface InventoriedScript {
  /** The zone. */
  readonly zoneId: string;
  /** The script's URL, with any username and password hidden. */
  readonly url: string;
  /** Where the script was first seen: page URLs if the plan includes them, otherwise hosts. */
  readonly pages: readonly string[];
  /** How recently and how often the script was seen. */
  readonly status?: LiteralUnion<"active" | "infrequent">;
  /** When the script was first seen, in ISO 8601. */
  readonly firstSeenAt?: string;
  /** When the script was last seen, in ISO 8601. */
  readonly lastSeenAt?: string;
  /**
   * When Cloudflare last fetched the content to compute its hash, in ISO 8601. If several hosts load the script, the
   * earliest of their times.
   */
  readonly fetchedAt?: string;
  /** The script's worst score, from 1 to 99; lower is worse. */
  readonly score?: number;
  /** Categories of the threat lists that contain the script's URL or domain. */
  readonly threats: readonly string[];
  /**
   * The SHA-256 of the script's content. There are several if Page Shield fetched different versions, and none if it
   * has no hash.
   */
  readonly hashes: readonly string[];
}

/** A script, compared with the inventory. */
export interface CheckedScript {
  /** What Page Shield has seen of the script. */
  readonly seen: InventoriedScript;
  /** The entry that covers the script. Absent if none does. */
  readonly entry?: InventoryEntry;
  /** Whether the entry approves the script. */
  readonly approval: ApprovalState;
  /** Whether the script's content matches the expected hash. */
  readonly content: ContentState;
  /**
   * `malicious` with a score below 10 or on a threat list, `suspicious` with another score below the threshold, even if
   * the script is approved. `false positive` if the entry accepts the score. Absent otherwise.
   */
  readonly threat?: (typeof THREATS)[number];
}

/** A zone that was checked. */
export interface CheckedZone {
  /** The zone. */
  readonly zoneId: string;
  /** The number of scripts that Page Shield has seen. */
  readonly scripts: number;
  /** Why the zone couldn't be checked, or why its detections aren't current. */
  readonly problem?: string;
}

/** What a check shows about one part of a PCI DSS requirement. */
export interface RequirementStanding {
  /** The number of the PCI DSS requirement. */
  readonly requirement: "6.4.3" | "11.6.1";
  /** A short summary of what this part of the requirement demands. */
  readonly element: string;
  /** What `standing` is about, such as external scripts or HTTP headers. */
  readonly scope: string;
  /** Whether the check is evidence that `scope` meets this part of the requirement. */
  readonly standing: "evidenced" | "partly" | "not";
  /** The reason for `standing`. */
  readonly why: string;
}

/** The result of comparing a script inventory with what Page Shield has seen. */
export interface InventoryCheck {
  /** When the check ran, in ISO 8601. */
  readonly checkedAt: string;
  /** True if there are no findings. */
  readonly passed: boolean;
  /** The inventory: its file, the file's SHA-256, how many entries it has, and how many are approved. */
  readonly inventory: {
    readonly file: string;
    readonly sha256: string;
    readonly entries: number;
    readonly approved: number;
  };
  /**
   * What was seen: the SHA-256 of `scripts[].seen`, the number of scripts, and the hosts whose pages were checked. If
   * `hosts` is absent, all pages were checked.
   */
  readonly seen: { readonly sha256: string; readonly scripts: number; readonly hosts?: readonly string[] };
  /**
   * The check's limits: a score below `threshold` is a finding, and so is an approval that expires in fewer than
   * `expiringDays` days.
   */
  readonly judgedBy: { readonly threshold: number; readonly expiringDays: number };
  /** The zones, in the order given. */
  readonly zones: readonly CheckedZone[];
  /** Findings that make the check fail, worst first. */
  readonly findings: readonly InventoryFinding[];
  /** Notes that don't make the check fail. */
  readonly notices: readonly InventoryNotice[];
  /** Every script that was seen, by zone and URL. */
  readonly scripts: readonly CheckedScript[];
  /** The standard that `requirements` refers to. */
  readonly standard: "PCI DSS 4.0.1";
  /** What this check shows about each part of the requirements. An assessor decides whether that's enough. */
  readonly requirements: readonly RequirementStanding[];
}
