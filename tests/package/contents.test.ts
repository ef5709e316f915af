import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { z } from "zod";
import { SCHEMAS } from "../../provider/schemas";
import { REPOSITORY } from "../support/repository";
import { blocksOf, programsOf } from "../support/documents";
import { declarations } from "../surface/declarations";

/** What `npm publish` would send, file by file. */

/** A guard against packing what nobody needs. */
const LIMIT_BYTES = 2_500_000;

const packed = z.array(
  z.object({
    name: z.string(),
    unpackedSize: z.number(),
    files: z.array(z.object({ path: z.string(), mode: z.number() })),
  }),
);
const published = z.object({
  license: z.string(),
  description: z.string(),
  engines: z.object({ node: z.string() }),
  main: z.string(),
  /** None: the engine starts the plugin, and no program imports it. */
  types: z.string().exactOptional(),
  bin: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])).default({}),
  repository: z.object({ url: z.string(), directory: z.string() }),
  scripts: z.object({ prepack: z.string() }),
  publishConfig: z.object({ access: z.literal("public"), provenance: z.literal(true) }),
});

const PACKAGES = packed.parse(
  JSON.parse(
    execFileSync("npm", ["pack", "--workspaces", "--dry-run", "--json", "--silent", "--ignore-scripts"], {
      cwd: REPOSITORY,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ),
);

/** What a package has besides code. */
const DATA: Readonly<Record<string, readonly string[]>> = {
  "pulumi-edgeguard": SCHEMAS.map(({ name }) => `schemas/${name}.json`),
  "pulumi-resource-edgeguard": ["PulumiPlugin.yaml", "schema.json"],
};

it("the repository publishes three packages", () => {
  expect(PACKAGES.map(({ name }) => name)).toEqual([
    "pulumi-edgeguard",
    "edgeguard-local",
    "pulumi-resource-edgeguard",
  ]);
});

describe.each([
  ["pulumi-edgeguard", "provider"],
  ["edgeguard-local", "local"],
  ["pulumi-resource-edgeguard", "plugin"],
])("the package %s", (name, folder) => {
  const directory = join(REPOSITORY, folder);
  const { files, unpackedSize } = PACKAGES.find((each) => each.name === name) ?? {
    files: [],
    unpackedSize: 0,
  };
  const written = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter(
    (path) => !/^(dist|node_modules)\//.test(path),
  );
  const sources = written.filter((path) => path.endsWith(".ts")).map((path) => path.replace(/\.ts$/, ""));
  const styles = written.filter((path) => path.endsWith(".css"));
  const manifest = published.parse(JSON.parse(readFileSync(join(directory, "package.json"), "utf8")));
  const entries = Object.values(manifest.exports).flatMap((each) =>
    typeof each === "string" ? [each] : Object.values(each),
  );
  const typed =
    name === "pulumi-edgeguard"
      ? declarations().map(({ path }) => relative(directory, path))
      : manifest.types === undefined
        ? []
        : sources.map((path) => `dist/${path}.d.ts`);
  const built = [...typed, ...sources.map((path) => `dist/${path}.js`)];
  const data = DATA[name] ?? [];
  // A checkout's dist keeps the build of sources that are gone; packing for npm begins with an empty one.
  const isLeftover = (path: string): boolean => /^dist\/.*\.(js|d\.ts)$/.test(path) && !built.includes(path);
  const paths = files.map(({ path }) => path).filter((path) => !isLeftover(path));

  it("contains its README, license, manifest, commands, schemas, styles and built code, and nothing else", () => {
    expect(paths.toSorted()).toEqual(
      [
        "LICENSE",
        "README.md",
        "package.json",
        ...Object.values(manifest.bin),
        ...data,
        ...styles,
        ...built,
      ].toSorted(),
    );
    expect(manifest.scripts.prepack).toMatch(/^rm -rf dist && /);
    expect(unpackedSize).toBeLessThan(LIMIT_BYTES);
  });

  it("contains its entry points, and doesn't refer to source maps, which aren't published", () => {
    for (const entry of [manifest.main, manifest.types ?? [], Object.values(manifest.bin), entries].flat()) {
      const [start = "", end = start] = withoutDot(entry).split("*");
      const found = paths.filter((path) => path.startsWith(start) && path.endsWith(end));
      expect([entry, found]).not.toEqual([entry, []]);
    }
    const mapped = paths.filter(
      (path) =>
        path.endsWith(".js") &&
        readFileSync(join(directory, path), "utf8").includes("\n//# sourceMappingURL="),
    );
    expect(mapped).toEqual([]);
  });

  it("installs its commands as executable files", () => {
    const commands = files.filter(({ path }) => Object.values(manifest.bin).includes(path));
    expect(commands.map(({ mode }) => mode & 0o111)).toEqual([0o111]);
  });

  it("states its license, the oldest supported Node.js, and the repository and directory that npm checks provenance against", () => {
    expect(manifest).toMatchObject({
      license: "Apache-2.0",
      engines: { node: ">=20.18.1" },
      repository: {
        url: "git+https://github.com/pulumi-edgeguard/pulumi-edgeguard.git",
        directory: folder,
      },
    });
    expect(readFileSync(join(directory, "LICENSE"))).toEqual(readFileSync(join(REPOSITORY, "LICENSE")));
  });

  it("has only absolute links in its README, which work on npm", () => {
    const links = [...readFileSync(join(directory, "README.md"), "utf8").matchAll(/\]\(([^)]+)\)/g)];
    expect(links.length).toBeGreaterThan(2);
    for (const [, href] of links) {
      expect(href).toMatch(/^https:\/\//);
      const path = /\/blob\/main\/(.+)$/.exec(href ?? "")?.[1];
      if (path !== undefined) expect(() => readFileSync(join(REPOSITORY, path))).not.toThrow();
    }
  });
});

/** As npm lists a path. */
function withoutDot(path: string): string {
  return path.replace(/^\.\//, "");
}

it("the package's README on npm starts with the same program as the repository's README", () => {
  expect(programsOf("provider/README.md")[0]).toEqual(programsOf("README.md")[0]);
  expect(blocksOf("local/README.md").map(({ language }) => language)).toEqual(["sh", "ts"]);
});
