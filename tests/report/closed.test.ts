import { managedRulesets } from "edgeguard-local";
import { report } from "../../provider/report";
import type { JsonObject } from "../../provider/basics/json";
import { accounts, apiPerTest, zones } from "../support/bench";
import { Operation, rawGet, rawSend, UNKNOWN, type Recorded } from "../support/operation";
import { created, planJson, stepOf, type MadeStep } from "./plans";

/** Losses that only a comparison with the zone, or with the rest of the plan, shows. */

const api = apiPerTest();
const { empty: zoneId } = zones;
const { main: accountId } = accounts;
const ENTRY_POINT = `/zones/${zoneId}/rulesets/phases/http_request_firewall_managed/entrypoint`;

const dangersOf = (...steps: MadeStep[]): string[] =>
  report(planJson(...steps), "json").dangers.map(
    ({ kind, name, sentence }) => `${kind} ${name}: ${String(sentence)}`,
  );
const digestOf = (...steps: MadeStep[]): string | undefined => report(planJson(...steps), "json").digest;

const previewed = async (type: string, name: string, declared: JsonObject): Promise<MadeStep> =>
  created(type, name, (await new Operation(api).preview(type, declared)).inputs);

async function changing(
  type: string,
  recorded: Recorded | undefined,
  declared: JsonObject,
  op = "update",
): Promise<MadeStep> {
  const { inputs } = await new Operation(api).preview(type, declared, recorded);
  const { inputs: old = {}, outputs = {} } = recorded ?? {};
  return stepOf(op, type, "one", { old, outputs, new: inputs });
}

/** A plan doesn't show a secret. */
function hiding(name: string, { oldState = {}, newState = {}, ...step }: MadeStep): MadeStep {
  const hide = (side: JsonObject): JsonObject => ({
    ...side,
    inputs: { ...(side["inputs"] as JsonObject), [name]: "[secret]" },
  });
  return { ...step, oldState: hide(oldState), newState: hide(newState) };
}

describe("Page Shield settings", () => {
  const shop = { zoneId: zones.shop, enabled: true };

  test("that a new resource turns off beside one that's retained are a danger", async () => {
    const { inputs: old, outputs } = await new Operation(api).up("PageShieldSettings", shop);
    const off = await previewed("PageShieldSettings", "new", { ...shop, enabled: false });
    const gone = stepOf("delete", "PageShieldSettings", "old", {
      old,
      outputs,
      state: { retainOnDelete: true },
    });
    expect(dangersOf(off, gone)).toEqual([expect.stringMatching(/^unprotect new: .*is disabled/)]);
  });

  test("that the program declares anew are compared with the zone", async () => {
    const recorded = await new Operation(api).up("PageShieldSettings", shop);
    await rawSend(api, "PUT", `/zones/${shop.zoneId}/page_shield`, { use_connection_url_path: true });
    const step = await changing("PageShieldSettings", recorded, { ...shop, useConnectionUrlPath: false });
    expect(dangersOf(step)).toEqual([expect.stringContaining("useConnectionUrlPath true → false")]);
  });
});

test.each<[string, JsonObject, JsonObject]>([
  ["other options", { field_names: ["RayID"] }, { outputOptions: { timestampFormat: "rfc3339" } }],
  ["none, which resets another", { field_names: ["RayID"], sample_rate: 0.5 }, {}],
])("a job that's taken over loses its fields if the program sets %s", async (_, output_options, declared) => {
  const job = { name: "one", dataset: "http_requests", destination_conf: "https://logs.example.com/in" };
  await rawSend(api, "POST", `/zones/${zoneId}/logpush/jobs`, { ...job, output_options, enabled: true });
  const { name, dataset, destination_conf: destinationConf } = job;
  const step = await previewed("LogpushJob", "one", {
    zoneId,
    name,
    dataset,
    destinationConf,
    adopt: "takeOver",
    ...declared,
  });
  expect(dangersOf(step)).toContainEqual(
    expect.stringContaining("some fields might stop being logged: 1 field"),
  );
  await new Operation(api).up("LogpushJob", step.newState?.["inputs"] as JsonObject);
  const { result } = await rawGet(api, `/zones/${zoneId}/logpush/jobs`);
  expect(JSON.stringify(result)).not.toContain("field_names");
});

