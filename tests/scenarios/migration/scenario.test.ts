import { startLocalApi, type LocalApi } from "edgeguard-local";
import { digestFor, PUT, puts, rulesOf } from "../../migration/support";
import {
  edgeguardResources,
  engines,
  itAgrees,
  type Project,
  summaryOf,
  type RunResult,
} from "../../support/engine";
import { plays } from "../../support/plays";
import { TOKEN } from "../../support/scenario";
import { LONG } from "../../support/long";

/**
 * Seven zones of one program through everything that a migration can meet, on every engine of this machine. The local API
 * uses unknown names for the states, and takes a moment for each switch. Ways back are tried one by one, as an engine stops
 * at the first refusal; all of them in the long run.
 */

interface Declaration {
  readonly zone: keyof LocalApi["zones"];
  readonly target: "assessed" | "validation" | "finished";
  readonly confirm?: string;
  readonly plan?: string;
  readonly protect?: boolean;
}

const MANY: Declaration = { zone: "migrateManyRules", target: "assessed" };
const LONG_RULE: Declaration = { zone: "migrateLongRule", target: "assessed" };

/** A program with these migrations. */
function programOf(api: LocalApi, declarations: readonly Declaration[]): string {
  const lines = declarations.map(({ zone, protect = false, ...args }) => {
    const given = JSON.stringify({ zoneId: api.zones[zone], ...args });
    return `new WafMigration(${JSON.stringify(zone)}, ${given}, { protect: ${protect} });`;
  });
  return ['import { WafMigration } from "pulumi-edgeguard";', ...lines].join("\n");
}

/** The digest that a run shows for the last step of a zone. */
function digestIn({ text }: RunResult, zone: string): string {
  const shown = text.slice(text.lastIndexOf(`zone ${zone}: eligible`));
  const digest = /to finish: target: "finished", confirm: "([0-9a-f]{64})"/.exec(shown)?.[1];
  if (digest === undefined) throw new Error(`no digest of zone ${zone} in\n${text}`);
  return digest;
}

const recorded = new Map<string, unknown>();

