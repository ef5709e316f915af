import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";

/**
 * `npm run release prepare 1.2.0` writes the version and the date of a release into the repository, for a pull request.
 * `npm run release notes v1.2.0` prints the notes of a tag, and fails if the tag isn't what the repository has.
 */

const REPOSITORY = resolve(__dirname, "..");
/** The published packages. */
const FOLDERS = ["provider", "local", "plugin"];
const VERSION = /^\d+\.\d+\.\d+$/;
const UNRELEASED = "## Unreleased\n";

/** The changelog with its unreleased changes under a version. */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  if (!VERSION.test(version)) throw new Error(`"${version}" is not a version such as 1.2.0.`);
  if (changelog.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has ${version} already.`);
  if (notesUnder(changelog, UNRELEASED.trim()) === "")
    throw new Error('CHANGELOG.md has nothing under "Unreleased": write what changed.');
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} – ${date}\n`);
}

/** What the changelog says about the version of a tag, which has to be the packages' version. */
export function notesOf(changelog: string, tag: string, versions: Readonly<Record<string, string>>): string {
  const version = tag.replace(/^v/, "");
  for (const [name, each] of Object.entries(versions))
    if (tag !== `v${each}`) throw new Error(`The tag is ${tag}, but ${name} is ${each}: tag v${each}.`);
  const heading = changelog.split("\n").find((line) => line.startsWith(`## ${version} `));
  const notes = heading === undefined ? "" : notesUnder(changelog, heading);
  if (notes === "")
    throw new Error(`CHANGELOG.md has no notes for ${version}: \`npm run release prepare ${version}\`.`);
  return notes;
}

function notesUnder(changelog: string, heading: string): string {
  const [, after = ""] = changelog.split(`\n${heading}\n`);
  return (after.split(/^## /m)[0] ?? "").trim();
}

function prepare(version: string): void {
  const changelog = join(REPOSITORY, "CHANGELOG.md");
  const released = releasedChangelog(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10));
  const before = versionsOf()["pulumi-edgeguard"] ?? "";
  const manifests = FOLDERS.map((folder) => `${folder}/package.json`);
  for (const path of ["package.json", ...manifests, "plugin/schema.json"])
    rewrite(path, (text) => text.replace(`"version": "${before}"`, `"version": "${version}"`));
  const examples = readdirSync(join(REPOSITORY, "examples"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("package.json") && !path.includes("node_modules"))
    .map((path) => join("examples", path));
  for (const path of [...manifests, ...examples])
    rewrite(path, (text) =>
      text.replace(
        /("(?:pulumi-edgeguard|edgeguard-local|pulumi-resource-edgeguard)": "\^)[\d.]+"/g,
        `$1${version}"`,
      ),
    );
  rewrite("provider/version.ts", (text) => text.replace(`"${before}"`, `"${version}"`));
  execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: REPOSITORY,
    stdio: ["ignore", "ignore", "inherit"],
  });
  writeFileSync(changelog, released);
}

const manifest = z.object({ name: z.string(), version: z.string() });

function versionsOf(): Record<string, string> {
  const all = FOLDERS.map((each) => manifest.parse(JSON.parse(read(`${each}/package.json`))));
  return Object.fromEntries(all.map(({ name, version }) => [name, version]));
}

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

function rewrite(path: string, edit: (text: string) => string): void {
  writeFileSync(join(REPOSITORY, path), edit(read(path)));
}

function main([command, argument = ""]: readonly string[]): void {
  if (command === "prepare") prepare(argument);
  else if (command === "notes")
    process.stdout.write(`${notesOf(read("CHANGELOG.md"), argument, versionsOf())}\n`);
  else throw new Error("Usage: npm run release prepare 1.2.0, or npm run release notes v1.2.0");
}

if (require.main === module) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
