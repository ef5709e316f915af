import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { describeOnCli, edgeguardResources, Project, summaryOf } from "../support/engine";
import { rawSend } from "../support/operation";

/** `get` in a program, on a real CLI. */

const CANARY = "c4nary-token-of-a-destination";

const api = apiPerTest();
let project: Project;
afterEach(() => project.remove());

async function projectOn(engine: typeof LOCAL_ENGINE): Promise<void> {
  project = new Project(engine, "existing");
  project.env = { CLOUDFLARE_API_TOKEN: "local-token" };
  await project.init({ "edgeguard:baseUrl": api.url });
}

const program = (text: string): void =>
  project.write(`import * as edgeguard from "pulumi-edgeguard";\n${text}`);

async function made(path: string, body: object): Promise<string> {
  const { result } = await rawSend(api, "POST", path, body);
  return String((result as { id: unknown }).id);
}

const POLICY = {
  description: "theirs",
  action: "log",
  expression: "true",
  enabled: true,
  value: "script-src 'self'",
};

test("the local engine refuses `get`, and says that it can't read resources", async () => {
  await projectOn(LOCAL_ENGINE);
  program(`edgeguard.PageShieldSettings.get("one", "${api.zones.shop}");`);
  const { code, text } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(text).toContain("reading resources that the stack does not manage (`Resource.get`)");
});

describeOnCli("get", (cli) => {
  test("reads an object without managing it, keeps its destination secret, and passes its bare ID to other resources", async () => {
    await projectOn(cli);
    const { shop } = api.zones;
    const account = api.accounts.main;
    const policy = await made(`/zones/${shop}/page_shield/policies`, POLICY);
    const namespace = await made(`/accounts/${account}/storage/kv/namespaces`, { title: "theirs" });
    const job = await made(`/zones/${shop}/logpush/jobs`, {
      name: "theirs",
      dataset: "http_requests",
      destination_conf: `https://logs.example.com/in?header_Authorization=Bearer%20${CANARY}`,
      enabled: true,
    });
    program(`
    const policy = edgeguard.PageShieldPolicy.get("policy", "${shop}/${policy}");
    const job = edgeguard.LogpushJob.get("job", "zone/${shop}/${job}");
    const namespace = edgeguard.KvNamespace.get("namespace", "${account}/${namespace}");
    new edgeguard.KvEntries("entries", { accountId: "${account}", namespaceId: namespace.id, entries: { a: "1" } });
    export const ids = [policy.id, job.id, namespace.id];
    export const description = policy.description;
  `);
    const { text } = await project.ok("up", "--yes", "--skip-preview");
    expect(summaryOf(text)).toEqual({ create: 2 }); // The stack and the entries: nothing is created for a get.
    const outputs = JSON.parse((await project.ok("stack", "output", "--json")).stdout) as object;
    expect(outputs).toEqual({ ids: [policy, job, namespace], description: "theirs" });
    expect(
      await rawSend(api, "GET", `/accounts/${account}/storage/kv/namespaces/${namespace}/keys`),
    ).toMatchObject({
      result: [{ name: "a" }],
    });

    const state = edgeguardResources(await project.export());
    expect([...state.values()].map(({ id }) => id?.split("/")[0])).toEqual(
      expect.arrayContaining([policy, job, namespace]),
    );
    expect(state.get("PageShieldPolicy::policy")?.outputs).toMatchObject({
      zoneId: shop,
      ...POLICY,
    });
    expect(project.stateText()).not.toContain(CANARY);

    expect(summaryOf((await project.ok("preview", "--expect-no-changes")).text)).toEqual({ unchanged: 2 });
    await project.ok("refresh", "--yes", "--skip-preview");
    expect(project.stateText()).not.toContain(CANARY);
    for (const form of ["--diff", "--json"]) {
      expect((await project.ok("preview", "--expect-no-changes", form)).text).not.toContain(CANARY);
    }
    api.clearRequests();
    await project.ok("destroy", "--yes", "--skip-preview");
    expect(await rawSend(api, "GET", `/zones/${shop}/page_shield/policies/${policy}`)).toMatchObject({
      result: POLICY,
    });
    const deleted = api.requests.filter(({ method }) => method === "DELETE");
    expect(deleted.map(({ path }) => path).filter((path) => !path.includes("/bulk"))).toEqual([]);
  });

  test("prevents a policy from being deleted if the program reads it instead of declaring it", async () => {
    await projectOn(cli);
    const { empty } = api.zones;
    program(
      `export const id = new edgeguard.PageShieldPolicy("one", ${JSON.stringify({ zoneId: empty, ...POLICY })}).id;`,
    );
    await project.ok("up", "--yes", "--skip-preview");
    const { id } = JSON.parse((await project.ok("stack", "output", "--json")).stdout) as { id: string };
    program(`export const id = edgeguard.PageShieldPolicy.get("one", "${empty}/${id}").id;`);
    const { text } = await project.ok("up", "--yes", "--skip-preview");
    expect(text).toContain(
      `PageShieldPolicy ${id} is kept: this program reads it with PageShieldPolicy.get.`,
    );
    expect(await rawSend(api, "GET", `/zones/${empty}/page_shield/policies/${id}`)).toMatchObject({
      result: POLICY,
    });
  });

  test("fails the preview if the ID doesn't exist or is malformed", async () => {
    await projectOn(cli);
    const missing = `${api.zones.empty}/${"0".repeat(32)}`;
    program(`edgeguard.PageShieldPolicy.get("one", "${missing}");`);
    const gone = await project.run("preview");
    expect(gone.code).not.toBe(0);
    expect(gone.text).toContain(`PageShieldPolicy.get: ${missing} doesn't exist.`);
    program('edgeguard.PageShieldPolicy.get("one", "checkout");');
    const wrong = await project.run("preview");
    expect(wrong.code).not.toBe(0);
    expect(wrong.text).toContain(
      'edgeguard: PageShieldPolicy.get("one"): "checkout" is not "<zone ID>/<policy ID>".',
    );
  });
});
