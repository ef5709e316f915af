/**
 * Checks whether someone with write permission accepted the dangers of a pull request's plan.
 *
 *     node ci/approval.mts judge      sets the commit status `edgeguard` of a pull request; see approval.yml
 *     node ci/approval.mts accepted   prints what was accepted for the pull request merged as GITHUB_SHA; see apply.yml
 *
 * An acceptance is a comment on the pull request:
 *
 *     /edgeguard accept <head commit> <digest>
 *
 * It counts only for that commit and digest, and only if its author can write to the repository, isn't a bot, and never edited
 * the comment: anyone can comment on a public pull request, and a maintainer can edit other people's comments.
 */
import { readFileSync } from "node:fs";

const CONTEXT = "edgeguard";
const COMMAND = /^\/edgeguard accept ([0-9a-f]{40}) ([0-9a-f]{64})$/;
const DIGEST = /\b[0-9a-f]{64}\b/;
const PAGE = 100;

interface Status {
  readonly state: "success" | "failure";
  readonly description: string;
}

interface Comment {
  readonly login: string;
  readonly sha: string;
  readonly digest: string;
  /** Why it doesn't count, regardless of permissions. */
  readonly flaw: "a bot" | "edited" | undefined;
}

async function main([verb, ...rest]: readonly string[]): Promise<void> {
  if (rest.length === 0 && verb === "judge") {
    if (setting("GITHUB_EVENT_NAME") === "issue_comment") await judgeComment();
    else await judgePreview();
  } else if (rest.length === 0 && verb === "accepted") {
    console.log((await acceptedForMerge(setting("GITHUB_SHA"))).join(" "));
  } else {
    console.error("usage: approval.mts judge|accepted");
    process.exitCode = 2;
  }
}

/** After a run of Preview: sets the status by its report and earlier acceptances. */
async function judgePreview(): Promise<void> {
  const run = at(event(), "workflow_run");
  const sha = textAt(run, "head_sha");
  const pull = await openPullOf(run, sha);
  const found = findingOf(run);
  if (pull === undefined) console.error(`no open pull request has the head commit ${sha}: nothing to judge`);
  else if (typeof found === "string") await updateStatus(pull, sha, found);
  else await setStatus(sha, found);
}

/** The digest to accept, or the status if no acceptance can change it. */
function findingOf(run: unknown): Status | string {
  if (at(run, "head_repository", "full_name") !== setting("GITHUB_REPOSITORY"))
    return failure(
      "A fork is planned without the stack's state. Push its branch to this repository to judge it",
    );
  if (at(run, "actor", "login") === "dependabot[bot]")
    return failure(
      "Dependabot is planned without the stack's state. Close and reopen its pull request to judge it",
    );
  if (at(run, "conclusion") !== "success") return failure("The preview failed, so there's nothing to accept");
  return reported() ?? failure("The preview left no readable report");
}

/** After a comment: judges the digest that the last preview left in the head commit's status. */
async function judgeComment(): Promise<void> {
  const number = numberAt(event(), "issue", "number");
  const pull = await get(`/pulls/${number}`);
  const sha = textAt(pull, "head", "sha");
  const statuses = listOf(await get(`/commits/${sha}/statuses?per_page=${PAGE}`));
  const last = statuses.find(
    (status) => at(status, "context") === CONTEXT && at(status, "creator", "login") === "github-actions[bot]",
  );
  const digest = DIGEST.exec(String(at(last, "description")))?.[0];
  if (at(pull, "state") !== "open") console.error(`pull request ${number} isn't open: nothing to judge`);
  else if (digest === undefined) console.error(`no preview of ${sha} is waiting for an acceptance`);
  else await updateStatus(number, sha, digest);
}

/** Repeats until nothing changes, so that a comment that arrives meanwhile, with its own run, isn't overwritten. */
async function updateStatus(number: number, sha: string, digest: string): Promise<void> {
  let written: string | undefined;
  for (;;) {
    const status = await statusOf(number, sha, digest);
    if (status.description === written) return;
    await setStatus(sha, status);
    written = status.description;
  }
}

async function statusOf(number: number, sha: string, digest: string): Promise<Status> {
  const { accepted, refusals } = await acceptances(number, sha);
  const by = accepted.get(digest);
  if (by !== undefined) return { state: "success", description: `Accepted by ${by}: ${digest}` };
  const refusal = refusals.at(-1) ?? (accepted.size > 0 ? "another digest" : undefined);
  const why = refusal === undefined ? "" : ` (${refusal})`;
  return failure(`Dangers not accepted${why}: ${digest}`);
}

/** The digests accepted for a commit, who accepted each, and why other commands don't count. */
async function acceptances(
  number: number,
  sha: string,
): Promise<{ readonly accepted: ReadonlyMap<string, string>; readonly refusals: readonly string[] }> {
  const accepted = new Map<string, string>();
  const refusals: string[] = [];
  const writers = new Map<string, boolean>();
  for (const { login, flaw, ...command } of await commandsOn(number)) {
    if (flaw !== undefined) {
      refusals.push(flaw);
    } else if (command.sha !== sha) {
      refusals.push("another commit");
    } else {
      const mayWrite = writers.get(login) ?? (await canWrite(login));
      writers.set(login, mayWrite);
      if (mayWrite) accepted.set(command.digest, login);
      else refusals.push("no write permission");
    }
  }
  return { accepted, refusals };
}

