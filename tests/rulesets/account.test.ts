import { managedRulesets } from "edgeguard-local";
import { omit, type JsonObject } from "../../provider/basics/json";
import { report } from "../../provider/report";
import { ImportDesk } from "../import/support";
import { planJson, stepOf, type MadeStep } from "../report/plans";
import { accounts, Bench, zones } from "../support/bench";
import { Operation, publishVersion, rawGet, rawSend, type Recorded } from "../support/operation";
import { ELSEWHERE, ENTERPRISE } from "../support/samples";
import { Ground } from "../survey/support";

/** Managed rulesets of an account's entry point, and of the phase of responses. What happened is read with raw requests. */

interface Rule {
  readonly id: string;
  readonly ref: string;
  readonly enabled: boolean;
  readonly expression: string;
}

interface EntryPoint {
  readonly id: string;
  readonly kind: string;
  readonly phase: string;
  readonly rules: readonly Rule[];
}

const ACCOUNT = `/accounts/${accounts.main}/rulesets`;
const ZONE = `/zones/${zones.empty}/rulesets`;
const REQUESTS = "http_request_firewall_managed";
const RESPONSES = "http_response_firewall_managed";

const THEIRS = {
  action: "execute",
  action_parameters: { id: managedRulesets.owasp },
  expression: ENTERPRISE,
  description: "The network team's",
};

