import { join } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { digestFor, PUT, puts, rulesOf } from "../../migration/support";
import { engines, Project, summaryOf } from "../../support/engine";
import { TOKEN } from "../../support/scenario";

/**
 * The whole path from the previous rules to code: migrated, then taken over by ManagedRulesetOverride as the service has
 * made it, and from then on changed in the program. What a page rule turned off lives on as an exception.
 */

test.each(engines().map((engine) => [engine.name, engine] as const))(
  "the migrated rules and their exception become code, and stay what they are (%s)",
  async (_name, engine) => {
    const api = await startLocalApi();
    const project = new Project(engine, "scenario");
    const zoneId = api.zones.migratePageRule;
    const up = async (program: string) => {
      project.program(join(__dirname, program));
      api.clearRequests();
      const { text } = await project.ok("up", "--yes", "--skip-preview");
      return {
        changes: summaryOf(text),
        writes: puts(api).map((line) => line.replace(/\/[0-9a-f]{32}/g, "/{id}")),
      };
    };
    try {
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      await project.init({
        zoneId,
        confirm: await digestFor(api, { zoneId, plan: "pro", target: "finished" }),
        "edgeguard:accountId": api.accounts.main,
        "edgeguard:baseUrl": api.url,
      });
      expect(await up("program")).toEqual({ changes: { create: 2 }, writes: [PUT.pending] });
      const migrated = await rulesOf(api, zoneId);
      expect(migrated.map(({ action }) => action)).toEqual(["skip", "execute", "execute"]);

      const patch = "PATCH /rulesets/{id}/rules/{id}";
      // The exception is given the ref by which it belongs to its deployment; nothing else of it is written.
      expect(await up("program.adopted")).toEqual({ changes: { create: 2, unchanged: 2 }, writes: [patch] });
      const ref = expect.stringMatching(/^edgeguard\/scenario\/dev\/managed\/exception\/1$/) as string;
      const stamps = { version: expect.any(String) as string, last_updated: expect.any(String) as string };
      expect(await rulesOf(api, zoneId)).toEqual([{ ...migrated[0], ...stamps, ref }, ...migrated.slice(1)]);
      await project.ok("preview", "--expect-no-changes");

      expect(await up("program.changed")).toEqual({
        changes: { update: 1, unchanged: 3 },
        writes: [patch],
      });
      const [exception, ...rest] = await rulesOf(api, zoneId);
      expect(exception).toMatchObject({
        id: migrated[0]?.id,
        expression:
          'http.host eq "migrate-page-rule.example" and starts_with(http.request.uri.path, "/hooks/")',
      });
      expect(rest).toEqual(migrated.slice(1));
    } finally {
      await api.close();
      project.remove();
    }
  },
  120_000,
);