async function commandsOn(number: number): Promise<Comment[]> {
  const comments: Comment[] = [];
  for (let page = 1; ; page += 1) {
    const found = listOf(await get(`/issues/${number}/comments?per_page=${PAGE}&page=${page}`));
    for (const comment of found) {
      const [, sha, digest] = COMMAND.exec(String(at(comment, "body")).split("\n", 1)[0]?.trim() ?? "") ?? [];
      const login = at(comment, "user", "login"); // Missing once the account is deleted.
      if (sha === undefined || digest === undefined || typeof login !== "string") continue;
      comments.push({ login, sha, digest, flaw: flawOf(comment) });
    }
    if (found.length < PAGE) return comments;
  }
}

function flawOf(comment: unknown): Comment["flaw"] {
  if (at(comment, "user", "type") !== "User") return "a bot";
  return textAt(comment, "updated_at") === textAt(comment, "created_at") ? undefined : "edited";
}

async function canWrite(login: string): Promise<boolean> {
  const answer = await get(`/collaborators/${encodeURIComponent(login)}/permission`, [404]);
  const permission = at(answer, "permission"); // `maintain` reads as write here, `triage` as read.
  return permission === "admin" || permission === "write";
}

/** The digests accepted in the pull request merged as this commit, for its head commit. */
async function acceptedForMerge(sha: string): Promise<string[]> {
  const pulls = listOf(await get(`/commits/${sha}/pulls?per_page=${PAGE}`));
  const digests = new Set<string>();
  for (const pull of pulls.filter((each) => typeof at(each, "merged_at") === "string")) {
    if (at(pull, "base", "ref") !== setting("GITHUB_REF_NAME")) continue;
    const number = numberAt(pull, "number");
    const { accepted, refusals } = await acceptances(number, textAt(pull, "head", "sha"));
    for (const [digest, login] of accepted) {
      console.error(`pull request ${number}: ${login} accepted ${digest}`);
      digests.add(digest);
    }
    for (const refusal of refusals)
      console.error(`pull request ${number}: a command doesn't count: ${refusal}`);
  }
  return [...digests];
}

async function openPullOf(run: unknown, sha: string): Promise<number | undefined> {
  const head = `${textAt(run, "head_repository", "owner", "login")}:${textAt(run, "head_branch")}`;
  const pulls = listOf(await get(`/pulls?state=open&per_page=${PAGE}&head=${encodeURIComponent(head)}`));
  const pull = pulls.find((each) => at(each, "head", "sha") === sha);
  return pull === undefined ? undefined : numberAt(pull, "number");
}

/**
 * The digest to accept, or the status, from the report. The pull request's own run wrote it, so nothing else in it is trusted.
 * Undefined if it can't be read.
 */
function reported(): Status | string | undefined {
  let report: unknown;
  try {
    report = JSON.parse(readFileSync(setting("REPORT"), "utf8"));
  } catch (error) {
    console.error(error);
    return undefined;
  }
  const dangers = at(report, "dangers");
  const digest = at(report, "digest");
  if (!Array.isArray(dangers)) return undefined;
  if (!dangers.some((danger) => at(danger, "verdict") === "fails"))
    return { state: "success", description: "No dangers" };
  return typeof digest === "string" && DIGEST.exec(digest)?.[0] === digest ? digest : undefined;
}

const failure = (description: string): Status => ({ state: "failure", description });

async function setStatus(sha: string, { state, description }: Status): Promise<void> {
  console.error(`${sha}: ${state}: ${description}`);
  const run = `${setting("GITHUB_SERVER_URL")}/${setting("GITHUB_REPOSITORY")}/actions/runs/${setting("GITHUB_RUN_ID")}`;
  await call(`/statuses/${sha}`, {
    method: "POST",
    body: JSON.stringify({ context: CONTEXT, state, description, target_url: run }),
  });
}

const get = (path: string, absent: readonly number[] = []): Promise<unknown> => call(path, {}, absent);

/** Sends one request about this repository. A failure ends the run, so nothing is accepted. */
async function call(path: string, init: RequestInit, absent: readonly number[] = []): Promise<unknown> {
  const url = `${setting("GITHUB_API_URL")}/repos/${setting("GITHUB_REPOSITORY")}${path}`;
  const response = await fetch(url, {
    ...init,
    headers: {
      Accept: "application/vnd.github+json",
      Authorization: `Bearer ${setting("GITHUB_TOKEN")}`,
      "X-GitHub-Api-Version": "2022-11-28",
    },
    signal: AbortSignal.timeout(30_000),
  });
  if (absent.includes(response.status)) return undefined;
  if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${init.method ?? "GET"} ${path}`);
  return await response.json();
}

const event = (): unknown => JSON.parse(readFileSync(setting("GITHUB_EVENT_PATH"), "utf8"));

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

/** A member of untrusted data; undefined if it's missing. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (here, key) => (typeof here === "object" && here !== null ? Reflect.get(here, key) : undefined),
    value,
  );
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  if (typeof found === "string") return found;
  throw new Error(`GitHub's answer has no text at ${path.join(".")}`);
}

function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = at(value, ...path);
  if (typeof found === "number") return found;
  throw new Error(`GitHub's answer has no number at ${path.join(".")}`);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error("GitHub's answer is not a list");
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
