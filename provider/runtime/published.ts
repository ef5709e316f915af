import { z } from "zod";

/**
 * Documents for other tools: files that a company writes for this package, and JSON that this package writes. A zod
 * model is the source of each; `npm run api` writes its JSON schema to `provider/schemas`.
 */

/** Returns the schema of an object in a published document. An unknown member is an error. */
export const members = <S extends z.ZodRawShape>(shape: S): z.ZodReadonly<z.ZodObject<S, z.core.$strict>> =>
  z.strictObject(shape).readonly();

/** Returns the address of a schema of the published package: its `$id`, and the `$schema` of documents that follow it. */
export const schemaUrl = <Name extends string>(name: Name): SchemaUrl<Name> =>
  `https://unpkg.com/pulumi-edgeguard/schemas/${name}.json`;
export type SchemaUrl<Name extends string> = `https://unpkg.com/pulumi-edgeguard/schemas/${Name}.json`;
