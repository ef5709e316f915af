import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCHEMAS } from "../../provider/schemas";
import { schemaProblems } from "../support/published";
import { REPOSITORY } from "../support/repository";
import { schemaFiles } from "./schemas";

describe("among the published JSON schemas", () => {
  it.each(SCHEMAS.map(({ name }) => name))(
    "%s is a valid JSON Schema (draft 7) whose $id ends in the file's name",
    (name) => {
      expect(schemaProblems(name, undefined)).toHaveLength(1);
      const schema: unknown = JSON.parse(
        readFileSync(join(REPOSITORY, "provider/schemas", `${name}.json`), "utf8"),
      );
      expect(schema).toMatchObject({
        $schema: "http://json-schema.org/draft-07/schema#",
        $id: `https://unpkg.com/pulumi-edgeguard/schemas/${name}.json`,
      });
    },
  );

  it("every schema matches its model in the code; if not, run `npm run api`", () => {
    for (const [path, text] of schemaFiles())
      expect([path, readFileSync(path, "utf8")]).toEqual([path, text]);
  });
});
