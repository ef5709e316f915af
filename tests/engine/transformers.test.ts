import { startLocalApi, type LocalApi } from "edgeguard-local";
import { reportDrift } from "../../provider/report";
import { summaryOf, type Project, type RunResult } from "../support/engine";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** A transformer and the job that uses it, from the first update to destroy. Nothing shows the code. */

const CANARY = "c4nary-salt-of-the-hash";
const codeWith = (status: number): string =>
  `SELECT sha256(concat(ClientIP, '${CANARY}')) AS visitor FROM http_requests WHERE EdgeResponseStatus >= ${status}`;

const program = (status: number, uses = "transformerId: transformer.id,"): string => `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, zoneId } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const code = ${JSON.stringify(codeWith(status))};
const transformer = new edgeguard.LogpushTransformer("hashed", { accountId, code });
new edgeguard.LogpushJob("job", {
  zoneId, name: "job", dataset: "http_requests", destinationConf: "https://logs.shop.example/in", ${uses}
});
export const { codeDigest, dataset } = transformer;
`;

describe.each(surfaces())("on $name, a Logpush transformer", (surface) => {
  let api: LocalApi;
  let project: Project;
  const printed: string[] = [];
  const ok = async (...args: string[]): Promise<RunResult> => {
    api.clearRequests();
    const result = await project.ok(...args);
    printed.push(result.text);
    return result;
  };
  const writes = (): string[] =>
    api.requests
      .filter(({ method }) => method !== "GET")
      .map(({ method, path }) => `${method} ${path.replace(/^.*\/logpush\//, "")}`);
  const path = (): string => `/accounts/${api.accounts.main}/logpush/transformers/1`;
  const up = ["up", "--yes", "--skip-preview"];

  beforeAll(async () => {
    api = await startLocalApi();
    project = surface.project("transformers");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    const ids = { accountId: api.accounts.main, zoneId: api.zones.empty };
    await project.init({ ids: JSON.stringify(ids), "edgeguard:baseUrl": api.url });
  }, 60_000);
  afterAll(async () => {
    project.remove();
    await api.close();
  });

  it("is created before the job that uses it, and then shows no change", async () => {
    project.write(program(500));
    await ok("preview");
    await ok(...up);
    expect(writes()).toEqual(["POST transformers", "POST jobs"]);
    expect(api.snapshot().logpush.jobs.at(-1)).toMatchObject({ transformer_id: 1 });
    await ok("refresh", "--yes", "--expect-no-changes");
    await ok("preview", "--expect-no-changes");
  }, 120_000);

  it("is in the drift report with its digest if someone changed it, and is repaired", async () => {
    const code = `SELECT '${CANARY}' AS tag FROM http_requests`;
    await rawSend(api, "PUT", path(), { name: "transformers-dev-hashed", code });
    const { stdout } = await ok("preview", "--refresh", "--json", "--show-sames");
    const { text, drifted } = reportDrift([{ name: "plan", text: stdout }], "text");
    expect(drifted).toBe(true);
    expect(text).toMatch(/code +│ [0-9a-f]{32} │ [0-9a-f]{32}/);
    expect(text).toMatch(/its code changes/);
    printed.push(text);
    expect(summaryOf((await ok("up", "--refresh", "--yes", "--skip-preview")).text)).toMatchObject({
      update: 1,
    });
    expect(writes()).toEqual(["PUT transformers/1"]);
    expect((await rawSend(api, "GET", `${path()}/content`)).result).toEqual({ content: codeWith(500) });
  }, 120_000);

  it("is changed in place, and destroyed after the job that uses it", async () => {
    project.write(program(400));
    await ok(...up);
    expect(writes()).toEqual(["PUT transformers/1"]);
    expect(JSON.stringify(await project.export())).not.toContain(CANARY);
    await ok("destroy", "--yes", "--skip-preview");
    expect(writes()).toEqual([expect.stringMatching(/^DELETE jobs\//), "DELETE transformers/1"]);
    expect(printed.join("\n")).not.toContain(CANARY);
  }, 120_000);

  it("isn't deleted while a job of someone else uses it", async () => {
    project.write(program(500));
    await ok(...up);
    const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
    const theirs = { name: "theirs", dataset: "http_requests", destination_conf: "https://theirs.example" };
    await rawSend(api, "POST", jobs, { ...theirs, transformer_id: 2 });
    const failed = await project.run("destroy", "--yes", "--skip-preview");
    expect(failed.code).not.toBe(0);
    expect(failed.text.replace(/\s+/g, " ")).toMatch(/409 Conflict.*used by job \d+ "theirs" of zone/);
  }, 120_000);
});
