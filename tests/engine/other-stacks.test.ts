import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE, managedRulesets, startLocalApi, type LocalApi } from "edgeguard-local";
import { omit, sameJson, type JsonObject } from "../../provider/basics/json";
import { Random } from "../soak/random";
import { Project } from "../support/engine";
import { LONG } from "../support/long";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";

/**
 * Stacks of different teams whose projects, stacks and resources have the same names, in one zone and account: whatever
 * they do, and in whatever order, no stack loses another's keys, rules or namespaces.
 */

const ROUNDS = LONG ? 100 : 1;
const KEYS = ["a", "b", "c", "d", "e"];
const TITLES = ["one", "two", "shared"];
const REFS = ["", "waf", "waf-2"];
const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };

const PROGRAM = `
import { KvEntries, KvNamespace, ManagedRulesetOverride } from "pulumi-edgeguard";
const { keys, titles, rules } = require("./declared.json");
if (keys !== undefined) new KvEntries("keys", keys);
for (const each of titles) new KvNamespace(each.title, each);
for (const each of rules) new ManagedRulesetOverride(each.ref ?? "rule", each);
`;

/** Why a stack may refuse what another stack's objects don't allow. */
const REFUSAL =
  /already exist|but differs in|already run|Another rule in the zone has this ref|still has \d+ key/;

interface Seen {
  readonly keys: ReadonlyMap<string, string>;
  readonly rules: readonly JsonObject[];
  /** The namespaces by ID. */
  readonly namespaces: ReadonlyMap<string, { readonly title: string; readonly keys: readonly string[] }>;
}

class Shared {
  readonly #zone: string;
  readonly #namespaces: string;

