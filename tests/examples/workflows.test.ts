import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { parse } from "yaml";
import { z } from "zod";
import { REPOSITORY } from "../support/engine";

const FOLDER = join(REPOSITORY, "examples/pipelines/github");
const files = readdirSync(FOLDER);

const workflow = z.object({
  permissions: z.record(z.string(), z.enum(["read", "write"])),
  concurrency: z.object({ group: z.string() }),
  jobs: z.record(
    z.string(),
    z.object({
      "timeout-minutes": z.number(),
      steps: z.array(z.object({ run: z.string().optional(), uses: z.string().optional() })),
    }),
  ),
});

describe.each(files)("the workflow %s", (file) => {
  const text = readFileSync(join(FOLDER, file), "utf8");
  const read = workflow.parse(parse(text));
  const steps = Object.values(read.jobs).flatMap((job) => job.steps);

  it("is valid for GitHub", () => {
    const { errors } = validateWorkflow(text) as { errors: unknown[] };
    expect(errors).toEqual([]);
    // The check does find mistakes.
    expect(
      (validateWorkflow(text.replace("runs-on:", "run-on:")) as { errors: unknown[] }).errors,
    ).not.toEqual([]);
  });

  it("pins actions by commit, and passes secrets only to steps that run no scripts of packages", () => {
    for (const { uses = "x@".padEnd(42, "0") } of steps) expect(uses).toMatch(/@[0-9a-f]{40}$/);
    const { env, jobs } = z
      .object({
        env: z.unknown().optional(),
        jobs: z.record(z.string(), z.object({ env: z.unknown().optional(), steps: z.array(z.unknown()) })),
      })
      .parse(parse(text));
    expect(env).toBeUndefined();
    for (const job of Object.values(jobs)) {
      expect(JSON.stringify(job.env ?? {})).not.toMatch(/secrets\.|github\.token/);
      const installs = job.steps
        .map((step) => JSON.stringify(step))
        .filter((step) => step.includes("npm ci"));
      for (const step of installs) expect(step).toBe('{"run":"npm ci --ignore-scripts"}');
    }
  });

  it("doesn't put GitHub expressions into shell commands", () => {
    for (const { run = "" } of steps) expect(run).not.toContain("${{");
  });

  it("has valid shell commands, and finds its scripts where the instructions copy them", () => {
    for (const { run } of steps) {
      if (run === undefined) continue;
      execFileSync("bash", ["-n"], { input: run });
      for (const [script] of run.matchAll(/\b[\w-]+\/[\w.-]+\.(sh|mts)\b/g))
        expect(existsSync(join(FOLDER, "..", script))).toBe(true);
    }
  });
});

it("the workflows run one job per stack at a time, let only merged code write, and have minimal permissions", () => {
  const groups = files.map((file) => [
    file,
    workflow.parse(parse(readFileSync(join(FOLDER, file), "utf8"))).concurrency.group,
  ]);
  expect(Object.fromEntries(groups)).toEqual({
    "apply.yml": "stack-production",
    "approval.yml": "approval-${{ github.run_id }}",
    "drift.yml": "stack-production",
    "preview.yml": "preview-${{ github.event.pull_request.number }}",
    "preview-comment.yml": "preview-comment-${{ github.event.workflow_run.head_sha }}",
    "scripts.yml": "scripts",
  });
  const rights = files.map((file) => [
    file,
    workflow.parse(parse(readFileSync(join(FOLDER, file), "utf8"))).permissions,
  ]);
  expect(Object.fromEntries(rights)).toEqual({
    "apply.yml": { contents: "read", "pull-requests": "read" },
    "approval.yml": { actions: "read", contents: "read", "pull-requests": "read", statuses: "write" },
    "drift.yml": { contents: "read", issues: "write" },
    "preview.yml": { contents: "read" },
    "preview-comment.yml": { actions: "read", "pull-requests": "write" },
    "scripts.yml": { contents: "read" },
  });
  const withWriteToken = files.filter((file) =>
    readFileSync(join(FOLDER, file), "utf8").includes("WRITE_TOKEN"),
  );
  expect(withWriteToken).toEqual(["apply.yml"]);
});

