import { managedRulesets, type ZoneName } from "edgeguard-local";
import { linesOf } from "../../provider/survey/equal-tasks";
import { TASKS, type Task, type TaskKind, type Zone } from "../../provider/survey/model";
import { engines, Project } from "../support/engine";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { Ground, type Change } from "./support";

/** Someone does what the survey says, task by task, on an engine. Then nothing is left to do, and no exception is lost. */

const EVIL = "https://evil.example/x.js";
const KNOWN = "https://js.payments.example/v3/pay.js";

interface Scenario {
  readonly title: string;
  readonly zone: ZoneName;
  /** What the zone has before the survey. */
  readonly before?: (site: Site) => unknown;
  /** The tasks of each survey until nothing is left to do. */
  readonly surveys: readonly (readonly TaskKind[])[];
  readonly options?: readonly string[];
  /** Reads the zone raw after everything is done. */
  readonly after?: (site: Site) => Promise<void>;
}

const SCENARIOS: readonly Scenario[] = [
  {
    title: "a zone on the previous WAF with a bypass for a billing webhook",
    zone: "migrateBusiness",
    surveys: [["readyToMigrate", "pageShieldOff"]],
    after: async (site) => {
      const [first, ...others] = await site.rules();
      expect(first).toMatchObject({
        action: "skip",
        expression: 'http.request.uri.path eq "/hooks/billing"',
        action_parameters: { ruleset: "current" },
        enabled: true,
      });
      expect(others.map(({ action }) => action)).toEqual(["execute", "execute"]);
    },
  },
  {
    title: "a zone on the previous WAF that can't migrate yet",
    zone: "migrateOverrides",
    surveys: [["blockedMigration", "pageShieldOff"], ["readyToMigrate"]],
  },
  {
    title: "a zone that deployed a ruleset before its migration",
    zone: "migrateDeployed",
    surveys: [["readyToMigrate", "pageShieldOff"]],
  },
  { title: "a Free zone", zone: "free", surveys: [["noManagedRuleset"]] },
  {
    title: "an Enterprise zone without rulesets",
    zone: "empty",
    surveys: [["noManagedRuleset", "pageShieldOff"], ["owaspOff"]],
  },
  {
    title: "a zone whose only ruleset is off",
    zone: "blog",
    before: (site) => site.turnOffRules(),
    surveys: [["noManagedRuleset", "pageShieldOff"]],
  },
  {
    title: "a zone with a rule on log that attacks match",
    zone: "blog",
    before: (site) => site.logAttacks(7),
    surveys: [["rulesOnLog", "owaspOff", "pageShieldOff"]],
  },
  {
    title: "a paused zone",
    zone: "small",
    before: (site) => {
      site.pause(true);
    },
    surveys: [["paused"], ["noManagedRuleset", "pageShieldOff"], ["owaspOff"]],
  },
  {
    title: "a shop with scripts, policies and jobs to look after",
    zone: "shop",
    before: async (site) => {
      site.ground.write("inventory.yaml", "version: 1\nscripts: []\n");
      site.seen([EVIL, KNOWN]);
      site.health("2026-08-31T23:59:00Z");
      await site.policy("script-src 'self'");
    },
    surveys: [["maliciousScript", "unapprovedScript", "blockingPolicy", "failingJob", "owaspOff"]],
    options: ["--inventory", "inventory.yaml", "--payment-pages", "checkout.*"],
  },
];

