import { apiPerTest } from "../support/bench";
import { report } from "../../provider/report";
import { edgeguardResources, engines, Project, summaryOf } from "../support/engine";
import { isWrite } from "../support/is-write";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";

/** The component for a whole zone, in a program that uses the classes. */

const CANARY = "c4nary-of-a-destination";
const DESTINATION = `https://logs.example.com/in?header_Authorization=Bearer%20${CANARY}`;
const PARTS = ["pageShieldSettings", "pageShieldPolicy", "managedRuleset", "owaspRuleset", "logpushJob"];

describe.each(engines())("ProtectedZone on $name", (engine) => {
  const api = apiPerTest();
  let project: Project;

  beforeEach(async () => {
    project = new Project(engine, "zones");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
    await project.ok("config", "set", "--secret", "destination", DESTINATION);
  });
  afterEach(() => project.remove());

  function program(args: string, more = ""): void {
    project.write(`
      import * as pulumi from "@pulumi/pulumi";
      import { ManagedRulesetOverride, ProtectedZone } from "pulumi-edgeguard";
      const zoneId = ${JSON.stringify(api.zones.empty)};
      const destinationConf = new pulumi.Config().requireSecret("destination");
      const zone = new ProtectedZone("shop", { zoneId, ${args} });
      ${more}
    `);
  }

  const names = async (): Promise<string[]> =>
    [...edgeguardResources(await project.export()).keys()].map((each) => each.replace(/^.*::/, "")).sort();

  const writes = (): string[] => api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);

  /** What the gate says of each resource that it fails on. */
  async function failures(): Promise<string[]> {
    const { stdout } = await project.run("preview", "--json", "--show-sames");
    const { text, dangers } = report(stdout, "json", { failOn: ["unprotect"] });
    expect(text).not.toContain("edgeguard:index:ProtectedZone"); // Its resources have sections of their own.
    const failed = dangers.filter(({ verdict }) => verdict === "fails");
    return failed.map(({ kind, type, name }) => `${kind} ${type} ${name}`);
  }

  test("protects a zone, runs OWASP after the managed ruleset, keeps its destination secret, and deletes all of it", async () => {
    program("logpushJob: { destinationConf }");
    const preview = await project.ok("preview");
    expect(summaryOf(preview.text)).toEqual({ create: 7 });
    expect(await failures()).toEqual([]);
    const up = await project.ok("up", "--yes", "--skip-preview");
    expect(await names()).toEqual(["shop", ...PARTS.map((each) => `shop-${each}`)].sort());
    const rules = await rawSend(
      api,
      "GET",
      `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`,
    );
    const described = (rules.result as { rules: { ref: string }[] }).rules.map(({ ref }) => ref);
    expect(described.map((ref) => ref.replace(/.*shop-/, ""))).toEqual(["managedRuleset", "owaspRuleset"]);
    api.clearRequests();
    await project.ok("preview", "--expect-no-changes");
    await project.ok("refresh", "--yes", "--expect-no-changes");
    await project.ok("preview", "--expect-no-changes");
    expect(writes()).toEqual([]);
    await project.ok("destroy", "--yes", "--skip-preview");
    expect((await project.export()).deployment.resources ?? []).toEqual([]);
    expect([preview.text, up.text, project.stateText()].filter((text) => text.includes(CANARY))).toEqual([]);
  });

  test("a resource that's left out is deleted, and can be declared with its class instead without a change", async () => {
    program("logpushJob: { destinationConf }");
    await project.ok("up", "--yes", "--skip-preview");
    program(
      'without: ["owaspRuleset"], logpushJob: { destinationConf }',
      `new ManagedRulesetOverride(
        "shop-owaspRuleset",
        { zoneId, ruleset: "Cloudflare OWASP Core Ruleset" },
        { aliases: [{ parent: zone }] },
      );`,
    );
    api.clearRequests();
    expect(summaryOf((await project.ok("preview", "--expect-no-changes")).text)).toEqual({ unchanged: 7 });
    await project.ok("up", "--yes", "--skip-preview");
    await project.ok("preview", "--expect-no-changes");
    expect(writes()).toEqual([]);
    program('without: ["owaspRuleset", "logpushJob", "pageShieldPolicy"]');
    expect(await failures()).toEqual([
      "unprotect LogpushJob shop-logpushJob",
      "unprotect ManagedRulesetOverride shop-owaspRuleset",
      "unprotect PageShieldPolicy shop-pageShieldPolicy",
    ]);
    await project.ok("up", "--yes", "--skip-preview");
    expect(await names()).toEqual(["shop", "shop-managedRuleset", "shop-pageShieldSettings"]);
  });

  test("the gate fails on a resource of the component that becomes weaker, as on any other", async () => {
    program("logpushJob: { destinationConf }");
    await project.ok("up", "--yes", "--skip-preview");
    program(
      "pageShieldSettings: { enabled: false }, owaspRuleset: { allRulesEnabled: false }, logpushJob: { destinationConf }",
    );
    expect(await failures()).toEqual([
      "unprotect ManagedRulesetOverride shop-owaspRuleset",
      "unprotect PageShieldSettings shop-pageShieldSettings",
    ]);
  });

  test("a mistake names the resource of the component, or what the component has", async () => {
    program("");
    const missing = await project.run("preview");
    expect(missing.code).not.toBe(0);
    expect(missing.text).toMatch(
      /shop-logpushJob.* has a problem: destination: is required\. Set destination, or /,
    );
    program(
      `zoneId: ${JSON.stringify(api.zones.free)}, without: ["pageShieldSettings", "managedRuleset", "logpushJob"]`,
    );
    expect((await project.run("preview")).text).toMatch(
      /shop-(pageShieldPolicy|owaspRuleset)' has a problem: zoneId: the free plan of zone free\.example doesn't include /,
    );
    program('without: ["wafRuleset"]');
    const unknown = await project.run("preview");
    expect(unknown.text).toContain(
      'edgeguard: ProtectedZone "shop": "wafRuleset" is not one of its resources. They are ',
    );
  });
});