describe("the drift workflow's issue", () => {
  const withSteps = z.object({
    jobs: z.object({
      drift: z.object({
        steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })),
      }),
    }),
  });
  const { steps } = withSteps.parse(parse(readFileSync(join(FOLDER, "drift.yml"), "utf8"))).jobs.drift;
  const run = steps.find(({ name }) => name?.includes("issue"))?.run ?? "";

  const REPORT = "# Drift\n\n1 changed manually\n";

  /** Runs the step with a stand-in for `gh` that knows these open issues, and returns the calls that change something. */
  function callsOf(
    code: number,
    ...open: readonly {
      readonly number: number;
      readonly title: string;
      readonly body?: string;
      readonly author?: object;
    }[]
  ): string {
    const dir = mkdtempSync(join(tmpdir(), "edgeguard-issue-"));
    try {
      const list = `printf '%s' '${JSON.stringify(open)}' | jq -r "\${@: -1}"`;
      const view = `printf '%s' '${JSON.stringify(open)}' | jq -r ".[] | select(.number == $3).body"`;
      const gh = `case $2 in list) ${list} ;; view) ${view} ;; *) echo "$*" >>calls ;; esac`;
      writeFileSync(join(dir, "gh"), `#!/usr/bin/env bash\n${gh}\n`, { mode: 0o755 });
      mkdirSync(join(dir, "out"));
      writeFileSync(join(dir, "out/drift.md"), REPORT);
      writeFileSync(join(dir, "calls"), "");
      const env = {
        PATH: `${dir}:${process.env["PATH"] ?? ""}`,
        PULUMI_STACK: "production",
        CODE: String(code),
      };
      execFileSync("bash", ["--norc", "-e", "-c", run], { cwd: dir, env });
      return readFileSync(join(dir, "calls"), "utf8");
    } finally {
      rmSync(dir, { recursive: true });
    }
  }

  const other = { number: 3, title: "Drift in production, last year" };
  const author = { login: "app/github-actions" };
  const own = { number: 7, title: "Drift in production", body: REPORT, author };
  const strangers = { ...own, number: 2, author: { login: "stranger" } };

  it("is opened once, updated while the drift lasts, and closed when it's gone", () => {
    expect(callsOf(3, other)).toBe(
      "label create edgeguard-drift --force --description Opened by drift.yml\n" +
        "issue create --title Drift in production --label edgeguard-drift --body-file out/drift.md\n",
    );
    expect(callsOf(3, other, own)).toBe("issue edit 7 --body-file out/drift.md\n");
    expect(callsOf(0, other, own)).toBe("issue close 7 --comment The report no longer lists any drift.\n");
    expect(callsOf(0, other)).toBe("");
  });

  it("is the workflow's own: someone else's with the same title stays as it is", () => {
    expect(callsOf(3, strangers, own)).toBe("issue edit 7 --body-file out/drift.md\n");
    expect(callsOf(0, strangers)).toBe("");
    expect(run).toContain("gh issue list --app github-actions --label edgeguard-drift");
  });

  it("gets a comment when the drift has changed, because GitHub doesn't notify anyone of edits", () => {
    expect(callsOf(3, other, { ...own, body: "# Drift\n\n2 changed manually" })).toBe(
      "issue comment 7 --body The drift has changed. The description above shows it.\nissue edit 7 --body-file out/drift.md\n",
    );
  });
});

it("a saved plan is applied only in the run that made it, and a pull request can't start such a run", () => {
  const withPlan = z.object({
    on: z.strictObject({
      push: z.strictObject({ branches: z.tuple([z.literal("main")]) }),
      workflow_dispatch: z.unknown(),
    }),
    jobs: z.object({
      plan: z.object({
        if: z.string(),
        steps: z.array(
          z.object({ run: z.string().optional(), env: z.record(z.string(), z.string()).optional() }),
        ),
      }),
      apply: z.object({
        needs: z.literal("plan"),
        environment: z.literal("production"),
        steps: z.array(z.object({ uses: z.string().optional(), with: z.unknown().optional() })),
      }),
    }),
  });
  const texts = files.map((file) => [file, readFileSync(join(FOLDER, file), "utf8")] as const);
  const { jobs } = withPlan.parse(parse(readFileSync(join(FOLDER, "apply.yml"), "utf8")));
  expect(jobs.plan.if).toContain("github.ref == 'refs/heads/main'");
  const planning = jobs.plan.steps.find(({ run }) => run === "ci/pipeline.sh plan");
  expect(planning?.env?.["CLOUDFLARE_API_TOKEN"]).toContain("READ_TOKEN");
  const downloads = jobs.apply.steps.filter(({ uses = "" }) => uses.startsWith("actions/download-artifact@"));
  expect(downloads.map((step) => step.with)).toEqual([{ name: "plan", path: "out" }]);
  expect(texts.filter(([, text]) => text.includes("PLAN_PASSPHRASE")).map(([file]) => file)).toEqual([
    "apply.yml",
  ]);
});
