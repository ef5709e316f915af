import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  managedRulesets,
  pulumiCli,
  startLocalApi,
  type FirewallEventInput,
  type LocalApi,
} from "edgeguard-local";
import { assessmentIn } from "../../provider/migration/assessment";
import { edgeguardResources, Project, REPOSITORY, type Deployment, type RunResult } from "../support/engine";
import { publishVersion, rawSend } from "../support/operation";
import { dataByHand, logpushByHand, pageShieldByHand, rulesetsByHand, type IdOf } from "./by-hand";
import { TOKEN } from "../support/scenario";

/**
 * Records the plans in `fixtures` again, with the Pulumi CLI on PATH:
 *
 *     npx ts-node --transpile-only tests/report/record.ts [recording …]
 *
 * Replaces only what differs from run to run or machine to machine (`#neutral`). Review the reports afterwards, and write
 * them again if the difference is intended (`report.test.ts` says how).
 */

/** The local API has a single account, so this is the response for the account that the program moves to. */
const NO_NAMESPACES = {
  kind: "raw",
  status: 200,
  contentType: "application/json",
  body: JSON.stringify({ success: true, errors: [], messages: [], result: [] }),
  match: { path: `/accounts/${"abc".padStart(32, "0")}/storage/kv/namespaces$` },
} as const;

interface Recordings {
  readonly [name: string]: (stage: RecordingStage) => Promise<void>;
}

