import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { report } from "../../provider/report";
import { engines, Project, REPOSITORY } from "../support/engine";
import { describeLong } from "../support/long";
import { publishVersion } from "../support/operation";
import { TOKEN } from "../support/scenario";

/** The nightly run after Cloudflare published a version of a managed ruleset, on every engine of the machine. */
describeLong("after Cloudflare published a new version of a managed ruleset", () => {
  describe.each(engines().map((engine) => [engine.name, engine] as const))("on %s", (_name, engine) => {
    const api = apiPerFile();
    let project: Project;
    beforeAll(async () => {
      project = new Project(engine, "edge");
      await project.init({ "edgeguard:accountId": api.accounts.main, "edgeguard:baseUrl": api.url });
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      project.program(join(REPOSITORY, "tests/report/programs/versions"));
      await project.ok("up", "--yes", "--skip-preview");
      await publishVersion(api, managedRulesets.managed, { add: [{ description: "New", action: "log" }] });
    }, 60_000);
    afterAll(() => project.remove());

    /** Runs, and lists the requests sent, without IDs. */
    const requestsOf = async (...args: readonly string[]): Promise<string[]> => {
      api.clearRequests();
      await project.ok(...args);
      return api.requests.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f]{32}/g, "{id}")}`);
    };
    const unchanged = ["preview", "--expect-no-changes"] as const;
    const latest = /Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment \(1 log\)\./;
    const pinned =
      /Cloudflare Managed Ruleset is pinned to 87 \(88 and 89 are available\): lacks 2 new rules, /;

    test("a preview of the unchanged program sends no requests, and `preview --refresh` finds no changes", async () => {
      expect(await requestsOf(...unchanged)).toEqual([]);
      const sent = await requestsOf(...unchanged, "--refresh");
      expect(sent.filter((request) => request.includes("/accounts/")).sort()).toEqual([
        "GET /accounts/{id}/rulesets/{id}",
        "GET /accounts/{id}/rulesets/{id}/versions/87",
        "GET /accounts/{id}/rulesets/{id}/versions/88",
      ]);
    }, 60_000);

    test("the report on a preview with a refresh mentions the new version", async () => {
      const { stdout } = await project.ok("preview", "--refresh", "--json", "--show-sames");
      const { dangers, text } = report(stdout, "text");
      expect(dangers).toEqual([]);
      expect(text).toMatch(latest);
      expect(text).toMatch(pinned);
    }, 60_000);

    test("a refresh reports and records the new version; the next refresh only says what the pinned version lacks", async () => {
      const refreshed = await project.ok("refresh", "--yes");
      expect(refreshed.text).toMatch(latest);
      expect(refreshed.text).toMatch(pinned);
      expect(await requestsOf(...unchanged)).toEqual([]);
      const next = await project.ok("refresh", "--yes");
      expect(next.text).not.toMatch(latest);
      expect(next.text).toMatch(pinned);
    }, 60_000);
  });
});
