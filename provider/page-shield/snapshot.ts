import { z } from "zod";
import { propertyPath } from "../runtime/inputs";
import { LookupError } from "../runtime/lookup";
import { isJsonObject } from "../runtime/values";

/** Version of the file format. */
export const VERSION = 1;

/** The threat list flags of a script or connection. Each flag is present only if true. */
interface Reported {
  /** Whether the domain is on a threat list. */
  readonly domainReportedMalicious?: boolean;
  /** The threat list's categories for the domain. */
  readonly maliciousDomainCategories?: readonly string[];
  /** Whether the URL is on a threat list. */
  readonly urlReportedMalicious?: boolean;
  /** The threat list's categories for the URL. */
  readonly maliciousUrlCategories?: readonly string[];
}

/** A connection in saved detections. */
export interface SeenConnection extends Reported {
  /** The URL. It includes the path only with `useConnectionUrlPath`. */
  readonly url: string;
  /** The hostname of the page on which the detection was seen. */
  readonly host: string;
  /** The page on which the detection was first seen: host and path, without a scheme. */
  readonly firstPageUrl?: string;
  /** When the detection was first seen, in ISO 8601. */
  readonly firstSeenAt?: string;
}

/** A script in saved detections. Contains what a reviewer needs, but nothing that changes from day to day. */
export interface SeenScript extends SeenConnection {
  /** The score that decides whether the script is malicious: see `isMalicious`. */
  readonly jsIntegrityScore?: number;
}

/** A cookie in saved detections. */
export interface SeenCookie {
  /** The cookie's name. */
  readonly name: string;
  /** The hostname of the page on which the detection was seen. */
  readonly host: string;
  /** Who set the cookie. */
  readonly type?: string;
  /** The cookie's `Domain` attribute. */
  readonly domainAttribute?: string;
  /** The cookie's `Path` attribute. */
  readonly pathAttribute?: string;
  /** The cookie's `SameSite` attribute. */
  readonly sameSiteAttribute?: string;
  /** Whether the cookie has the `Secure` attribute. */
  readonly secureAttribute?: boolean;
  /** Whether the cookie has the `HttpOnly` attribute. */
  readonly httpOnlyAttribute?: boolean;
  /** When the detection was first seen, in ISO 8601. */
  readonly firstSeenAt?: string;
}

/**
 * A zone's saved detections, in a form that you can commit. They omit everything that changes on its own: IDs, when a
 * detection was last seen, the hash and time of its content, its status and its pages. Threat list flags are present
 * only if true.
 */
export interface Detections {
  /** Version of the file format. */
  readonly version: number;
  /** The zone's ID (32 hex digits). */
  readonly zoneId: string;
  /** The scripts, if they were saved. */
  readonly scripts?: readonly SeenScript[];
  /** The connections, if they were saved. */
  readonly connections?: readonly SeenConnection[];
  /** The cookies, if they were saved. */
  readonly cookies?: readonly SeenCookie[];
}

const reported = {
  domainReportedMalicious: z.boolean().exactOptional(),
  maliciousDomainCategories: z.array(z.string()).exactOptional(),
  urlReportedMalicious: z.boolean().exactOptional(),
  maliciousUrlCategories: z.array(z.string()).exactOptional(),
};

const seenConnection = z.strictObject({
  url: z.string(),
  host: z.string(),
  firstPageUrl: z.string().exactOptional(),
  firstSeenAt: z.string().exactOptional(),
  ...reported,
});

const seenScript = z.strictObject({
  ...seenConnection.shape,
  jsIntegrityScore: z.number().exactOptional(),
});

const seenCookie = z.strictObject({
  name: z.string(),
  host: z.string(),
  type: z.string().exactOptional(),
  domainAttribute: z.string().exactOptional(),
  pathAttribute: z.string().exactOptional(),
  sameSiteAttribute: z.string().exactOptional(),
  secureAttribute: z.boolean().exactOptional(),
  httpOnlyAttribute: z.boolean().exactOptional(),
  firstSeenAt: z.string().exactOptional(),
});

const detections: z.ZodType<Detections> = z.strictObject({
  version: z.number().refine((version): boolean => version === VERSION, `must be ${VERSION}`),
  zoneId: z.string(),
  scripts: z.array(seenScript).exactOptional(),
  connections: z.array(seenConnection).exactOptional(),
  cookies: z.array(seenCookie).exactOptional(),
});

/**
 * Validates saved detections.
 *
 * @param origin the file or argument that contains the detections, for messages.
 * @throws LookupError if the detections are invalid or were saved by a later version.
 */
export function toDetections(json: unknown, origin: string): Detections {
  const version = isJsonObject(json) ? json["version"] : undefined;
  if (typeof version === "number" && version > VERSION) {
    throw new LookupError(
      `${origin} has format version ${version}, but this release of pulumi-edgeguard reads only version ${VERSION}. Install a later release.`,
    );
  }
  const parsed = detections.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = propertyPath(issue?.path ?? []);
  const reason = (issue?.message ?? "").replace(/^I/, "i");
  throw new LookupError(
    `${origin} is not a snapshot of detections: ${where === "" ? "" : `${where}: `}${reason}. Save it again with \`edgeguard detections save\`.`,
  );
}