const RECORDINGS: Recordings = {
  async life(stage) {
    await stage.preview("created", "first");
    await stage.up("first");
    const recorded = await stage.resources();
    stage.environment = {
      CONFIRM_OLDER: String(recorded.get("WafMigration::older")?.["configurationDigest"]),
    };
    await stage.preview("changed", "second");
    await stage.engine("state", "unprotect", "--all", "--yes");
    stage.api.fault({ ...NO_NAMESPACES, times: 99 });
    await stage.preview("replaced", "moved");
    await stage.preview("deleted", "nothing");
  },

  async drift(stage) {
    await stage.up("few");
    await stage.preview("unchanged", "few");
    await stage.preview("unlisted", "few", "--show-sames=false");
    await stage.preview("parts", "few.moved", "--show-replacement-steps");
    const shop = `/zones/${stage.api.zones.shop}/page_shield`;
    await rawSend(stage.api, "PUT", shop, { enabled: false });
    const policies = await stage.resources("id");
    const www = `${shop}/policies/${String(policies.get("PageShieldPolicy::www")?.["id"])}`;
    await rawSend(stage.api, "PUT", www, {
      description: "www",
      action: "log",
      expression: "true",
      enabled: "true",
      value: "script-src 'self'",
    });
    await rawSend(
      stage.api,
      "DELETE",
      `${shop}/policies/${String(policies.get("PageShieldPolicy::checkout")?.["id"])}`,
    );
    await stage.preview("drifted", "few", "--refresh");
    await stage.json("refreshed", "refresh", "--preview-only");
  },

  async pageShieldByHand(stage) {
    await stage.up("drift.page-shield");
    await stage.preview("drift/none", "drift.page-shield", "--refresh");
    await pageShieldByHand(stage.api, await stage.idOf());
    await stage.preview("drift/page-shield", "drift.page-shield", "--refresh");
    stage.environment = { CHANGED: "yes" };
    await stage.preview("drift/and-plan", "drift.page-shield", "--refresh");
  },

  async rulesetsByHand(stage) {
    await stage.up("drift.rulesets");
    await rulesetsByHand(stage.api);
    await stage.preview("drift/rulesets", "drift.rulesets", "--refresh");
  },

  async logpushByHand(stage) {
    await stage.up("drift.logpush");
    await logpushByHand(stage.api, await stage.idOf());
    await stage.preview("drift/logpush", "drift.logpush", "--refresh");
  },

  async dataByHand(stage) {
    await stage.up("drift.data");
    await stage.project.age(3_600); // A listing shows recent writes late, so they're no drift.
    await dataByHand(stage.api, await stage.idOf());
    stage.environment = { READ: "changed" };
    await stage.preview("drift/data", "drift.data", "--refresh");
  },

  async refusals(stage) {
    await stage.preview("refused", "unconfirmed");
    await stage.preview("secret", "secret");
    await stage.preview("failed", "throws");
  },

  async others(stage) {
    await stage.preview("pruned", "pruned");
    await stage.preview("hostile", "hostile");
    stage.environment = { CLOUDFLARE_API_TOKEN: "" };
    await stage.preview("unchecked", "few");
  },

  async migrations(stage) {
    await stage.up("migrations");
    const recorded = await stage.resources();
    const confirmation = (name: string, target: string): string => {
      const { steps = [] } = assessmentIn(recorded.get(`WafMigration::${name}`) ?? {}) ?? {};
      return steps.find((step) => step.target === target)?.digest ?? "";
    };
    stage.environment = {
      CONFIRM_VALIDATION: confirmation("to-validation", "validation"),
      CONFIRM_FINISHED: confirmation("from-validation", "finished"),
    };
    stage.api.inDashboard(stage.api.zones.migrateDeployed, { do: "package", sensitivity: "low" });
    await stage.preview("migrations", "migrations.ahead");
  },

  rulesets: (stage) => gate(stage, "rulesets"),
  pageShield: (stage) => gate(stage, "page-shield"),
  logpush: (stage) => gate(stage, "logpush"),
  data: (stage) => gate(stage, "data"),

  async newVersions(stage) {
    await stage.up("versions");
    await publishVersion(stage.api, managedRulesets.managed, {
      add: [
        { id: "a".repeat(32), description: "Fresh: SQL injection (101600)", categories: ["sqli"] },
        { id: "b".repeat(32), description: "Fresh: `file` <upload> (101601)", action: "log" },
        { id: "c".repeat(32), description: "Fresh: plugins (101602)", categories: ["wordpress"] },
      ],
      remove: ["23ee7cebe6e8443e99ecf932ab579455"], // The program overrides it.
    });
    await stage.preview("new-versions", "versions", "--refresh");
  },

  async traffic(stage) {
    await stage.up("traffic");
    const hook = { clientRequestPath: "/hooks/billing", clientIP: "203.0.113.7" };
    const happened = (times: number, event: FirewallEventInput): void => {
      stage.api.addFirewallEvents(
        stage.api.zones.empty,
        Array.from({ length: times }, () => event),
      );
    };
    happened(40, { ruleId: "23ee7cebe6e8443e99ecf932ab579455", action: "log", ...hook });
    happened(1_203, { ruleId: "23ee7cebe6e8443e99ecf932ab579455", action: "log" });
    happened(310, { ruleId: "f00de05509094cdf3abb219c027d2d16", action: "block" });
    for (const change of ["log-to-block", "block-to-log", "exception", "off-to-block"]) {
      stage.environment = { CHANGE: change };
      await stage.preview(`traffic.${change}`, "traffic");
    }
    stage.environment = { CHANGE: "log-to-block" };
    stage.api.fault({ kind: "status", status: 403, code: 10000, match: { path: "/graphql" }, times: 9 });
    await stage.preview("traffic.no-permission", "traffic");
  },

  async imports(stage) {
    await stage.up("few");
    const { deployment } = await stage.project.export();
    const flags = deployment.resources?.find(({ urn }) => urn.endsWith("PageShieldSettings::shop"));
    const zoneId = stage.api.zones.blog;
    const resources = [
      {
        type: flags?.type,
        name: "blog",
        id: zoneId,
        inputs: { ...flags?.inputs, zoneId },
        outputs: { ...flags?.outputs, zoneId },
      },
    ];
    writeFileSync(join(stage.project.dir, "import.json"), JSON.stringify({ resources }));
    await stage.json("imported", "import", "--file", "import.json", "--preview-only", "--protect=false");
  },
};

/** Lowers each argument, then raises it again. */
async function gate(stage: RecordingStage, of: string): Promise<void> {
  await stage.up(`gate.${of}`);
  stage.environment = { WEAKER: "yes" };
  await stage.preview(`weaker.${of}`, `gate.${of}`);
  if (of === "data") return;
  await stage.up(`gate.${of}`);
  stage.environment = {};
  await stage.preview(`stronger.${of}`, `gate.${of}`);
}

/** A project and a local API for one recording. */
class RecordingStage {
  readonly #started = Date.now();
  readonly #seen: Deployment[] = [];
  environment: Readonly<Record<string, string>> = {};

  constructor(
    readonly api: LocalApi,
    readonly project: Project,
  ) {}

  async preview(fixture: string, program: string, ...args: readonly string[]): Promise<void> {
    this.#use(program);
    await this.json(fixture, "preview", "--show-sames", ...args);
  }

