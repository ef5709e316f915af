import { z } from "zod";
import { members, schemaUrl } from "../../basics/published";
import { block, message, named, phrase } from "../model";

/** The name of the document's schema. */
export const DRIFT_SCHEMA = "drift.v1";

const found = z
  .enum(["changed", "gone"])
  .describe("`changed`: changed manually. `gone`: no longer exists on Cloudflare.");

const change = members({
  property: z.string().describe("The argument's path, such as `outputOptions.sampleRate`."),
  before: phrase.describe("The value in the state."),
  now: phrase.describe("The value on Cloudflare."),
  planned: phrase
    .optional()
    .describe("The value the program now declares, if it differs from the value in the state."),
});
export type DriftChange = z.output<typeof change>;

const resource = members({
  found,
  kind: z.string().describe("The class, such as `KvEntries`."),
  name: z.string(),
  summary: phrase.describe("One line of text, shown after the name."),
  changes: z.array(change).readonly().describe("What was changed manually. Empty if the object is gone."),
  lost: z
    .array(phrase)
    .readonly()
    .describe("How the manual change reduced protection, logging or stored data."),
  gained: z
    .array(phrase)
    .readonly()
    .describe("What protection or logging you lose if the change is undone, and what that blocks."),
  concerns: phrase.describe("Who should know about the change."),
  update: phrase.describe("What `pulumi up --refresh` does about it."),
  keep: members({
    how: phrase,
    code: z.array(z.string()).readonly().describe("Code to put in the program. Empty if none is needed."),
  }).describe("How to keep the manual change."),
  language: z.enum(["ts", "yaml"]).describe("The language of the code: `yaml` for the provider plugin."),
  details: z
    .array(block)
    .readonly()
    .describe("More about the change, depending on the class: for a policy, its directives."),
});
export type DriftedResource = z.output<typeof resource>;

const other = members({
  found,
  type: z.string().describe("The full type."),
  name: z.string(),
  properties: z
    .array(z.string())
    .readonly()
    .describe("The names of the changed properties. Their values may be secret, so they're left out."),
});
export type OtherDrift = z.output<typeof other>;

/** What `--drift --format json` writes. */
export const driftDocument = members({
  $schema: z.literal(schemaUrl(DRIFT_SCHEMA)),
  title: z.string().describe("The stack's name: `project/stack`."),
  drifted: z
    .boolean()
    .describe("Whether anything was changed manually. If so, the command's exit code is 3."),
  counts: members({
    changed: z.int().min(0),
    gone: z.int().min(0),
    asRecorded: z.int().min(0).describe("How many resources match the state."),
    uncompared: z
      .int()
      .min(0)
      .describe(
        "How many resources were compared only in part. `notes` says which, and how to compare the rest.",
      ),
  }).describe("How many resources were refreshed, including other providers'."),
  notes: z.array(phrase).readonly().describe("Caveats about the refresh as a whole."),
  errors: z.array(message).readonly().describe("Why the preview failed. Empty if it didn't."),
  warnings: z.array(message).readonly(),
  newVersions: z
    .array(message)
    .readonly()
    .describe("What new versions of managed rulesets mean for the stack's deployments. This isn't drift."),
  resources: z.array(resource).readonly(),
  others: z.array(other).readonly().describe("Other providers' resources that were changed manually."),
  pending: z
    .array(named)
    .readonly()
    .describe("Changes that the program makes to resources that nobody changed manually. This isn't drift."),
});
/** A report on drift before formatting. */
export type DriftReport = Omit<z.output<typeof driftDocument>, "$schema">;
