import { measure, table } from "../../.ci/size";

const DIFF = `/** Says what changed. */
import { check, type Shown } from "../runtime/check";

// Not a line of code.
export function diff(shown: Shown): string {
  /* Neither
     is this. */
  return \`\${check(shown)}

a line of a template\`;
}
`;
const CHECK = "export type Shown = string;\nexport const check = (shown: Shown): Shown => shown;\n";

describe("npm run size", () => {
  const sizes = measure([
    ["provider/kv/diff.ts", DIFF],
    ["provider/runtime/check.ts", CHECK],
    ["tests/kv/diff.test.ts", 'import { check } from "../../provider/runtime/check";\ncheck("");\n'],
  ]);

  it("counts lines with code, and neither comments nor blank lines", () => {
    expect(sizes.get("provider/kv")).toMatchObject({ files: 1, lines: 5 });
    expect(sizes.get("provider")).toMatchObject({ files: 2, lines: 7 });
  });

  it("names the longest function of a folder", () => {
    expect(sizes.get("provider")?.longest).toEqual({ name: "diff", file: "provider/kv/diff.ts", lines: 4 });
  });

  it("counts the names of provider/runtime that another folder imports", () => {
    expect(sizes.get("provider")?.concepts.size).toBe(2);
    expect(sizes.get("provider/runtime")?.concepts.size).toBe(0);
    expect(sizes.get("tests")?.concepts.size).toBe(1);
  });

  it("shows each number before, now and the difference, also of a folder that is gone", () => {
    const before = measure([["provider/old/all.ts", DIFF]]);
    const rows = table(sizes, before)
      .split("\n")
      .map((row) => row.split(/ {2,}/));
    expect(rows).toContainEqual([
      "provider",
      "5",
      "7",
      "+2",
      "1",
      "2",
      "+1",
      "2",
      "2",
      "4 diff (provider/kv/diff.ts)",
    ]);
    expect(rows).toContainEqual(["provider/old", "5", "0", "-5", "1", "0", "-1", "2", "0", "-2"]);
  });
});
