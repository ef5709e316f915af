import { execFile, execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { parse } from "yaml";
import { z } from "zod";
import { apiPerTest } from "../support/bench";
import { cliEngine, Project, REPOSITORY, summaryOf, temporaryFolder } from "../support/engine";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";

/** The pipelines for GitLab, Bitbucket and Pulumi Cloud: their files, and their commands on the local engine. */

const FOLDER = join(REPOSITORY, "examples/pipelines");
const read = (file: string): string => readFileSync(join(FOLDER, file), "utf8");

/** Commands that run in one shell, and the environment or deployment whose secrets they get. */
interface Job {
  readonly secretsOf: string | undefined;
  readonly commands: readonly string[];
}

type Pipelines = Readonly<Record<"change" | "main" | "schedule", readonly Job[]>>;

function gitlab(): Pipelines {
  const job = z.strictObject({
    stage: z.enum(["install", "run"]),
    rules: z.array(z.strictObject({ if: z.string() })).optional(),
    environment: z.strictObject({ name: z.string(), action: z.literal("access").optional() }).optional(),
    resource_group: z.literal("stack-production").optional(),
    script: z.array(z.string()),
    artifacts: z.unknown(),
  });
  const { install, preview, apply, drift } = z
    .strictObject({
      default: z.unknown(),
      variables: z.strictObject({ PULUMI_STACK: z.string() }), // All jobs get these, so none is a secret.
      workflow: z.unknown(),
      stages: z.tuple([z.literal("install"), z.literal("run")]),
      install: job,
      preview: job,
      apply: job.required({ resource_group: true }),
      drift: job.required({ resource_group: true }),
    })
    .parse(parse(read("gitlab/.gitlab-ci.yml")));
  const both = (own: z.output<typeof job>): Job[] =>
    [install, own].map(({ environment, script }) => ({ secretsOf: environment?.name, commands: script }));
  return { change: both(preview), main: both(apply), schedule: both(drift) };
}

function bitbucket(): Pipelines {
  const step = z.strictObject({
    step: z.strictObject({
      name: z.string(),
      deployment: z.string().optional(),
      script: z.array(z.string()),
      artifacts: z.array(z.string()),
    }),
  });
  const steps = z.array(step);
  const asked = z.strictObject({ variables: z.tuple([z.strictObject({ name: z.literal("ACCEPT") })]) });
  const { pipelines } = z
    .strictObject({
      image: z.string(),
      definitions: z.unknown(),
      pipelines: z.strictObject({
        "pull-requests": z.strictObject({ "**": steps }),
        branches: z.strictObject({ main: steps }),
        custom: z.strictObject({ apply: z.tuple([asked], step), drift: steps }),
      }),
    })
    .parse(parse(read("bitbucket/bitbucket-pipelines.yml"), { merge: true }));
  const [, ...again] = pipelines.custom.apply;
  expect(again).toEqual(pipelines.branches.main);
  const jobs = (all: z.output<typeof steps>): Job[] =>
    all.map(({ step: { deployment, script } }) => ({ secretsOf: deployment, commands: script }));
  return {
    change: jobs(pipelines["pull-requests"]["**"]),
    main: jobs(pipelines.branches.main),
    schedule: jobs(pipelines.custom.drift),
  };
}

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { PageShieldSettings } from "pulumi-edgeguard";
new PageShieldSettings("settings", { zoneId: new pulumi.Config().require("zoneId"), enabled: true });
`;

const EDGEGUARD = `${process.execPath} ${join(REPOSITORY, "provider/dist/cli/main.js")}`;

const api = apiPerTest();
let project: Project;
afterEach(() => project.remove());

async function begin(): Promise<void> {
  project = new Project(LOCAL_ENGINE, "pipeline");
  project.write(PROGRAM);
  await project.init({ zoneId: api.zones.empty, "edgeguard:baseUrl": api.url });
  cpSync(join(FOLDER, "ci"), join(project.dir, "ci"), { recursive: true });
}

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** Runs commands in Bash. Instead of installing packages, \`npm\` fails if it could see a secret. */
function bash(commands: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const bin = temporaryFolder("npm");
  const npm = '[ "$*" = "ci --ignore-scripts" ] && [ -z "${CLOUDFLARE_API_TOKEN:-}" ]';
  writeFileSync(join(bin, "npm"), `#!/usr/bin/env bash\n${npm}\n`, { mode: 0o755 });
  const own = project.environment();
  const env = {
    ...own,
    PATH: `${bin}:${own["PATH"] ?? ""}`,
    PULUMI: LOCAL_ENGINE.command.join(" "),
    EDGEGUARD,
    ...more,
  };
  return new Promise((done) =>
    execFile(
      "bash",
      ["--norc", "-e", "-c", commands.join("\n")],
      { cwd: project.dir, env },
      (error, stdout, stderr) =>
        done({ code: typeof error?.code === "number" ? error.code : 0, text: stdout + stderr }),
    ),
  );
}

/** Runs the jobs one after the other, each with the token of its environment, and returns how the last one ended. */
async function runAll(jobs: readonly Job[]): Promise<Ended> {
  let ended: Ended = { code: 0, text: "" };
  for (const { secretsOf, commands } of jobs) {
    if (ended.code !== 0) return ended;
    ended = await bash(commands, secretsOf === undefined ? {} : { CLOUDFLARE_API_TOKEN: TOKEN });
  }
  return ended;
}

