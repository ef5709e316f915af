import { managedRulesets } from "edgeguard-local";
import { report } from "../../provider/report/index";
import type { JsonObject } from "../../provider/basics/json";
import { accounts, apiPerTest, zones } from "../support/bench";
import { Operation, rawSend, UNKNOWN, type Recorded } from "../support/operation";
import { refreshedJson, created, deleted, stepOf, type MadeStep } from "./plans";

/** What a reviewer reads about an existing object that the update adopts. */

const api = apiPerTest();

/** The report on a new resource, with the inputs from its preview. */
async function reported(
  kind: string,
  declared: JsonObject,
): Promise<{ markdown: string; dangers: string[] }> {
  const { inputs } = await new Operation(api).preview(kind, declared);
  const plan = refreshedJson(created(kind, "mine", inputs));
  return {
    markdown: report(plan, "markdown").text,
    dangers: report(plan, "json").dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`),
  };
}

const POLICY = {
  description: "checkout",
  action: "log",
  expression: "true",
  value: "script-src 'self'",
};

async function policyOf(members: JsonObject): Promise<{ zoneId: string; id: string }> {
  const zoneId = zones.empty;
  const body = { ...POLICY, enabled: true, ...members };
  const { result } = await rawSend(api, "POST", `/zones/${zoneId}/page_shield/policies`, body);
  return { zoneId, id: (result as { id: string }).id };
}

test("the report names an object that's adopted unchanged, and says what a destroy does to it", async () => {
  const { zoneId, id } = await policyOf({});
  const { markdown, dangers } = await reported("PageShieldPolicy", { zoneId, ...POLICY });
  expect(markdown).toContain(
    `Adopts the existing \`policy ${id} in zone ${zoneId}\`, which matches the program.\n\nDestroying the resource deletes it.`,
  );
  expect(dangers).toEqual([]);
});

test("the report compares an adopted policy with the program, and lists the dangers", async () => {
  const { zoneId, id } = await policyOf({ action: "allow", value: "script-src 'self' cdn.example.com" });
  const { markdown, dangers } = await reported("PageShieldPolicy", { zoneId, ...POLICY, adopt: "takeOver" });
  expect(markdown).toContain(`Adopts the existing \`policy ${id} in zone ${zoneId}\` and changes it.`);
  expect(markdown).toContain("| `action` | `allow` | `log` |");
  expect(markdown).toContain("- script-src cdn.example.com");
  expect(dangers).toEqual([expect.stringMatching(/^unprotect: .*no longer/)]);
});

test("the report doesn't take an adopted namespace for an empty one: what its entries prune is a danger", async () => {
  const operation = new Operation(api);
  const accountId = accounts.main;
  const namespace = { accountId, title: "existing", adopt: "takeOver" };
  const entries = { accountId, namespaceId: UNKNOWN, entries: { a: "1" }, prune: { prefix: "" } };
  const there = created("KvNamespace", "there", (await operation.preview("KvNamespace", namespace)).inputs);
  const pruning = created("KvEntries", "mine", (await operation.preview("KvEntries", entries)).inputs);
  const newState = { ...pruning.newState, propertyDependencies: { namespaceId: [there.urn] } };
  const { dangers } = report(refreshedJson(there, { ...pruning, newState }), "json");
  expect(dangers.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["unseen mine"]);
});

test("the report lists a colleague's overrides that adopting the rule drops, and the danger", async () => {
  const { markdown, dangers } = await reported("ManagedRulesetOverride", {
    zoneId: zones.shop,
    accountId: accounts.main,
    ruleset: { id: managedRulesets.managed },
    ref: "edgeguard/site/dev/waf",
    action: "log",
    adopt: "takeOver",
  });
  expect(markdown).toContain("| `categories.1 (anomaly).action` | `log` | – |");
  expect(markdown).toContain("| `action` | – | `log` |");
  expect(markdown).toContain("Destroying the resource restores its current settings.");
  expect(dangers).toEqual([expect.stringMatching(/^unprotect: .*→ log/)]);
});

test("reports the danger of an adopted job's new filter", async () => {
  const zoneId = zones.empty;
  const job = {
    name: "requests",
    dataset: "http_requests",
    destination_conf: "https://logs.example.com/in",
    output_options: { field_names: ["RayID"] },
    enabled: true,
  };
  await rawSend(api, "POST", `/zones/${zoneId}/logpush/jobs`, job);
  const { dangers } = await reported("LogpushJob", {
    zoneId,
    name: "requests",
    dataset: "http_requests",
    destinationConf: "https://logs.example.com/in",
    outputOptions: { fieldNames: ["RayID"] },
    filter: '{"where":{"key":"ClientRequestHost","operator":"eq","value":"a.example"}}',
    adopt: "takeOver",
  });
  expect(dangers).toEqual([
    expect.stringContaining("unprotect: the filter may match fewer lines: every line → "),
  ]);
});

