import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { schemaUrl } from "../../provider/basics/published";
import { SCHEMAS, type PublishedSchema } from "../../provider/schemas";
import { REPOSITORY } from "../support/repository";

/** The published JSON schemas, written from their models. */

const FOLDER = join(REPOSITORY, "provider/schemas");

/** Returns each file's path and text. The text of a file without a model is undefined. */
export function schemaFiles(): ReadonlyMap<string, string | undefined> {
  const present = existsSync(FOLDER) ? readdirSync(FOLDER) : [];
  return new Map([
    ...present.map((file) => [join(FOLDER, file), undefined] as const),
    ...SCHEMAS.map(
      (schema) =>
        [join(FOLDER, `${schema.name}.json`), `${JSON.stringify(schemaOf(schema), undefined, 2)}\n`] as const,
    ),
  ]);
}

/** Returns a schema of draft 7, which every editor knows. */
export function schemaOf({ name, title, description, model }: PublishedSchema): object {
  const { $schema, ...schema } = z.toJSONSchema(model, {
    target: "draft-7",
    io: "input",
    unrepresentable: "any", // Such a model says in its metadata what it's written as.
    override: ({ jsonSchema }) => {
      delete jsonSchema.readOnly; // It's about the type, not about the document.
    },
  });
  return { $schema, $id: schemaUrl(name), title, description, ...schema };
}
