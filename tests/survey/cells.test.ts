import { z } from "zod";
import { controlOf, callerOf, type Call } from "../local-api/client";
import { LONG } from "../support/long";
import { Ground } from "./support";
import type { Zone } from "../../provider/survey/model";

/** Each cell is worked out again from plain requests, by rules written here and nowhere else. */

type Raw = Record<string, unknown>;

interface RawAnswer {
  readonly status: number;
  readonly result: unknown;
}

async function answer(call: Call, path: string): Promise<RawAnswer> {
  const { status, body } = await call("GET", path);
  return { status, result: z.looseObject({ result: z.unknown() }).parse(body).result };
}

const rows = (given: unknown): Raw[] => z.array(z.record(z.string(), z.unknown())).parse(given ?? []);
const row = (given: unknown): Raw => z.record(z.string(), z.unknown()).parse(given);

async function expectedZone(call: Call, control: Call, id: string): Promise<Record<string, unknown>> {
  const zone = row((await answer(call, `/zones/${id}`)).result);
  const refused = (status: number) => ({ notReadable: status === 403 ? "plan" : "failed" });

  const settings = await answer(call, `/zones/${id}/page_shield`);
  const raw = row(settings.result ?? {});
  const policies = await answer(call, `/zones/${id}/page_shield/policies`);
  const query = "status=active,infrequent&exclude_cdn_cgi=false&exclude_duplicates=false&page=all";
  const scripts = await answer(call, `/zones/${id}/page_shield/scripts?${query}`);
  const isBad = (each: Raw): boolean =>
    (typeof each["js_integrity_score"] === "number" && each["js_integrity_score"] < 50) ||
    each["domain_reported_malicious"] === true ||
    each["url_reported_malicious"] === true;
  const seen = rows(scripts.result);

  const waf = z
    .looseObject({
      deployments: z.array(
        z.looseObject({
          id: z.string(),
          enabled: z.boolean(),
          ruleset: z.looseObject({ id: z.string(), name: z.string(), version: z.string() }),
          on: z.number(),
          off: z.number(),
          rules: z.array(
            z.looseObject({
              enabled: z.boolean(),
              action: z.string(),
              categories: z.array(z.string()),
              score_threshold: z.number().optional(),
            }),
          ),
        }),
      ),
    })
    .parse((await control("GET", `/zones/${id}/effective-waf`)).body);
  const deployments = waf.deployments.map(({ id: ruleId, enabled, ruleset, on, off, rules }) => {
    const levels = rules
      .filter((each) => each.enabled)
      .flatMap(({ categories }) => categories.flatMap((tag) => /^paranoia-level-(\d)$/.exec(tag)?.[1] ?? []))
      .map(Number);
    const scoring = rules.find(({ score_threshold }) => score_threshold !== undefined);
    return { ruleId, enabled, ruleset, on, off, level: Math.max(0, ...levels), scoring };
  });
  const owasp = deployments.find(({ enabled, level }) => enabled && level > 0);

  const status = await answer(call, `/zones/${id}/waf_migration/status`);
  const overrides = await answer(call, `/zones/${id}/firewall/waf/overrides`);
  const jobs = rows((await answer(call, `/zones/${id}/logpush/jobs`)).result);
  return {
    id,
    name: zone["name"],
    plan: row(zone["plan"])["legacy_id"],
    status: zone["status"],
    accountId: row(zone["account"])["id"],
    pageShield:
      settings.status === 200
        ? { enabled: raw["enabled"], updatedAt: raw["updated_at"] }
        : refused(settings.status),
    policies:
      policies.status === 200
        ? rows(policies.result).map((each) => ({
            id: each["id"],
            description: each["description"],
            expression: each["expression"],
            value: each["value"],
            effect:
              String(each["enabled"]) !== "true"
                ? "off"
                : each["action"] === "allow"
                  ? "enforced"
                  : "logging",
          }))
        : refused(policies.status),
    scripts:
      scripts.status === 200
        ? {
            seen: seen.length,
            malicious: seen.filter(isBad).length,
            notScored: seen.filter((each) => !isBad(each) && (each["js_integrity_score"] ?? null) === null)
              .length,
          }
        : refused(scripts.status),
    deployments: deployments.map(({ ruleId, enabled, ruleset, on, off }) => ({
      ruleId,
      enabled,
      rulesetId: ruleset.id,
      effect: { name: ruleset.name, version: ruleset.version, rulesOn: on, rulesOff: off },
    })),
    owasp:
      owasp === undefined
        ? { state: "off" }
        : {
            state: "on",
            paranoiaLevel: owasp.level,
            scoreThreshold: owasp.scoring?.score_threshold,
            action: owasp.scoring?.action,
          },
    migration: {
      state: status.status >= 400 ? "retired" : undefined,
      blockers: rows(overrides.status === 200 ? overrides.result : []).map((each) => each["id"]),
    },
    jobs: jobs.map((each) => ({
      id: String(each["id"]),
      name: each["name"],
      dataset: each["dataset"],
      state:
        each["enabled"] !== true
          ? "off"
          : (each["last_error"] ?? null) !== null
            ? "failing"
            : (each["last_complete"] ?? null) === null
              ? "new"
              : "working",
    })),
  };
}