  /** Writes a command's JSON output to a fixture. */
  async json(fixture: string, ...args: readonly string[]): Promise<void> {
    const { stdout, stderr, code } = await this.#run(...args, "--json", "--parallel", "1");
    if (stdout === "") throw new Error(`${fixture}: no output: ${stderr}`);
    this.#seen.push(await this.project.export());
    writeFileSync(join(__dirname, "fixtures", `${fixture}.json`), this.#neutral(stdout));
    console.log(`${fixture}: ${args[0] ?? ""} exited with ${code}`);
  }

  async up(program: string): Promise<void> {
    this.#use(program);
    await this.engine("up", "--yes", "--skip-preview", "--parallel", "1");
    this.#seen.push(await this.project.export());
  }

  async engine(...args: readonly string[]): Promise<void> {
    const { code, text } = await this.#run(...args);
    if (code !== 0) throw new Error(`${args.join(" ")} exited with ${code}:\n${text}`);
  }

  /** Outputs or IDs of the resources in state, by type and name. */
  async resources(what?: "id"): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
    const found = edgeguardResources(await this.project.export());
    return new Map(
      [...found].map(([name, resource]) => [
        name,
        what === "id" ? { id: resource.id } : (resource.outputs ?? {}),
      ]),
    );
  }

  async idOf(): Promise<IdOf> {
    const ids = await this.resources("id");
    return (kind, name) => String(ids.get(`${kind}::${name}`)?.["id"]);
  }

  #run(...args: readonly string[]): Promise<RunResult> {
    this.project.env = { CLOUDFLARE_API_TOKEN: TOKEN, ...this.environment };
    return this.project.run(...args);
  }

  #use(program: string): void {
    const folder = join(__dirname, "programs", program);
    cpSync(folder, this.project.dir, { recursive: true, filter: (path) => !path.endsWith(".ts") });
    this.project.program(folder);
  }

  /** Replaces this run's paths, addresses, IDs and times. */
  #neutral(text: string): string {
    const ids = new Map<string, string>();
    const made = this.#seen
      .flatMap(({ deployment }) => deployment.resources ?? [])
      .sort((a, b) => (a.urn < b.urn ? -1 : 1));
    for (const { id = "", outputs = {} } of made) {
      for (const each of [id.split("/")[0], outputs["ruleId"], outputs["entryPointId"]]) {
        if (typeof each !== "string" || !/^[0-9a-f]{32}$/.test(each) || each.startsWith(SEEDED)) continue;
        if (!ids.has(each)) ids.set(each, numbered(32, ids.size + 1));
      }
    }
    const uuids = new Map<string, string>();
    const times = (time: string): string =>
      Date.parse(time) >= this.#started ? "2026-01-01T00:00:00Z" : time;
    let neutral = text
      .replaceAll(this.api.url, "https://api.example/client/v4")
      .replaceAll(this.project.dir, "/project")
      .replaceAll(new RegExp(`(\\.\\./)+${REPOSITORY.slice(1)}/`, "g"), "")
      .replaceAll(`${REPOSITORY}/`, "/project/")
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uuid) => {
        if (uuid === UNKNOWN) return uuid;
        if (!uuids.has(uuid)) uuids.set(uuid, `00000000-0000-4000-8000-${numbered(12, uuids.size + 1)}`);
        return uuids.get(uuid) ?? uuid;
      })
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, times)
      .replace(/("__provider": )"(?:[^"\\]|\\.)*"/g, '$1"// Forwards to the installed package."')
      .replace(/"(writtenAt)": \d+/g, '"$1": 1767225600')
      .replace(/"duration": \d+/, '"duration": 1000000000');
    for (const [id, number] of ids) neutral = neutral.replaceAll(id, number);
    return neutral;
  }
}

/** Prefix of the local API's seeded IDs. */
const SEEDED = "5a0c1e7f3b2d4968a7e1c0f2d3b4";
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const numbered = (length: number, number: number): string => String(number).padStart(length, "0");

async function main(names: readonly string[]): Promise<void> {
  const engine = pulumiCli();
  if (engine === undefined)
    throw new Error("no Pulumi CLI on PATH. Install it: the plans come from the real CLI");
  for (const name of names.length === 0 ? Object.keys(RECORDINGS) : names) {
    const record = RECORDINGS[name];
    if (record === undefined)
      throw new Error(`unknown recording ${name}. Choose from ${Object.keys(RECORDINGS).join(", ")}`);
    const api = await startLocalApi();
    const project = new Project(engine, "edge");
    try {
      await project.init({ "edgeguard:accountId": api.accounts.main, "edgeguard:baseUrl": api.url });
      await record(new RecordingStage(api, project));
    } finally {
      await api.close();
      project.remove();
    }
  }
}

void main(process.argv.slice(2));
