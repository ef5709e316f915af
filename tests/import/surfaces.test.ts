import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { transform } from "sucrase";
import { parse } from "yaml";
import { PACKAGES } from "../../provider/import/target";
import { plain, PluginClient, secret, struct, urn } from "../plugin/client";
import { REPOSITORY } from "../support/repository";
import type { Recorded } from "../support/operation";
import { ImportDesk, withoutSecretMarks } from "./support";
import { isWrite } from "../support/is-write";

/** Programs for the provider plugin, in both languages. tests/plugin/cli.test.ts runs them on a Pulumi CLI. */

/** Secret parts of destinations. Only files that nobody else can read have them. */
const CANARY = "c4nary-of-a-job";

const PLUGIN = ["--for", "plugin"];
const YAML = [...PLUGIN, "--language", "yaml"];

const everything = (desk: ImportDesk): string[] => [
  ...["--zone", desk.zone, "--account", desk.account, "--with-values"],
];

describe("a program for the provider plugin", () => {
  const config = { auditDestination: `https://logs.example/in?header_X-Key=${CANARY}` };
  let desk: ImportDesk;
  let said: string;
  let recorded: (Recorded & { readonly type: string; readonly name: string })[];
  let ids: ReadonlyMap<string, string>;
  let yaml: Declared[];

  beforeAll(async () => {
    desk = await ImportDesk.from();
    const where = { and: [{ key: "ClientRequestHost", operator: "eq", value: "a<b>.example" }] };
    const job = { destination_conf: config.auditDestination, filter: JSON.stringify({ where }) };
    await desk.job("audit", job);
    const { code, stderr } = await desk.run([...everything(desk), ...YAML]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    said = stderr;
    recorded = [...desk.recorded()].map(([name, each]) => ({ name: name.split(" ")[1] ?? "", ...each }));
    ids = new Map(recorded.map(({ name, id }) => [name, id]));
    yaml = declaredInYaml(desk.read("Main.yaml"), config, ids);
  });

  it("is written in YAML with references, next to a project file that names the plugin", () => {
    expect(desk.read("Pulumi.yaml")).toBe(
      "name: out\nruntime: yaml\nplugins:\n  providers:\n    - name: edgeguard\n      path: node_modules/pulumi-resource-edgeguard\n",
    );
    const { zone, account } = desk;
    expect(desk.read("Main.yaml")).toBe(GOLDEN.replaceAll("{zone}", zone).replaceAll("{account}", account));
    expect(said).toContain("wrote Main.yaml, Pulumi.yaml, import.json");
    expect(said).toContain(
      "  npm install --prefix . pulumi-resource-edgeguard\n  pulumi stack init dev\n  sh import-config.sh",
    );
    expect(said).not.toContain("compile");
    for (const text of [said, desk.read("Main.yaml")]) expect(text).not.toContain(CANARY);
    expect(desk.read("import-config.sh")).toContain(
      `pulumi config set --secret auditDestination <<'VALUE'\n${config.auditDestination}\nVALUE\n`,
    );
    expect(desk.read("import.json")).not.toContain("__provider");
    expect(desk.read("import.json")).toContain('"type": "edgeguard:index:KvEntries"');
  });

  it("shows no changes in the plugin's diff, which sends nothing, and none in its refresh", async () => {
    expect(yaml.map(({ type, name }) => `${type} ${name}`)).toEqual(
      recorded.map(({ type, name }) => `${type} ${name}`),
    );
    const settings = { baseUrl: desk.api.url, apiToken: secret("local-token"), maxRetries: "0" };
    const plugin = await PluginClient.start(settings);
    try {
      desk.api.clearRequests();
      for (const [index, { type, name, args }] of yaml.entries()) {
        const state = recorded[index];
        if (state === undefined) throw new Error(`${name} was not imported`);
        // Paths are relative to the program's folder, and the plugin runs elsewhere.
        const path = typeof args["file"] === "string" ? { file: join(desk.folder, args["file"]) } : {};
        const { changes } = await plugin.diff(type, name, state, { ...args, ...path });
        expect({ name, changes }).toEqual({ name, changes: false });
      }
      expect(desk.api.requests).toEqual([]);
      for (const { type, name, id, inputs, outputs } of recorded) {
        const request = new rpc.ReadRequest().setUrn(urn(type, name)).setId(id);
        request.setProperties(struct(outputs)).setInputs(struct(inputs));
        const response: rpc.ReadResponse = await plugin.call("read", request);
        const read = withoutSecretMarks(plain(response.getProperties()));
        expect({ name, id: response.getId(), outputs: read }).toEqual({ name, id, outputs });
      }
      const writes = desk.api.requests.filter(isWrite);
      expect(writes).toEqual([]);
    } finally {
      plugin.stop();
    }
  });

  it("declares the same resources in TypeScript, with the SDK that Pulumi generates", async () => {
    desk.write("Pulumi.yaml", "name: out\nruntime: nodejs\n");
    const { stderr } = await desk.run([...everything(desk), ...PLUGIN, "--force"]);
    const program = desk.read("index.ts");
    expect(declaredInTypescript(program, config, ids)).toEqual(
      yaml.map(({ type, args }) => ({ type, args })),
    );
    expect(program).not.toContain(CANARY);
    expect(stderr).toContain(
      "  npm install --prefix . pulumi-resource-edgeguard @pulumi/pulumi typescript ts-node\n" +
        "  pulumi package add ./node_modules/pulumi-resource-edgeguard\n",
    );
    const schema = JSON.parse(readFileSync(join(REPOSITORY, "plugin/schema.json"), "utf8")) as {
      language: { nodejs: { packageName: string } };
    };
    expect(PACKAGES.plugin).toBe(schema.language.nodejs.packageName);
  });

  it("declares a partly hidden destination as one secret; the summary lists the parts that Cloudflare shows", async () => {
    const desk = await ImportDesk.from({ logpush: { destination: "redacted", filter: "hidden" } });
    await desk.job("audit", {
      destination_conf: `r2://logs/http?account-id=${desk.account}&access-key-id=AKID&secret-access-key=${CANARY}`,
    });
    const { stderr } = await desk.run(["--zone", desk.zone, "--only", "logpush", ...YAML]);
    expect(desk.has("import-config.sh")).toBe(false);
    expect(stderr).toContain(
      `pulumi config set --secret auditDestination   # the whole destination: r2://logs/http?account-id=${desk.account} access-key-id=… secret-access-key=…`,
    );
    expect(desk.read("Main.yaml")).toMatch(/# Cloudflare doesn't show the job's filter[^]*\n {2}audit:\n/);
  });

  it("has unique names for zones and, in YAML, for all resources", async () => {
    const desk = await ImportDesk.from();
    const path = "/accounts/{account}/storage/kv/namespaces";
    for (const title of ["zones", "account id"]) await desk.send("POST", path, { title });
    const zones = ["--zone", desk.api.zones.shop, "--zone", desk.api.zones.blog];
    await desk.run([...zones, "--account", desk.account, "--only", "page-shield,kv", ...YAML]);
    const program = desk.read("Main.yaml");
    expect(program).toContain(
      `  zones:\n    shopExample: ${desk.api.zones.shop} # shop.example\n    blogExample: ${desk.api.zones.blog} # blog.example\n`,
    );
    expect(program).toContain("      zoneId: ${zones.blogExample}\n");
    expect(program).toMatch(/^ {2}zones2:\n/m);
    expect(program).toMatch(/^ {2}accountId2:\n/m);
  });
});

describe("a project in the output directory", () => {
  it.each([
    ["runtime: yaml", PLUGIN, "Main.yaml"],
    ["runtime:\n  name: yaml", PLUGIN, "Main.yaml"],
    ["runtime: nodejs", PLUGIN, "index.ts"],
    ["runtime:\n  name: bun\n  options: {}", [], "index.ts"],
  ])("determines the program's language: %j", async (runtime, args, file) => {
    const desk = await ImportDesk.from();
    desk.write("Pulumi.yaml", `name: infra\n${runtime}\n`);
    const { code, stderr } = await desk.run(["--zone", desk.zone, "--only", "page-shield", ...args]);
    expect({ code, written: desk.has(file) }).toEqual({ code: 0, written: true });
    expect(desk.read("Pulumi.yaml")).toBe(`name: infra\n${runtime}\n`);
    expect(stderr.includes("plugins: { providers: [{ name: edgeguard, path: node_modules/")).toBe(
      args.length > 0,
    );
  });

  it("needs no change if it already names the plugin", async () => {
    const desk = await ImportDesk.from();
    const plugins = "plugins: { providers: [{ name: edgeguard, path: ../plugin }] }";
    desk.write("Pulumi.yaml", `name: infra\nruntime: yaml\n${plugins}\n`);
    const { stderr } = await desk.run(["--zone", desk.zone, "--only", "page-shield", ...PLUGIN]);
    expect(stderr).not.toContain("plugins:");
  });

  it.each([
    [
      "",
      ["--language", "yaml"],
      /--language yaml: this package's classes only work in TypeScript\. Pass --for plugin\.\n$/,
    ],
    [
      "runtime: yaml",
      [],
      /runtime: yaml, but this package's classes only work in TypeScript\. Pass .*--for plugin\.\n$/,
    ],
    ["runtime: nodejs", YAML, /--language yaml: \S+ sets runtime: nodejs\. Leave out --language/],
    ["runtime: python", PLUGIN, /sets runtime: python, but this command only writes TypeScript and YAML/],
    ["runtime: python", [], /sets runtime: python/],
    ["runtime: constructor", [], /sets runtime: constructor/],
    [
      "runtime: yaml\nresources: {}",
      PLUGIN,
      /declares resources, and Pulumi would ignore them beside Main\.yaml/,
    ],
    ["", ["--for", "terraform"], /Allowed choices are dynamic, plugin/],
  ])(
    "is refused before any request if it can't run the program: %j with %j",
    async (runtime, args, words) => {
      const desk = await ImportDesk.from();
      if (runtime !== "") desk.write("Pulumi.yaml", `name: infra\n${runtime}\n`);
      const { code, stderr } = await desk.run(["--zone", desk.zone, ...args]);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(words) as string });
      expect(desk.api.requests).toEqual([]);
      expect(desk.has("import.json")).toBe(false);
    },
  );
});

