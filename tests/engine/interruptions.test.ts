import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { edgeguardResources, finished, summaryOf, type Project } from "../support/engine";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** What remains if a process dies, a connection breaks or a token changes, on every engine on this machine. */

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";
const zoneId = new pulumi.Config().require("zoneId");
new PageShieldPolicy("checkout", { zoneId, description: "checkout", action: "log", expression: "true", value: "script-src 'self'" });
`;
const POLICIES = /\/page_shield\/policies$/.source;

describe.each(surfaces().map((surface) => [surface.name, surface] as const))("on %s", (_name, surface) => {
  let api: LocalApi;
  let project: Project;

  beforeEach(async () => {
    api = await startLocalApi();
    project = surface.project("interrupted");
    project.write(PROGRAM);
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ zoneId: api.zones.empty, "edgeguard:baseUrl": api.url });
  });

  /** The token in the stack's configuration, as a secret, instead of the environment. */
  const tokenInConfig = async (): Promise<void> => {
    project.env = {};
    await project.ok("config", "set", "--secret", "edgeguard:apiToken", TOKEN);
  };

  afterEach(async () => {
    await api.close();
    project.remove();
  });

  const policies = async (): Promise<unknown[]> =>
    (await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield/policies`)).result as unknown[];

  const posts = (): number => api.requests.filter((r) => r.method === "POST").length;

  it("creates one policy, not two, if the response to its create is lost", async () => {
    api.fault({ kind: "dropAfter", match: { method: "POST", path: POLICIES } });
    const { text } = await project.ok("up", "--yes", "--skip-preview");
    expect(text).toMatch(/the response to creating policy "checkout" was lost, but Cloudflare created it/);
    expect(posts()).toBe(1);
    expect(await policies()).toHaveLength(1);
    await project.ok("preview", "--expect-no-changes");
  });

  it("continues after the provider host was killed, and creates nothing twice", async () => {
    // The request is applied, but the response takes a minute; the host is killed in between.
    api.fault({ kind: "slow", delayMs: 60_000, when: "after", match: { method: "POST", path: POLICIES } });
    const up = finished(project.start("up", "--yes", "--skip-preview"));
    await until(() => posts() === 1);
    const [host] = hostsOf(project);
    expect(host).toBeDefined();
    process.kill(host ?? 0, "SIGKILL");
    expect((await up).code).not.toBe(0);
    expect(await policies()).toHaveLength(1);

    await project.run("cancel", "--yes");
    const again = await project.ok("up", "--yes", "--skip-preview");
    expect(summaryOf(again.text)).toMatchObject({ create: 1 });
    expect(again.text).toMatch(/adopts the existing policy [0-9a-f]{32}/);
    expect(await policies()).toHaveLength(1);
    expect(edgeguardResources(await project.export()).size).toBe(1);
    await project.ok("preview", "--expect-no-changes");
  });

  it("sends nothing after the engine was killed in the middle of a create, and the next up converges", async () => {
    // A host that outlived its engine would write after this Retry-After.
    api.fault({ kind: "status", status: 429, retryAfter: 60, match: { method: "POST", path: POLICIES } });
    const child = project.start("up", "--yes", "--skip-preview");
    const up = finished(child);
    await until(() => posts() === 1);
    expect(hostsOf(project)).not.toEqual([]);
    child.kill("SIGKILL");
    await up;
    await until(() => hostsOf(project).length === 0);
    expect(posts()).toBe(1); // It has ended before its minute was over.
    expect(await policies()).toHaveLength(0);

    await project.ok("cancel", "--yes");
    await project.ok("up", "--yes", "--skip-preview");
    expect(await policies()).toHaveLength(1);
    await project.ok("preview", "--expect-no-changes");
  });

  it("says how to refresh and destroy after the saved token was rotated", async () => {
    await tokenInConfig();
    await project.ok("up", "--yes", "--skip-preview");
    await api.close();
    const rotated = "rotated-token-1357";
    api = await restarted(api, [{ token: rotated }]);
    await project.ok("config", "set", "--secret", "edgeguard:apiToken", rotated);
    project.env = { CLOUDFLARE_API_TOKEN: rotated }; // Isn't used instead.
    for (const command of ["refresh", "destroy"]) {
      const refused = await project.run(command, "--yes", "--skip-preview");
      expect(refused.code).not.toBe(0);
      expect(refused.text).toContain("run `pulumi up` to save the new token, or add `--run-program`");
      expect(refused.text).not.toContain(TOKEN);
    }
    await project.ok("up", "--yes", "--skip-preview");
    const refreshed = await project.ok("refresh", "--yes", "--skip-preview");
    expect(refreshed.text).not.toContain(rotated);
    await project.ok("destroy", "--yes", "--skip-preview");
    expect(api.requests.filter((r) => r.method === "DELETE" && r.status === 204)).toHaveLength(1);
  });

  it("keeps a secret in part of an argument secret, even if state has the argument in another form", async () => {
    project.write(
      PROGRAM.replace(
        `"script-src 'self'"`,
        `{ scriptSrc: ["'self'", pulumi.secret("canary.example.com")] }`,
      ),
    );
    const { text } = await project.ok("up", "--yes", "--skip-preview");
    const [stored] = (await policies()) as { value: string }[];
    expect(stored?.value).toBe("script-src 'self' canary.example.com");
    for (const shown of [text, project.stateText()]) {
      expect(shown.replaceAll(/.*pulumi\.secret\(.*/g, "")).not.toContain("canary.example.com"); // But for the program itself.
    }
  });

  it("keeps every credential out of the state and the output", async () => {
    await tokenInConfig();
    project.env = { EDGEGUARD_DEBUG: "1" };
    api.fault({
      kind: "status",
      status: 403,
      code: 10000,
      message: `token ${TOKEN} is not allowed`,
      match: { method: "POST" },
    });
    const failed = await project.run("up", "--yes", "--skip-preview");
    expect(failed.code).not.toBe(0);
    expect(failed.text).toMatch(/token \[secret\] is not allowed/);
    const passed = await project.ok("up", "--yes", "--skip-preview");
    expect(passed.text).toMatch(/debug: POST /);
    const shown = await project.ok("stack", "export", "--show-secrets");
    for (const text of [failed.text, passed.text, project.stateText()]) expect(text).not.toContain(TOKEN);
    // The engine keeps stack config in its own provider entry, as a secret; of ours nothing may hold the token.
    const resources = (JSON.parse(shown.stdout) as { deployment: { resources: { type: string }[] } })
      .deployment.resources;
    for (const resource of resources.filter((r) => !r.type.startsWith("pulumi:providers:"))) {
      expect(JSON.stringify(resource)).not.toContain(TOKEN);
    }
  });
});

/** The same state under other credentials, at the same address. */
async function restarted(old: LocalApi, credentials: { token: string }[]): Promise<LocalApi> {
  const snapshot = old.snapshot();
  const api = await startLocalApi({ credentials, port: Number(new URL(old.url).port) });
  api.restore(snapshot);
  return api;
}

/** Processes of the provider host that work for this project. */
function hostsOf(project: Project): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  return table
    .split("\n")
    .map((line) => /^\s*(\d+) (.*)$/.exec(line))
    .filter(
      (match) =>
        /cmd\/dynamic-provider|pulumi-resource-edgeguard/.test(match?.[2] ?? "") &&
        cwdOf(match?.[1] ?? "") === project.dir,
    )
    .map((match) => Number(match?.[1]));
}

function cwdOf(pid: string): string | undefined {
  try {
    return execFileSync("readlink", [`/proc/${pid}/cwd`], { encoding: "utf8" }).trim();
  } catch {
    return undefined; // The process has ended since it was listed.
  }
}

/** A test that waits forever fails at its own time limit. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}
