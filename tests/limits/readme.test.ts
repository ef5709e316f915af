import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../support/engine";
import { limitsMarkdown } from "../support/limits-markdown";

test("the tables of the README are those that the code acts on", () => {
  const readme = readFileSync(join(REPOSITORY, "README.md"), "utf8");
  const shown = /<!-- limits -->\n\n([^]*?)\n\n<!-- \/limits -->/.exec(readme)?.[1];
  // To mend it, put what is expected here between the two marks.
  expect(shown).toBe(limitsMarkdown());
});

test("the section on the command line and the limits takes less than two screens", () => {
  const readme = readFileSync(join(REPOSITORY, "README.md"), "utf8");
  const section = /^## Command line and limits\n[^]*?(?=^## )/m.exec(readme)?.[0] ?? "";
  expect(section.split("\n").length).toBeLessThan(100);
});
