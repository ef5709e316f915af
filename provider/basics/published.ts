import { z } from "zod";

/**
 * Files that users write for this package, and JSON that this package writes for other tools. Each has a zod model,
 * from which `npm run api` writes a JSON schema to `provider/schemas`.
 */

/** Returns the schema of an object in a published document. Unknown properties are errors. */
export const members = <S extends z.ZodRawShape>(shape: S): z.ZodReadonly<z.ZodObject<S, z.core.$strict>> =>
  z.strictObject(shape).readonly();

/**
 * Returns the URL of one of the package's published schemas. It's the schema's `$id`, and the `$schema` of documents
 * that use it.
 */
export const schemaUrl = <Name extends string>(name: Name): SchemaUrl<Name> =>
  `https://unpkg.com/pulumi-edgeguard/schemas/${name}.json`;
export type SchemaUrl<Name extends string> = `https://unpkg.com/pulumi-edgeguard/schemas/${Name}.json`;