describe("a managed ruleset's deployment", () => {
  const owasp = {
    zoneId,
    accountId,
    ref: "mine",
    ruleset: { id: managedRulesets.owasp },
    adopt: "takeOver",
    owasp: { paranoiaLevel: 2 },
    categories: [{ tag: "sqli", enabled: true }],
  };
  /** Somebody's overrides with the same categories in another order, which no argument expresses. */
  async function reorder(): Promise<void> {
    const off = ["paranoia-level-3", "paranoia-level-4"].map((category) => ({ category, enabled: false }));
    const overrides = { categories: [...off, { category: "sqli", enabled: true }] };
    const action_parameters = { id: managedRulesets.owasp, overrides };
    const rule = { action: "execute", ref: "mine", expression: "true", enabled: true, action_parameters };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [rule] });
  }
  const weaker = [expect.stringMatching(/^unprotect one: .* protects less: \d+ rules score → off/)];

  test("that's adopted is compared by what it does, not by its arguments", async () => {
    await reorder();
    expect(dangersOf(await previewed("ManagedRulesetOverride", "one", owasp))).toEqual(weaker);
  });

  test("is compared with what somebody changed that no argument covers", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    await reorder();
    const drifted = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    expect(dangersOf(await changing("ManagedRulesetOverride", drifted, owasp))).toEqual(weaker);
  });

  test("gives what matched to another key, also if the plan hides both", async () => {
    const key = (letter: string) => ({ ...owasp, matchedData: { publicKey: `${letter.repeat(43)}=` } });
    const recorded = await new Operation(api).up("ManagedRulesetOverride", key("a"));
    const step = await changing("ManagedRulesetOverride", recorded, key("b"));
    expect(dangersOf(hiding("matchedData", step))).toEqual([
      expect.stringContaining("logs what matched for another key"),
    ]);
  });

  test("that's replaced in its place is compared, also if the old one is retained", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    const step = await changing("ManagedRulesetOverride", recorded, { ...owasp, enabled: false }, "replace");
    const kept = { ...step, oldState: { ...step.oldState, retainOnDelete: true } };
    expect(dangersOf(kept)).toContainEqual(expect.stringMatching(/^unprotect one: .*is disabled/));
  });

  test("isn't accepted with another exception of a deployment that it comes after", async () => {
    const path = `/accounts/${accountId}/rulesets/${managedRulesets.managed}`;
    const { result } = await rawGet(api, path);
    const [one, two] = (result as { rules: { id: string }[] }).rules.map(({ id }) => id);
    const managed = { zoneId, accountId, ref: "own", ruleset: { id: managedRulesets.managed } };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", { ...managed, position: "first" });
    const own = await changing("ManagedRulesetOverride", recorded, { ...managed, position: "last" });
    const digest = async (id: string): Promise<string | undefined> => {
      const skip = { rules: { [managedRulesets.managed]: [id] } };
      const exceptions = [{ expression: 'http.request.uri.path eq "/x"', skip }];
      const other = { ...owasp, ref: "other", exceptions };
      return digestOf(own, await previewed("ManagedRulesetOverride", "other", other));
    };
    expect(await digest(String(one))).not.toBe(await digest(String(two)));
  });
});

test("a policy whose `enabled` is secret may no longer report", async () => {
  const policy = { zoneId, description: "p", action: "log", expression: "true", value: "script-src 'self'" };
  const recorded = await new Operation(api).up("PageShieldPolicy", policy);
  const step = await changing("PageShieldPolicy", recorded, { ...policy, enabled: false });
  expect(dangersOf(hiding("enabled", step))).toEqual([
    expect.stringMatching(/^unprotect one: .*no longer reports/),
  ]);
});

test("a migration to a target that the plan hides, or that isn't known yet, can't be undone", async () => {
  const target = { zoneId: zones.migratePro, target: "validation" };
  const [refusal = ""] = await new Operation(api).refusals("WafMigration", target);
  const migration = { ...target, confirm: /confirm: "(\w+)"/.exec(refusal)?.[1] };
  const hidden = hiding("target", await previewed("WafMigration", "one", migration));
  const unknown = await previewed("WafMigration", "one", { ...migration, target: UNKNOWN });
  for (const step of [hidden, unknown])
    expect(dangersOf(step)).toEqual([expect.stringMatching(/^irreversible one: .*can't undo it/)]);
});