interface Declared {
  readonly type: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a YAML program declares, as Pulumi evaluates it. */
function declaredInYaml(
  program: string,
  config: Readonly<Record<string, string>>,
  ids: ReadonlyMap<string, string>,
): Declared[] {
  const { resources, variables } = parse(program) as {
    resources: Record<string, { type: string; properties: Record<string, unknown> }>;
    variables: Record<string, unknown>;
  };
  const known = (path: string): unknown =>
    path.endsWith(".id") ? ids.get(path.slice(0, -".id".length)) : { ...variables, ...config }[path];
  const evaluated = (value: unknown): unknown => {
    if (typeof value === "string") {
      const [, path] = /^\$\{(.+)\}$/.exec(value) ?? [];
      return path === undefined ? value.replaceAll("$$", "$") : known(path);
    }
    if (Array.isArray(value)) return value.map(evaluated);
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([key, member]) => [key, evaluated(member)] as const);
    const [[key, document] = []] = members;
    return key === "fn::toJSON" ? JSON.stringify(document) : Object.fromEntries(members);
  };
  return Object.entries(resources).map(([name, { type, properties }]) => ({
    type: type.replace("edgeguard:", ""),
    name,
    args: evaluated(properties) as Record<string, unknown>,
  }));
}

/** What a TypeScript program declares. */
function declaredInTypescript(
  program: string,
  config: Readonly<Record<string, string>>,
  ids: ReadonlyMap<string, string>,
): Omit<Declared, "name">[] {
  const declared: Omit<Declared, "name">[] = [];
  const classOf = (type: string) =>
    class {
      readonly id: string | undefined;
      constructor(name: string, args: Declared["args"]) {
        declared.push({ type, args });
        this.id = ids.get(`${name}${type}`) ?? ids.get(name);
      }
    };
  const sdk = new Proxy({}, { get: (_, type) => classOf(String(type)) });
  class Config {
    requireSecret = (key: string): string | undefined => config[key];
  }
  const modules: Readonly<Record<string, unknown>> = { [PACKAGES.plugin]: sdk, "@pulumi/pulumi": { Config } };
  const { code } = transform(program, { transforms: ["typescript", "imports"], disableESTransforms: true });
  runInNewContext(code, { require: (name: string) => modules[name], exports: {} });
  return declared;
}

