import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CANARY, CREDENTIAL, OldDesk, VALUE, type Stored } from "./old-desk";
import { PluginClient, secret } from "../plugin/client";
import { ImportDesk } from "./support";

/** Taking over what Terraform or Cloudflare's own Pulumi provider manages. engine-old-state.test.ts runs the program. */

const addressOf = (type: string, name: string, key?: string | number): string =>
  `${type}.${name}${key === undefined ? "" : `[${JSON.stringify(key)}]`}`;

/** The same state as `terraform show -json` prints it, with half of it in a module. */
function shown({ resources }: Stored): unknown {
  const all = resources.flatMap(({ mode, type, name, provider, instances }) =>
    instances.map(({ index_key: key, attributes: values }) => ({
      address: addressOf(type, name, key),
      ...{ mode, type, name, values, index: key, provider_name: provider.slice(10, -2) },
    })),
  );
  const module = { address: "module.edge", resources: all.splice(3) };
  return { format_version: "1.0", values: { root_module: { resources: all, child_modules: [module] } } };
}

/** The same objects as `pulumi stack export` prints them for pulumi-cloudflare 6. */
function exported({ resources }: Stored): { version: number; deployment: { resources: Exported[] } } {
  const camel = (text: string): string => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const all = resources.flatMap(({ type, name, instances }) =>
    instances.map(({ index_key: key = "", attributes: { id, ...attributes } }) => {
      const word = camel(type.replace("cloudflare_", ""));
      const token = `cloudflare:index/${word}:${word.charAt(0).toUpperCase()}${word.slice(1)}`;
      const outputs = Object.fromEntries(
        Object.entries(attributes).map(([member, value]) => [camel(member), value]),
      );
      const urn = `urn:pulumi:prod::edge::${token}::${[name, key].join("-")}`;
      return { urn, custom: true, type: token, id: String(id), outputs };
    }),
  );
  const stack = "pulumi:pulumi:Stack";
  const root = { urn: `urn:pulumi:prod::edge::${stack}::edge-prod`, custom: false, type: stack };
  return { version: 3, deployment: { resources: [root, ...all.reverse()] } };
}

interface Exported {
  readonly urn: string;
  readonly type: string;
  readonly id?: string;
  outputs?: Record<string, unknown>;
}

/** The arguments that a shell passes on in the commands that the summary prints, by program. */
function argumentsOf(stderr: string, program: string): string[][] {
  const [, commands = ""] = stderr.split("before its next run:\n");
  const script = `${program}() { printf '%s\\n' "$@"; echo; }\n${commands.replace(/^After.*$/ms, "")}`;
  const printed = execFileSync("sh", ["-e", "-c", script], { encoding: "utf8" });
  return printed
    .trim()
    .split("\n\n")
    .map((each) => each.split("\n"));
}

