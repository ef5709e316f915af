import fc from "fast-check";
import { startLocalApi, type LocalApi, type WafAction, type WafSettingsChange } from "edgeguard-local";
import { canonicalJson, isJsonObject, omit, type JsonObject } from "../../provider/basics/json";
import { Operation, rawGet, type Recorded } from "../support/operation";
import { createChecked, resetApi, puts, rulesOf, TYPE, CLOUDFLARE } from "./support";
import { LONG } from "../support/long";

/**
 * Random sequences of what users, colleagues and the network do, against Cloudflare's documented transitions, over real
 * HTTP. The test decides from its own reading of the API what may be sent, not from the digest: a confirmation approves what
 * a reviewer could see when it was shown.
 */
const ALL_RUNS = 1_000;
const RUNS = LONG ? ALL_RUNS : 20;

// A hundred times as fast, because every response that this test waits for is ready.
jest.mock("node:timers/promises", () => {
  const actual = jest.requireActual<{ setTimeout(ms: number, ...rest: unknown[]): Promise<unknown> }>(
    "node:timers/promises",
  );
  return {
    ...actual,
    setTimeout: (ms: number, ...rest: unknown[]) => actual.setTimeout(ms / 100, ...rest),
  };
});

const ZONES = [
  "migratePro",
  "migrateBusiness",
  "migrateEnterprise",
  "migrateDeployed",
  "migrateOverrides",
] as const;
type ZoneName = (typeof ZONES)[number];
type Target = "assessed" | "validation" | "finished";

type Action =
  | {
      readonly by: "user";
      readonly does: "preview" | "up";
      readonly target: Target;
      readonly confirm: Confirm;
      readonly own: boolean;
      readonly meanwhile: Colleague | undefined;
      /** Without live checks: the up alone judges. */
      readonly blind: boolean;
    }
  | { readonly by: "user"; readonly does: "resume" | "refresh" | "destroy" | "forget" }
  | { readonly by: "colleague"; readonly does: Colleague }
  | { readonly by: "network"; readonly does: Network };

/** Which digest the program holds: the one asked for last, an earlier one, a wrong one, or none. */
type Confirm = "asked" | "earlier" | "wrong" | "none";

const COLLEAGUE = [
  "validate",
  "finish",
  "completeSwitch",
  "sensitivity",
  "owaspRule",
  "vendorRule",
  "bypass",
  "pageRule",
  "override",
  "noOverride",
  "adjust",
] as const;
type Colleague = (typeof COLLEAGUE)[number];

const NETWORK = [
  "dropBefore",
  "dropAfter",
  "truncated",
  "status503",
  "status429",
  "failAfterPut",
  "hang",
  "both",
  "slowSwitch",
  "noFirewall",
  "retire",
  "unretire",
] as const;
type Network = (typeof NETWORK)[number];

const user = fc.record({
  by: fc.constant("user" as const),
  does: fc.constantFrom("preview" as const, ...Array.from({ length: 5 }, () => "up" as const)),
  target: fc.constantFrom<Target>("assessed", "validation", "validation", "finished", "finished"),
  confirm: fc.constantFrom<Confirm>(
    ...Array.from({ length: 6 }, () => "asked" as const),
    "earlier",
    "wrong",
    "none",
  ),
  own: fc.constantFrom(false, false, true),
  meanwhile: fc.option(fc.constantFrom(...COLLEAGUE), { nil: undefined, freq: 5 }),
  blind: fc.boolean(),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 7, arbitrary: user },
  {
    weight: 3,
    arbitrary: fc.record({
      by: fc.constant("user" as const),
      does: fc.constantFrom("resume" as const, "refresh" as const, "destroy" as const, "forget" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ by: fc.constant("colleague" as const), does: fc.constantFrom(...COLLEAGUE) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ by: fc.constant("network" as const), does: fc.constantFrom(...NETWORK) }),
  },
);

/** The documented transitions, by plan; `pending` precedes the end. */
const WAYS: Readonly<Record<string, readonly string[]>> = {
  pro: ["start > pending"],
  business: ["start > pending"],
  enterprise: ["start > validation", "start > pending", "validation > pending"],
};

const CONFIGURATION = [
  { action: "skip", expression: "ip.src eq 192.0.2.1", actionParameters: { ruleset: "current" } },
  { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } },
];
const CONFIGURED: readonly JsonObject[] = [
  { action: "skip", expression: "ip.src eq 192.0.2.1", action_parameters: { ruleset: "current" } },
  { action: "execute", expression: "true", action_parameters: { id: CLOUDFLARE } },
];

