import { z } from "zod";
import { EFFECTS } from "../../provider/report/effects";
import { PLACES } from "../../provider/report/sections/section";
import { LIFECYCLES } from "../support/lifecycles";

/** The table of effects has a row for every argument, and no others. */

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
  "the table of effects has a row for every argument of %s, and no others",
  (type, args) => {
    const rows = Object.keys(EFFECTS[type] ?? {});
    expect([...new Set(pathsOf(args, "", rows))].sort()).toEqual([...rows].sort());
  },
);

test("an argument without a row in the table of effects is found at any depth", () => {
  const nested = z.object({ owasp: z.object({ paranoiaLevel: z.number(), later: z.boolean() }).optional() });
  const rows = Object.keys(EFFECTS["ManagedRulesetOverride"] ?? {});
  expect(pathsOf(nested, "", rows)).toEqual(["owasp.paranoiaLevel", "owasp.later"]);
});

test("every argument in the table of effects has comparisons, unless its effect is neutral", () => {
  for (const rows of Object.values(EFFECTS))
    for (const [path, { is, judges }] of Object.entries(rows))
      expect({ path, isJudged: judges.length > 0 }).toEqual({ path, isJudged: is !== "neutral" });
});

test("an unknown value of any argument that replaces an object may be another place", () => {
  const replacing = new Set(LIFECYCLES.flatMap(({ replaceOn }) => replaceOn));
  expect([...PLACES].sort()).toEqual([...replacing].sort());
});