describe("a resource with another name that takes over the object", () => {
  const accountId = accounts.main;
  const zoneId = zones.empty;
  const rule = { zoneId, accountId, ref: "waf", ruleset: { id: managedRulesets.managed } };
  const job = {
    zoneId,
    name: "requests",
    dataset: "http_requests",
    destinationConf: "https://logs.example.com/in",
    outputOptions: { fieldNames: ["RayID", "ClientIP"] },
  };

  test.each<[string, JsonObject, JsonObject, string[]]>([
    ["PageShieldPolicy", { zoneId: zones.empty, ...POLICY }, {}, []],
    ["KvNamespace", { accountId, title: "sessions" }, {}, []],
    ["LogpushJob", job, {}, []],
    [
      "LogpushJob",
      job,
      { outputOptions: { fieldNames: ["RayID"] } },
      ["unprotect new: a field is no longer logged: ClientIP (2 → 1 field)"],
    ],
    ["ManagedRulesetOverride", rule, {}, []],
    [
      "ManagedRulesetOverride",
      rule,
      { enabled: false },
      [
        expect.stringMatching(
          /^unprotect new: "Cloudflare Managed Ruleset" in zone .* is disabled/,
        ) as string,
      ],
    ],
  ])("deletes nothing, so a %s isn't lost: %j %j", async (kind, declared, change, expected) => {
    const { id, inputs: old, outputs } = await new Operation(api).up(kind, declared);
    const next = { ...declared, ...change, adopt: "takeOver" };
    const { inputs } = await new Operation(api).preview(kind, next);
    const written = (...steps: MadeStep[]): string[] =>
      report(refreshedJson(...steps), "json").dangers.map(
        (each) => `${each.kind} ${each.name}: ${String(each.sentence)}`,
      );
    const gone = stepOf("delete", kind, "old", { old, outputs, state: { id } });
    expect(written(created(kind, "new", inputs), gone)).toEqual(expected);
    expect(report(refreshedJson(created(kind, "new", inputs), gone), "markdown").text).toContain(
      `\`${kind} new\` adopts the object, so the update doesn't delete it.`,
    );
    // A loop over zones without its first one replaces each resource.
    const replaced = (name: string, before: JsonObject, beforeId: string, after: JsonObject): MadeStep =>
      stepOf("replace", kind, name, { old: before, new: after, state: { id: beforeId } });
    const elsewhere = { ...old, zoneId: zones.shop };
    const shifted = [
      replaced("new", elsewhere, "other", inputs),
      replaced("old", old, id, { ...elsewhere, zoneId: zones.blog }),
    ];
    expect(written(...shifted).filter((each) => each.includes(" old: "))).toEqual([
      expect.stringMatching(/^replace old: is replaced/),
    ]);
    // A name or description proves nothing.
    const adopted = { object: `rule other "${id}" in zone ${zoneId}`, onDestroy: "deletes it" };
    expect(written(created(kind, "new", { ...inputs, adopted }), gone)).toContain("delete old: is deleted");
  });
});

describe("destroying an adopted deployment", () => {
  const upload = 'http.request.uri.path eq "/upload"';

  /** The dangers of destroying a rule that was adopted with an exception before it. */
  async function destroyed(overrides: JsonObject, ...programs: JsonObject[]): Promise<string[]> {
    const zoneId = zones.empty;
    const id = managedRulesets.owasp;
    const execute = { id, ...(Object.keys(overrides).length === 0 ? {} : { overrides }) };
    const rules = [
      { action: "skip", expression: upload, action_parameters: { rulesets: [id] } },
      { action: "execute", expression: "true", action_parameters: execute },
    ];
    const path = `/zones/${zoneId}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    await rawSend(api, "PUT", path, { rules: rules.map((rule) => ({ ...rule, enabled: true })) });
    const ruleset = { name: "Cloudflare OWASP Core Ruleset" };
    const base = { zoneId, accountId: accounts.main, ref: "edgeguard/mine", ruleset, adopt: "takeOver" };
    let state: Recorded | undefined;
    for (const program of programs)
      state = await new Operation(api).up("ManagedRulesetOverride", { ...base, ...program }, state);
    const plan = refreshedJson(
      deleted("ManagedRulesetOverride", "mine", { ...state?.inputs }, { ...state?.outputs }),
    );
    return report(plan, "json").dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`);
  }
  const excepting = {
    exceptions: [{ expression: upload, skip: { rulesets: ["Cloudflare OWASP Core Ruleset"] } }],
  };

  test("is no unprotect danger if the deployment hasn't changed since it was adopted", async () => {
    expect(await destroyed({}, excepting)).toEqual(["delete: is deleted"]);
  });

  test("is an unprotect danger if it restores the deployment's old exceptions", async () => {
    expect(await destroyed({}, excepting, {})).toEqual([
      expect.stringContaining('unprotect: "Cloudflare OWASP Core Ruleset" gets an exception: '),
      "delete: is deleted",
    ]);
  });

  test("is an unprotect danger if it restores the deployment with all rules disabled", async () => {
    expect(await destroyed({ enabled: false }, excepting)).toEqual([
      expect.stringContaining(" is disabled ("),
      "delete: is deleted",
    ]);
  });

  test("is an unprotect danger if it puts the deployment back where it was found", async () => {
    expect(await destroyed({}, { ...excepting, position: "first" })).toEqual([
      'unprotect: "Cloudflare OWASP Core Ruleset" is put back where it was found, so exceptions may apply to more rules: position first',
      "delete: is deleted",
    ]);
  });
});

