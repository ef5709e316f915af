import { managedRulesets } from "edgeguard-local";
import { maskedDestination } from "../../provider/logpush/destination-text";
import { report, reportAll } from "../../provider/report";
import { omit, omitAbsent, type JsonObject } from "../../provider/basics/json";
import { HIDDEN } from "../../provider/runtime/hidden";
import { accounts, apiPerTest, zones } from "../support/bench";
import { Operation, rawGet, rawSend, UNKNOWN, type Recorded } from "../support/operation";
import {
  created,
  driftIn,
  driftOf,
  planJson,
  read,
  refreshedJson,
  stepOf,
  type MadeStep,
  dangerLines,
} from "./plans";

/** Losses that only a comparison with the zone, or with the rest of the plan, shows. */

const api = apiPerTest();
const ZONE = zones.empty;
const ACCOUNT = accounts.main;
const ENTRY_POINT = `/zones/${ZONE}/rulesets/phases/http_request_firewall_managed/entrypoint`;

const POLICY = { description: "p", action: "log", expression: "true", value: "script-src 'self'" };
const RULE = { zoneId: ZONE, accountId: ACCOUNT, ref: "own", ruleset: { id: managedRulesets.managed } };
const JOB = {
  name: "one",
  dataset: "http_requests",
  destinationConf: "https://logs.example.com/in",
  outputOptions: { fieldNames: ["RayID"] },
};

const digestOf = (...steps: MadeStep[]): string | undefined => report(planJson(...steps), "json").digest;

const previewed = async (type: string, name: string, declared: JsonObject): Promise<MadeStep> =>
  created(type, name, (await new Operation(api).preview(type, declared)).inputs);

async function changing(
  type: string,
  recorded: Recorded | undefined,
  declared: JsonObject,
  options: { readonly op?: string; readonly config?: Readonly<Record<string, string>> } = {},
): Promise<MadeStep> {
  const { op = "update", ...others } = options;
  const { inputs } = await new Operation(api, others).preview(type, declared, recorded);
  const { inputs: old = {}, outputs = {}, id } = recorded ?? {};
  return stepOf(op, type, "one", { old, outputs, new: inputs, state: { id } });
}

const REPLACE = { op: "replace" };
const OFF = { config: { "edgeguard:liveChecks": "false" } };

const UNCOMPARED =
  "unseen one: may take back what someone changed manually: the preview didn't compare the object with what exists. One with --refresh and live checks does";
const UNREFRESHED =
  "unseen gone: may delete what someone changed manually: only a preview with --refresh compares what the update deletes and what stays";

async function patchFirstRule(change: JsonObject): Promise<unknown> {
  const { result } = await rawGet(api, ENTRY_POINT);
  const { id, rules } = result as { id: string; rules: (JsonObject & { id: string })[] };
  const [first] = rules;
  const path = `/zones/${ZONE}/rulesets/${id}/rules/${first?.id}`;
  return await rawSend(api, "PATCH", path, { ...first, ...change });
}

/** A plan doesn't show a secret. */
function hiding(name: string, step: MadeStep, bag = "inputs"): MadeStep {
  const hide = (side: JsonObject | undefined): JsonObject | undefined =>
    side && { ...side, [bag]: { ...(side[bag] as JsonObject), [name]: "[secret]" } };
  return { ...step, ...omitAbsent({ oldState: hide(step.oldState), newState: hide(step.newState) }) };
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
    expect(dangerLines(off, gone)).toEqual([expect.stringMatching(/^unprotect new: .*is disabled/)]);
  });

  test("that the program declares anew are compared with the zone", async () => {
    const recorded = await new Operation(api).up("PageShieldSettings", shop);
    await rawSend(api, "PUT", `/zones/${shop.zoneId}/page_shield`, { use_connection_url_path: true });
    const step = await changing("PageShieldSettings", recorded, { ...shop, useConnectionUrlPath: false });
    expect(dangerLines(step)).toEqual([expect.stringContaining("useConnectionUrlPath true → false")]);
    const blind = await changing(
      "PageShieldSettings",
      recorded,
      { ...shop, useConnectionUrlPath: false },
      OFF,
    );
    expect(dangerLines(blind)).toEqual([
      UNCOMPARED,
      "unseen one: may turn off useConnectionUrlPath: the zone's settings weren't read",
    ]);
  });

  test("that someone turned on are turned off by a resource that's renamed without an alias", async () => {
    const recorded = await new Operation(api).up("PageShieldSettings", shop);
    await rawSend(api, "PUT", `/zones/${shop.zoneId}/page_shield`, { use_connection_url_path: true });
    const next = await previewed("PageShieldSettings", "new", { ...shop, useConnectionUrlPath: false });
    const { inputs: old, outputs } = recorded;
    const gone = stepOf("delete", "PageShieldSettings", "gone", { old, outputs });
    expect(dangerLines(next, gone)).toEqual([
      expect.stringMatching(/^unprotect gone: .*useConnectionUrlPath true → false$/),
      "delete gone: is deleted",
    ]);
    const { inputs } = await new Operation(api, OFF).preview("PageShieldSettings", shop);
    expect(dangerLines(created("PageShieldSettings", "new", inputs), gone)).toContain(UNREFRESHED);
  });

  test("that someone turned on are turned off by an update of something else, or stay if they're not declared", async () => {
    const off = { zoneId: zones.shop, enabled: false, useConnectionUrlPath: false };
    const recorded = await new Operation(api).up("PageShieldSettings", off);
    const on = { enabled: true, use_connection_url_path: true };
    await rawSend(api, "PUT", `/zones/${zones.shop}/page_shield`, on);
    const change = { useReportingEndpoint: true };
    const all = await changing("PageShieldSettings", recorded, { ...off, ...change });
    expect(dangerLines(all)).toEqual([
      expect.stringContaining("is disabled"),
      expect.stringContaining("useConnectionUrlPath true → false"),
    ]);
    const inputs = omit(recorded.inputs, ["useConnectionUrlPath"]);
    const some = await changing("PageShieldSettings", { ...recorded, inputs }, { ...shop, ...change });
    expect(dangerLines(some)).toEqual([]);
  });
});

