import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { SCHEMAS } from "../../provider/schemas";
import { REPOSITORY } from "./repository";

const ajv = addFormats(new Ajv({ strict: true, allErrors: true, allowUnionTypes: true }));

/** Returns each problem that a published schema finds in a document, with its path. */
export function schemaProblems(name: string, document: unknown): string[] {
  if (!SCHEMAS.some((schema) => schema.name === name)) throw new Error(`provider/schemas.ts has no ${name}`);
  const path = join(REPOSITORY, "provider/schemas", `${name}.json`);
  const schema = JSON.parse(readFileSync(path, "utf8")) as { readonly $id: string };
  const validate = ajv.getSchema(schema.$id) ?? ajv.compile(schema);
  if (validate(document) === true) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = "", params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}