/** A rule's effect, computed independently of the provider. */
function effect(rule: JsonObject): string {
  const parameters = omit(isJsonObject(rule["action_parameters"]) ? rule["action_parameters"] : {}, [
    "version",
  ]);
  return canonicalJson([rule["action"], rule["expression"], parameters, rule["enabled"] ?? true]);
}

const same = (a: JsonObject, b: JsonObject): boolean => {
  const what = ({ action, action_parameters }: JsonObject): unknown =>
    action === "execute" && isJsonObject(action_parameters) ? action_parameters["id"] : action_parameters;
  return (
    a["action"] === b["action"] &&
    a["expression"] === b["expression"] &&
    canonicalJson(what(a)) === canonicalJson(what(b))
  );
};

let api: LocalApi;
const tokens = Array.from({ length: RUNS }, (_, i) => ({ token: `token-${i}` })); // A budget of requests for each.
beforeAll(async () => {
  api = await startLocalApi({ credentials: [{ token: "local-token" }, ...tokens] });
});
afterAll(() => api.close());

/** One sequence: a stack, and what its users were shown. */
class MigrationSequence {
  readonly zone: string;
  #recorded: Recorded | undefined;
  /** Whether the engine has recorded a half-done change. */
  #half = false;
  #inputs: JsonObject | undefined;
  /** By digest: what it was shown for. */
  readonly #shown = new Map<string, string>();
  #asked: string[] = [];
  readonly sent: string[] = [];

  constructor(
    readonly name: ZoneName,
    readonly token: string,
  ) {
    this.zone = api.zones[name];
  }

  get plan(): string {
    return this.name === "migratePro"
      ? "pro"
      : ["migrateBusiness", "migrateOverrides"].includes(this.name)
        ? "business"
        : "enterprise";
  }

  async does(action: Action): Promise<void> {
    const before = puts(api).length;
    const finishedBefore = api.waf(this.zone).phase === "finished";
    if (action.by === "network") this.#network(action.does);
    else if (action.by === "colleague") this.#colleague(action.does);
    else if (action.does === "preview" || action.does === "up") await this.#run(action);
    else if (action.does === "resume") await this.#resume();
    else if (action.does === "refresh") await this.#refresh();
    else await this.#leave(action.does);

    const sent = puts(api).length - before;
    if (finishedBefore && sent > 0) throw new Error("a PUT was sent to a finished zone");
    const writes = action.by === "user" && (action.does === "up" || action.does === "resume");
    if (sent > 0 && !writes) throw new Error(`${JSON.stringify(action)} has sent something`);
    for (const { from, to, effective } of api.waf(this.zone).migration.steps)
      if (effective && !(WAYS[this.plan] ?? []).includes(`${from} > ${to}`))
        throw new Error(`${from} > ${to} is not a documented transition`);
    const state = this.#recorded?.outputs["migrationState"];
    if (state === "finished" && api.waf(this.zone).phase !== "finished")
      throw new Error("recorded as finished, and is not");
  }

