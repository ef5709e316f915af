import { apiPerTest } from "../support/bench";
import { edgeguardResources, type Project } from "../support/engine";
import { LONG } from "../support/long";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { surfaces } from "../support/surfaces";

/** What a program marks as secret stays secret wherever an engine prints or records it. */

const CANARY = "c4naryT1tleZq7xKw2mVp9rTb";

/** One resource of each type, each with something wrong in an argument that is secret, at the top or at depth. */
const FAILING: Readonly<Record<string, string>> = {
  'entries: key "db"': `new KvEntries("it", { accountId, namespaceId: accountId, entries: { db: { value: secret, expirationTtl: 5 }, api: secret } });`,
  destinationConf: `new LogpushJob("it", { zoneId, dataset: "http_requests", destinationConf: pulumi.secret("s3://logs?access-key-id=" + canary + "&secret-access-key=" + canary) });`,
  onDestroy: `new PageShieldSettings("it", { zoneId, enabled: true, onDestroy: secret });`,
  value: `new PageShieldPolicy("it", { zoneId, description: "x", action: secret, expression: "true", value: { scriptSrc: [secret, 1] } });`,
  title: `new KvNamespace("it", { accountId: secret, title: pulumi.secret(canary.repeat(30)) });`,
  outputOptions: `new LogpushJob("it", { zoneId, dataset: "http_requests", destinationConf: "gs://logs", ownershipChallenge: secret, outputOptions: { fieldNames: [secret], recordPrefix: { deep: secret } } });`,
  rules: `new ManagedRulesetOverride("it", { zoneId, accountId, ruleset: { name: secret, id: secret }, rules: { [zoneId]: { action: secret } } });`,
  confirm: `new WafMigration("it", { zoneId, target: "finished", confirm: secret, configuration: [{ action: secret, expression: "true" }] });`,
};

const PREAMBLE = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, LogpushJob, ManagedRulesetOverride, PageShieldPolicy, PageShieldSettings, WafMigration } from "pulumi-edgeguard";
const config = new pulumi.Config();
const [accountId, zoneId] = [config.require("accountId"), config.require("zoneId")];
const canary = "${CANARY}";
const secret = pulumi.secret(canary);
`;

const HEALTHY = `
import * as pulumi from "@pulumi/pulumi";
import { KvNamespace } from "pulumi-edgeguard";
const accountId = new pulumi.Config().require("accountId");
const namespace = new KvNamespace("hidden", { accountId, title: pulumi.secret("${CANARY}"), preview: true });
new KvNamespace("shown", { accountId, title: pulumi.output("shown") });
export const title = namespace.fullTitle;
`;

const ASSESSED = `
import * as pulumi from "@pulumi/pulumi";
import { WafMigration } from "pulumi-edgeguard";
const zoneId = new pulumi.Config().require("migrating");
const rule = { action: "skip", expression: 'http.cookie contains "${CANARY}"', actionParameters: { ruleset: "current" } };
new WafMigration("migration", { zoneId, target: "assessed", configuration: pulumi.secret([rule]) });
`;

/** Lines that contain part of the canary. */
function leaks(text: string): string[] {
  const pieces = Array.from({ length: CANARY.length - 7 }, (_, at) => CANARY.slice(at, at + 8));
  return text.split("\n").filter((line) => pieces.some((piece) => line.includes(piece)));
}

describe.each(surfaces().map((surface) => [surface.name, surface] as const))("on %s", (_name, surface) => {
  const api = apiPerTest();
  let project: Project;

  beforeEach(async () => {
    project = surface.project("secretive");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({
      accountId: api.accounts.main,
      zoneId: api.zones.empty,
      migrating: api.zones.migratePro,
      "edgeguard:baseUrl": api.url,
    });
  });

  afterEach(() => project.remove());

  it("keeps an output secret only if it comes from a secret argument", async () => {
    project.write(HEALTHY);
    const { text } = await project.ok("up", "--yes", "--diff");
    expect(text).not.toContain(CANARY);
    expect(JSON.stringify(await project.export())).not.toContain(CANARY);
    const states = edgeguardResources(await project.export());
    const outputsOf = (name: string) => states.get(`KvNamespace::${name}`)?.outputs;
    expect(outputsOf("hidden")).toMatchObject({
      __secrets: ["title"],
      fullTitle: { ciphertext: expect.any(String) as string },
    });
    expect(outputsOf("shown")).toMatchObject({ title: "shown", fullTitle: "shown" });
    expect(outputsOf("shown")).not.toHaveProperty("__secrets");
    await project.ok("preview", "--expect-no-changes");
  });

  it("keeps a WafMigration's assessment secret if the configuration is secret, because the assessment lists the rules in it", async () => {
    project.write(ASSESSED);
    for (const command of [["preview"], ["up", "--yes"], ["refresh", "--yes"]])
      expect(leaks((await project.ok(...command, "--diff")).text)).toEqual([]);
    expect(leaks(JSON.stringify(await project.export(), undefined, 1))).toEqual([]);
    await project.ok("preview", "--expect-no-changes");
  });

  // An engine tells a plugin neither which settings are secret nor the settings of other packages.
  testUnless(surface.by === "SDK" ? "an engine doesn't pass these settings to a plugin" : undefined)(
    "warns if a token in the stack's configuration is plain text or lacks the edgeguard: namespace",
    async () => {
      project.write(`
      const { PageShieldSettings } = require("pulumi-edgeguard");
      const zoneId = "${api.zones.empty}";
      new PageShieldSettings("it", { zoneId, enabled: true });`);
      await project.ok("config", "set", "edgeguard:apiToken", TOKEN);
      const plain = await project.ok("preview");
      expect(plain.text).toMatch(/warning: edgeguard: edgeguard:apiToken is stored as plain text/);
      await project.ok("config", "set", "--secret", "edgeguard:apiToken", TOKEN);
      expect((await project.ok("preview")).text).not.toContain("plain text");
      await project.ok("config", "rm", "edgeguard:apiToken");
      await project.ok("config", "set", "--secret", "apiToken", TOKEN);
      project.env = {};
      const misplaced = await project.ok("preview");
      expect(misplaced.text).toMatch(/pulumi-edgeguard ignores "secretive:apiToken"/);
      expect(misplaced.text).toContain("pulumi config set --secret edgeguard:apiToken");
      for (const { text } of [plain, misplaced]) expect(text).not.toContain(TOKEN);
    },
  );

  // An engine stops at the first resource that is refused.
  it.each(Object.entries(FAILING).slice(0, LONG ? undefined : 1))(
    "doesn't show the secrets of a resource whose %s is refused",
    async (path, resource) => {
      project.write(PREAMBLE + resource);
      for (const command of [["preview"], ["preview", "--json"], ["up", "--yes"]]) {
        const { code, text } = await project.run(...command);
        expect(code).not.toBe(0);
        expect(leaks(text)).toEqual([]);
        expect(text.replaceAll("\\", "")).toContain(path);
      }
    },
    120_000,
  );
});
