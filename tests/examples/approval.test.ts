import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json as bodyOf } from "node:stream/consumers";
import { compileFunction } from "node:vm";
import { transform } from "sucrase";
import { z } from "zod";
import { folderPerFile } from "../support/bench";
import { REPOSITORY } from "../support/engine";

/** Who can accept a pull request's dangers: runs the workflows' script against a local stand-in for GitHub. */

const REPO = "shop/edge";
const HEAD = "a".repeat(40);
const OLDER = "b".repeat(40);
const MERGE = "c".repeat(40);
const DIGEST = "1".repeat(64);
const OTHER = "2".repeat(64);
const BOT = "github-actions[bot]";

interface Comment {
  readonly login: string;
  readonly body: string;
  readonly type?: string;
  readonly edited?: boolean;
}

const accept = (login: string, more: Partial<Comment> & { sha?: string; digest?: string } = {}): Comment => {
  const { sha = HEAD, digest = DIGEST, ...rest } = more;
  return { login, body: `/edgeguard accept ${sha} ${digest}`, ...rest };
};

describe("the acceptance check", () => {
  const home = folderPerFile("approval");
  let github: GitHub;

  beforeEach(async () => {
    github = new GitHub();
    await github.start();
  });
  afterEach(() => github.stop());

  test.each<[string, Comment[], string]>([
    ["by someone with write permission counts", [accept("wendy")], `success: Accepted by wendy: ${DIGEST}`],
    ["by an administrator counts", [accept("adam")], `success: Accepted by adam: ${DIGEST}`],
    [
      "can give a reason below the command",
      [{ login: "wendy", body: `/edgeguard accept ${HEAD} ${DIGEST} \r\nAgreed with the shop team.` }],
      `success: Accepted by wendy: ${DIGEST}`,
    ],
    ["is required", [], `failure: Dangers not accepted: ${DIGEST}`],
    [
      "must be the command, not prose",
      [{ login: "wendy", body: "LGTM" }],
      `failure: Dangers not accepted: ${DIGEST}`,
    ],
    [
      "doesn't count if the command is quoted",
      [accept("wendy", { body: `> /edgeguard accept ${HEAD} ${DIGEST}` })],
      `failure: Dangers not accepted: ${DIGEST}`,
    ],
    [
      "by a reader doesn't count",
      [accept("rita")],
      `failure: Dangers not accepted (no write permission): ${DIGEST}`,
    ],
    [
      "by a user without access doesn't count",
      [accept("nobody")],
      `failure: Dangers not accepted (no write permission): ${DIGEST}`,
    ],
    [
      "by an unknown user doesn't count",
      [accept("ghost")],
      `failure: Dangers not accepted (no write permission): ${DIGEST}`,
    ],
    [
      "by a bot doesn't count, even with write permission",
      [accept("wendy", { type: "Bot" })],
      `failure: Dangers not accepted (a bot): ${DIGEST}`,
    ],
    [
      "in an edited comment doesn't count, because someone else could have edited it",
      [accept("wendy", { edited: true })],
      `failure: Dangers not accepted (edited): ${DIGEST}`,
    ],
    [
      "for an older commit doesn't count after a push",
      [accept("wendy", { sha: OLDER })],
      `failure: Dangers not accepted (another commit): ${DIGEST}`,
    ],
    [
      "for other dangers doesn't count",
      [accept("wendy", { digest: OTHER })],
      `failure: Dangers not accepted (another digest): ${DIGEST}`,
    ],
    [
      "counts despite later comments",
      [accept("wendy"), accept("rita"), accept("nobody", { digest: OTHER })],
      `success: Accepted by wendy: ${DIGEST}`,
    ],
    [
      "is found after many comments",
      [...Array.from({ length: 230 }, () => ({ login: "rita", body: "+1" })), accept("wendy")],
      `success: Accepted by wendy: ${DIGEST}`,
    ],
  ])("an acceptance %s", async (_, comments, expected) => {
    github.comments = comments;
    expect(await afterPreview()).toEqual([expected]);
  });

  test("updates the status as soon as an acceptance is written or removed", async () => {
    const waiting = {
      creator: BOT,
      context: "edgeguard",
      state: "failure",
      description: `not yet: ${DIGEST}`,
    };
    github.statuses = [waiting];
    github.comments = [accept("wendy")];
    expect((await afterComment()).at(-1)).toBe(`success: Accepted by wendy: ${DIGEST}`);
    github.comments = [];
    expect((await afterComment()).at(-1)).toBe(`failure: Dangers not accepted: ${DIGEST}`);
  });

  test("counts an acceptance that arrives while the status is being set", async () => {
    github.onStatus = () => (github.comments = [accept("wendy")]);
    expect(await afterPreview()).toEqual([
      `failure: Dangers not accepted: ${DIGEST}`,
      `success: Accepted by wendy: ${DIGEST}`,
    ]);
  });

  test("passes without an acceptance if there are no dangers, and fails despite one if the report can't be read", async () => {
    expect(await afterPreview({ report: { dangers: [{ verdict: "passes" }], digest: DIGEST } })).toEqual([
      "success: No dangers",
    ]);
    github.comments = [accept("wendy")];
    for (const report of [null, "{", [], { dangers: [{ verdict: "fails" }], digest: `${DIGEST} ` }])
      expect((await afterPreview({ report })).at(-1)).toBe("failure: The preview left no readable report");
    expect((await afterPreview({ conclusion: "failure" })).at(-1)).toMatch(/^failure: The preview failed/);
    expect((await afterPreview({ repository: "mallory/edge" })).at(-1)).toMatch(
      /^failure: A fork is planned without/,
    );
    expect((await afterPreview({ actor: "dependabot[bot]" })).at(-1)).toMatch(
      /^failure: Dependabot is planned without/,
    );
  });

  test("ignores a digest in a status that someone else set", async () => {
    github.comments = [accept("wendy")];
    github.statuses = [{ creator: "mallory", context: "edgeguard", state: "failure", description: DIGEST }];
    expect(await afterComment()).toHaveLength(1);
    github.statuses = [{ creator: BOT, context: "another", state: "failure", description: DIGEST }];
    expect(await afterComment()).toHaveLength(1);
  });

  test("ignores an acceptance if the pull request has newer commits or is closed", async () => {
    github.pull.head.sha = OLDER;
    expect(await afterPreview()).toEqual([]);
    github.pull.state = "closed";
    github.statuses = [{ creator: BOT, context: "edgeguard", state: "failure", description: DIGEST }];
    expect(await afterComment()).toHaveLength(1);
  });

  test("finds the acceptance again after the merge, and checks the approver's permission at that time", async () => {
    github.comments = [
      accept("wendy"),
      accept("adam", { digest: OTHER }),
      accept("rita", { digest: "3".repeat(64) }),
      accept("wendy", { digest: "4".repeat(64), sha: OLDER }),
    ];
    const merged = await script("accepted");
    expect(merged).toMatchObject({ code: 0, stdout: `${DIGEST} ${OTHER}\n` });
    expect(merged.stderr).toContain(`wendy accepted ${DIGEST}`);

    github.permissions = { wendy: "read", adam: "none" };
    expect(await script("accepted")).toMatchObject({ code: 0, stdout: "\n" });
    github.permissions = { wendy: "write" };
    github.pull.merged_at = null;
    expect(await script("accepted")).toMatchObject({ code: 0, stdout: "\n" });
    github.pull.merged_at = "2026-01-01T00:00:00Z";
    github.pull.base.ref = "release";
    expect(await script("accepted")).toMatchObject({ code: 0, stdout: "\n" });
  });

  test("doesn't count an acceptance if GitHub's API fails", async () => {
    github.comments = [accept("wendy")];
    github.broken = /permission$/;
    expect(await script("accepted")).toEqual({
      code: 1,
      stdout: "",
      stderr: "GitHub answered 502 to GET /collaborators/wendy/permission\n",
    });
  });

  /** The statuses of the head commit, oldest first, after judging a run of Preview. */
  async function afterPreview({
    report = { dangers: [{ verdict: "fails" }], digest: DIGEST },
    conclusion = "success",
    repository = REPO,
    actor = "wendy",
  }: {
    readonly report?: unknown;
    readonly conclusion?: string;
    readonly repository?: string;
    readonly actor?: string;
  } = {}): Promise<string[]> {
    if (report === null) rmSync(join(home, "report.json"), { force: true });
    else
      writeFileSync(join(home, "report.json"), typeof report === "string" ? report : JSON.stringify(report));
    const [owner] = repository.split("/");
    const head_repository = { full_name: repository, owner: { login: owner } };
    const run = {
      head_sha: HEAD,
      head_branch: "change",
      head_repository,
      conclusion,
      actor: { login: actor },
    };
    return await judged("workflow_run", { workflow_run: run });
  }

  const afterComment = (): Promise<string[]> => judged("issue_comment", { issue: { number: 7 } });

  async function judged(name: string, event: object): Promise<string[]> {
    writeFileSync(join(home, "event.json"), JSON.stringify(event));
    const { code, stderr } = await script("judge", { GITHUB_EVENT_NAME: name });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return github.statuses.map(({ state, description }) => `${state}: ${description}`).reverse();
  }

  async function script(verb: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const env = {
      GITHUB_API_URL: github.url,
      GITHUB_SERVER_URL: "https://github.example",
      GITHUB_REPOSITORY: REPO,
      GITHUB_TOKEN: GitHub.TOKEN,
      GITHUB_RUN_ID: "42",
      GITHUB_SHA: MERGE,
      GITHUB_REF_NAME: "main",
      GITHUB_EVENT_PATH: join(home, "event.json"),
      REPORT: join(home, "report.json"),
      ...more,
    };
    return await runHere(verb, env);
  }
});