  #op(blind = false): Operation {
    const config = { "edgeguard:apiToken": this.token, "edgeguard:liveChecks": String(!blind) };
    return new Operation(api, { config });
  }

  async #run(action: Extract<Action, { does: "preview" | "up" }>): Promise<void> {
    const { target, own, meanwhile } = action;
    const wanted: JsonObject = {
      zoneId: this.zone,
      target,
      waitFor: { timeout: 0 },
      ...(own ? { configuration: CONFIGURATION } : {}),
    };
    const asked = action.confirm === "asked" ? await this.#ask(wanted) : undefined;
    const confirm = { asked, earlier: this.#asked.at(0), wrong: "0".repeat(64), none: undefined }[
      action.confirm
    ];
    const inputs: JsonObject = { ...wanted, ...(confirm === undefined ? {} : { confirm }) };
    const op = this.#op(action.blind);
    try {
      const { inputs: checked, failures } = await op.check(TYPE, inputs, this.#recorded);
      if (this.#isLower(target)) {
        if (!failures.some(({ reason }) => reason.startsWith("target: can't go back")))
          throw new Error("a lower target was not refused");
        return;
      }
      if (failures.length > 0 || action.does === "preview") return;
      if (meanwhile !== undefined) this.#colleague(meanwhile);
      await this.#apply(op, checked, target, own, confirm);
    } finally {
      await op.host.close();
    }
  }

  /** The digest that a preview asks for, kept with what a reviewer can see at that moment. */
  async #ask(wanted: JsonObject): Promise<string | undefined> {
    const target = wanted["target"];
    if (target === "assessed") return undefined;
    const op = this.#op();
    const { failures } = await op.check(
      TYPE,
      wanted,
      this.#isLower(target as Target) ? undefined : this.#recorded,
    );
    await op.host.close();
    const digest = /set confirm: "([0-9a-f]{64})"/.exec(failures.map(({ reason }) => reason).join())?.[1];
    if (digest === undefined) return undefined;
    const proposed = await this.#proposed();
    const rules = await this.#sending(wanted["configuration"] !== undefined, proposed);
    const seen = this.#visible(target as Target, proposed, rules);
    const known = this.#shown.get(digest);
    if (known !== undefined && known !== seen)
      throw new Error(`one digest stands for two things:\n${known}\n${seen}`);
    this.#shown.set(digest, seen);
    this.#asked.push(digest);
    return digest;
  }

  #isLower(target: Target): boolean {
    const order: readonly unknown[] = ["assessed", "validation", "finished"];
    return (
      this.#recorded !== undefined && order.indexOf(target) < order.indexOf(this.#recorded.inputs["target"])
    );
  }

  async #apply(
    op: Operation,
    checked: JsonObject,
    target: Target,
    own: boolean,
    confirm: unknown,
  ): Promise<void> {
    const proposed = await this.#proposed();
    const rules = await this.#sending(own, proposed);
    const seen = this.#visible(target, proposed, rules);
    const before = puts(api).length;
    const previous = this.#recorded;
    this.#inputs = checked;
    try {
      this.#recorded =
        previous === undefined ? await createChecked(op, checked) : await op.update(TYPE, checked, previous);
      this.#half = false;
    } catch (error) {
      const { id, properties } = error as { id?: string; properties?: JsonObject };
      if (id !== undefined && properties !== undefined) {
        this.#recorded = {
          id,
          inputs: checked,
          outputs: JSON.parse(JSON.stringify(properties)) as JsonObject,
        };
        this.#half = true;
      }
    }
    const now = puts(api).slice(before);
    if (now.length === 0) return;
    if (now.length > 2) throw new Error(`${now.length} PUTs by one up`); // Two where the first was refused for its rate.
    const mode = target === "finished" ? "pending" : "validation";
    const query = `?waf_migration=${mode}&phase_two=1`;
    if (target === "assessed" || !now.every((line) => line.endsWith(query)))
      throw new Error(`${target} sent ${now.join()}`);
    if (typeof confirm !== "string") throw new Error("sent without a confirmation");
    if (this.#shown.get(confirm) !== seen)
      throw new Error(
        `sent something else than was confirmed:\n${this.#shown.get(confirm) ?? "nothing"}\n${seen}`,
      );
    const body = api.requests.filter(({ method }) => method === "PUT").at(-1)?.body as {
      rules: JsonObject[];
    };
    expect(body.rules.map(effect)).toEqual(rules.map(effect));
    this.sent.push(mode);
  }

  /** After a half-done change the engine calls update with what it has, whatever a diff says. */
  async #resume(): Promise<void> {
    if (!this.#half || this.#recorded === undefined || this.#inputs === undefined) return;
    const op = this.#op();
    const { target, configuration, confirm } = this.#inputs;
    await this.#apply(op, this.#inputs, target as Target, configuration !== undefined, confirm);
    await op.host.close();
  }

  async #refresh(): Promise<void> {
    if (this.#recorded === undefined) return;
    const op = this.#op();
    const { target } = this.#recorded.outputs; // What was reached, where the last step failed.
    try {
      this.#recorded = (await op.refresh(TYPE, this.#recorded)) ?? this.#recorded;
    } catch {
      // A refresh that fails leaves what is recorded.
    }
    if (this.#recorded.inputs["target"] !== target) throw new Error("a refresh has rewritten the target");
    await op.host.close();
  }

  async #leave(how: "destroy" | "forget"): Promise<void> {
    const before = api.requests.length;
    if (how === "destroy" && this.#recorded !== undefined) await this.#op().destroy(TYPE, this.#recorded);
    if (api.requests.length !== before) throw new Error("a destroy has asked for something");
    this.#recorded = undefined;
    this.#half = false;
  }

  /** What a confirmation is for, read past the provider. */
  #visible(target: Target, proposed: readonly JsonObject[], rules: readonly JsonObject[]): string {
    const { owasp, overrides } = api.waf(this.zone);
    const config = proposed.map((rule) => omit(rule, ["id", "version", "ref"]));
    return canonicalJson({ target, owasp, overrides, config, rules: rules.map(effect) });
  }

  /** The issue's rule of what is sent, once more. */
  async #sending(own: boolean, proposed: readonly JsonObject[]): Promise<JsonObject[]> {
    const there = (await rulesOf(api, this.zone)) as unknown as JsonObject[];
    const { phase } = api.waf(this.zone);
    if (phase !== "start" && !own) return there;
    const wanted = own ? CONFIGURED : proposed;
    if (phase !== "start") return [...wanted];
    const left = [...wanted];
    const first = there.map((rule) => {
      const at = left.findIndex((each) => same(each, rule));
      return at < 0 ? rule : { enabled: true, ...left.splice(at, 1)[0] };
    });
    return [...first, ...left];
  }

  async #proposed(): Promise<JsonObject[]> {
    const { result } = await rawGet(api, `/zones/${this.zone}/waf_migration/config?phase_two=1`);
    return isJsonObject(result) ? (result["rules"] as JsonObject[]) : [];
  }

  #colleague(what: Colleague): void {
    const rules = [{ expression: `ip.src eq 192.0.2.${this.sent.length + 7}`, products: ["waf"] }];
    const actions: Record<Colleague, () => WafAction> = {
      validate: () => ({ do: "validate" }),
      finish: () => ({ do: "finish" }),
      completeSwitch: () => ({ do: "completeSwitch" }),
      sensitivity: () => ({
        do: "package",
        sensitivity: api.waf(this.zone).owasp.sensitivity === "low" ? "medium" : "low",
      }),
      owaspRule: () => ({
        do: "rule",
        id: "981001",
        mode: api.waf(this.zone).owasp.rules["981001"] === "off" ? "on" : "off",
      }),
      vendorRule: () => ({ do: "rule", id: "100401", mode: "simulate" }),
      bypass: () => ({ do: "firewallRules", rules }),
      pageRule: () => ({
        do: "pageRules",
        rules: [{ url: "a.example/*", actions: [{ id: "waf", value: "off" }] }],
      }),
      override: () => ({
        do: "addOverride",
        override: { urls: ["a.example/*"], rules: { "100000": "disable" } },
      }),
      noOverride: () => ({ do: "deleteOverride", id: api.waf(this.zone).overrides[0]?.id ?? "0" }),
      adjust: () => ({
        do: "adjust",
        change: { description: "adjusted", expression: 'http.host ne "b.example"' },
      }),
    };
    try {
      api.inDashboard(this.zone, actions[what]());
    } catch {
      // Cloudflare doesn't allow it in the dashboard, either.
    }
  }

  #network(what: Network): void {
    const match = { method: "PUT" };
    const settings: Partial<Record<Network, WafSettingsChange>> = {
      both: { pendingShows: "both" },
      slowSwitch: { pendingMs: 60_000 },
    };
    const setting = settings[what];
    if (setting !== undefined) api.changeWaf(setting);
    else if (what === "status503") api.fault({ kind: "status", status: 503, match });
    else if (what === "status429") api.fault({ kind: "status", status: 429, match });
    else if (what === "noFirewall")
      api.fault({ kind: "status", status: 403, match: { path: "/firewall/rules" } });
    else if (what === "failAfterPut") api.inDashboard(this.zone, { do: "failAfterPut", status: 500 });
    else if (what === "hang") api.inDashboard(this.zone, { do: "hang" });
    else if (what === "retire" || what === "unretire")
      api.inDashboard(this.zone, { do: "retire", status: what === "retire" ? 410 : null });
    else if (what === "dropBefore" || what === "dropAfter" || what === "truncated")
      api.fault({ kind: what, match });
  }
}