test.each<[string, JsonObject, JsonObject]>([
  ["other options", { field_names: ["RayID"] }, { outputOptions: { timestampFormat: "rfc3339" } }],
  ["none, which resets another", { field_names: ["RayID"], "CVE-2021-44228": true }, {}],
])("a job keeps its fields if a program that takes it over sets %s", async (_, output_options, declared) => {
  const job = { name: "one", dataset: "http_requests", destination_conf: "https://logs.example.com/in" };
  await rawSend(api, "POST", `/zones/${ZONE}/logpush/jobs`, { ...job, output_options, enabled: true });
  const { name, dataset, destination_conf: destinationConf } = job;
  const program = { zoneId: ZONE, name, dataset, destinationConf, adopt: "takeOver", ...declared };
  const recorded = await new Operation(api).up("LogpushJob", program);
  await new Operation(api).up(
    "LogpushJob",
    { ...program, outputOptions: { sampleRate: 1, timestampFormat: "unix" } },
    recorded,
  );
  const { result } = await rawGet(api, `/zones/${ZONE}/logpush/jobs`);
  expect(result).toMatchObject([{ output_options: { field_names: ["RayID"], timestamp_format: "unix" } }]);
});

describe("a managed ruleset's deployment", () => {
  const owasp = {
    zoneId: ZONE,
    accountId: ACCOUNT,
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
    expect(dangerLines(await previewed("ManagedRulesetOverride", "one", owasp))).toEqual(weaker);
  });

  test("is compared with what somebody changed that no argument covers", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    await reorder();
    const drifted = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    expect(dangerLines(await changing("ManagedRulesetOverride", drifted, owasp))).toEqual(weaker);
  });

  test("that someone made stronger is made weaker again by an update of something else", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", { ...owasp, action: "log" });
    const action_parameters = { id: managedRulesets.owasp };
    const rule = { action: "execute", ref: "mine", expression: "true", enabled: true, action_parameters };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [rule] });
    const described = { ...owasp, action: "log", description: "new" };
    expect(dangerLines(await changing("ManagedRulesetOverride", recorded, described))).toEqual([
      expect.stringMatching(/^unprotect one: .* protects less: .*block → log/),
    ]);
  });

  test("moves back behind what skips it if someone moved that, and isn't said to move if it stays", async () => {
    const bad = {
      action: "skip",
      ref: "bad",
      expression: "true",
      enabled: true,
      action_parameters: { ruleset: "current" },
    };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [bad] });
    const rule = { ...owasp, position: { after: "bad" } };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", rule);
    const { result } = await rawGet(api, ENTRY_POINT);
    const { id, rules } = result as { id: string; rules: { id: string; ref: string }[] };
    const path = `/zones/${ZONE}/rulesets/${id}/rules/${rules.find(({ ref }) => ref === "bad")?.id}`;
    await rawSend(api, "PATCH", path, { ...bad, position: { after: "" } });
    const described = { description: "new" };
    const step = await changing("ManagedRulesetOverride", recorded, { ...rule, ...described });
    expect(dangerLines(step)).toEqual([
      expect.stringMatching(/^unprotect one: .* moves: skip rule "bad".* will apply/),
    ]);
    const first = await new Operation(api).up(
      "ManagedRulesetOverride",
      { ...owasp, position: "first" },
      recorded,
    );
    await rawSend(api, "PATCH", path, { ...bad, position: { before: "" } });
    const { newState } = await changing("ManagedRulesetOverride", first, {
      ...owasp,
      ...described,
      position: "first",
    });
    expect(newState?.["inputs"]).toMatchObject({ impact: { own: recorded.id } });
    expect(newState?.["inputs"]).not.toHaveProperty("impact.changes");
  });

  test("whose key the program declares for the first time is compared with the key that exists", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    const [theirs, ours] = ["a", "b"].map((letter) => `${letter.repeat(43)}=`);
    const logging = { ...owasp, matchedData: { publicKey: ours } };
    expect(dangerLines(await changing("ManagedRulesetOverride", recorded, logging))).toEqual([]);
    await patchFirstRule({
      action_parameters: { id: managedRulesets.owasp, matched_data: { public_key: theirs } },
    });
    expect(dangerLines(await changing("ManagedRulesetOverride", recorded, logging))).toContainEqual(
      `unprotect one: "Cloudflare OWASP Core Ruleset" logs what matched for another key, or no longer: ${theirs} → ${ours}`,
    );
  });

  test("whose key it declares is compared with what exists if it's replaced in its place, too", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    const matched_data = { public_key: `${"a".repeat(43)}=` };
    await patchFirstRule({ action_parameters: { id: managedRulesets.owasp, matched_data } });
    const declared = { ...owasp, matchedData: { publicKey: `${"b".repeat(43)}=` } };
    expect(dangerLines(await changing("ManagedRulesetOverride", recorded, declared, REPLACE))).toContainEqual(
      expect.stringMatching(/^unprotect one: .* logs what matched for another key/),
    );
  });

  test("that takes over another rule when it's replaced is compared with that one, too", async () => {
    const other = { ...RULE, ref: "theirs" };
    await new Operation(api).up("ManagedRulesetOverride", other);
    const off = { ...RULE, enabled: false, expression: "ssl" };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", off);
    const taking = { ...other, enabled: false, adopt: "takeOver" };
    const { inputs } = await new Operation(api).preview("ManagedRulesetOverride", taking);
    const { id } = recorded;
    const step = stepOf("replace", "ManagedRulesetOverride", "one", {
      old: recorded.inputs,
      outputs: recorded.outputs,
      new: inputs,
      state: { id },
    });
    expect(report(refreshedJson(step), "json").dangers.map(({ kind }) => kind)).toContain("unprotect");
  });

  test("loses someone's key if it's deleted, restored or created again, and keeps it in an update", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    const matched_data = { public_key: `${"a".repeat(43)}=` };
    await patchFirstRule({ action_parameters: { id: managedRulesets.owasp, matched_data } });
    const now = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    const { inputs: old = {}, outputs = {} } = now ?? {};
    const gone = stepOf("delete", "ManagedRulesetOverride", "gone", { old, outputs });
    const again = created("ManagedRulesetOverride", "again", {
      ...old,
      ref: "again",
      impact: { operation: "check", revision: 1, seen: [], inFront: [] },
    });
    const unprotect = (...steps: MadeStep[]): string[] =>
      report(refreshedJson(...steps), "json").dangers.flatMap(({ kind, sentence }) =>
        kind === "unprotect" ? [String(sentence)] : [],
      );
    expect(unprotect(gone, again)).toEqual([expect.stringContaining("is removed")]);
    const previous = {
      rule: {
        action: "execute",
        expression: "true",
        enabled: true,
        action_parameters: { id: managedRulesets.owasp },
      },
    };
    const restored = (rule: object): string[] =>
      unprotect(
        stepOf("delete", "ManagedRulesetOverride", "gone", {
          old: { ...old, onDestroy: "restore" },
          outputs: { ...outputs, previous: { rule } },
        }),
      );
    expect(restored(previous.rule)).toContainEqual(
      expect.stringMatching(/another key, or no longer: someone's key → none/),
    );
    const same = { ...previous.rule, action_parameters: { id: managedRulesets.owasp, matched_data } };
    expect(restored(same).join()).not.toContain("another key");
    const described = await changing("ManagedRulesetOverride", now, { ...owasp, description: "new" });
    expect(unprotect(described).join()).not.toContain("another key");
  });

  test("isn't taken over if a 404 doesn't say that there are no rules", async () => {
    const body = {
      success: false,
      errors: [{ code: 10404, message: "not found" }],
      messages: [],
      result: null,
    };
    const raw = { kind: "raw", contentType: "application/json", body: JSON.stringify(body) } as const;
    api.fault({ ...raw, status: 404, match: { path: "/entrypoint$" }, times: 9 });
    const preview = new Operation(api).preview("ManagedRulesetOverride", owasp);
    await expect(preview).rejects.toThrow(/Reading the managed rules of .* failed/);
  });

  test("that's adopted without a position doesn't move", async () => {
    const action_parameters = { id: managedRulesets.owasp };
    const rule = { action: "execute", ref: "mine", expression: "true", enabled: true, action_parameters };
    const skip = { action: "skip", action_parameters: { ruleset: "current" }, expression: "ssl" };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [rule, skip] });
    const step = await previewed("ManagedRulesetOverride", "one", { ...owasp, ref: "mine" });
    expect(report(planJson(step), "text").text).not.toContain("moved");
  });

  test("gives what matched to another key, also if the plan hides both", async () => {
    const key = (letter: string) => ({ ...owasp, matchedData: { publicKey: `${letter.repeat(43)}=` } });
    const recorded = await new Operation(api).up("ManagedRulesetOverride", key("a"));
    const step = await changing("ManagedRulesetOverride", recorded, key("b"));
    expect(dangerLines(hiding("matchedData", step))).toEqual([
      expect.stringContaining("logs what matched for another key"),
    ]);
  });

  test("that's replaced in its place is compared, also if the old one is retained", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", owasp);
    const step = await changing("ManagedRulesetOverride", recorded, { ...owasp, enabled: false }, REPLACE);
    const kept = { ...step, oldState: { ...step.oldState, retainOnDelete: true } };
    expect(dangerLines(kept)).toContainEqual(expect.stringMatching(/^unprotect one: .*is disabled/));
  });

  test("isn't accepted with another exception of a deployment that it comes after", async () => {
    const path = `/accounts/${ACCOUNT}/rulesets/${managedRulesets.managed}`;
    const { result } = await rawGet(api, path);
    const [one, two] = (result as { rules: { id: string }[] }).rules.map(({ id }) => id);
    const managed = {
      zoneId: ZONE,
      accountId: ACCOUNT,
      ref: "own",
      ruleset: { id: managedRulesets.managed },
    };
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

describe("an update of something else takes back what someone made stronger:", () => {
  /** Applies, changes by hand, and previews a change of something else. */
  async function afterwards(
    type: string,
    declared: JsonObject,
    byHand: (recorded: Recorded) => Promise<unknown>,
    change: JsonObject,
  ): Promise<string[]> {
    const recorded = await new Operation(api).up(type, declared);
    await byHand(recorded);
    return dangerLines(await changing(type, recorded, { ...declared, ...change }));
  }

  test.each<[string, JsonObject, JsonObject, RegExp]>([
    ["an action", {}, { action: "allow" }, /no longer blocks anything, only reports: allow → log/],
    ["a value", { action: "allow" }, { value: "script-src 'none'" }, /newly allows 'self' in script-src/],
    ["an expression", { expression: 'http.host eq "a"' }, { expression: "true" }, /may cover fewer pages/],
  ])("a policy's %s", async (_, more, stronger, says) => {
    const policy = { ...POLICY, zoneId: ZONE, ...more };
    const put = ({ id }: Recorded) =>
      rawSend(api, "PUT", `/zones/${ZONE}/page_shield/policies/${id}`, {
        ...omit(policy, ["zoneId"]),
        enabled: true,
        ...stronger,
      });
    expect(await afterwards("PageShieldPolicy", policy, put, { description: "new" })).toContainEqual(
      expect.stringMatching(says),
    );
  });

  test.each<[string, JsonObject, RegExp]>([
    [
      "fields",
      { output_options: { field_names: ["RayID", "ClientIP"] } },
      /a field is no longer logged: ClientIP/,
    ],
    ["filter", { filter: "" }, /the filter may match fewer lines: every line →/],
    [
      "destination",
      { destination_conf: "https://safe.example/in" },
      /log lines go to another destination: https:\/\/safe/,
    ],
  ])("a job's %s", async (_, stronger, says) => {
    const filter = '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}';
    const job = { ...JOB, zoneId: ZONE, filter, outputOptions: { fieldNames: ["RayID"] } };
    const put = ({ id }: Recorded) => rawSend(api, "PUT", `/zones/${ZONE}/logpush/jobs/${id}`, stronger);
    expect(await afterwards("LogpushJob", job, put, { maxUploadIntervalSeconds: 60 })).toEqual([
      expect.stringMatching(says),
    ]);
  });

  test("a transformer's code", async () => {
    const transformer = {
      accountId: ACCOUNT,
      name: "t",
      code: "SELECT RayID FROM http_requests WHERE ClientIP = '1'",
    };
    const code = "SELECT RayID FROM http_requests";
    const put = ({ id }: Recorded) =>
      rawSend(api, "PUT", `/accounts/${ACCOUNT}/logpush/transformers/${id}`, { name: "t", code });
    expect(await afterwards("LogpushTransformer", transformer, put, { description: "new" })).toEqual([
      expect.stringMatching(/may drop or change other log lines/),
    ]);
  });

  test("an exception of an adopted rule, and nothing if nobody touched it", async () => {
    const action_parameters = { id: managedRulesets.managed };
    const expression = 'http.request.uri.path eq "/x"';
    const skip = {
      action: "skip",
      ref: "theirs-skip",
      expression,
      enabled: true,
      action_parameters: { ruleset: "current" },
    };
    const theirs = { action: "execute", ref: "theirs", expression: "true", enabled: true, action_parameters };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [skip, theirs] });
    const exceptions = [{ expression, skip: "all" }];
    const rule = { ...RULE, exceptions, adopt: "takeOver" };
    const nothing = () => Promise.resolve();
    const change = { description: "new" };
    expect(await afterwards("ManagedRulesetOverride", rule, nothing, change)).toEqual([]);
    const off = () => patchFirstRule({ enabled: false });
    expect(await afterwards("ManagedRulesetOverride", rule, off, change)).toEqual([
      expect.stringMatching(/(gets|widens) an exception/),
    ]);
  });

  test.each<[string, JsonObject]>([
    ["narrowed", { expression: 'http.request.uri.path eq "/x" and ssl' }],
    ["disabled", { enabled: false }],
  ])("an exception that's %s", async (_, change) => {
    const exceptions = [{ expression: 'http.request.uri.path eq "/x"', skip: "this" }];
    const rule = { ...RULE, exceptions };
    const patch = () => patchFirstRule(change);
    expect(await afterwards("ManagedRulesetOverride", rule, patch, { description: "new" })).toEqual([
      expect.stringMatching(/(gets|widens) an exception/),
    ]);
  });
});