describe("the cells of a survey", () => {
  it("match the responses to plain requests for the same zones", async () => {
    const ground = await Ground.with({ zones: LONG ? 120 : 6 });
    const { code, stderr } = await ground.survey("--budget", "100");
    expect([code, stderr]).toEqual([0, expect.stringContaining("survey.csv")]);
    const { zones } = ground.result();
    const [call, control] = [callerOf(ground.api), controlOf(ground.api)];
    expect(zones.map(({ id }) => id).sort()).toEqual(
      ground.api
        .snapshot()
        .zones.map(({ id }) => id)
        .sort(),
    );
    for (const zone of zones) {
      const { migration, ...expected } = await expectedZone(call, control, zone.id);
      expect(zone).toMatchObject(expected);
      expect(zone.policies).toHaveLength(lengthOf(expected["policies"]));
      expect(zone.jobs).toHaveLength(lengthOf(expected["jobs"]));
      expectMigration(
        zone,
        z.object({ state: z.string().optional(), blockers: z.array(z.string()) }).parse(migration),
      );
    }
  });

  it("count a namespace's keys up to 1,000, and the account's rulesets and jobs", async () => {
    const ground = await Ground.with();
    const call = callerOf(ground.api);
    const namespaces = `/accounts/${ground.api.accounts.main}/storage/kv/namespaces`;
    const created = await call("POST", namespaces, { title: "many" });
    const { id } = z.object({ result: z.object({ id: z.string() }) }).parse(created.body).result;
    const entries = Array.from({ length: 1_001 }, (_, index) => ({ key: `key-${index}`, value: "v" }));
    await call("PUT", `${namespaces}/${id}/bulk`, entries);
    await call("POST", namespaces, { title: "=none" });

    await ground.survey("--budget", "100");
    const [account] = ground.result().accounts;
    expect(account).toMatchObject({ id: ground.api.accounts.main, name: "main", zones: 18, jobs: [] });
    const titles = Object.fromEntries(listOf(account?.namespaces).map(({ title, keys }) => [title, keys]));
    expect(titles).toEqual({
      existing: { count: 5, more: false },
      many: { count: 1_000, more: true },
      "=none": { count: 0, more: false },
    });
    const raw = await answer(call, `/accounts/${ground.api.accounts.main}/rulesets`);
    expect(listOf(account?.rulesets).map((each) => each.name)).toEqual(
      rows(raw.result).map((each) => each["name"]),
    );
  });
});

function lengthOf(given: unknown): number {
  return Array.isArray(given) ? given.length : Number.NaN;
}

function listOf<T>(cell: readonly T[] | { readonly notReadable: string } | undefined): readonly T[] {
  if (cell === undefined || "notReadable" in cell) throw new Error("this part wasn't read");
  return cell;
}

function expectMigration(
  { migration }: Zone,
  expected: { state?: string | undefined; blockers: string[] },
): void {
  if ("notReadable" in migration) throw new Error(migration.what);
  if (expected.state !== undefined) expect(migration.readiness).toBe("retired");
  for (const id of expected.blockers) {
    expect(migration.readiness).toBe("blocked");
    expect(migration.because.join("\n")).toContain(id);
  }
}