describe("a managed ruleset for an account", () => {
  const b = new Bench("ManagedRulesetOverride");
  let args: JsonObject;
  beforeEach(() => ({ args } = ELSEWHERE["for an account"](b.api)));

  const entryPoint = async (root = ACCOUNT, phase = REQUESTS): Promise<EntryPoint> =>
    (await rawGet(b.api, `${root}/phases/${phase}/entrypoint`))["result"] as EntryPoint;
  const refs = async (root = ACCOUNT): Promise<string[]> =>
    (await entryPoint(root)).rules.map(({ ref }) => ref);
  const byHand = async (rule: Rule | undefined, change: object): Promise<void> => {
    const { id } = await entryPoint();
    const { success } = await rawSend(b.api, "PATCH", `${ACCOUNT}/${id}/rules/${rule?.id}`, {
      ...rule,
      ...change,
    });
    expect(success).toBe(true);
  };

  it("is one rule of the account's entry point, behind its exceptions, and no zone is written to", async () => {
    const recorded = await b.up(args);
    const writes = b.api.requests.filter(({ method }) => method !== "GET");
    expect(writes[0]).toMatchObject({
      method: "POST",
      path: ACCOUNT,
      body: { name: "root", kind: "root", phase: REQUESTS, rules: [] },
    });
    expect(b.api.requests.filter(({ path }) => path.startsWith("/zones"))).toEqual([]);
    expect(await entryPoint()).toMatchObject({
      kind: "root",
      phase: REQUESTS,
      rules: [
        {
          ref: "waf/exception/1",
          action: "skip",
          action_parameters: { rulesets: [managedRulesets.managed] },
        },
        { id: recorded.id, ref: "waf", action: "execute", expression: ENTERPRISE, enabled: true },
      ],
    });
    expect(recorded.outputs).toMatchObject({ accountId: accounts.main, ruleId: recorded.id });
    expect(recorded.outputs).not.toHaveProperty("zoneId");
  });

  it("leaves everyone else's rules alone, and is restored after someone changed it by hand", async () => {
    await rawSend(b.api, "PUT", `${ACCOUNT}/phases/${REQUESTS}/entrypoint`, { rules: [THEIRS] });
    const [theirs] = (await entryPoint()).rules;
    const recorded = await b.up({ ...args, position: "first" });
    const own = (await entryPoint()).rules.find(({ id }) => id === recorded.id);
    await byHand(own, { enabled: false });
    const now = (await b.operation().refresh("ManagedRulesetOverride", recorded)) as Recorded;
    expect(now.outputs).toMatchObject({ enabled: false });
    const restored = await b.up({ ...args, position: "first" }, now);
    expect((await entryPoint()).rules.map(({ id }) => id)).toEqual([
      expect.any(String),
      recorded.id,
      theirs?.id,
    ]);
    await b.destroy(restored);
    expect((await entryPoint()).rules).toEqual([theirs]);
  });

  it("adopts a rule that matches the program, and refuses one that differs", async () => {
    await rawSend(b.api, "PUT", `${ACCOUNT}/phases/${REQUESTS}/entrypoint`, { rules: [THEIRS] });
    const [theirs] = (await entryPoint()).rules;
    const owasp = {
      accountId: accounts.main,
      ruleset: { id: managedRulesets.owasp },
      expression: ENTERPRISE,
    };
    const different = { ...owasp, ref: "mine", owasp: { paranoiaLevel: 1 } };
    await expect(b.preview(different)).rejects.toThrow(
      `Rule ${theirs?.id} ("The network team's") in account ${accounts.main} already runs`,
    );
    const adopted = await b.up({ ...owasp, ref: "mine" });
    expect(adopted.id).toBe(theirs?.id);
    expect(adopted.outputs["adopted"]).toMatchObject({
      object: expect.stringContaining(`in account ${accounts.main}`) as string,
    });
    const taken = await b.up({ ...different, adopt: "takeOver" }, adopted);
    await b.destroy(taken);
    expect((await entryPoint()).rules).toMatchObject([
      { id: theirs?.id, action_parameters: THEIRS.action_parameters },
    ]);
  });

  it.each<[string, JsonObject]>([
    ["expression", { expression: 'http.host eq "a.example"' }],
    ["expression", { expression: `${ENTERPRISE} or ssl` }],
    [
      "exceptions[1].expression",
      {
        exceptions: [
          { expression: ENTERPRISE, skip: "this" },
          { expression: "ssl", skip: "all" },
        ],
      },
    ],
  ])(
    "refuses an expression for other zones than those of an Enterprise plan, in %s",
    async (place, change) => {
      expect(await b.refusals({ ...args, ...change })).toEqual([
        expect.stringContaining(`${place}: must end with \`and cf.zone.plan eq "ENT"\``),
      ]);
      expect(await b.refusals({ ...args, ...change, zoneId: zones.empty })).toEqual([]);
    },
  );

  it("says that it needs an Enterprise plan if Cloudflare refuses it", async () => {
    await b.restart({ limits: { maxAccountRules: 0 } });
    const { message } = await b.failedUp(args);
    expect(message).toMatch(/not entitled to use the phase .*An account's rules need an Enterprise plan/s);
    await b.restart();
    b.api.fault({ kind: "status", status: 403, match: { path: "/rulesets/phases" }, times: 9 });
    await expect(b.preview(args)).rejects.toThrow(
      "managed rules of an account, which need an Enterprise plan",
    );
  });

  it("may have the ref of a zone's rule, but not of another rule of the account", async () => {
    const op = b.operation();
    const inZone = { ...args, zoneId: zones.empty };
    for (const each of [args, inZone, { ...inZone, ...ELSEWHERE["for responses"](b.api).args, ref: "waf" }])
      await op.preview("ManagedRulesetOverride", { ...each, __resourceName: JSON.stringify(each) });
    await expect(
      op.preview("ManagedRulesetOverride", {
        ...args,
        expression: `ssl and ${ENTERPRISE}`,
        __resourceName: "other",
      }),
    ).rejects.toThrow(`have the same ref "waf" in account ${accounts.main}. Change one of the refs`);
  });

  it("moves between a zone and the account by a replacement, but a zone's rule stays if only accountId changes", async () => {
    const recorded = await b.up(args);
    const inZone = { ...args, zoneId: zones.empty };
    expect(await b.preview(inZone, recorded)).toMatchObject({ step: "replace", replaces: ["zoneId"] });
    const there = await b.up(inZone, recorded);
    expect([await refs(), await refs(ZONE)]).toEqual([[], ["waf/exception/1", "waf"]]);
    const offline = { config: { "edgeguard:liveChecks": "false" } };
    expect((await b.preview({ ...inZone, accountId: "0".repeat(32) }, there, offline)).step).toBe("update");
  });

  it("is read by the account's ID and its own", async () => {
    const { id } = await b.up(args);
    const { outputs } = await b.operation().get("ManagedRulesetOverride", `account/${accounts.main}/${id}`);
    expect(outputs).toMatchObject({ accountId: accounts.main, ruleId: id, expression: ENTERPRISE });
    expect(outputs).not.toHaveProperty("zoneId");
  });

  it("reports what a new version changes, and warns if the account then runs no ruleset", async () => {
    const recorded = await b.up(args);
    await publishVersion(b.api, managedRulesets.managed, { add: [{ description: "New" }] });
    const refresh = b.operation();
    await refresh.refresh("ManagedRulesetOverride", recorded);
    expect(refresh.said.join("\n")).toContain("1 new rule, 1 on in this deployment (1 block)");
    const end = b.operation();
    await end.destroy("ManagedRulesetOverride", recorded);
    expect(end.warned).toEqual([
      `edgeguard: account ${accounts.main} now runs no managed ruleset: none of its enabled rules executes one.`,
    ]);
  });

  it("is imported with --account, beside the zones' rules, and the next preview shows no changes", async () => {
    const desk = await ImportDesk.from();
    await new Operation(desk.api).up("ManagedRulesetOverride", { ...args, description: "Everywhere" });
    const leaks = ELSEWHERE["for responses"](desk.api).args;
    await new Operation(desk.api).up("ManagedRulesetOverride", { ...leaks, zoneId: desk.zone, ref: "leaks" });
    const options = ["--zone", desk.zone, "--account", desk.account, "--only", "rulesets"];
    expect(await desk.run(options)).toMatchObject({ code: 0 });
    const found = desk.recorded();
    expect([...found.keys()].filter((name) => /everywhere|sensitive/i.test(name))).toHaveLength(2);
    for (const [, { type, inputs, outputs, id }] of found) {
      const recorded = { id, inputs, outputs };
      expect((await new Operation(desk.api).preview(type, inputs, recorded)).step).toBe("same");
    }
    const program = desk.read("index.ts");
    expect(program).toMatch(/new ManagedRulesetOverride\("\w*everywhere\w*", \{\s*accountId,/i);
    expect(program).toContain(`phase: "${RESPONSES}"`);
  });
});

describe("a managed ruleset for responses", () => {
  const b = new Bench("ManagedRulesetOverride");
  let args: JsonObject;
  beforeEach(() => ({ args } = ELSEWHERE["for responses"](b.api)));

  it("is in the zone's entry point for responses, and can be read by its ID", async () => {
    const { id, outputs } = await b.up(args);
    const { result } = await rawGet(b.api, `${ZONE}/phases/${RESPONSES}/entrypoint`);
    expect(result).toMatchObject({
      kind: "zone",
      phase: RESPONSES,
      rules: [{ id, ref: "leaks", action_parameters: { id: managedRulesets.sensitiveData } }],
    });
    expect(await rawGet(b.api, `${ZONE}/phases/${REQUESTS}/entrypoint`)).toMatchObject({ success: false });
    expect(outputs).toMatchObject({ phase: RESPONSES });
    const read = await b.operation().get("ManagedRulesetOverride", `${zones.empty}/${id}`);
    expect(read.outputs).toMatchObject({ phase: RESPONSES, ruleId: id });
  });

  it("replaces a rule for requests, which is the default phase", async () => {
    const requests = { ...args, phase: REQUESTS, ruleset: { id: managedRulesets.managed } };
    const recorded = await b.up(requests);
    expect(recorded.outputs).not.toHaveProperty("phase");
    expect(await b.step(omit(requests, ["phase"]), recorded)).toBe("same");
    expect(await b.preview(args, recorded)).toMatchObject({ step: "replace", replaces: ["phase"] });
  });

  it("has to have a ruleset of that phase, and no payload logging", async () => {
    expect(await b.refusals({ ...args, ruleset: { id: managedRulesets.managed } })).toEqual([
      `phase: must be "${REQUESTS}", the phase of "Cloudflare Managed Ruleset", not "${RESPONSES}"`,
    ]);
    expect(await b.refusals(omit(args, ["phase"]))).toEqual([
      expect.stringContaining(`phase: must be "${RESPONSES}"`),
    ]);
    expect(await b.refusals({ ...args, matchedData: { publicKey: `${"A".repeat(43)}=` } })).toEqual([
      expect.stringContaining("matchedData: only requests have payload logging"),
    ]);
  });

  it("is deleted without a warning about the zone's other protection", async () => {
    const end = b.operation();
    await end.destroy("ManagedRulesetOverride", await b.up(args));
    expect(end.warned).toEqual([]);
  });
});

describe("the report on a deployment for an account", () => {
  const rule = { accountId: accounts.main, ruleset: { name: "WAF" }, enabled: true, expression: ENTERPRISE };
  const where = `for all matching zones of account ${accounts.main}`;
  const sentences = (...steps: MadeStep[]): string[] =>
    report(planJson(...steps), "json").dangers.flatMap(({ kind, sentence }) =>
      kind === "unprotect" ? [sentence.toString()] : [],
    );
  const KIND = "ManagedRulesetOverride";

  it("names the account in each loss", () => {
    const losses: [JsonObject, RegExp][] = [
      [{ enabled: false }, /is disabled$/],
      [{ expression: `ssl and ${ENTERPRISE}` }, /may run on fewer requests/],
      [{ action: "log" }, /protects less/],
      [{ exceptions: [{ expression: ENTERPRISE, skip: "this" }] }, /gets an exception|is disabled|no longer/],
    ];
    for (const [change, loss] of losses) {
      const [first, ...more] = sentences(
        stepOf("update", KIND, "w", { old: rule, new: { ...rule, ...change } }),
      );
      expect(first).toMatch(loss);
      expect(first).toContain(where);
      expect(more).toEqual([]);
    }
  });

  it("doesn't count a zone's ruleset, or one of another account, as a replacement", () => {
    const gone = stepOf("delete", KIND, "w", { old: rule });
    const own = { ...rule, ruleset: { name: "Other" } };
    const kept = (inputs: JsonObject): MadeStep => stepOf("same", KIND, "o", { old: inputs, new: inputs });
    for (const other of [{ ...own, zoneId: zones.empty }, own])
      expect(sentences(gone, kept(other))).toEqual([expect.stringMatching(/is removed$/)]);
    const moved = stepOf("replace", KIND, "w", { old: rule, new: { ...rule, accountId: "b".repeat(32) } });
    expect(sentences(moved)).toEqual([expect.stringContaining(`${where} is removed`)]);
  });

  it("says for which zones a new one is", () => {
    const { text } = report(planJson(stepOf("create", KIND, "w", { new: rule })), "text");
    expect(text).toContain(where);
  });
});

describe("a survey of what an account and responses have", () => {
  it("lists deployments without a stack, with the command that imports them, and tells no covered zone to deploy", async () => {
    const ground = await Ground.with();
    const { shop, empty } = ground.api.zones;
    const { args } = ELSEWHERE["for an account"](ground.api);
    const everywhere = await new Operation(ground.api).up("ManagedRulesetOverride", {
      ...args,
      description: "All",
    });
    const leaks = ELSEWHERE["for responses"](ground.api).args;
    const responses = await new Operation(ground.api).up("ManagedRulesetOverride", {
      ...leaks,
      zoneId: shop,
    });
    ground.write("state.json", JSON.stringify({ version: 3, deployment: { resources: [] } }));
    ground.write("zones.txt", "shop.example\nempty.example\nblog.example\n");
    const options = ["--zones", "zones.txt", "--budget", "100", "--stack", "state.json"];
    expect(await ground.survey(...options)).toMatchObject({ code: 0 });
    const [account] = ground.result().accounts;
    expect(account).toMatchObject({
      deployments: [{ ruleId: everywhere.id, stack: null }],
      unmanaged: {
        objects: expect.arrayContaining([expect.objectContaining({ id: everywhere.id })]) as unknown,
      },
    });
    const command = account?.unmanaged?.command ?? "";
    expect(command).toMatch(new RegExp(`^edgeguard import --account ${accounts.main} --only rulesets,kv `));
    expect(await ground.command({}, ...command.split(" ").slice(1))).toMatchObject({ code: 0 });
    expect(ground.zone(shop)).toMatchObject({
      responseDeployments: [{ ruleId: responses.id, effect: { onlyLogs: true }, stack: null }],
      unmanaged: {
        objects: expect.arrayContaining([expect.objectContaining({ id: responses.id })]) as unknown,
      },
    });
    expect(ground.zone(empty).tasks.map(({ kind }) => kind)).not.toContain("noManagedRuleset");
    expect(ground.zone(empty)).toMatchObject({ protection: { requests: "all" }, responseDeployments: [] });
    const asked = ground.api.requests.filter(({ path }) => path.includes(RESPONSES));
    expect(asked.some(({ path }) => path.includes(ground.api.zones.blog))).toBe(false);
  });
});