describe("what someone changed in an object", () => {
  const TRANSFORMER = { accountId: ACCOUNT, name: "t", code: "SELECT RayID FROM http_requests" };
  const CASES: readonly [string, JsonObject, JsonObject, string, JsonObject][] = [
    [
      "PageShieldPolicy",
      { ...POLICY, zoneId: ZONE },
      { description: "new" },
      `/zones/${ZONE}/page_shield/policies`,
      { ...POLICY, description: "renamed", enabled: true, action: "allow" },
    ],
    [
      "LogpushJob",
      { ...JOB, zoneId: ZONE },
      { maxUploadIntervalSeconds: 60 },
      `/zones/${ZONE}/logpush/jobs`,
      { name: "renamed", output_options: { field_names: ["RayID", "ClientIP"] } },
    ],
    [
      "LogpushTransformer",
      TRANSFORMER,
      { description: "new" },
      `/accounts/${ACCOUNT}/logpush/transformers`,
      { name: "renamed", code: "SELECT ClientIP, RayID FROM http_requests" },
    ],
  ];
  test.each(CASES)(
    "%s isn't known if they renamed it, too, unless the plan is refreshed",
    async (type, args, change, path, edit) => {
      const recorded = await new Operation(api).up(type, args);
      await rawSend(api, "PUT", `${path}/${recorded.id.replace(/^.*\//, "")}`, edit);
      const step = await changing(type, recorded, { ...args, ...change });
      expect(dangerLines(step)).toEqual([UNCOMPARED]);
      expect(report(refreshedJson(step), "json").dangers).toEqual([]);
    },
  );

  test.each<[string, JsonObject, JsonObject]>([
    ["PageShieldSettings", { zoneId: zones.shop, enabled: true }, { useReportingEndpoint: true }],
    ...CASES.map(([type, args, change]): [string, JsonObject, JsonObject] => [type, args, change]),
    ["ManagedRulesetOverride", RULE, { description: "new" }],
  ])("%s is unseen without live checks, and nothing is if nobody changed it", async (type, args, change) => {
    const recorded = await new Operation(api).up(type, args);
    expect(dangerLines(await changing(type, recorded, { ...args, ...change }))).toEqual([]);
    expect(dangerLines(await changing(type, recorded, { ...args, ...change }, OFF))).toContain(UNCOMPARED);
  });

  test.each(CASES)(
    "%s isn't known if another object has the recorded name by now",
    async (type, args, change, path, edit) => {
      const recorded = await new Operation(api).up(type, args);
      const { id } = recorded;
      const { result: own } = await rawGet(api, `${path}/${id}`);
      await rawSend(api, "PUT", `${path}/${id}`, edit);
      await rawSend(api, "POST", path, omit(own as JsonObject, ["id"]));
      const step = await changing(type, recorded, { ...args, ...change });
      expect(dangerLines(step)).toEqual([UNCOMPARED]);
    },
  );

  test("is compared if two policies have one description and nobody changed them", async () => {
    const policy = { ...POLICY, zoneId: ZONE };
    await new Operation(api).up("PageShieldPolicy", { ...policy, expression: 'http.host eq "a"' });
    const recorded = await new Operation(api).up("PageShieldPolicy", policy);
    expect(
      dangerLines(await changing("PageShieldPolicy", recorded, { ...policy, description: "new" })),
    ).toEqual([]);
  });

  test("is compared while another argument isn't known yet", async () => {
    const policy = { ...POLICY, zoneId: ZONE };
    const recorded = await new Operation(api).up("PageShieldPolicy", policy);
    const put = { ...POLICY, enabled: true, action: "allow" };
    await rawSend(api, "PUT", `/zones/${ZONE}/page_shield/policies/${recorded.id}`, put);
    const step = await changing("PageShieldPolicy", recorded, { ...policy, description: UNKNOWN });
    expect(dangerLines(step)).toEqual([
      expect.stringMatching(
        /no longer blocks anything, only reports: allow → log; accepting .* description$/,
      ),
    ]);
  });

  test("is unseen if the object may stay where it is, also if it's retained", async () => {
    const recorded = await new Operation(api).up("PageShieldPolicy", { ...POLICY, zoneId: ZONE });
    const step = await changing("PageShieldPolicy", recorded, { ...POLICY, zoneId: UNKNOWN }, OFF);
    const retained = { ...step, oldState: { ...step.oldState, retainOnDelete: true } };
    expect(dangerLines(retained)).toContain(`${UNCOMPARED}; accepting this accepts any value of zoneId`);
  });

  test("is unseen if its zone is gone and the next one isn't known yet, and the preview doesn't fail", async () => {
    const recorded = await new Operation(api).up("PageShieldPolicy", { ...POLICY, zoneId: ZONE });
    api.fault({ kind: "status", status: 404, match: { path: `/zones/${ZONE}/` }, times: 9 });
    const step = await changing("PageShieldPolicy", recorded, { ...POLICY, zoneId: UNKNOWN });
    expect(dangerLines(step)).toContainEqual(expect.stringMatching(/^unseen one: may take back/));
  });

  test.each<[string, JsonObject]>([
    ["an exception that's disabled", { enabled: false }],
    [
      "an exception with two kinds of skips",
      {
        action_parameters: {
          rulesets: [managedRulesets.owasp],
          rules: { [managedRulesets.managed]: ["5de7edfa648c4d6891dc3e7f84534ffa"] },
        },
      },
    ],
  ])("of a rule, such as %s, doesn't hide what else the update weakens after a refresh", async (_, edit) => {
    const exceptions = [{ expression: 'http.request.uri.path eq "/x"', skip: "this" }];
    const recorded = await new Operation(api).up("ManagedRulesetOverride", { ...RULE, exceptions });
    await patchFirstRule(edit);
    const refreshed = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    const off = { ...RULE, allRulesEnabled: false };
    expect(dangerLines(await changing("ManagedRulesetOverride", refreshed, off))).toContainEqual(
      expect.stringMatching(/^unprotect one: .* protects less: \d+ rules block → off/),
    );
  });

  test("of a rule isn't known while an argument isn't: only live checks compare each override", async () => {
    const recorded = await new Operation(api).up("ManagedRulesetOverride", RULE);
    const step = await changing("ManagedRulesetOverride", recorded, { ...RULE, description: UNKNOWN });
    expect(dangerLines(step)).toEqual([`${UNCOMPARED}; accepting this accepts any value of description`]);
  });

  test("in options that the program declares for the first time is a danger if it gets lost", async () => {
    const job = { ...omit(JOB, ["outputOptions"]), zoneId: ZONE };
    const recorded = await new Operation(api).up("LogpushJob", job);
    const output_options = { field_names: ["RayID"], "CVE-2021-44228": true };
    await rawSend(api, "PUT", `/zones/${ZONE}/logpush/jobs/${recorded.id}`, { output_options });
    const outputOptions = { timestampFormat: "rfc3339" };
    expect(dangerLines(await changing("LogpushJob", recorded, { ...job, outputOptions }))).toContainEqual(
      expect.stringMatching(/CVE-2021-44228/),
    );
    expect(dangerLines(await changing("LogpushJob", recorded, { ...job, frequency: "low" }))).toEqual([]);
  });

  test("in fields that the program declares for the first time is a danger if one gets lost", async () => {
    const job = { ...omit(JOB, ["outputOptions"]), zoneId: ZONE };
    const recorded = await new Operation(api).up("LogpushJob", job);
    const path = `/zones/${ZONE}/logpush/jobs/${recorded.id}`;
    const output_options = { field_names: ["ClientIP", "RayID"] };
    await rawSend(api, "PUT", path, { output_options });
    const fields = async (...fieldNames: string[]): Promise<string[]> =>
      dangerLines(await changing("LogpushJob", recorded, { ...job, outputOptions: { fieldNames } }));
    expect(await fields("ClientIP", "RayID")).toEqual([]);
    expect(await fields("RayID")).toEqual([
      "unprotect one: a field is no longer logged: ClientIP (2 → 1 field)",
    ]);
  });

  test("in undeclared options isn't known to a refresh without live checks", async () => {
    const job = { ...omit(JOB, ["outputOptions"]), zoneId: ZONE };
    const recorded = await new Operation(api).up("LogpushJob", job);
    const outputOptions = { timestampFormat: "rfc3339" };
    const step = await changing("LogpushJob", recorded, { ...job, outputOptions }, OFF);
    expect(report(refreshedJson(step), "json").dangers.map(({ kind }) => kind)).toEqual(["unseen"]);
  });

  test("fails the preview of an update if the token may not read it, and not while a place isn't known", async () => {
    const recorded = await new Operation(api).up("LogpushTransformer", TRANSFORMER);
    api.fault({ kind: "status", status: 403, match: { method: "GET", path: "/transformers" }, times: 99 });
    const change = { ...TRANSFORMER, description: "new" };
    await expect(changing("LogpushTransformer", recorded, change)).rejects.toThrow(/Logs Write/);
    const moved = { ...change, accountId: UNKNOWN };
    expect(dangerLines(await changing("LogpushTransformer", recorded, moved))).toContainEqual(
      expect.stringMatching(/^unseen one: may take back/),
    );
  });

  test("isn't known if the token may not list jobs", async () => {
    const job = { ...JOB, zoneId: ZONE };
    const recorded = await new Operation(api).up("LogpushJob", job);
    api.fault({ kind: "status", status: 403, match: { method: "GET", path: "/logpush/jobs$" }, times: 9 });
    const step = await changing("LogpushJob", recorded, { ...job, maxUploadIntervalSeconds: 60 });
    expect(dangerLines(step)).toEqual([UNCOMPARED]);
  });

  test("that's deleted or replaced is unseen, unless the plan is refreshed or the object stays", async () => {
    const off = { ...POLICY, zoneId: ZONE, enabled: false };
    const { inputs: old, outputs } = await new Operation(api).up("PageShieldPolicy", off);
    const gone = stepOf("delete", "PageShieldPolicy", "gone", { old, outputs });
    expect(dangerLines(gone)).toEqual([UNREFRESHED, "delete gone: is deleted"]);
    expect(report(refreshedJson(gone), "json").dangers.map(({ kind }) => kind)).toEqual(["delete"]);
    const moved = stepOf("replace", "PageShieldPolicy", "gone", { old, outputs, new: old });
    expect(dangerLines(moved)).toContain(UNREFRESHED);
    const kept = stepOf("delete", "PageShieldPolicy", "gone", {
      old,
      outputs,
      state: { retainOnDelete: true },
    });
    expect(dangerLines(kept)).toEqual([]);
    const inPlace = stepOf("replace", "PageShieldPolicy", "gone", {
      old,
      outputs,
      new: old,
      state: { retainOnDelete: true },
    });
    expect(dangerLines(inPlace)).toContain(UNREFRESHED);
    const settings = { zoneId: ZONE, enabled: false, onDestroy: "keep" };
    expect(dangerLines(stepOf("delete", "PageShieldSettings", "gone", { old: settings }))).toEqual([
      "delete gone: is deleted",
    ]);
  });
});

