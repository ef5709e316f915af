import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { transform } from "sucrase";
import { RESOURCE_PERMISSIONS } from "../../provider/api/permissions";
import { type Example, examples } from "../support/docstrings";
import { Project } from "../support/engine";

/** The examples of the resources are programs: one preview runs all of them against the local API. */

const RESOURCES = Object.keys(RESOURCE_PERMISSIONS);
const EXAMPLES = examples().filter(({ name }) => RESOURCES.includes(name));
const ZONE = "0da42c8d2132a9ddaf714f9e7c920711";

const api = apiPerFile();
let project: Project;
beforeAll(() => {
  project = new Project(LOCAL_ENGINE, "examples");
});
afterAll(() => project.remove());

/** The examples share a stack: each gets a zone, resource names and namespace titles of its own. */
function inOneStack({ code, name }: Example, index: number): string {
  const { shop, blog, small, free, empty, migratePro, migrateEnterprise, ...others } = api.zones;
  const plain = [shop, empty, small, blog, ...Object.values(others), free];
  const zones = name === "WafMigration" ? [migrateEnterprise, migratePro] : plain;
  const nth = EXAMPLES.filter((each) => each.name === name).findIndex((each) => each.code === code);
  return code
    .replaceAll(ZONE, zones[nth] ?? empty)
    .replace(/new (\w+)\(\s*"([^"]+)"/g, `new $1("$2-${index}"`)
    .replace(/\btitle: "([^"]+)"/g, `title: "$1-${index}"`);
}

/** The files that an example reads. */
function writeFilesOf({ code }: Example): void {
  for (const [, file = ""] of code.matchAll(/\bfile: "([^"]+)"/g))
    writeFileSync(join(project.dir, file), '[{ "key": "product/kettle", "value": "1" }]');
  for (const [, folder = ""] of code.matchAll(/\b(?:directory|path): "([^"/]+)"/g)) {
    mkdirSync(join(project.dir, folder), { recursive: true });
    writeFileSync(join(project.dir, folder, "index.html"), "<h1>Shop</h1>");
  }
}

test("every resource has at least two examples", () => {
  const counts = RESOURCES.map(
    (name) => [name, EXAMPLES.filter((each) => each.name === name).length] as const,
  );
  expect(counts.filter(([, count]) => count < 2)).toEqual([]);
});

test("every resource's examples can be previewed against the local API", async () => {
  EXAMPLES.forEach(writeFilesOf);
  const settings = [
    ...EXAMPLES.map(({ code }) => code)
      .join("\n")
      .matchAll(/\.require(?:Secret)?\("(\w+)"\)/g),
  ];
  await project.init({
    "edgeguard:baseUrl": api.url,
    "edgeguard:apiToken": "local-token",
    ...Object.fromEntries(settings.map(([, key = ""]) => [key, "a-value"])),
  });
  EXAMPLES.forEach((each, index) => {
    const { code } = transform(inOneStack(each, index), { transforms: ["typescript", "imports"] });
    writeFileSync(join(project.dir, `example-${index}.js`), code);
  });
  project.write(EXAMPLES.map((_, index) => `import "./example-${index}";`).join("\n"));
  const { code, text } = await project.run("preview");
  expect(text).not.toMatch(/^error|live checks? skipped/im);
  expect(code).toBe(0);
});
