import { apiPerTest } from "../support/bench";
import { join } from "node:path";
import { stringify } from "yaml";
import { describeOnCli, type ResourceState } from "../support/engine";
import { sent, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { missingFor, PLUGIN, PluginProject } from "./project";

/** The options that every resource has, and partial operations, on resources of the provider plugin. */

const onYaml = testUnless(missingFor("yaml"));

interface Declared {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly options?: Readonly<Record<string, unknown>>;
}
type Program = Readonly<Record<string, Declared>>;

describeOnCli("resource options of the provider plugin", (cli) => {
  const api = apiPerTest();
  let project: PluginProject;

  beforeEach(async () => {
    project = new PluginProject(cli, "options");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
  });
  afterEach(() => project.remove());

  const declare = (resources: Program): void => project.yaml(stringify({ resources }));
  const up = async (...args: readonly string[]): Promise<string> => {
    api.clearRequests();
    return (await project.ok("up", "--yes", "--skip-preview", ...args)).text;
  };
  const writes = (): string[] => sent(api, "POST", "PUT", "PATCH", "DELETE");
  const states = async (): Promise<ReadonlyMap<string, ResourceState>> => {
    const { resources = [] } = (await project.export()).deployment;
    return new Map(resources.map((each) => [each.urn.split("::").at(-1) ?? "", each]));
  };
  /** What an operation does to each resource that it doesn't leave alone. */
  const steps = async (): Promise<Record<string, string>> => {
    const { stdout } = await project.ok("preview", "--json");
    const { steps } = JSON.parse(stdout) as { steps: { op: string; urn: string }[] };
    const changing = steps.filter(({ op }) => op !== "same");
    return Object.fromEntries(changing.map(({ op, urn }) => [urn.split("::").at(-1) ?? "", op]));
  };

  const policy = (description: string, options: object = {}, value = "script-src 'self'"): Declared => ({
    type: "edgeguard:PageShieldPolicy",
    properties: { zoneId: api.zones.empty, description, action: "log", expression: "true", value },
    options: { ...options },
  });
  const namespace = (title: string, options: object = {}): Declared => ({
    type: "edgeguard:KvNamespace",
    properties: { title },
    options: { ...options },
  });
  const job = (fieldNames: readonly string[], sampleRate: number): Declared => ({
    type: "edgeguard:LogpushJob",
    properties: {
      ...{
        zoneId: api.zones.empty,
        dataset: "http_requests",
        destinationConf: "https://logs.example.com/in",
      },
      outputOptions: { fieldNames, sampleRate },
    },
    options: { ignoreChanges: ["outputOptions.sampleRate"] },
  });
  const policies = async (): Promise<Record<string, unknown>[]> =>
    (await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield/policies`)).result as Record<
      string,
      unknown
    >[];

  onYaml(
    "ignoreChanges keeps an argument, or a value inside one, and an alias renames a resource, without sending anything",
    async () => {
      declare({
        job: job(["RayID"], 0.5),
        policy: policy("kept", { ignoreChanges: ["value"] }),
        old: policy("renamed"),
      });
      await up();
      const renamed = policy("renamed", { aliases: [{ name: "old" }] });
      const kept = policy("kept", { ignoreChanges: ["value"] }, "script-src 'none'");
      declare({ job: job(["RayID"], 1), policy: kept, new: renamed });
      expect(await steps()).toEqual({});
      await up("--expect-no-changes");
      expect(writes()).toEqual([]);
      declare({ job: job(["RayID", "ClientIP"], 1), policy: kept, new: renamed });
      expect(await steps()).toEqual({ job: "update" });
      await up();
      const { result } = await rawSend(api, "GET", `/zones/${api.zones.empty}/logpush/jobs`);
      expect(result).toMatchObject([
        { output_options: { field_names: ["RayID", "ClientIP"], sample_rate: 0.5 } },
      ]);
      expect((await policies()).map(({ value }) => value)).toEqual([
        "script-src 'self'",
        "script-src 'self'",
      ]);
    },
  );

  onYaml(
    "replaceOnChanges and deleteBeforeReplace replace in their order, retainOnDelete and protect keep objects, and outputs can be made secret",
    async () => {
      const before = {
        replaced: policy("one", { replaceOnChanges: ["description"] }),
        inside: {
          ...job(["RayID"], 1),
          options: { replaceOnChanges: ["outputOptions.fieldNames"], deleteBeforeReplace: true },
        },
        deletedFirst: namespace("one", { replaceOnChanges: ["title"], deleteBeforeReplace: true }),
        guarded: namespace("guarded", { protect: true, customTimeouts: { create: "1s" } }),
        left: policy("left", { retainOnDelete: true }),
        hidden: namespace("hidden", { additionalSecretOutputs: ["fullTitle"] }),
      };
      declare(before);
      await up();
      expect(JSON.stringify((await states()).get("hidden")?.outputs)).toMatch(
        /"fullTitle":\{"4dabf18193072939515e22adb298388d"/,
      );
      const { guarded, left, ...others } = before;
      const after = {
        ...others,
        replaced: policy("two", before.replaced.options),
        inside: { ...job(["ClientIP"], 1), options: before.inside.options },
        deletedFirst: namespace("two", before.deletedFirst.options),
      };
      declare({ ...after, left });
      api.clearRequests();
      const refused = await project.run("preview");
      expect(refused.text).toMatch(/guarded\W+cannot be deleted/);
      expect(refused.code).not.toBe(0);
      declare({ ...after, guarded });
      expect(await steps()).toEqual({
        replaced: "replace",
        inside: "replace",
        deletedFirst: "replace",
        left: "delete",
      });
      await up();
      const methods = (path: string): string[] =>
        writes().flatMap((each) => (each.includes(path) ? each.split(" ").slice(0, 1) : []));
      expect(methods("/policies")).toEqual(["POST", "DELETE"]);
      expect(methods("/logpush/jobs")).toEqual(["DELETE", "POST"]);
      expect(methods("/namespaces")).toEqual(["DELETE", "POST"]);
      expect((await policies()).map(({ description }) => description).sort()).toEqual(["left", "two"]);
    },
  );

  onYaml("a target is updated alone, and a refresh records what someone changed", async () => {
    declare({ one: policy("one"), two: policy("two") });
    await up();
    declare({ one: policy("one", {}, "script-src 'none'"), two: policy("two", {}, "script-src 'none'") });
    const urn = (await states()).get("one")?.urn ?? "";
    await up("--target", urn);
    expect(writes()).toHaveLength(1);
    const values = async (): Promise<unknown> =>
      Object.fromEntries((await policies()).map(({ description, value }) => [description, value]));
    expect(await values()).toEqual({ one: "script-src 'none'", two: "script-src 'self'" });
    const { id } = (await states()).get("one") ?? {};
    const path = `/zones/${api.zones.empty}/page_shield/policies/${id}`;
    const { result } = await rawSend(api, "GET", path);
    await rawSend(api, "PUT", path, { ...(result as object), value: "script-src *" });
    api.clearRequests();
    await project.ok("refresh", "--yes");
    expect(writes()).toEqual([]);
    expect((await states()).get("one")?.inputs).toMatchObject({ value: "script-src *" });
    expect(await steps()).toEqual({ one: "update", two: "update" });
    await up();
    expect(await values()).toEqual({ one: "script-src 'none'", two: "script-src 'none'" });
  });

  test("`pulumi do … list` prints the IDs of existing objects, without a program", async () => {
    // The command sets what the schema has defaults for, so the environment doesn't.
    project.env = { ...project.env, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
    const settings = ["--edgeguard:base-url", api.url];
    const made = await rawSend(api, "POST", `/zones/${api.zones.empty}/logpush/jobs`, {
      ...{ name: "all", dataset: "http_requests", destination_conf: "https://logs.example.com/in" },
    });
    const { id } = made.result as { id: number };
    const list = async (type: string, ...flags: readonly string[]): Promise<unknown> => {
      const command = ["do", "--package", join(PLUGIN, "pulumi-resource-edgeguard")];
      const { stdout } = await project.ok(
        ...command,
        `edgeguard:index:${type}`,
        ...settings,
        "list",
        ...flags,
      );
      return JSON.parse(stdout) as unknown;
    };
    expect(await list("LogpushJob", "--zone-id", api.zones.empty)).toEqual([
      { id: `zone/${api.zones.empty}/${id}`, name: "all" },
    ]);
    expect(await list("KvNamespace")).toContainEqual({
      id: `${api.accounts.main}/${api.namespaces.existing}`,
      name: "existing",
    });
  });
});
