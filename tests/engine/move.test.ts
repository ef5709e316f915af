import { pulumiCli, startLocalApi } from "edgeguard-local";
import { isWrite } from "../support/is-write";
import { edgeguardResources, Project } from "../support/engine";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";

/** The guide on many zones tells how to move resources to another stack. */

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { destination, KvEntries, KvNamespace, LogpushJob, ManagedRulesetOverride } from "pulumi-edgeguard";
const config = new pulumi.Config();
const zoneId = config.require("zoneId");
if (config.getBoolean("declares")) {
  new ManagedRulesetOverride("waf", { zoneId, ruleset: "Cloudflare Managed Ruleset" });
  new LogpushJob("logs", {
    zoneId,
    dataset: "http_requests",
    destination: destination.https({ url: "https://logs.example.com/in" }),
    outputOptions: { fieldNames: ["RayID"] },
  });
  const { id } = new KvNamespace("flags", { title: "flags" });
  new KvEntries("flags", { namespaceId: id, entries: { a: "1" } });
}
`;

const cli = pulumiCli();

testUnless(cli === undefined ? "no Pulumi CLI on PATH" : undefined)(
  "a resource moves to another stack without being deleted, and only its default names change",
  async () => {
    if (cli === undefined) return;
    const api = await startLocalApi();
    const project = new Project(cli, "edge");
    const run = async (...args: string[]): Promise<string> => {
      const { code, text } = await project.run(...args);
      expect([args, code, code === 0 || text]).toEqual([args, 0, true]);
      return text;
    };
    try {
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      const settings = {
        "edgeguard:baseUrl": api.url,
        "edgeguard:accountId": api.accounts.main,
        zoneId: api.zones.empty,
      };
      await project.init({ ...settings, declares: "true" });
      project.write(PROGRAM);
      await run("up", "--yes", "--skip-preview");
      const before = edgeguardResources(await project.export());
      const urns = [...before.values()].map(({ urn }) => urn);
      expect(urns).toHaveLength(4);

      await run("stack", "init", "other", "--no-select");
      for (const [name, value] of Object.entries({ ...settings, declares: "true" }))
        await run("config", "set", "--stack", "other", name, value);
      await run("config", "set", "declares", "false");
      api.clearRequests();
      await run("state", "move", "--source", "dev", "--dest", "other", "--yes", ...urns);
      await run("preview", "--expect-no-changes");
      expect(api.requests).toEqual([]);
      await run("up", "--stack", "other", "--yes", "--skip-preview");
      expect(
        api.requests
          .filter(isWrite)
          .map(({ method }) => method)
          .sort(),
      ).toEqual(["PATCH", "PUT"]);
      await run("preview", "--stack", "other", "--expect-no-changes");
    } finally {
      await api.close();
      project.remove();
    }
  },
);