const { code } = transform(readFileSync(join(REPOSITORY, "examples/pipelines/ci/approval.mts"), "utf8"), {
  transforms: ["typescript", "imports"],
});
const compiled = compileFunction(`return (async () => {${code}})()`, [
  "require",
  "exports",
  "process",
  "console",
]) as (...globals: readonly unknown[]) => Promise<void>; // As it is written above.

/** Runs the script in this process, with its own environment and streams. */
async function runHere(verb: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const printed = { stdout: "", stderr: "" };
  const console = {
    log: (line: unknown) => (printed.stdout += `${String(line)}\n`),
    error: (line: unknown) => (printed.stderr += `${String(line)}\n`),
  };
  const process = { env, argv: ["node", "approval.mts", verb], exitCode: 0 };
  await compiled(createRequire(__filename), {}, process, console);
  return { code: process.exitCode, ...printed };
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Status {
  readonly creator: string;
  readonly context: string;
  readonly state: string;
  readonly description: string;
}

const posted = z.strictObject({
  context: z.string(),
  state: z.enum(["error", "failure", "pending", "success"]),
  description: z.string().max(140), // GitHub's limit.
  target_url: z.literal("https://github.example/shop/edge/actions/runs/42"),
});

type Answer = readonly [status: number, body: unknown];
const refusal = (status: number, message: string): Answer => [status, { message }];

/** The part of GitHub's API that the script uses, for one repository with one pull request. */
class GitHub {
  static readonly TOKEN = "ghs_local";

  readonly pull = {
    number: 7,
    state: "open",
    head: { sha: HEAD },
    base: { ref: "main" },
    merged_at: "2026-01-01T00:00:00Z" as string | null,
  };
  comments: readonly Comment[] = [];
  permissions: Readonly<Record<string, string>> = {
    wendy: "write",
    adam: "admin",
    rita: "read",
    nobody: "none",
  };
  /** Statuses of the pull request's head commit, newest first, as in GitHub's API. */
  statuses: readonly Status[] = [];
  onStatus: () => void = () => undefined;
  broken: RegExp | undefined;
  url = "";

  readonly #server: Server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    const isKnown = request.headers.authorization === `Bearer ${GitHub.TOKEN}`;
    void (method === "POST" ? bodyOf(request) : Promise.resolve())
      .then((body) => (isKnown ? this.#answer(`${method} ${url}`, body) : refusal(401, "Bad credentials")))
      .catch((error: unknown) => refusal(422, String(error)))
      .then(([status, answer]) => response.writeHead(status).end(JSON.stringify(answer)));
  });

  async start(): Promise<void> {
    await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // It listens on a port.
  }

  async stop(): Promise<void> {
    await new Promise((done) => this.#server.close(done));
  }

  #answer(asked: string, body: unknown): Answer {
    if (this.broken?.test(asked) === true) return refusal(502, "Server Error");
    const what = asked.replace(`/repos/${REPO}`, "");
    const login = /^GET \/collaborators\/(.*)\/permission$/.exec(what)?.[1];
    const page = /^GET \/issues\/7\/comments\?per_page=100&page=(\d+)$/.exec(what)?.[1];
    if (login !== undefined) {
      const permission = this.permissions[login];
      return permission === undefined ? refusal(404, "Not Found") : [200, { permission }];
    }
    if (page !== undefined)
      return [200, this.#comments().slice(100 * (Number(page) - 1), 100 * Number(page))];
    switch (what) {
      case "GET /pulls?state=open&per_page=100&head=shop%3Achange":
      case "GET /pulls?state=open&per_page=100&head=mallory%3Achange":
      case `GET /commits/${MERGE}/pulls?per_page=100`:
        return [200, [this.pull]];
      case "GET /pulls/7":
        return [200, this.pull];
      case `GET /commits/${this.pull.head.sha}/statuses?per_page=100`:
        return [200, this.statuses.map((status) => ({ ...status, creator: { login: status.creator } }))];
      case `POST /statuses/${this.pull.head.sha}`:
        this.statuses = [{ creator: BOT, ...posted.parse(body) }, ...this.statuses];
        this.onStatus();
        return [201, {}];
      default:
        return refusal(404, "Not Found");
    }
  }

  #comments(): object[] {
    return this.comments.map(({ login, body, type = "User", edited = false }) => ({
      user: { login, type },
      body,
      created_at: "2026-01-01T00:00:00Z",
      updated_at: edited ? "2026-01-01T00:00:09Z" : "2026-01-01T00:00:00Z",
    }));
  }
}
