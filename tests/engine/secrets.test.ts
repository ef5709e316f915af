import { startLocalApi, type LocalApi } from "edgeguard-local";
import { edgeguardResources, engines, Project } from "../support/engine";
import { TOKEN } from "../support/scenario";

/** What a program marks as secret stays secret wherever an engine prints or records it. */

const CANARY = "c4naryT1tleOfTheNamespace";

const HEALTHY = `
import * as pulumi from "@pulumi/pulumi";
import { KvNamespace } from "pulumi-edgeguard";
const accountId = new pulumi.Config().require("accountId");
const namespace = new KvNamespace("hidden", { accountId, title: pulumi.secret("${CANARY}"), preview: true });
new KvNamespace("shown", { accountId, title: pulumi.output("shown") });
export const title = namespace.fullTitle;
`;

describe.each(engines().map((engine) => [engine.name, engine] as const))("on %s", (_name, engine) => {
  let api: LocalApi;
  let project: Project;

  beforeEach(async () => {
    api = await startLocalApi();
    project = new Project(engine, "secretive");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ accountId: api.accounts.main, "edgeguard:baseUrl": api.url });
  });

  afterEach(async () => {
    await api.close();
    project.remove();
  });

  it("keeps an output secret that is made from a secret argument, and no other", async () => {
    project.write(HEALTHY);
    const { text } = await project.ok("up", "--yes", "--diff");
    expect(text).not.toContain(CANARY);
    expect(JSON.stringify(await project.export())).not.toContain(CANARY);
    const { hidden, shown } = Object.fromEntries(
      [...edgeguardResources(await project.export())].map(([name, state]) => [name.split("::")[1], state]),
    );
    expect(hidden?.outputs).toMatchObject({
      __secrets: ["title"],
      fullTitle: { ciphertext: expect.any(String) as string },
    });
    expect(shown?.outputs).toMatchObject({ title: "shown", fullTitle: "shown" });
    expect(shown?.outputs).not.toHaveProperty("__secrets");
    await project.ok("preview", "--expect-no-changes");
  });
});