/** Does what a task says, as its text, code or command says it. */
const DO: Readonly<Record<TaskKind, (site: Site, zone: Zone, task: Task) => unknown>> = {
  maliciousScript: (site, _, { text }) => {
    expect(text).toBe(
      `Remove 1 malicious script: ${EVIL} (score 3), seen on checkout.shop.example. Enforced policies already block it.`,
    );
    site.seen([KNOWN]);
  },
  unapprovedScript: (site) =>
    site.ground.write(
      "inventory.yaml",
      "version: 1\nscripts:\n  - script: js.payments.example\n    justification: takes the payment\n    owner: payments\n    approval: { by: ada, on: 2026-01-01 }\n",
    ),
  paused: (site) => {
    site.pause(false);
  },
  noManagedRuleset: async (site, zone, task) => {
    if (task.command === undefined) return await site.paste(zone, task);
    await site.import(zone, task);
    expect(site.program).toContain("enabled: false");
    site.program = site.program.replace("enabled: false", "enabled: true");
    return await site.up();
  },
  readyToMigrate: async (site, zone, task) => {
    const before = site.program;
    const { text } = await site.paste(zone, task, "preview");
    const next = /to finish: (target: "finished", confirm: "[0-9a-f]{64}")/.exec(text)?.[1];
    site.program = site.program.replace('target: "assessed"', next ?? "");
    expect(site.program).not.toBe(before);
    await site.up();
  },
  blockedMigration: async (site, zone) => {
    const { because = [] } = "because" in zone.migration ? zone.migration : {};
    for (const text of because) {
      const [, path = ""] = /must be deleted first: DELETE (\S+)$/.exec(text) ?? [];
      await rawSend(site.ground.api, "DELETE", path);
    }
  },
  rulesOnLog: async (site, zone, task) => {
    expect(task.text).toMatch(
      /^Check whether rule [0-9a-f]{32} ".+" can block: it's on log, and logged 7 events in the last 24 h\.$/,
    );
    const [, ...args] = (task.command ?? "").replace("<zone ID>", zone.id).split(" ");
    const kept = /Pass (--days) (\d+)\./.exec((await site.ground.command({}, ...args)).stderr);
    const { code, stdout } = await site.ground.command({}, ...args, ...(kept?.slice(1) ?? []));
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(/rule (\w+)/.exec(task.text)?.[1] ?? "no rule"),
    ]);
    await site.import(zone, {
      ...task,
      command: "edgeguard import --zone <zone ID> --only rulesets --out zone-<zone ID>",
    });
    const before = site.program;
    site.program = site.program.replace('action: "log"', 'action: "block"');
    expect(site.program).not.toBe(before);
    const { text } = await site.up("preview");
    expect(text).toContain("log → block: at most 7 events of the last 24 h would have been blocked");
    await site.up();
  },
  blockingPolicy: (site, _, { text }) => {
    expect(text).toContain(`it blocks 1 active script: ${KNOWN}`);
    return site.policy(`script-src 'self' ${KNOWN}`);
  },
  failingJob: (site) => {
    site.health(null);
  },
  owaspOff: (site, zone, task) => site.paste(zone, task),
  pageShieldOff: (site, zone, task) => site.paste(zone, task),
};

/** A zone, its surveys, and the project of whoever does what they say. */
class Site {
  program = "";
  #isPaused = false;

  constructor(
    readonly ground: Ground,
    readonly project: Project,
    readonly id: string,
  ) {}