describe("migrations of seven zones", () => {
  test.each(plays().map((play) => [play.title, play] as const))(
    `%s${LONG ? "" : " (only the first of three lowered targets; all in the long run)"}`,
    async (_title, { surface, mode }) => {
      const api = await startLocalApi({
        ...mode?.api,
        waf: {
          pendingMs: 200,
          stateNames: { start: "start", validation: "stage-7", pending: "stage-8", finished: "stage-9" },
        },
      });
      const { zones } = api;
      const project = surface.project("migration");
      const fresh = surface.project("migration");
      const run = async (
        on: Project,
        what: string[],
        declarations?: readonly Declaration[],
      ): Promise<RunResult> => {
        if (declarations !== undefined) on.write(programOf(api, declarations));
        api.clearRequests();
        return await on.run(...what);
      };
      const up = ["up", "--yes", "--skip-preview"];
      const settings = { "edgeguard:baseUrl": api.url };
      try {
        for (const each of [project, fresh]) {
          each.env = { CLOUDFLARE_API_TOKEN: TOKEN };
          await each.init(settings);
        }

        // 1. All are assessed: read, and nothing else.
        const assessed: Declaration[] = [
          { zone: "migratePro", target: "assessed" },
          { zone: "migrateEnterprise", target: "assessed" },
          { zone: "migrateOverrides", target: "assessed" },
          { zone: "migrateBusiness", target: "assessed" },
          { zone: "migrateFinished", target: "assessed" },
          MANY,
          LONG_RULE,
        ];
        const first = await run(project, up, assessed);
        expect(summaryOf(first.text)).toEqual({ create: 8 });
        expect(puts(api)).toEqual([]);
        for (const words of [
          /a605: blocked; [\s\S]*URI-based override [0-9a-f]{32} .* must be deleted first: DELETE/,
          /a606: blocked; [\s\S]*201 of \d+ firewall rules bypass the managed rules .*Contact Cloudflare Support/,
          /a607: blocked; [\s\S]*is 4097 bytes; the limit is 4096\. Contact Cloudflare Support/,
          /a60c: finished: the previous rules are off and the new ones are on/,
        ])
          expect(first.text).toMatch(words);

        // 2. The overrides go, and a colleague finishes a zone in the dashboard.
        for (const { id } of api.waf(zones.migrateOverrides).overrides)
          api.inDashboard(zones.migrateOverrides, { do: "deleteOverride", id });
        api.inDashboard(zones.migrateBusiness, { do: "finish" });
        const unblocked: Declaration = { zone: "migrateOverrides", target: "finished" };
        const confirmUnblocked = await digestFor(api, { zoneId: zones.migrateOverrides, target: "finished" });

        // 3. Confirmed with what was shown: straight to the end, through validation, and nothing for who is there.
        const shown = /to validate .*target: "validation", confirm: "([0-9a-f]{64})"/;
        const enterprise = first.text.slice(
          first.text.lastIndexOf(`zone ${zones.migrateEnterprise}: eligible`),
        );
        const validated: Declaration[] = [
          { zone: "migratePro", plan: "pro", target: "finished", confirm: digestIn(first, zones.migratePro) },
          {
            zone: "migrateEnterprise",
            plan: "enterprise",
            target: "validation",
            confirm: shown.exec(enterprise)?.[1] ?? "",
          },
          { ...unblocked, confirm: confirmUnblocked },
          { zone: "migrateBusiness", target: "finished" },
          { zone: "migrateFinished", target: "finished" },
          MANY,
          LONG_RULE,
        ];
        const second = await run(project, up, validated);
        expect(summaryOf(second.text)).toEqual({ update: 5, unchanged: 3 });
        expect(puts(api).sort()).toEqual([PUT.pending, PUT.pending, PUT.validation]);
        expect(
          [zones.migratePro, zones.migrateOverrides, zones.migrateEnterprise].map((id) => api.waf(id).phase),
        ).toEqual(["finished", "finished", "validation"]);

        // 4. What is adjusted in validation is what ends up; it is confirmed as it stands then.
        const [skip] = await rulesOf(api, zones.migrateEnterprise);
        api.inDashboard(zones.migrateEnterprise, {
          do: "adjust",
          rule: skip?.id ?? "",
          change: { expression: "ssl" },
        });
        const adjusted = await rulesOf(api, zones.migrateEnterprise);
        const last = (confirm: object): Declaration[] =>
          validated.map((declaration) => ({
            ...declaration,
            ...(declaration.zone === "migrateEnterprise" ? { target: "finished" as const, ...confirm } : {}),
          }));
        const refused = await run(project, ["preview"], last({}));
        expect(refused.code).not.toBe(0);
        expect(refused.text).toMatch(/doesn't match.*1\. skip all remaining rules where ssl \[exists\]/s);
        expect(puts(api)).toEqual([]);
        const confirm = /set confirm: "([0-9a-f]{64})"/.exec(refused.text)?.[1] ?? "";
        const third = await run(project, up, last({ confirm }));
        expect(summaryOf(third.text)).toEqual({ update: 1, unchanged: 7 });
        expect(puts(api)).toEqual([PUT.pending]);
        expect(await rulesOf(api, zones.migrateEnterprise)).toEqual(adjusted);

        // 5. Nothing is left to do, and only assessed zones are asked for; one of them has changed, which is seen.
        api.inDashboard(zones.migrateManyRules, { do: "package", sensitivity: "medium" });
        const seen = await run(project, ["preview", "--expect-no-changes"]);
        expect(seen.code).not.toBe(0);
        expect(summaryOf(seen.text)).toEqual({ update: 1, unchanged: 7 });
        expect(seen.text).toMatch(
          /OWASP sensitivity medium -> paranoia level 1, score threshold 25 \(high\)/,
        );
        expect(api.requests.every(({ method, path }) => method === "GET" && /a60[67]\//.test(path))).toBe(
          true,
        );

        // 6. There is no way back.
        const back = [
          ["migratePro", "assessed"],
          ["migratePro", "validation"],
          ["migrateEnterprise", "assessed"],
        ] as const;
        for (const [zone, target] of LONG ? back : back.slice(0, 1)) {
          const declarations = last({ confirm }).map((declaration) =>
            declaration.zone === zone ? { ...declaration, plan: "enterprise", target } : declaration,
          );
          const lowered = await run(project, ["preview"], declarations);
          expect(lowered.code).not.toBe(0);
          expect(lowered.text).toContain(
            `can't go back from "finished" to "${target}" for zone ${zones[zone]}`,
          );
        }
        if (mode === undefined && engines().length > 1) {
          const state = edgeguardResources(await project.export());
          recorded.set(surface.name, normalized([...state.values()].map(({ outputs }) => outputs)));
        }

        // 7. A fresh stack takes finished zones as they are. Destroyed, it asks for nothing and says what stays; what is
        // protected is not even forgotten.
        const adopted = await run(fresh, up, [
          { zone: "migratePro", target: "finished", protect: true },
          { zone: "migrateEnterprise", target: "validation" },
        ]);
        expect(summaryOf(adopted.text)).toEqual({ create: 3 });
        expect(puts(api)).toEqual([]);
        const destroyed = await run(fresh, ["destroy", "--yes", "--skip-preview"]);
        expect(destroyed.code).not.toBe(0);
        expect(destroyed.text).toMatch(
          /WafMigration::migratePro" cannot be deleted\s+because it is protected/,
        );
        expect(destroyed.text).toMatch(
          /zone .{32}: removed from the state\. A migration can.t be undone, so the zone stays as it is \(last seen at finished\)/,
        );
        expect(api.requests).toEqual([]);
      } finally {
        await api.close();
        project.remove();
        fresh.remove();
      }
    },
    240_000,
  );

  itAgrees(recorded);
});

/** Without what differs from run to run. */
function normalized(outputs: readonly unknown[]): unknown {
  const text = JSON.stringify(outputs).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "{time}");
  const all = JSON.parse(text) as { zoneId: string }[];
  return all.sort((a, b) => (a.zoneId < b.zoneId ? -1 : 1));
}
