import { z } from "zod";
import { propertyPath } from "../runtime/inputs";
import { LookupError } from "../runtime/lookup";
import { isJsonObject } from "../runtime/values";

/** Version of the file format. */
export const VERSION = 1;

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

const detections = z.strictObject({
  version: z.number().refine((version): boolean => version === VERSION, `must be ${VERSION}`),
  zoneId: z.string(),
  scripts: z.array(seenScript).exactOptional(),
  connections: z.array(seenConnection).exactOptional(),
  cookies: z.array(seenCookie).exactOptional(),
});

/** A script in saved detections: what a reviewer needs, without what changes from day to day. */
export type SeenScript = Readonly<z.infer<typeof seenScript>>;
/** A connection in saved detections. */
export type SeenConnection = Readonly<z.infer<typeof seenConnection>>;
/** A cookie in saved detections. */
export type SeenCookie = Readonly<z.infer<typeof seenCookie>>;

/**
 * The saved detections of a zone, fit to be committed. They omit what changes by itself: IDs, when a detection was last
 * seen, the hash and time of its content, its status and its pages. Threat list marks are present only if true.
 */
export type Detections = Readonly<z.infer<typeof detections>>;

/**
 * Validates saved detections.
 *
 * @param origin names them in messages.
 * @throws LookupError if they are invalid or of a later version.
 */
export function toDetections(json: unknown, origin: string): Detections {
  const version = isJsonObject(json) ? json["version"] : undefined;
  if (typeof version === "number" && version > VERSION) {
    throw new LookupError(
      `${origin} has format version ${version}, but this pulumi-edgeguard reads only ${VERSION}. Install a later release.`,
    );
  }
  const parsed = detections.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = propertyPath(issue?.path ?? []);
  const reason = (issue?.message ?? "").replace(/^I/, "i");
  throw new LookupError(
    `${origin} is not a snapshot of detections: ${where === "" ? "" : `${where}: `}${reason}. Write it again with \`edgeguard detections save\`.`,
  );
}