test("a new rule's exception is a danger if another program's rule runs the same ruleset, unless the new one goes last", async () => {
  const base = {
    zoneId: zones.empty,
    accountId: accounts.main,
    ruleset: { id: managedRulesets.owasp },
  };
  const dangers = async (position: string): Promise<string[]> => {
    const { inputs } = await new Operation(api).preview("ManagedRulesetOverride", {
      ...{ ...base, ref: "own", expression: 'http.host eq "login.example.com"', position },
      exceptions: [{ expression: "true", skip: "this" }],
    });
    const plan = refreshedJson(created("ManagedRulesetOverride", "own", inputs));
    return report(plan, "json").dangers.map(({ sentence }) => sentence.toString());
  };
  expect(await dangers("first")).toEqual([]);
  await new Operation(api).up("ManagedRulesetOverride", { ...base, ref: "of-another-program" });
  expect(await dangers("first")).toEqual([
    '"Cloudflare OWASP Core Ruleset" gets an exception: true skips "this ruleset"',
  ]);
  expect(await dangers("last")).toEqual([]);
});

test.each<[string, MadeStep[], string]>([
  [
    "another resource takes over",
    [created("PageShieldSettings", "new", { zoneId: zones.shop, enabled: true })],
    "by another one",
  ],
  ["the zone is left to itself", [], "the zone gets its previous settings back"],
])("says what happens to deleted settings: %s", (_, others, expected) => {
  const old = { zoneId: zones.shop, enabled: true };
  const outputs = { previous: { enabled: false } };
  const gone = stepOf("delete", "PageShieldSettings", "old", { old, outputs });
  expect(report(refreshedJson(...others, gone), "markdown").text).toContain(
    `no longer managed${others.length > 0 ? " by this resource, but" : ";"} ${expected}`,
  );
  const kept = { ...gone, oldState: { ...gone.oldState, retainOnDelete: true } };
  expect(report(refreshedJson(kept), "markdown").text).toContain(
    "no longer managed; the zone keeps its settings",
  );
});

test("the first change of an imported rule isn't blamed for the exceptions that it had", async () => {
  const [zoneId, accountId] = [zones.empty, accounts.main];
  const entryPoint = `/zones/${zoneId}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  const skip = { action: "skip", expression: 'http.host eq "a"', action_parameters: { ruleset: "current" } };
  const execute = {
    action: "execute",
    expression: "true",
    action_parameters: { id: managedRulesets.managed },
  };
  const { result } = await rawSend(api, "PUT", entryPoint, { rules: [skip, execute] });
  const [, rule] = (result as { rules: { id: string }[] }).rules;
  const got = await new Operation(api).get("ManagedRulesetOverride", `${zoneId}/${rule?.id ?? ""}`);
  const { ruleset, ref } = got.outputs;
  const exceptions = got.outputs["exceptions"] as JsonObject[];
  const imported = { zoneId, accountId, ruleset, ref, exceptions };
  const inputs = { ...imported, expression: "true", enabled: true };
  const change = async (next: JsonObject): Promise<unknown> => {
    const operation = new Operation(api);
    const preview = await operation.preview(
      "ManagedRulesetOverride",
      { ...imported, ...next },
      { ...got, inputs },
    );
    const step = stepOf("update", "ManagedRulesetOverride", "mine", {
      old: inputs,
      outputs: got.outputs,
      new: preview.inputs,
    });
    const { dangers } = report(JSON.stringify({ steps: [step] }), "json");
    return [operation.warned, dangers.map(({ sentence }) => sentence.toString())];
  };
  expect(await change({ description: "new" })).toEqual([[], []]);
  expect(
    await change({ exceptions: [...exceptions, { expression: 'http.host eq "b"', skip: "all" }] }),
  ).toEqual([[], [expect.stringMatching(/^[^;]*gets an exception: "http\.host eq ..b/)]]);
  await rawSend(api, "PUT", entryPoint, { rules: [{ ...skip, expression: 'http.host in {"a" "c"}' }, rule] });
  expect(await change({ description: "new" })).toEqual([
    [expect.stringContaining("was changed outside the program: exceptions")],
    [],
  ]);
  await rawSend(api, "PUT", entryPoint, { rules: [rule] });
  expect(await change({ description: "new" })).toEqual([
    [expect.stringContaining("was changed outside the program: exceptions")],
    [expect.stringMatching(/^[^;]*gets an exception: "http\.host eq ..a/)],
  ]);
});