describe("an import from a Terraform state", () => {
  let old: OldDesk;
  let ran: { code: number; stderr: string };

  beforeAll(async () => {
    old = await OldDesk.start();
    old.desk.write("terraform.tfstate", JSON.stringify(old.state));
    ran = await old.desk.run(["--from", "terraform.tfstate", "--with-values"]);
    expect(ran).toMatchObject({ code: 0 });
  });

  it("declares what the state lists, and nothing else of the zone and account", () => {
    expect([...old.desk.recorded()].map(([name, { id }]) => [name, id.split("/")[0]])).toEqual([
      ["PageShieldPolicy checkout", old.ids["policy"]],
      ["ManagedRulesetOverride cloudflareSRules", old.ids["rule1"]],
      ["LogpushJob audit", old.ids["audit"]],
      ["LogpushJob errors", old.ids["quoted"]],
      ["KvNamespace flags", old.ids["namespace"]],
      ["KvEntries flags", old.ids["namespace"]],
    ]);
    const entries = JSON.parse(old.desk.read("kv/flags.json")) as { key: string }[];
    expect(entries.map(({ key }) => key)).toEqual(["flag/0", "flag/1"]);
    expect(old.desk.read("index.ts")).toContain("Health checks");
  });

  it("lists with its ID each rule of the ruleset that it leaves alone", () => {
    expect(ran.stderr).toContain(
      `rule ${old.ids["rule2"] ?? ""} "Our office" in zone empty.example: it can't`,
    );
    expect(ran.stderr).toContain("no program manages the rulesets' other rules");
  });

  it("prints a command that takes the resources out of the state, quoted for a shell", () => {
    expect(ran.stderr.indexOf("--expect-no-changes")).toBeLessThan(ran.stderr.indexOf("terraform state rm"));
    expect(argumentsOf(ran.stderr, "terraform")).toEqual([
      [
        ...["state", "rm"],
        'cloudflare_logpush_job.requests["audit"]',
        `cloudflare_logpush_job.requests["it's"]`,
        "cloudflare_page_shield_policy.checkout",
        "cloudflare_ruleset.managed",
        "cloudflare_workers_kv.flag[0]",
        "cloudflare_workers_kv.flag[1]",
        "cloudflare_workers_kv_namespace.flags",
      ],
    ]);
  });

  it("copies nothing but IDs out of the state, and keeps credentials and values out of all files but their own", () => {
    const files = readdirSync(old.desk.folder, { recursive: true, encoding: "utf8" })
      .filter((file) => !/^node_modules|^terraform\.tfstate$/.test(file))
      .filter((file) => /\.\w+$/.test(file));
    expect(files.sort()).toEqual([
      ...[".gitignore", "Pulumi.yaml", "import-config.sh", "import.json", "index.ts", "kv/flags.json"],
    ]);
    const texts = [
      ...files.map((file) => [file, old.desk.read(file)] as const),
      ["stderr", ran.stderr] as const,
    ];
    const having = (secret: string): string[] =>
      texts.filter(([, text]) => text.includes(secret)).map(([name]) => name);
    expect(having(CANARY)).toEqual([]);
    expect(having(CREDENTIAL)).toEqual(["import-config.sh"]);
    expect(having(VALUE)).toEqual(["kv/flags.json"]);
  });
});

describe("an import from a Terraform state for the provider plugin", () => {
  it("has no credential in its YAML program and import file, and the plugin finds no change", async () => {
    const old = await OldDesk.start();
    const { code, stderr } = await old.import(old.state, "--for", "plugin", "--language", "yaml");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    for (const file of ["Main.yaml", "import.json"])
      expect(old.desk.read(file)).not.toMatch(`${CANARY}|${CREDENTIAL}`);
    const job = old.desk.recorded().get("LogpushJob audit");
    if (job === undefined) throw new Error("the job was not imported");
    const plugin = await PluginClient.start({
      baseUrl: old.desk.api.url,
      apiToken: secret("local-token"),
      maxRetries: "0",
    });
    try {
      const { zoneId, name, dataset } = job.inputs;
      const destinationConf = secret(`https://logs.example/in?header_Authorization=${CREDENTIAL}`);
      const { changes } = await plugin.diff("LogpushJob", "audit", job, {
        zoneId,
        name,
        dataset,
        destinationConf,
      });
      expect(changes).toBe(false);
    } finally {
      plugin.stop();
    }
  });
});

