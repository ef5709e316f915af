import { join } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { digestFor, PUT, puts, rulesOf } from "../../migration/support";
import { summaryOf } from "../../support/engine";
import { plays } from "../../support/plays";
import { TOKEN } from "../../support/scenario";

/**
 * The whole path from the previous rules to code: migrated, then adopted by ManagedRulesetOverride unchanged, and from then
 * on changed in the program. What a page rule turned off becomes an exception.
 */

test.each(plays().map((play) => [play.title, play] as const))(
  "ManagedRulesetOverride adopts the migrated rules and their exception unchanged, %s",
  async (_title, { surface, mode }) => {
    const api = await startLocalApi(mode?.api);
    const project = surface.project("scenario");
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
      const patch = "PATCH /rulesets/{id}/rules/{id}";
      // 1. One up: the migration, then the rules it has made. The exception is given the ref by which it belongs to its
      // deployment; nothing else is written.
      expect(await up("program")).toEqual({ changes: { create: 4 }, writes: [PUT.pending, patch] });
      const body = api.requests.find(({ method }) => method === "PUT")?.body as { rules: object[] };
      const migrated = await rulesOf(api, zoneId);
      expect(migrated).toMatchObject(body.rules);
      expect(migrated.map(({ action, id, ref }) => [action, ref === id ? "its id" : ref])).toEqual([
        ["skip", "edgeguard/scenario/dev/managed/exception/1"],
        ["execute", "its id"],
        ["execute", "its id"],
      ]);

      // 2. From now on the program says what is excepted; the rest is unchanged.
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
);
