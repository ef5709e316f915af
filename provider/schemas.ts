import type { z } from "zod";
import { inventoryDocument } from "./page-shield/inventory/file";
import { DRIFT_SCHEMA, driftDocument } from "./report/drift/model";
import { REPORT_SCHEMA, reportDocument } from "./report/model";
import { survey } from "./survey/model";

export interface PublishedSchema {
  /**
   * The name of the file in `provider/schemas`, without `.json`. An incompatible change needs a new version, because
   * users rely on the old one.
   */
  readonly name: `${string}.v${number}`;
  readonly title: string;
  readonly description: string;
  /**
   * The zod model of the document. It has no transforms, and no defaults that depend on the run, because the schema
   * describes the text as written.
   */
  readonly model: z.ZodType;
}

/** Every document that has a published JSON schema. `npm run api` writes the files. */
export const SCHEMAS: readonly PublishedSchema[] = [
  {
    name: REPORT_SCHEMA,
    title: "Report on a plan",
    description: "The output of `edgeguard report --format json`, for one or more stacks.",
    model: reportDocument,
  },
  {
    name: "survey.v1",
    title: "Survey of zones",
    description: "The survey.json that `edgeguard survey` writes.",
    model: survey,
  },
  {
    name: "script-inventory.v1",
    title: "Script inventory",
    description:
      "The scripts that your pages may load, with justification, owner and approval, for `edgeguard inventory`.",
    model: inventoryDocument,
  },
  {
    name: DRIFT_SCHEMA,
    title: "Report on drift",
    description: "The output of `edgeguard report --drift --format json`: what was changed manually.",
    model: driftDocument,
  },
];