test("a policy whose `enabled` is secret may no longer report", async () => {
  const policy = {
    zoneId: ZONE,
    description: "p",
    action: "log",
    expression: "true",
    value: "script-src 'self'",
  };
  const recorded = await new Operation(api).up("PageShieldPolicy", policy);
  const step = await changing("PageShieldPolicy", recorded, { ...policy, enabled: false });
  expect(dangerLines(hiding("enabled", step))).toEqual([
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
    expect(dangerLines(step)).toEqual([expect.stringMatching(/^irreversible one: .*can't undo it/)]);
});

test.each<[string, JsonObject]>([
  ["PageShieldPolicy", POLICY],
  ["LogpushJob", JOB],
])(
  "a %s of a zone whose ID is secret isn't replaced by an equal one, maybe of another zone",
  async (type, declared) => {
    const { inputs, outputs } = await new Operation(api).up(type, { ...declared, zoneId: ZONE });
    const gone = stepOf("delete", type, "gone", { old: inputs, outputs });
    const left = stepOf("same", type, "left", { old: inputs, outputs, new: inputs });
    expect(dangerLines(gone, left)).toEqual([UNREFRESHED, "delete gone: is deleted"]);
    const lost = expect.stringMatching(/^unprotect gone: /) as string;
    expect(dangerLines(hiding("zoneId", gone), hiding("zoneId", left))).toEqual([
      lost,
      UNREFRESHED,
      "delete gone: is deleted",
    ]);
    const moved = stepOf("replace", type, "gone", { old: inputs, outputs, new: inputs });
    expect(dangerLines(hiding("zoneId", moved))).toEqual([lost, UNREFRESHED, "replace gone: is replaced"]);
  },
);

test("a place that another package's resource gives may be another one once that is updated", async () => {
  const recorded = await new Operation(api).up("PageShieldPolicy", { ...POLICY, zoneId: ZONE });
  const source = {
    op: "update",
    urn: "urn:pulumi:dev::edge::command:local:Command::find",
    newState: { custom: true },
  };
  const step = await changing("PageShieldPolicy", recorded, { ...POLICY, zoneId: UNKNOWN });
  const from = (side: JsonObject = {}): JsonObject => ({
    ...side,
    propertyDependencies: { zoneId: [source.urn] },
  });
  const both = { ...step, oldState: from(step.oldState), newState: from(step.newState) };
  const [first] = dangerLines({ ...source, oldState: { custom: true } }, both);
  expect(first).toMatch(/^unprotect one: policy p no longer reports/);
});

test("an adopted rule may get weaker when a destroy restores it, if the plan hides what it was", async () => {
  const ruleset = { id: managedRulesets.owasp };
  const action_parameters = { ...ruleset, overrides: { enabled: false } };
  const rule = { action: "execute", ref: "theirs", expression: "true", enabled: true, action_parameters };
  await rawSend(api, "PUT", ENTRY_POINT, { rules: [rule] });
  const program = { zoneId: ZONE, accountId: ACCOUNT, ref: "mine", ruleset, adopt: "takeOver" };
  const { inputs: old, outputs } = await new Operation(api).up("ManagedRulesetOverride", program);
  const gone = stepOf("delete", "ManagedRulesetOverride", "one", { old, outputs });
  expect(dangerLines(gone)).toContainEqual(expect.stringMatching(/ is disabled/));
  expect(dangerLines(hiding("previous", gone, "outputs"))).toContainEqual(
    expect.stringMatching(/ may be disabled/),
  );
});

test("what an update takes back after an interrupted one isn't known", async () => {
  const recorded = await new Operation(api).up("PageShieldPolicy", { ...POLICY, zoneId: ZONE });
  const step = await changing("PageShieldPolicy", recorded, { ...POLICY, zoneId: ZONE });
  const unfinished = { ...step, oldState: { ...step.oldState, initErrors: ["interrupted"] } };
  expect(dangerLines(unfinished)).toEqual([expect.stringMatching(/^unseen one: may take back/)]);
});

test.each<[string, JsonObject, JsonObject]>([
  ["LogpushJob", { ...JOB, zoneId: ZONE }, { name: "two" }],
  ["LogpushJob", { ...JOB, zoneId: ZONE }, { destinationConf: "https://evil.example/in" }],
  ["PageShieldPolicy", { ...POLICY, zoneId: ZONE }, { description: "q" }],
  [
    "LogpushTransformer",
    { accountId: ACCOUNT, name: "t", code: "SELECT RayID FROM http_requests" },
    { name: "u" },
  ],
])(
  "without live checks, accepting what a %s may take over doesn't cover another: %j %j",
  async (type, declared, change) => {
    const digest = async (more: JsonObject): Promise<string | undefined> => {
      const operation = new Operation(api, { config: { "edgeguard:liveChecks": "false" } });
      const { inputs } = await operation.preview(type, { ...declared, adopt: "takeOver", ...more });
      return digestOf(hiding("destinationConf", created(type, "one", inputs)));
    };
    expect(await digest({})).toMatch(/^[0-9a-f]{64}$/);
    expect(await digest(change)).not.toBe(await digest({}));
  },
);

describe("a job that pushes to Datadog", () => {
  const masking = apiPerTest({ logpush: { destination: "redacted" } });
  const job = (key: string): JsonObject => ({
    ...JOB,
    zoneId: ZONE,
    destinationConf: `datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=${key.repeat(32)}`,
  });

  test("may push to someone else once it's replaced, because nothing compares the keys", async () => {
    const { inputs: old, outputs } = await new Operation(api).up("LogpushJob", job("a"));
    const { inputs } = await new Operation(api).preview("LogpushJob", { ...job("b"), adopt: "takeOver" });
    const step = stepOf("replace", "LogpushJob", "one", { old, outputs, new: inputs });
    expect(dangerLines(hiding("destinationConf", step))).toContainEqual(
      expect.stringMatching(/may go to another recipient.*accepts any value of destinationConf$/),
    );
  });

  test("may have pushed to someone else before it's adopted, if Cloudflare masks its key", async () => {
    await new Operation(masking).up("LogpushJob", job("a"));
    const { inputs } = await new Operation(masking).preview("LogpushJob", job("b"));
    expect(dangerLines(hiding("destinationConf", created("LogpushJob", "one", inputs)))).toEqual([
      expect.stringContaining("perhaps with another credential or tenant"),
    ]);
  });
});

test("no message names the sources of a secret policy that it newly blocks", async () => {
  const policy = { ...POLICY, zoneId: zones.shop, action: "allow", [HIDDEN.secrets]: ["value"] };
  const value = "connect-src 'self' https://canary.example; script-src 'self' data:";
  const recorded = await new Operation(api).up("PageShieldPolicy", { ...policy, value });
  const operation = new Operation(api);
  const next = { ...policy, value: value.replace("canary.example", "canary.example/v1/") };
  const { inputs } = await operation.preview("PageShieldPolicy", next, recorded);
  expect(JSON.stringify([operation.said, operation.warned, inputs["impact"]])).not.toContain("canary");
  const step = stepOf("update", "PageShieldPolicy", "one", { old: recorded.inputs, new: inputs });
  expect(dangerLines(hiding("value", step))).toContainEqual(expect.stringContaining("some directives"));
});

test("a policy that someone set to log blocks anew, also if the program changes something else", async () => {
  const policy = { ...POLICY, zoneId: zones.shop, action: "allow" };
  const recorded = await new Operation(api).up("PageShieldPolicy", policy);
  const { description, expression, value } = policy;
  const byHand = { description, expression, value, action: "log", enabled: true };
  await rawSend(api, "PUT", `/zones/${zones.shop}/page_shield/policies/${recorded.id}`, byHand);
  const step = await changing("PageShieldPolicy", recorded, { ...policy, description: "new" });
  expect(dangerLines(step)).toContainEqual(expect.stringMatching(/^blocks one: would newly block \d+/));
});

test("a resource that only gets another option of the engine loses nothing, even if the plan hides its value", async () => {
  const policy = { ...POLICY, zoneId: ZONE, [HIDDEN.secrets]: ["value"] };
  const recorded = await new Operation(api).up("PageShieldPolicy", policy);
  const step = await changing("PageShieldPolicy", recorded, policy, { op: "same" });
  expect(dangerLines(hiding("value", step))).toEqual([]);
});

test("accepting that entries move to another namespace covers only the keys that they lose there", async () => {
  const keys = (prefix: string): JsonObject =>
    Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${prefix}${index}`, "v"]));
  const namespace = async (title: string): Promise<string> =>
    (await new Operation(api).up("KvNamespace", { accountId: ACCOUNT, title })).id;
  const [from, to] = [await namespace("from"), await namespace("to")];
  const digest = async (prefix: string): Promise<string | undefined> => {
    const old = { accountId: ACCOUNT, namespaceId: from, entries: keys(prefix) };
    const recorded = await new Operation(api).up("KvEntries", old);
    const next = { ...old, namespaceId: to, entries: keys("z") };
    const { inputs } = await new Operation(api).preview("KvEntries", next);
    const step = stepOf("replace", "KvEntries", "one", { ...recorded, old: recorded.inputs, new: inputs });
    return digestOf(hiding("entries", step));
  };
  expect(await digest("a")).not.toBe(await digest("b"));
});

test("accepting that another provider's resource is replaced covers only that one, as it's declared", () => {
  const digest = (bucket: string, parent = ""): string | undefined =>
    digestOf({
      op: "replace",
      urn: `urn:pulumi:dev::edge::${parent}aws:s3/bucket:Bucket::logs`,
      oldState: { custom: true, id: "x", inputs: { bucket: "a" } },
      newState: { custom: true, inputs: { bucket } },
    });
  expect(new Set([digest("b"), digest("c"), digest("b", "my:Logs$")]).size).toBe(3);
});

test("accepting an update of an object that someone changed covers only that change", async () => {
  const rule = { zoneId: ZONE, accountId: ACCOUNT, ref: "mine", ruleset: { id: managedRulesets.managed } };
  const recorded = await new Operation(api).up("ManagedRulesetOverride", rule);
  const digest = async (letter: string): Promise<string | undefined> => {
    const matched_data = { public_key: `${letter.repeat(43)}=` };
    const action_parameters = { id: managedRulesets.managed, matched_data };
    const byHand = { action: "execute", ref: "mine", expression: "true", enabled: true, action_parameters };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [byHand] });
    const now = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    const { inputs: old, outputs } = recorded;
    const refresh = stepOf("refresh", "ManagedRulesetOverride", "one", { old, outputs, new: old });
    const update = await changing("ManagedRulesetOverride", now, { ...rule, description: "new" });
    return digestOf(refresh, update);
  };
  expect(await digest("a")).not.toBe(await digest("b"));
});

test("accepting an update of a secret argument doesn't cover undoing what someone changes in it later", async () => {
  const policy = { zoneId: ZONE, description: "p", action: "log", expression: "true" };
  const value = "script-src 'self' https://a.example";
  const secret = { ...policy, value, [HIDDEN.secrets]: ["value"] };
  const recorded = await new Operation(api).up("PageShieldPolicy", secret);
  const next = { ...secret, value: `${value} https://b.example` };
  const digest = async (): Promise<string | undefined> =>
    digestOf(hiding("value", await changing("PageShieldPolicy", recorded, next)));
  const refreshed = async (): Promise<string | undefined> => {
    const now = await new Operation(api).refresh("PageShieldPolicy", recorded);
    const { inputs: old, outputs } = recorded;
    const refresh = stepOf("refresh", "PageShieldPolicy", "one", { old, outputs, new: old });
    return digestOf(hiding("value", refresh), hiding("value", await changing("PageShieldPolicy", now, next)));
  };
  const before = [await digest(), await refreshed()];
  expect([await digest(), await refreshed()]).toEqual(before);
  const path = `/zones/${ZONE}/page_shield/policies/${recorded.id}`;
  await rawSend(api, "PUT", path, { ...policy, enabled: true, value: "script-src 'self'" });
  expect(await digest()).not.toBe(before[0]);
  expect(await refreshed()).not.toBe(before[1]);
});

test("a new deployment's exception for one that runs already weakens that one", async () => {
  const all = { zoneId: ZONE, accountId: ACCOUNT };
  await new Operation(api).up("ManagedRulesetOverride", {
    ...all,
    ref: "edgeguard/site/dev/owasp",
    ruleset: { id: managedRulesets.owasp },
  });
  const step = await previewed("ManagedRulesetOverride", "new", {
    ...all,
    ref: "edgeguard/site/dev/managed",
    ruleset: { id: managedRulesets.managed },
    exceptions: [{ expression: "ssl", skip: { rulesets: ["this", managedRulesets.owasp] } }],
  });
  expect(dangerLines(step)).toEqual([expect.stringMatching(/^unprotect new: .*gets an exception/)]);
});

test("declaring the destination that someone already gave a job changes none, but its credential counts", async () => {
  const job = { ...JOB, zoneId: ZONE };
  const recorded = await new Operation(api).up("LogpushJob", job);
  const path = `/zones/${ZONE}/logpush/jobs/${recorded.id}`;
  const there = "https://logs.example.com/moved";
  const dangers = async (existing: string, declared: string): Promise<string[]> => {
    await rawSend(api, "PUT", path, { destination_conf: existing });
    const step = await changing("LogpushJob", recorded, { ...job, destinationConf: declared });
    return dangerLines(hiding("destinationConf", step));
  };
  expect(await dangers(there, there)).toEqual([]);
  const rotated = `${there}?header_Authorization=${"b".repeat(32)}`;
  expect(await dangers(rotated, rotated)).toEqual([]);
  expect(await dangers(there, `${there}?header_DD-API-KEY=0123456789abcdef0123456789abcdef`)).toEqual([
    expect.stringContaining("log lines"),
  ]);
});

test("a bucket's key that someone rotated is taken back by an update of something else, and the report says so", async () => {
  const [was, is] = ["a", "b"].map(
    (key) => `s3://bucket/logs?region=eu-west-1&access-key-id=AKIA&secret-access-key=${key.repeat(40)}`,
  );
  const job = { ...JOB, zoneId: ZONE, destinationConf: was };
  const recorded = await new Operation(api).up("LogpushJob", job);
  await rawSend(api, "PUT", `/zones/${ZONE}/logpush/jobs/${recorded.id}`, { destination_conf: is });
  for (const change of [{ name: "else" }, { destinationConf: `${String(was)}&sse=AES256` }]) {
    const step = await changing("LogpushJob", recorded, { ...job, ...change });
    expect(dangerLines(hiding("destinationConf", step))).toEqual([
      expect.stringContaining('s3://bucket/logs?region=eu-west-1, with another credential or tenant" →'),
    ]);
  }
});

test("accepting that a job is deleted doesn't cover where a new one pushes", async () => {
  const { inputs: old, outputs } = await new Operation(api).up("LogpushJob", { ...JOB, zoneId: ZONE });
  const gone = stepOf("delete", "LogpushJob", "one", { old, outputs });
  const digest = async (destinationConf: string): Promise<string | undefined> => {
    const next = await previewed("LogpushJob", "two", { ...JOB, zoneId: ZONE, name: "two", destinationConf });
    return digestOf(gone, hiding("destinationConf", next));
  };
  expect(await digest("https://one.example/in")).not.toBe(await digest("https://two.example/in"));
});

test("accepting the dangers of several stacks doesn't accept traffic either", () => {
  const dev = read("traffic.log-to-block.json");
  const plans = ["dev", "prod"].map((name) => ({ name, text: dev.replaceAll(":dev::", `:${name}::`) }));
  const options = { failOn: ["traffic"], traffic: 0 } as const;
  const { digest = "" } = reportAll(plans, "json", options);
  const { dangers } = reportAll(plans, "json", { ...options, accepted: new Set([digest]) });
  expect(dangers.map(({ verdict }) => verdict)).toEqual(["fails", "fails"]);
});

describe("the drift report on what a plan hides", () => {
  /** The drift that a plan shows which hides an argument or output on all sides. */
  async function hiddenDrift(
    type: string,
    recorded: Recorded,
    declared: JsonObject,
    name: string,
    bag = "inputs",
  ): Promise<string[]> {
    const now = await new Operation(api).refresh(type, recorded);
    const { inputs } = await new Operation(api).preview(type, declared, now);
    const refresh = stepOf("refresh", type, "one", {
      old: recorded.inputs,
      outputs: recorded.outputs,
      new: recorded.inputs,
    });
    const op = stepOf("update", type, "one", {
      old: now?.inputs ?? {},
      outputs: now?.outputs ?? {},
      new: inputs,
    });
    return driftIn(planJson(hiding(name, refresh, bag), hiding(name, op, bag))).resources.flatMap(
      ({ lost }) => lost,
    );
  }

  test("names a secret argument that was changed, and none that wasn't", async () => {
    const job = {
      ...JOB,
      zoneId: ZONE,
      filter: '{"where":{"key":"RayID","operator":"eq","value":"1"}}',
      [HIDDEN.secrets]: ["filter"],
    };
    const recorded = await new Operation(api).up("LogpushJob", job);
    const put = (body: JsonObject) => rawSend(api, "PUT", `/zones/${ZONE}/logpush/jobs/${recorded.id}`, body);
    await put({ enabled: false });
    expect(await hiddenDrift("LogpushJob", recorded, job, "filter")).toEqual([
      expect.stringContaining("is disabled"),
    ]);
    await put({ enabled: true, filter: '{"where":{"key":"RayID","operator":"eq","value":"2"}}' });
    expect(await hiddenDrift("LogpushJob", recorded, job, "filter")).toContain(
      "filter has changed; the plan hides it",
    );
  });

  test("isn't in a destination that an import recorded with its credentials masked", async () => {
    const destinationConf = "https://logs.example.com/in?header_Authorization=Bearer%20first-secret-token";
    const recorded = await new Operation(api).up("LogpushJob", { ...JOB, zoneId: ZONE, destinationConf });
    const masked = { destinationConf: maskedDestination(destinationConf) };
    const imported = {
      ...recorded,
      inputs: { ...recorded.inputs, ...masked },
      outputs: { ...recorded.outputs, ...masked },
    };
    const now = await new Operation(api).refresh("LogpushJob", imported);
    expect(now?.outputs["destinationConf"]).toBe(destinationConf);
    expect(now?.inputs).not.toHaveProperty("impact");
  });

  test("says that someone else's rule skips a deployment", async () => {
    const rule = { zoneId: ZONE, accountId: ACCOUNT, ref: "mine", ruleset: { id: managedRulesets.managed } };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", rule);
    const { result } = await rawGet(api, ENTRY_POINT);
    const skip = {
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: "true",
      enabled: true,
    };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [skip, ...(result as { rules: JsonObject[] }).rules] });
    expect(await hiddenDrift("ManagedRulesetOverride", recorded, rule, "otherSkipRules", "outputs")).toEqual([
      expect.stringMatching(/^someone else's skip rules have changed/),
    ]);
  });

  test("says that a rule dragged away from its exceptions stays there, and they follow", async () => {
    const skipped = { ...RULE, exceptions: [{ expression: 'http.host eq "a"', skip: "this" }] };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", skipped);
    const other = { ...RULE, ref: "other", ruleset: { id: managedRulesets.owasp } };
    await new Operation(api).up("ManagedRulesetOverride", other);
    const { result } = await rawGet(api, ENTRY_POINT);
    const [exception, own, last] = (result as { rules: JsonObject[] }).rules;
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [exception, last, own] });
    const now = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    expect(driftOf("ManagedRulesetOverride", recorded, now)?.update).toBe(
      "pulumi up --refresh moves the exceptions to the rule, wherever that is now; it undoes whatever else was changed",
    );
  });

  test("finds a key that logs what matched, and the program keeps it by declaring it", async () => {
    const rule = { zoneId: ZONE, accountId: ACCOUNT, ref: "mine", ruleset: { id: managedRulesets.managed } };
    const recorded = await new Operation(api).up("ManagedRulesetOverride", rule);
    const { result } = await rawGet(api, ENTRY_POINT);
    const [own] = (result as { rules: JsonObject[] }).rules;
    const matched_data = { public_key: `${"a".repeat(43)}=` };
    const action_parameters = { ...(own?.["action_parameters"] as JsonObject), matched_data };
    await rawSend(api, "PUT", ENTRY_POINT, { rules: [{ ...own, action_parameters }] });
    const now = await new Operation(api).refresh("ManagedRulesetOverride", recorded);
    expect(driftOf("ManagedRulesetOverride", recorded, now)).toMatchObject({
      update: "pulumi up --refresh leaves it as it is, because the program doesn't set it",
      keep: { how: "To manage the key, declare it as matchedData", code: [] },
    });
    const declared = { ...rule, matchedData: { publicKey: matched_data.public_key } };
    const kept = await new Operation(api).up("ManagedRulesetOverride", declared, now);
    expect(JSON.stringify((await rawGet(api, ENTRY_POINT)).result)).toContain(matched_data.public_key);
    const after = await new Operation(api).refresh("ManagedRulesetOverride", kept);
    expect(driftOf("ManagedRulesetOverride", kept, after)).toBeUndefined();
  });
});