test(
  `random sequences of updates and failures follow the documented transitions and send only what was confirmed (${RUNS} sequences${LONG ? "" : `; ${ALL_RUNS} in the long run`})`,
  async () => {
    let run = 0;
    const ends = new Map<string, number>();
    let steps = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ZONES, "migrateEnterprise" as const, "migrateDeployed" as const),
        fc.array(action, { minLength: 3, maxLength: 8 }),
        async (name, actions) => {
          resetApi(api);
          const sequence = new MigrationSequence(name, tokens[run++ % RUNS]?.token ?? "");
          for (const each of actions) await sequence.does(each);
          const { phase } = api.waf(sequence.zone);
          ends.set(phase, (ends.get(phase) ?? 0) + 1);
          steps += sequence.sent.length;
        },
      ),
      { numRuns: RUNS, ...(LONG ? {} : { seed: 20_260_821 }) },
    );
    process.stdout.write(
      `${RUNS} sequences: ${steps} confirmed PUTs; zones at the end: ${JSON.stringify(Object.fromEntries(ends))}\n`,
    );
    // The test proves nothing about cases that never came up.
    for (const phase of ["start", "validation", "finished"])
      expect(ends.get(phase) ?? 0).toBeGreaterThan(LONG ? RUNS / 40 : 0);
    expect(steps).toBeGreaterThan(LONG ? RUNS / 5 : 0);
  },
  LONG ? 1_800_000 : 180_000,
);