  async survey(...options: readonly string[]): Promise<Zone> {
    this.ground.write("zone.txt", this.id);
    const change: Change = (path, result) =>
      this.#isPaused && path.endsWith(`/zones/${this.id}`)
        ? { ...(result as object), paused: true }
        : undefined;
    const { code, stderr } = await this.ground.surveyChanged(
      change,
      ...["--zones", "zone.txt", "--budget", "100", "--force", ...options],
    );
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("not readable")]);
    return this.ground.zone(this.id);
  }

  async up(command = "up"): Promise<{ readonly text: string }> {
    this.project.write(this.program);
    return await this.project.ok(command, ...(command === "up" ? ["--yes", "--skip-preview"] : []));
  }

  async paste({ id, name }: Zone, task: Task, command?: string): Promise<{ readonly text: string }> {
    const lines = linesOf({
      ...task,
      zoneCount: 1,
      zones: [{ id, name: typeof name === "string" ? name : id }],
    });
    const isKnown = (line: string): boolean => line.startsWith("import ") && this.program.includes(line);
    this.program += `${lines.filter((line) => !isKnown(line)).join("\n")}\n`;
    return await this.up(command);
  }

  /** Runs the command, and lets the program adopt what it wrote. */
  async import({ id, name }: Zone, task: Task): Promise<void> {
    const [command = ""] = linesOf({
      ...task,
      zoneCount: 1,
      zones: [{ id, name: typeof name === "string" ? name : id }],
    });
    const [tool, ...args] = command.split(" ");
    expect(tool).toBe("edgeguard");
    expect(await this.ground.command({}, ...args)).toMatchObject({ code: 0 });
    this.program = this.ground.read(`zone-${id}/index.ts`);
    await this.up();
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
  }

  seen(urls: readonly string[]): void {
    const scripts = urls.map((url) => ({
      url,
      host: "checkout.shop.example",
      js_integrity_score: url === EVIL ? 3 : 96,
    }));
    this.ground.api.detect(this.id, { scripts }, "replace");
  }

  health(last_error: string | null): void {
    const last_complete = "2026-08-31T23:58:00Z";
    this.ground.api.logpush.setHealth(101, { last_complete, last_error, error_message: last_error && "403" });
  }

  /** Creates or changes the enforced policy. */
  async policy(value: string): Promise<void> {
    const path = `/zones/${this.id}/page_shield/policies`;
    const policies = (await rawGet(this.ground.api, path))["result"] as { id: string; description: string }[];
    const old = policies.find(({ description }) => description === "Pay");
    const body = {
      description: "Pay",
      action: "allow",
      expression: 'http.host eq "checkout.shop.example"',
      enabled: true,
      value,
    };
    const [method, to] =
      old === undefined ? (["POST", path] as const) : (["PUT", `${path}/${old.id}`] as const);
    expect(await rawSend(this.ground.api, method, to, body)).toMatchObject({ success: true });
  }

  async rules(): Promise<readonly Rule[]> {
    return (await this.#entryPoint()).rules;
  }

  async turnOffRules(): Promise<void> {
    const { id, rules } = await this.#entryPoint();
    for (const rule of rules) {
      const path = `/zones/${this.id}/rulesets/${id}/rules/${rule.id}`;
      expect(await rawSend(this.ground.api, "PATCH", path, { ...rule, enabled: false })).toMatchObject({
        success: true,
      });
    }
  }

  /** Sets one rule to log, which attacks then match. */
  async logAttacks(events: number): Promise<void> {
    const { id, rules } = await this.#entryPoint();
    const [rule] = rules;
    const ruleset = await rawGet(
      this.ground.api,
      `/accounts/${this.ground.api.accounts.main}/rulesets/${managedRulesets.managed}`,
    );
    const [logged] = (ruleset["result"] as { rules: Rule[] }).rules.filter(({ enabled }) => enabled === true);
    const overrides = { rules: [{ id: logged?.id, action: "log" }] };
    const parameters = { id: managedRulesets.managed, version: "latest", overrides };
    const path = `/zones/${this.id}/rulesets/${id}/rules/${rule?.id ?? ""}`;
    expect(
      await rawSend(this.ground.api, "PATCH", path, { ...rule, action_parameters: parameters }),
    ).toMatchObject({ success: true });
    this.ground.api.addFirewallEvents(
      this.id,
      Array.from({ length: events }, () => ({ ruleId: logged?.id ?? "", action: "log" })),
    );
  }

  async #entryPoint(): Promise<{ readonly id: string; readonly rules: readonly Rule[] }> {
    const path = `/zones/${this.id}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    return (await rawGet(this.ground.api, path))["result"] as { id: string; rules: Rule[] };
  }
}

type Rule = Record<string, unknown> & { readonly id: string };

describe.each(engines())("on $name, doing what the survey says, task by task,", (engine) => {
  const done = new Set<TaskKind>();

  it.each(SCENARIOS)(
    "leaves nothing to do in $title",
    async ({ zone: name, before, surveys, options = [], after }) => {
      const ground = await Ground.with();
      const project = new Project(engine, "advice");
      try {
        project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
        await project.init({ "edgeguard:baseUrl": ground.api.url });
        const site = new Site(ground, project, ground.api.zones[name]);
        await before?.(site);
        for (const kinds of surveys) {
          const zone = await site.survey(...options);
          expect(zone.tasks.map(({ kind }) => kind)).toEqual(kinds);
          for (const task of zone.tasks) {
            await DO[task.kind](site, zone, task);
            done.add(task.kind);
          }
        }
        expect((await site.survey(...options)).tasks).toEqual([]);
        await after?.(site);
      } finally {
        project.remove();
      }
    },
    120_000,
  );

  it("covers every task that a survey can print", () => {
    expect([...done].sort()).toEqual([...TASKS].sort());
  });
});
