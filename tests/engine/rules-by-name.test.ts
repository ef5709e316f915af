import { LOCAL_ENGINE, managedRulesets } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { reportDrift } from "../../provider/report";
import { edgeguardResources, engines, Project, type RunResult } from "../support/engine";
import { describeLong } from "../support/long";
import { publishVersion, sent, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";

/** Rules that a program names by number, from preview to destroy. */

const CREDENTIALS = { CLOUDFLARE_API_TOKEN: TOKEN };
const { managed, owasp } = managedRulesets;

interface EntryPoint {
  readonly id: string;
  readonly rules: readonly {
    readonly id: string;
    readonly ref: string;
    readonly action_parameters: unknown;
  }[];
}

const programOf = (more = ""): string => `
import * as edgeguard from "pulumi-edgeguard";
import * as pulumi from "@pulumi/pulumi";
const { zoneId, accountId } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const waf = new edgeguard.ManagedRulesetOverride("waf", {
  zoneId, accountId, ruleset: "Cloudflare Managed Ruleset",
  rules: { "CVE-2021-44228": { action: "log" } },
  exceptions: [{
    expression: 'http.request.uri.path eq "/search"',
    skip: { rules: { "Cloudflare OWASP Core Ruleset": ["920272"] } },
  }],
  ${more}
});
export const ruleIds = waf.ruleIds;
`;

describeLong("when a program refers to rules by name", () => {
  describe.each(engines().map((engine) => [engine.name, engine] as const))("%s", (_name, engine) => {
    const api = apiPerTest();
    let project: Project;
    let cve: string;
    let number: string;

    const ruleWith = async (ruleset: string, text: string): Promise<string> => {
      const { result } = await rawSend(api, "GET", `/accounts/${api.accounts.main}/rulesets/${ruleset}`);
      const { rules } = result as { rules: { id: string; description: string }[] };
      return rules.find(({ description }) => description.includes(text))?.id ?? "";
    };
    const publish = (next: object): Promise<void> => publishVersion(api, managed, next);
    const entryPoint = async (): Promise<EntryPoint> => {
      const path = `/zones/${api.zones.blog}/rulesets/phases/http_request_firewall_managed/entrypoint`;
      return (await rawSend(api, "GET", path)).result as EntryPoint;
    };
    const overrides = async (): Promise<unknown> => {
      const { rules } = await entryPoint();
      return rules.filter(({ ref }) => ref.includes("/waf")).map((rule) => rule.action_parameters);
    };
    const expected = (): unknown => [
      { rules: { [owasp]: [number] } },
      expect.objectContaining({ overrides: { rules: [{ id: cve, action: "log" }] } }),
    ];
    const runWith = async (env: Record<string, string>, ...args: string[]): Promise<RunResult> => {
      project.env = env;
      try {
        return await project.ok(...args);
      } finally {
        project.env = CREDENTIALS;
      }
    };
    const withoutCredentials = (...args: string[]): Promise<RunResult> => runWith({}, ...args);
    const savePlan = async (env: Record<string, string> = {}): Promise<void> => {
      await runWith({ EDGEGUARD_SAVED_PLAN: "true", ...env }, "preview", "--save-plan", "plan.json");
    };

    beforeEach(async () => {
      cve = await ruleWith(managed, "Java applications: remote code execution - CVE:CVE-2021-44228");
      number = await ruleWith(owasp, "920272:");
      project = new Project(engine, "named");
      const ids = JSON.stringify({ accountId: api.accounts.main, zoneId: api.zones.blog });
      project.env = CREDENTIALS;
      await project.init({ ids, "edgeguard:baseUrl": api.url });
      project.write(programOf());
    });
    afterEach(() => project.remove());

    it("previews resolve rule names, updates write the rules' IDs, and a rename by Cloudflare changes nothing", async () => {
      const shown = await project.ok("preview", "--diff");
      expect(shown.text).toContain(`is rule ${cve} (`);
      expect(shown.text).toContain(`is rule ${number} (`);
      await project.ok("up", "--yes", "--skip-preview");
      expect(await overrides()).toEqual(expected());

      await publish({
        change: [{ id: cve, description: "Log4j headers" }],
        add: [{ description: "Log4j body - CVE:CVE-2021-44228" }],
      });
      api.clearRequests();
      await project.ok("preview", "--expect-no-changes");
      expect(api.requests).toEqual([]);

      await project.ok("refresh", "--yes", "--skip-preview");
      await project.ok("preview", "--expect-no-changes");
      project.write(programOf(`description: "changed",`));
      await project.ok("up", "--yes", "--skip-preview");
      expect(await overrides()).toEqual(expected());
      await project.ok("preview", "--expect-no-changes");
      await project.ok("destroy", "--yes", "--skip-preview");
      expect(await overrides()).toEqual([]);
    }, 300_000);

    it("the drift report names the rules whose overrides were removed manually", async () => {
      await project.ok("up", "--yes", "--skip-preview");
      const { id, rules } = await entryPoint();
      const own = rules.find(({ ref }) => ref.endsWith("/waf"));
      const edited = { ...own, action_parameters: { id: managed } };
      await rawSend(api, "PATCH", `/zones/${api.zones.blog}/rulesets/${id}/rules/${own?.id ?? ""}`, edited);
      const { stdout } = await project.ok("preview", "--refresh", "--json", "--show-sames");
      const { text, drifted } = reportDrift([{ name: "dev", text: stdout }], "markdown");
      expect(drifted).toBe(true);
      expect(text).toContain("| `rules.CVE-2021-44228.action` | `log` | – |");
      await project.ok("up", "--yes", "--skip-preview", "--refresh");
      expect(await overrides()).toEqual(expected());
    }, 300_000);

    it("the update resolves rule names if the preview had no credentials", async () => {
      const preview = await withoutCredentials("preview", "--diff");
      expect(preview.text).toContain("live checks skipped: no credentials");
      expect(preview.text).not.toContain(cve);
      await project.ok("up", "--yes", "--skip-preview");
      expect(await overrides()).toEqual(expected());
      await project.ok("preview", "--expect-no-changes");
    }, 300_000);

    testUnless(engine === LOCAL_ENGINE ? "the local engine refuses saved plans" : undefined)(
      "a saved plan contains the rules' IDs, or leaves them open if it was made without credentials",
      async () => {
        await savePlan();
        await project.ok("up", "--yes", "--plan", "plan.json");
        expect(await overrides()).toEqual(expected());
        const ids = (): Promise<unknown> =>
          project
            .export()
            .then(
              (state) => edgeguardResources(state).get("ManagedRulesetOverride::waf")?.inputs?.["ruleIds"],
            );
        const resolved = { [managed]: { "CVE-2021-44228": cve }, [owasp]: { "920272": number } };
        expect(await ids()).toEqual(resolved);

        // A change, planned without credentials and then with them, keeps the recorded IDs.
        project.write(programOf(`description: "changed",`));
        await savePlan();
        await publish({ change: [{ id: cve, description: "Log4j headers" }] });
        await project.ok("up", "--yes", "--plan", "plan.json");
        project.write(programOf(`description: "changed again",`));
        await savePlan(CREDENTIALS);
        await project.ok("up", "--yes", "--plan", "plan.json");
        expect([await ids(), await overrides()]).toEqual([resolved, expected()]);

        // A name that means another rule by the time of the update isn't what was reviewed.
        project.write(programOf().replace("CVE-2021-44228", "Drupal request forgery"));
        await savePlan(CREDENTIALS);
        const drupal = await ruleWith(managed, "Drupal: server-side request forgery");
        await publish({
          change: [{ id: drupal, description: "Drupal" }],
          add: [{ description: "Drupal: request forgery 2" }],
        });
        api.clearRequests();
        const refused = await project.run("up", "--yes", "--plan", "plan.json");
        expect(refused.code).not.toBe(0);
        expect(refused.text).toMatch(/ruleIds/);
        expect(sent(api, "POST", "PUT", "PATCH", "DELETE")).toEqual([]);
      },
      300_000,
    );
  });
});
