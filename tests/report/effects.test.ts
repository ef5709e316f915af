import { z } from "zod";
import { JUDGES } from "../../provider/report/effects";
import { PLACES } from "../../provider/report/sections/section";
import { LIFECYCLES } from "../support/lifecycles";

/** The table of judges has a row for every argument, and no others. */

/** The path of every argument. A path that has a row isn't descended into. */
function pathsOf(schema: unknown, path: string, rows: readonly string[]): string[] {
  if (rows.includes(path)) return [path];
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, member]) =>
      pathsOf(member, path === "" ? name : `${path}.${name}`, rows),
    );
  }
  if (schema instanceof z.ZodArray) return pathsOf(schema.element, `${path}[]`, rows);
  const member = schema instanceof z.ZodType ? schema.meta()?.["member"] : undefined;
  if (member !== undefined) return pathsOf(member, `${path}{}`, rows);
  if (schema instanceof z.ZodPipe) {
    // One side of it is a function.
    const { in: given, out } = schema.def;
    return pathsOf(given instanceof z.ZodTransform ? out : given, path, rows);
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => pathsOf(option, path, rows));
  // Optional, with a default, and the like.
  if (schema instanceof z.ZodType && "innerType" in schema.def)
    return pathsOf(schema.def.innerType, path, rows);
  return [path];
}

test.each(LIFECYCLES.map((lifecycle) => [lifecycle.type, lifecycle.args] as const))(
  "the table of judges has a row for every argument of %s, and no others",
  (type, args) => {
    const rows = Object.keys(JUDGES[type] ?? {});
    expect([...new Set(pathsOf(args, "", rows))].sort()).toEqual([...rows].sort());
  },
);

test("an argument without a row in the table of judges is found at any depth", () => {
  const nested = z.object({ owasp: z.object({ paranoiaLevel: z.number(), later: z.boolean() }).optional() });
  const rows = Object.keys(JUDGES["ManagedRulesetOverride"] ?? {});
  expect(pathsOf(nested, "", rows)).toEqual(["owasp.paranoiaLevel", "owasp.later"]);
});

test("an unknown value of any argument that replaces an object may be another place", () => {
  const replacing = new Set(LIFECYCLES.flatMap(({ replaceOn }) => replaceOn));
  expect([...PLACES].sort()).toEqual([...replacing].sort());
});
