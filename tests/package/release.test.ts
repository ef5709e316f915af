import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { parse } from "yaml";
import { z } from "zod";
import { notesOf, releasedChangelog } from "../../.ci/release";
import { REPOSITORY } from "../support/repository";

const CHANGELOG = `# Changelog

## Unreleased

- Something new.

## 0.1.0 – 2026-01-02

### Added

- Everything.
`;
const VERSIONS = { "pulumi-edgeguard": "0.1.0", "edgeguard-local": "0.1.0" };

describe("preparing a release", () => {
  it("moves the unreleased changes under a heading with the version and date", () => {
    const changelog = releasedChangelog(CHANGELOG, "0.2.0", "2026-03-04");
    expect(changelog).toContain("## Unreleased\n\n## 0.2.0 – 2026-03-04\n\n- Something new.\n\n## 0.1.0 –");
    expect(notesOf(changelog, "v0.2.0", { "pulumi-edgeguard": "0.2.0" })).toBe("- Something new.");
  });

  it("fails for an invalid version, an existing version, or a release without changes", () => {
    expect(() => releasedChangelog(CHANGELOG, "v0.2.0", "2026-03-04")).toThrow('"v0.2.0" is not a version');
    expect(() => releasedChangelog(CHANGELOG, "0.1.0", "2026-03-04")).toThrow("has 0.1.0 already");
    const empty = CHANGELOG.replace("- Something new.\n\n", "");
    expect(() => releasedChangelog(empty, "0.2.0", "2026-03-04")).toThrow('nothing under "Unreleased"');
  });

  it("works with this repository's changelog", () => {
    const changelog = readFileSync(join(REPOSITORY, "CHANGELOG.md"), "utf8");
    const released = releasedChangelog(changelog, "999.0.0", "2026-03-04");
    expect(notesOf(released, "v999.0.0", { "pulumi-edgeguard": "999.0.0" })).toMatch(/^###? \w/);
  });
});

describe("the release notes", () => {
  it("are the changelog's section for the tag", () => {
    expect(notesOf(CHANGELOG, "v0.1.0", VERSIONS)).toBe("### Added\n\n- Everything.");
  });

  it("can't be created for a tag that isn't the packages' version, or that isn't in the changelog", () => {
    expect(() => notesOf(CHANGELOG, "v0.2.0", VERSIONS)).toThrow(
      "The tag is v0.2.0, but pulumi-edgeguard is 0.1.0: tag v0.1.0.",
    );
    expect(() => notesOf(CHANGELOG, "v0.2.0", { "pulumi-edgeguard": "0.2.0" })).toThrow(
      "CHANGELOG.md has no notes for 0.2.0",
    );
  });
});

describe("the release workflow", () => {
  const text = readFileSync(join(REPOSITORY, ".github/workflows/release.yml"), "utf8");
  const step = z.object({ run: z.string().optional(), uses: z.string().optional() });
  const job = z.object({
    needs: z.string().optional(),
    environment: z.string().optional(),
    permissions: z.record(z.string(), z.string()).optional(),
    steps: z.array(step),
  });
  const workflow = z
    .object({
      on: z.object({ push: z.object({ tags: z.array(z.string()) }) }),
      permissions: z.record(z.string(), z.string()),
      jobs: z.object({ verify: job, publish: job }),
    })
    .parse(parse(text));
  const { verify, publish } = workflow.jobs;
  const steps = [...verify.steps, ...publish.steps];

  it("is a valid GitHub workflow with valid shell commands that contain no GitHub expressions", () => {
    const { errors } = z.object({ errors: z.array(z.unknown()) }).parse(validateWorkflow(text));
    expect(errors).toEqual([]);
    for (const { run } of steps) {
      if (run === undefined) continue;
      expect(run).not.toContain("${{");
      execFileSync("bash", ["-n"], { input: run });
    }
  });

  it("publishes a version tag with provenance once everything is verified", () => {
    expect(workflow.on.push.tags).toEqual(["v[0-9]+.[0-9]+.[0-9]+"]);
    expect(verify.steps.map(({ run }) => run)).toContain(".ci/run");
    expect(publish).toMatchObject({ needs: "verify", environment: "npm" });
    const commands = publish.steps.map(({ run = "" }) => run).join("\n");
    expect(commands).toContain('npm publish --workspace "$package" --provenance');
    // A package comes after those that it depends on.
    expect(commands).toContain("for package in edgeguard-local pulumi-edgeguard pulumi-resource-edgeguard;");
    // The names that Pulumi's CLI looks for in a release, at the address in the schema.
    expect(commands).toContain('"pulumi-resource-edgeguard-$GITHUB_REF_NAME-$platform.tar.gz"');
  });

  it("uses no npm token, and only its publishing job may publish", () => {
    expect(text).not.toContain("secrets.");
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(verify.permissions).toBeUndefined();
    expect(publish.permissions).toEqual({ contents: "write", "id-token": "write" });
  });
});