  constructor(
    readonly api: LocalApi,
    readonly stacks: readonly Project[],
    /** The ID of the namespace in which every stack writes keys. */
    readonly common: string,
  ) {
    this.#zone = `/zones/${api.zones.empty}/rulesets`;
    this.#namespaces = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  }

  static async with(count: number): Promise<Shared> {
    const api = await startLocalApi();
    const stacks = Array.from({ length: count }, () => new Project(LOCAL_ENGINE, "shop"));
    for (const stack of stacks) {
      stack.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      await stack.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
      stack.write(PROGRAM);
    }
    const path = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
    const { result } = await rawSend(api, "POST", path, { title: "common" });
    const shared = new Shared(api, stacks, (result as { id: string }).id);
    await shared.addRulesByHand();
    return shared;
  }

  /** Rules whose refs read like those of a deployment's exceptions. */
  async addRulesByHand(): Promise<void> {
    const rule = { action: "execute", action_parameters: { id: managedRulesets.free }, expression: "ssl" };
    const refs = ["waf/exception/3", "waf-2/exception/4", "edgeguard/shop/dev/rule/exception/3"];
    const body = { name: "zone", kind: "zone", phase: "http_request_firewall_managed" };
    const rules = refs.map((ref) => ({ ...rule, ref }));
    await rawSend(this.api, "POST", this.#zone, { ...body, rules });
  }

  async seen(): Promise<Seen> {
    const entryPoint = await rawGet(
      this.api,
      `${this.#zone}/phases/http_request_firewall_managed/entrypoint`,
    );
    const { rules } = entryPoint["result"] as { rules: readonly JsonObject[] };
    const namespaces = new Map<string, { title: string; keys: readonly string[] }>();
    for (const { id, title } of await this.#list<{ id: string; title: string }>("?per_page=100")) {
      const keys = await this.#list<{ name: string }>(`/${id}/keys`);
      namespaces.set(id, { title, keys: keys.map(({ name }) => name) });
    }
    return {
      keys: await this.#values(namespaces.get(this.common)?.keys ?? []),
      rules: rules.map((rule) => omit(rule, ["version", "last_updated"])),
      namespaces,
    };
  }

  async #list<T>(path: string): Promise<T[]> {
    return (await rawGet(this.api, this.#namespaces + path))["result"] as T[]; // The caller knows the shape.
  }

  async #values(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (keys.length === 0) return new Map();
    const path = `${this.#namespaces}/${this.common}/bulk/get`;
    const { result } = await rawSend(this.api, "POST", path, { keys });
    return new Map(Object.entries((result as { values: Record<string, string> }).values));
  }

  /** What a stack declares next. */
  declare(random: Random, stack: number, step: string): Declared {
    const { accounts, zones } = this.api;
    const keys = random.some(KEYS, 0, 4);
    const titles = random.some(TITLES, 0, 2);
    return {
      keys: random.chance(0.2)
        ? undefined
        : {
            accountId: accounts.main,
            namespaceId: this.common,
            entries: Object.fromEntries(keys.map((key) => [key, `${stack} in ${step}`])),
            adopt: random.pick(["takeOver", "ifEqual"]),
            verify: random.pick(["keys", "values"]),
          },
      titles: titles.map((title) => ({ accountId: accounts.main, title })),
      rules: random.some(REFS, 0, 2).map((ref) => ({
        zoneId: zones.empty,
        accountId: accounts.main,
        ...(ref === "" ? {} : { ref }),
        ruleset: { id: managedRulesets.owasp },
        owasp: { paranoiaLevel: random.pick([1, 2]) },
        expression: `http.host eq "${ref}.example"`,
        description: `stack ${stack}`,
        exceptions: random.pick([[], [HOOK], [HOOK, { ...HOOK, skip: "this" }]]),
      })),
    };
  }

  async close(): Promise<void> {
    for (const stack of this.stacks) stack.remove();
    await this.api.close();
  }
}

interface Declared {
  readonly keys: { readonly entries: JsonObject; readonly [argument: string]: unknown } | undefined;
  readonly titles: readonly JsonObject[];
  readonly rules: readonly JsonObject[];
}

interface State {
  readonly namespaces: ReadonlySet<string>;
  readonly rules: ReadonlySet<string>;
}

/** The IDs of what a stack has in its state. */
async function stateOf(stack: Project): Promise<State> {
  const { resources = [] } = (await stack.export()).deployment;
  const ids = (type: string): Set<string> =>
    new Set(
      resources.flatMap((each) => (each.type.endsWith(type) && each.id !== undefined ? [each.id] : [])),
    );
  return { namespaces: ids("KvNamespace"), rules: ids("ManagedRulesetOverride") };
}

/** What others had before and don't have any more. */
function lostOf(
  before: Seen,
  after: Seen,
  { stack, own, taken }: { readonly stack: number; readonly own: State; readonly taken: readonly string[] },
): unknown[] {
  const keys = [...before.keys].filter(
    ([key, value]) => !value.startsWith(`${stack} `) && !taken.includes(key) && after.keys.get(key) !== value,
  );
  const rules = before.rules.filter(
    (rule) =>
      !own.rules.has(String(rule["id"])) &&
      !isExceptionOf(stack, rule, before) &&
      !after.rules.some((each) => sameJson(each, rule)),
  );
  // Cloudflare itself refuses a second namespace with the same title, so two stacks may share an empty one.
  const namespaces = [...before.namespaces].filter(
    ([id, { keys }]) => !after.namespaces.has(id) && (keys.length > 0 || !own.namespaces.has(id)),
  );
  return [...keys, ...rules, ...namespaces];
}

/** Whether the rule is an exception of a deployment of the stack, which an interrupted create may not have finished. */
function isExceptionOf(stack: number, rule: JsonObject, { rules }: Seen): boolean {
  const [, ref = ""] = /^(.+)\/exception\/\d+$/.exec(String(rule["ref"])) ?? [];
  return (
    rule["action"] === "skip" &&
    rules.some(
      (each) =>
        [ref, `${ref}/unfinished`].includes(String(each["ref"])) && each["description"] === `stack ${stack}`,
    )
  );
}

test.each([2, 3])(
  `%i stacks in random order lose nothing of one another (${ROUNDS} rounds)`,
  async (count) => {
    const shared = await Shared.with(count);
    const done = { operations: 0, refused: 0 };
    const written = new Map<number, Set<string>>();
    try {
      const random = new Random(count);
      for (let round = 1; round <= ROUNDS; round += 1) {
        for (const stack of random.some([...shared.stacks.keys()], count, count)) {
          const project = shared.stacks[stack];
          if (project === undefined) throw new Error("no such stack");
          const own = await stateOf(project);
          const before = await shared.seen();
          const command = random.pick(["up", "up", "up", "refresh", "destroy"]);
          const declared = shared.declare(random, stack, `round ${round}`);
          const isUp = command === "up";
          if (isUp) writeFileSync(join(project.dir, "declared.json"), JSON.stringify(declared));
          shared.api.advance(120_000);
          const flags = random.chance(0.8) && isUp ? ["--skip-preview"] : [];
          const { code, text } = await project.run(command, "--yes", ...flags);
          done.operations += 1;
          if (code !== 0) {
            done.refused += 1;
            expect(text).toMatch(REFUSAL);
          }
          // A key that two programs declare has the value of the last update. A new one is only taken over on request.
          const wanted = isUp ? Object.keys(declared.keys?.entries ?? {}) : [];
          const known = written.get(stack) ?? new Set();
          const taken =
            declared.keys?.["adopt"] === "takeOver" ? wanted : wanted.filter((key) => known.has(key));
          const after = await shared.seen();
          const mine = [...after.keys]
            .filter(([, value]) => value.startsWith(`${stack} `))
            .map(([key]) => key);
          written.set(stack, new Set([...known, ...mine]));
          const lost = lostOf(before, after, { stack, own, taken });
          expect({ round, stack, command, lost }).toEqual({ round, stack, command, lost: [] });
        }
      }
    } finally {
      await shared.close();
    }
    expect(done.operations).toBe(ROUNDS * count);
    expect(done.refused).toBeLessThan(done.operations);
    if (LONG) console.log(`${count} stacks: ${done.operations} operations, ${done.refused} refused`);
  },
  LONG ? 3_600_000 : 120_000,
);