const GOLDEN = `# Written by \`edgeguard import\`. From now on, this program is the source of truth.
# Edit, move and split it as you like, but keep each resource's name (its key) or add an alias.

# Credentials come from the stack's encrypted configuration. Set them before the first preview:
config:
  # the whole destination: https://logs.example/in?[secret] header_X-Key=…
  # pulumi config set --secret auditDestination
  auditDestination:
    type: string
    secret: true

variables:
  accountId: {account}
  zoneId: {zone} # shop.example

resources:
  shopExample:
    type: edgeguard:PageShieldSettings
    properties:
      zoneId: \${zoneId}
      enabled: true
      useReportingEndpoint: true
      useConnectionUrlPath: false

  checkoutRecordWhatThePagesLoad:
    type: edgeguard:PageShieldPolicy
    properties:
      zoneId: \${zoneId}
      description: "Checkout: record what the pages load"
      action: log
      expression: http.host eq "checkout.shop.example"
      value:
        scriptSrc:
          - "'self'"
          - checkout.shop.example
          - https://js.payments.example/v3/pay.js

  baselineOfTheSecurityTeam:
    type: edgeguard:ManagedRulesetOverride
    properties:
      zoneId: \${zoneId}
      accountId: \${accountId}
      ruleset:
        name: Cloudflare Managed Ruleset
      description: Baseline of the security team
      ref: security-team/managed
      categories:
        - tag: wordpress
          enabled: false
        - tag: anomaly
          action: log
      exceptions:
        - expression: http.request.uri.path eq "/health" and http.user_agent contains "monitor"
          description: The monitoring system requests the health page every second
          skip: all

  stolenCredentialsAtTheLogin:
    type: edgeguard:ManagedRulesetOverride
    properties:
      zoneId: \${zoneId}
      accountId: \${accountId}
      ruleset:
        name: Cloudflare Exposed Credentials Check Managed Ruleset
      description: Stolen credentials at the login
      expression: http.request.uri.path eq "/login"
      ref: 5a0c1e7f3b2d4968a7e1c0f2d3b4c113
      action: log

  existingLogpushJob:
    type: edgeguard:LogpushJob
    properties:
      zoneId: \${zoneId}
      name: existing
      dataset: firewall_events
      destinationConf: gs://shop-example-logs/firewall
      outputOptions:
        fieldNames:
          - Datetime
          - ClientIP
          - Action
          - RuleID
        timestampFormat: rfc3339

  audit:
    type: edgeguard:LogpushJob
    properties:
      zoneId: \${zoneId}
      name: audit
      dataset: http_requests
      destinationConf: \${auditDestination}
      filter:
        fn::toJSON:
          where:
            and:
              - key: ClientRequestHost
                operator: eq
                value: a<b>.example

  existingKvNamespace:
    type: edgeguard:KvNamespace
    properties:
      accountId: \${accountId}
      title: existing

  existingKvEntries:
    type: edgeguard:KvEntries
    properties:
      accountId: \${accountId}
      namespaceId: \${existingKvNamespace.id}
      file: kv/existing.json
`;
