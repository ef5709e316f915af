import { z } from "zod";
import { propertyPath } from "../runtime/inputs";
import { LookupError } from "../runtime/lookup";
import { isJsonObject } from "../runtime/values";

/** Version of the file's format. */
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
  version: z.number().refine((version): boolean => version === VERSION, `has to be ${VERSION}`),
  zoneId: z.string(),
  scripts: z.array(seenScript).exactOptional(),
  connections: z.array(seenConnection).exactOptional(),
  cookies: z.array(seenCookie).exactOptional(),
});

/** A script as a snapshot keeps it: what a reviewer judges by, without what changes from day to day. */
export type SeenScript = Readonly<z.infer<typeof seenScript>>;
export type SeenConnection = Readonly<z.infer<typeof seenConnection>>;
export type SeenCookie = Readonly<z.infer<typeof seenCookie>>;

/**
 * What a zone was seen to load, fit to be committed. Left out is what changes by itself: ids, the time last seen, hash
 * and time of the content, status, the pages. A mark of a threat list stands there only where it is true.
 */
export type Detections = Readonly<z.infer<typeof detections>>;

/**
 * A snapshot that has been looked at; `origin` names it in a sentence.
 *
 * @throws LookupError when it is none, or of a later version.
 */
export function toDetections(json: unknown, origin: string): Detections {
  const version = isJsonObject(json) ? json["version"] : undefined;
  if (typeof version === "number" && version > VERSION) {
    throw new LookupError(
      `${origin} has version ${version}, and this version of pulumi-edgeguard reads ${VERSION}: install a later one.`,
    );
  }
  const parsed = detections.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new LookupError(
    `${origin} is no snapshot of detections: ${propertyPath(issue?.path ?? [])} ${issue?.message ?? ""}. Write it again with \`edgeguard detections save\`.`,
  );
}