describe.each([
  ["GitLab", gitlab],
  ["Bitbucket", bitbucket],
])("the pipelines for %s", (_, pipelines) => {
  test("plan a change, apply it, and find drift, with the same script", async () => {
    await begin();
    const { change, main, schedule } = pipelines();
    const planned = await runAll(change);
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.text).toContain("+ PageShieldSettings <b>settings</b>");
    expect((await project.export()).deployment.resources ?? []).toEqual([]);
    expect(await runAll(main)).toMatchObject({ code: 0 });
    expect(await runAll(schedule)).toMatchObject({ code: 0 });
    const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ enabled: false });
    await fetch(`${api.url}/zones/${api.zones.empty}/page_shield`, { method: "PUT", headers, body });
    expect(await runAll(schedule)).toMatchObject({ code: 3 });
  }, 120_000);

  test("give secrets only to the job that runs the script, and one that may write only to what was merged", async () => {
    await begin();
    const own = Object.entries(pipelines()).map(([name, jobs]) => [
      name,
      jobs.map(({ secretsOf, commands }) => [secretsOf, ...commands]),
    ]);
    const INSTALL = [undefined, "npm ci --ignore-scripts"];
    expect(Object.fromEntries(own)).toEqual({
      change: [INSTALL, ["preview", "ci/pipeline.sh preview"]],
      main: [INSTALL, ["production", "ci/pipeline.sh apply"]],
      schedule: [INSTALL, ["preview", "ci/pipeline.sh drift"]],
    });
  });
});

describe("the environment of Pulumi ESC", () => {
  const secret = z.strictObject({ "fn::secret": z.string() });
  const { values } = z
    .strictObject({
      values: z.strictObject({
        cloudflare: z.strictObject({ accountId: z.string(), apiToken: secret }),
        pulumiConfig: z.record(z.string(), z.string()),
      }),
    })
    .parse(parse(read("pulumi/environment.yaml")));

  /** The value that a reference names, and whether it's a secret. */
  function opened(reference: string): readonly [value: string, isSecret: boolean] {
    const path = /^\$\{([\w.]+)\}$/.exec(reference)?.[1] ?? "";
    const found = path
      .split(".")
      .reduce<unknown>((at, name) => Reflect.get(Object(at) as object, name) as unknown, values);
    return typeof found === "string" ? [found, false] : [secret.parse(found)["fn::secret"], true];
  }

  test("gives a stack the token as a secret, so that a program needs nothing else", async () => {
    await begin();
    expect((await project.run("up", "--yes", "--skip-preview")).text).toContain(
      "needs credentials, and none are set.",
    );
    for (const [key, reference] of Object.entries(values.pulumiConfig)) {
      const [value, isSecret] = opened(reference);
      expect([key, isSecret]).toEqual([key, key === "edgeguard:apiToken"]);
      await project.ok("config", "set", ...(isSecret ? ["--secret"] : []), key, isSecret ? TOKEN : value);
    }
    const { text } = await project.ok("up", "--yes", "--skip-preview");
    expect(summaryOf(text)).toMatchObject({ create: 1, unchanged: 1 });
    expect(text + project.stateText()).not.toContain(TOKEN);
  });
});

describe("the setup of Pulumi Deployments", () => {
  const SCRIPT = join(FOLDER, "pulumi/deployments.sh");
  const argsOf = (): readonly string[] => {
    const bin = join(temporaryFolder("pulumi"), "pulumi");
    writeFileSync(bin, '#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    const env = { PATH: process.env["PATH"], PULUMI: bin };
    return execFileSync(SCRIPT, ["acme/edge/production", "acme/infra"], { env, encoding: "utf8" })
      .trim()
      .split("\n");
  };

  testUnless(cliEngine() === undefined ? "no pulumi on PATH" : undefined)(
    "uses only options that the Pulumi CLI has",
    async () => {
      await begin();
      const [pulumi = "pulumi", ...before] = cliEngine()?.command ?? [];
      const env = { ...process.env, ...project.environment() };
      const command = [...before, "deployment", "settings", "edit", "--help"];
      const help = execFileSync(pulumi, command, { env, encoding: "utf8" });
      for (const option of argsOf().filter((each) => each.startsWith("--")))
        expect(help).toContain(`${option} `);
    },
  );

  test("runs the gate before a preview and an update, and nothing before other operations", async () => {
    await begin();
    const args = argsOf();
    const commands = args.filter((_, index) => args[index - 1] === "--pre-run-command");
    expect(commands[0]).toBe("npm ci --ignore-scripts");
    expect(args).toContain("--skip-install-deps");
    const before = (operation: string): Promise<Ended> =>
      bash(commands.slice(1), {
        PULUMI_STACK: "",
        PULUMI_CI_STACK: "dev",
        PULUMI_CI_OPERATION: operation,
        CLOUDFLARE_API_TOKEN: TOKEN,
      });
    expect(await before("refresh")).toEqual({ code: 0, text: "" });
    expect(await before("update")).toMatchObject({ code: 0 });
    await project.ok("config", "set", "edgeguard:apiToken", "--secret", TOKEN);
    await project.ok("up", "--yes", "--skip-preview");
    project.write(PROGRAM.replace("true", "false"));
    const refused = await before("update");
    expect(refused.code).toBe(1);
    expect(refused.text).toContain("**unprotect** `PageShieldSettings settings`");
  });
});

test.each(["gitlab/.gitlab-ci.yml", "bitbucket/bitbucket-pipelines.yml"])(
  "the file %s names its image with a version",
  (file) => {
    expect(read(file)).toMatch(/pulumi\/pulumi-nodejs-22:3\.\d+\.\d+\n/);
  },
);
