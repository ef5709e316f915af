import { managedRulesets, type ZoneName } from "edgeguard-local";
import type { Operation } from "../support/operation";
import { RulesetsBench, TYPE } from "./support";

const bench = new RulesetsBench();

const WARNING =
  /can still migrate from the previous WAF managed rules\. .* will have no effect on it\. Migrate/;

/** What an operation warns about the migration. */
const warned = (operation: Operation): string[] => operation.warned.filter((line) => WARNING.test(line));

const statusReads = (): number =>
  bench.api.requests.filter(({ path }) => path.endsWith("/waf_migration/status")).length;

describe("the preview of a new deployment", () => {
  it.each<[string, ZoneName, boolean, object?]>([
    ["warns in a zone that still runs the previous WAF", "migrateBusiness", true],
    ["warns if the migration is blocked", "migrateOverrides", true],
    [
      "doesn't warn during the validation, where the exceptions exist already",
      "migrateValidating",
      false,
      { expression: 'http.host eq "a.example"' },
    ],
    ["doesn't warn once the zone has migrated", "shop", false],
    ["doesn't warn if Cloudflare has retired the migration", "migrateRetired", false],
    [
      "doesn't warn if it adopts an existing rule",
      "migrateDeployed",
      false,
      { ruleset: { id: managedRulesets.managed }, description: "Set up before the migration" },
    ],
  ])("%s", async (_, zone, warns, more = {}) => {
    bench.inZone(zone);
    const operation = bench.operation();
    await operation.preview(TYPE, bench.declare({ ...more }));
    expect(warned(operation)).toHaveLength(warns ? 1 : 0);
  });

  it("reads the zone's state once for several deployments, and never for one that exists", async () => {
    bench.inZone("migrateBusiness");
    bench.api.clearRequests();
    const operation = bench.operation();
    await operation.preview(TYPE, bench.declare());
    await operation.preview(TYPE, bench.declareManaged({ ref: "edgeguard/site/dev/other" }));
    expect([warned(operation).length, statusReads()]).toEqual([2, 1]);

    const declared = bench.declare();
    const recorded = await bench.up(declared);
    await bench.expectNoChanges(declared, recorded);
    bench.api.clearRequests();
    const changing = bench.operation();
    await changing.preview(TYPE, { ...declared, description: "changed" }, recorded);
    expect([warned(changing).length, statusReads()]).toEqual([0, 0]);
  });

  it("doesn't warn if the same program migrates the zone first, but does if it only assesses the zone or comes later", async () => {
    bench.inZone("migrateBusiness");
    const migration = { zoneId: bench.zone, target: "finished" };
    const refusal = await bench.operation().refusals("WafMigration", migration);
    const [, confirm] = /set confirm: "([0-9a-f]{64})"/.exec(refusal.join()) ?? [];
    const inOrder = async (...steps: readonly ((operation: Operation) => Promise<unknown>)[]) => {
      const operation = bench.operation();
      for (const step of steps) await step(operation);
      return warned(operation);
    };
    const deploy = (operation: Operation) => operation.preview(TYPE, bench.declare());
    const migrate = (operation: Operation) => operation.preview("WafMigration", { ...migration, confirm });
    const assess = (operation: Operation) =>
      operation.preview("WafMigration", { ...migration, target: "assessed" });
    expect(await inOrder(migrate, deploy)).toEqual([]);
    expect(await inOrder(assess, deploy)).toHaveLength(1);
    expect(await inOrder(deploy, migrate)).toEqual([expect.stringContaining("their order isn't known")]);
  });
});