describe("an import from another kind of state", () => {
  it("reads the same from `terraform show -json`, also in modules, and names OpenTofu's command for its states", async () => {
    const old = await OldDesk.start();
    await old.import(old.state);
    const first = await old.import(old.state, "--force");
    const files = ["index.ts", "import.json"].map((file) => old.desk.read(file));
    const text = JSON.stringify(shown(old.state)).replaceAll(
      "registry.terraform.io",
      "registry.opentofu.org",
    );
    const second = await old.import(text, "--force");
    expect(second).toMatchObject({ code: 0 });
    expect(second.stderr).toBe(first.stderr.replace("terraform state", "tofu state"));
    const masked = (content: string): string => content.replace(/\/[\da-f-]{36}"/g, '"'); // A new ID of KvEntries.
    expect(["index.ts", "import.json"].map((file) => masked(old.desk.read(file)))).toEqual(files.map(masked));
  });

  it("reads the export of a stack, and deletes dependents first from its state", async () => {
    const old = await OldDesk.start();
    const stack = exported(old.state);
    const { code, stderr } = await old.import(stack);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect([...old.desk.recorded().keys()]).toHaveLength(6);
    const commands = argumentsOf(stderr, "pulumi");
    expect(commands).toHaveLength(7);
    const token = "cloudflare:index/workersKvNamespace:WorkersKvNamespace";
    expect(commands.at(-1)).toEqual([
      ...["state", "delete", "--yes", `urn:pulumi:prod::edge::${token}::flags-`],
    ]);
    expect(commands[0]?.at(-1)).toBe(
      "urn:pulumi:prod::edge::cloudflare:index/logpushJob:LogpushJob::requests-audit",
    );
  });
});

describe("a resource of the old state stays there", () => {
  const of = (state: Stored, type: string): Stored["resources"][number] => {
    const found = state.resources.find((each) => each.type === `cloudflare_${type}`);
    if (found === undefined) throw new Error(`no ${type}`);
    return found;
  };
  const attributes = (state: Stored, type: string): Record<string, unknown> =>
    of(state, type).instances[0]?.attributes ?? {};

  it.each<[string, (state: Stored) => void, string]>([
    [
      "if it's tainted",
      (state) => Object.assign(of(state, "page_shield_policy").instances[0] ?? {}, { status: "tainted" }),
      "cloudflare_page_shield_policy.checkout: it's tainted, so the next apply or update replaces it.",
    ],
    [
      "if it's deposed",
      (state) => Object.assign(of(state, "page_shield_policy").instances[0] ?? {}, { deposed: "1a2b3c4d" }),
      "cloudflare_page_shield_policy.checkout: the next apply or update deletes it.",
    ],
    [
      "if it's a ruleset of another phase",
      (state) => Object.assign(attributes(state, "ruleset"), { phase: "http_request_firewall_custom" }),
      "cloudflare_ruleset.managed: its phase has no managed rulesets, which are only deployed in",
    ],
    [
      "if it's a custom ruleset",
      (state) => Object.assign(attributes(state, "ruleset"), { kind: "custom" }),
      "cloudflare_ruleset.managed: it isn't the entry point ruleset of a zone or an account.",
    ],
    [
      "if no rule of it executes a ruleset",
      (state) => Object.assign(attributes(state, "ruleset"), { rules: null }),
      "cloudflare_ruleset.managed: none of its rules executes a managed ruleset.",
    ],
    [
      "if its zone can't be read from the state",
      (state) => Object.assign(attributes(state, "page_shield_policy"), { zone_id: CANARY }),
      "cloudflare_page_shield_policy.checkout: the state doesn't show its IDs.",
    ],
    [
      "if it no longer exists",
      (state) => Object.assign(attributes(state, "page_shield_policy"), { id: "gone" }),
      "cloudflare_page_shield_policy.checkout: the API doesn't return it, or returns only a part.",
    ],
  ])("%s, with one sentence that says so", async (_, change, sentence) => {
    const old = await OldDesk.start();
    const { state } = old;
    change(state);
    const { code, stderr } = await old.import(state);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain("Stays in the old state:");
    expect(stderr).toContain(`  - ${sentence}`);
    const [address = ""] = sentence.split(":");
    expect(argumentsOf(stderr, "terraform").flat()).not.toContain(address);
    expect(argumentsOf(stderr, "terraform")[0]).toHaveLength(2 + 6);
    expect(old.desk.recorded().size).toBe(5);
  });

  it("if it's unclear which parts of its destination are secret", async () => {
    const old = await OldDesk.start();
    const { audit = "", zone = "" } = old.ids;
    await old.desk.send("PUT", `/zones/${zone}/logpush/jobs/${audit}`, {
      destination_conf: `https://logs.example/in@?header_Authorization=${CREDENTIAL}`,
    });
    const { stderr } = await old.import(old.state);
    expect(stderr).toContain(
      `  - Logpush job ${audit} "audit" of zone empty.example: it isn't clear which parts`,
    );
    expect(stderr).not.toContain(`'cloudflare_logpush_job.requests["audit"]'`);
    expect(stderr + old.desk.read("import.json") + old.desk.read("index.ts")).not.toContain(CREDENTIAL);
  });

  it("and a rule that isn't in it stays undeclared", async () => {
    const old = await OldDesk.start();
    const { ruleset = "", zone = "" } = old.ids;
    const owasp = { id: "4814384a9e5d4991b9815dcfc25d2f1f" };
    const { rules } = await old.desk.send("POST", `/zones/${zone}/rulesets/${ruleset}/rules`, {
      ...{ action: "execute", action_parameters: owasp, expression: "true", description: "By hand" },
    });
    const { id = "" } = (rules as { id: string }[]).at(-1) ?? {};
    const { stderr } = await old.import(old.state);
    expect(stderr).toContain(
      `  - rule ${id} "By hand" in zone empty.example: the old state doesn't have it.`,
    );
    expect(stderr).toContain("'cloudflare_ruleset.managed'");
    expect(old.desk.recorded().size).toBe(6);
  });

  it("as a whole if only some rules of a ruleset can be declared", async () => {
    const old = await OldDesk.start();
    const { state } = old;
    (attributes(state, "ruleset")["rules"] as unknown[]).push({ action: "execute", id: "gone" });
    const { stderr } = await old.import(state);
    expect(stderr).toContain(
      "  - cloudflare_ruleset.managed: only some of its rules could be declared, so all of them stay in the old state.",
    );
    expect([...old.desk.recorded().keys()].join()).not.toContain("ManagedRulesetOverride");
    expect(stderr).not.toContain("'cloudflare_ruleset.managed'");
  });

  it("if it has no counterpart here, is a data source, or is an entry without --with-values", async () => {
    const old = await OldDesk.start();
    const { state } = old;
    const [example] = state.resources;
    if (example === undefined) throw new Error("no resource");
    const other = { ...example, type: "cloudflare_dns_record" };
    state.resources.push(other, { ...example, type: "cloudflare_ruleset", mode: "data" });
    const { stderr } = await old.desk.run(["--from", "-"], { input: JSON.stringify(state) });
    expect(stderr).toContain("Other resources in the old state: cloudflare_dns_record 2.");
    expect(stderr).toContain("  - cloudflare_workers_kv (2): pass --with-values to import the entries,");
    expect(stderr).not.toMatch(/'cloudflare_(workers_kv\.|dns)/);
    expect(old.desk.has("kv")).toBe(false);
  });

  it("if its export has encrypted IDs", async () => {
    const old = await OldDesk.start();
    const stack = exported(old.state);
    const encrypted = {
      "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
      ciphertext: "v1:x",
    };
    for (const { outputs = {} } of stack.deployment.resources)
      for (const name of ["zoneId", "accountId"]) outputs[name] = encrypted;
    const { code, stderr } = await old.import(stack);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr.match(/the state doesn't show its IDs\.$/gm)).toHaveLength(7);
    expect(stderr).toContain("found nothing to import. Nothing was written.");
  });
});

describe("a file that isn't a supported state", () => {
  it.each([
    [
      "isn't JSON",
      `{ "version": 4, ${CANARY}`,
      "the state in - is not a JSON object. Pass a terraform.tfstate, or",
    ],
    ["is another file", { name: CANARY }, "the state in - is not a state, or is damaged."],
    [
      "is damaged",
      { version: 4, resources: [{ type: CANARY }] },
      "the state in - is not a state, or is damaged.",
    ],
    [
      "is newer",
      { version: 5, resources: [] },
      "the state in - is a Terraform state of version 5, which isn't supported.",
    ],
    [
      "is newer output",
      { format_version: "2.0", values: {} },
      "the state in - is Terraform's JSON of version 2.0, which isn't supported.",
    ],
    [
      "is a plan",
      { format_version: "1.2", planned_values: { root_module: {} } },
      "the state in - is not a state, or is damaged.",
    ],
    [
      "is a newer export",
      { version: 5, deployment: { resources: [] } },
      "the state in - is an exported stack of version 5, which isn't supported.",
    ],
  ])("is refused in one sentence if it %s; nothing is read or written", async (_, state, sentence) => {
    const desk = await ImportDesk.from();
    mkdirSync(desk.folder);
    writeFileSync(join(desk.folder, "state"), typeof state === "string" ? state : JSON.stringify(state));
    const { code, stderr } = await desk.run(["--from", "state"]);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence.replace("in -", "in state"));
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain(CANARY);
    expect(readdirSync(desk.folder)).toEqual(["state"]);
    expect(desk.api.requests).toEqual([]);
  });

  it.each([
    ["--zone", "shop.example"],
    ["--only", "kv"],
  ])("and --from refuses %s", async (...args) => {
    const desk = await ImportDesk.from();
    mkdirSync(desk.folder);
    const { code, stderr } = await desk.run(["--from", "-", ...args]);
    expect({ code, stderr }).toMatchObject({ code: 2 });
    expect(stderr).toContain("--from says what to import. Leave out --zone and --only.");
  });
});
