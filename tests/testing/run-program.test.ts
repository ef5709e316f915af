import * as pulumi from "@pulumi/pulumi";
import {
  getKvNamespaces,
  getKvNamespacesOutput,
  KvEntries,
  KvNamespace,
  LogpushJob,
  ManagedRulesetOverride,
  PageShieldPolicy,
  PageShieldSettings,
  Provider,
} from "pulumi-edgeguard";
import { checkedMocks, runProgram, startLocalApi, type TestApi } from "pulumi-edgeguard/testing";
import { failureOf } from "../support/edge-client";
import { rawGet } from "../support/operation";
import { isWrite } from "../support/is-write";

const ACCOUNT_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const ZONE_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";

const policy = (name: string, more: object = {}): PageShieldPolicy =>
  new PageShieldPolicy(name, {
    zoneId: ZONE_ID,
    description: name,
    action: "log",
    expression: "true",
    value: { scriptSrc: ["'self'"] },
    ...more,
  });

const known = <T>(output: pulumi.Output<T>): Promise<T> => new Promise((done) => output.apply(done));

describe("runProgram without an API", () => {
  test("fails with the preview's message for each invalid argument, all in one error", async () => {
    const failure = await failureOf(
      runProgram(() => {
        policy("shop", { value: { scriptSrc: ["self"] } });
        new KvNamespace("flags", { title: "flags" });
        policy("fine");
      }),
    );
    expect(failure.name).toBe("RefusedProgramError");
    expect(failure.message.split("\n").sort()).toEqual([
      expect.stringMatching(/^KvNamespace "flags": accountId: /),
      expect.stringMatching(/^PageShieldPolicy "shop": value\.scriptSrc\[0\]: .*'self'/),
    ]);
  });

  test("accepts rules by name without resolving them to IDs", async () => {
    const deploy = (rule: string) => () =>
      known(
        new ManagedRulesetOverride("waf", {
          zoneId: ZONE_ID,
          accountId: ACCOUNT_ID,
          ruleset: "Cloudflare Managed Ruleset",
          rules: { [rule]: { enabled: false } },
        }).ruleIds,
      );
    const { resources, result } = await runProgram(deploy("CVE-2021-44228"));
    expect(resources).toMatchObject([{ inputs: { rules: { "CVE-2021-44228": { enabled: false } } } }]);
    expect(result).toBeUndefined();
    const failure = await failureOf(runProgram(deploy("?")));
    expect(failure.message).toContain('rules["?"]: contains no words that identify a rule');
  });

  test("returns the registered resources with canonical arguments and the outputs that a preview computes", async () => {
    const { resources, result } = await runProgram(
      () => {
        const namespace = new KvNamespace("flags", { title: "flags", preview: true });
        new KvEntries("flags", { namespaceId: namespace.id, entries: { a: "1", b: "2" } });
        return known(namespace.fullTitle);
      },
      { config: { "edgeguard:accountId": ACCOUNT_ID.toUpperCase() } },
    );
    expect(result).toBe("flags_preview");
    expect(resources).toMatchObject([
      { type: "KvNamespace", name: "flags", inputs: { accountId: ACCOUNT_ID, fullTitle: "flags_preview" } },
      { type: "KvEntries", inputs: { namespaceId: resources[0]?.id, keys: 2 } },
    ]);
    expect(resources[0]?.id).toMatch(/^[0-9a-f]{32}$/);
  });

  test("leaves IDs unknown in a preview, and still checks a resource that depends on an unknown ID", async () => {
    const failure = await failureOf(
      runProgram(
        () => {
          const namespace = new KvNamespace("flags", { accountId: ACCOUNT_ID, title: "flags" });
          const args = { accountId: ACCOUNT_ID, namespaceId: namespace.id };
          new KvEntries("flags", { ...args, entries: { " ": "1" } });
        },
        { preview: true },
      ),
    );
    expect(failure.message).toMatch(/^KvEntries "flags": entries: /);
  });

  test("starts every run fresh, so the same resources can be declared again", async () => {
    for (let run = 0; run < 3; run += 1) {
      const { resources } = await runProgram(() => policy("shop"));
      expect(resources).toHaveLength(1);
    }
    const twice = runProgram(() => [
      policy("one", { description: "same" }),
      policy("two", { description: "same" }),
    ]);
    expect((await failureOf(twice)).message).toMatch(/"one" and "two" declare the same policy/);
  });

  test("returns warnings, and derives default values from the project and stack in the options", async () => {
    const { resources, warnings } = await runProgram(
      () => {
        const ruleset = { name: "Cloudflare OWASP Core Ruleset" };
        new ManagedRulesetOverride("owasp", { zoneId: ZONE_ID, accountId: ACCOUNT_ID, ruleset });
        policy("shop", { value: "script-src *" });
      },
      { project: "site", stack: "dev" },
    );
    expect(resources.find(({ name }) => name === "owasp")?.inputs["ref"]).toBe("edgeguard/site/dev/owasp");
    expect(warnings).toEqual([expect.stringMatching(/^edgeguard: policy "shop": /)]);
  });

  test("ignores credentials and settings in the environment", async () => {
    const environment = process.env;
    process.env = { ...environment, CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID, CLOUDFLARE_API_TOKEN: "c4nary" };
    try {
      const failure = await failureOf(runProgram(() => new KvNamespace("flags", { title: "flags" })));
      expect(failure.message).toMatch(/accountId: /);
    } finally {
      process.env = environment;
    }
  });

  test("makes a secret argument a secret output, and never shows it in an error", async () => {
    const canary = "c4nary-c4nary-c4nary";
    const url = `https://logs.example/in?header_Authorization=Bearer%20${canary}`;
    const job = (dataset: string): LogpushJob =>
      new LogpushJob("logs", { zoneId: ZONE_ID, dataset, destinationConf: url });
    const { result } = await runProgram(() => job("http_requests"));
    expect(await pulumi.isSecret(result.destinationConf)).toBe(true);
    expect(await pulumi.isSecret(result.dataset)).toBe(false);
    const wrong = {
      zoneId: ZONE_ID,
      dataset: "http_requests",
      destinationConf: `htps://a:${canary}@logs.example`,
    };
    const failure = await failureOf(runProgram(() => new LogpushJob("logs", wrong)));
    expect(failure.message).toMatch(/^LogpushJob "logs": destinationConf: /);
    expect(failure.message).not.toContain(canary);
  });

  test("uses the test's own mocks for other packages' resources and functions", async () => {
    class Bucket extends pulumi.CustomResource {
      declare readonly arn: pulumi.Output<string>;
      constructor(name: string) {
        super("aws:s3/bucket:Bucket", name, { arn: undefined, tags: { team: "edge" } });
      }
    }
    const program = async (): Promise<unknown[]> => {
      const bucket = new Bucket("logs");
      const zone: unknown = await pulumi.runtime.invoke("cloudflare:index/getZone:getZone", {
        name: "shop.example",
      });
      return [await known(bucket.id), await known(bucket.arn), zone];
    };
    const { result, resources } = await runProgram(program, {
      mocks: {
        newResource: ({ inputs }) => ({ id: "logs-1", state: { ...(inputs as object), arn: "arn:logs" } }),
        call: ({ token }) => ({ token }),
      },
    });
    expect(result).toEqual(["logs-1", "arn:logs", { token: "cloudflare:index/getZone:getZone" }]);
    expect(resources).toEqual([
      { type: "aws:s3/bucket:Bucket", name: "logs", id: "logs-1", inputs: { tags: { team: "edge" } } },
    ]);
    const plain = await runProgram(program);
    expect(plain.result).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      undefined,
      { name: "shop.example" },
    ]);
  });

  test("waits for resources that the program declares later", async () => {
    const { resources } = await runProgram(() => {
      policy("first").id.apply(() => policy("second"));
    });
    expect(resources.map(({ name }) => name)).toEqual(["first", "second"]);
  });
});

describe("runProgram with a local API", () => {
  let api: TestApi;
  beforeEach(async () => {
    api = await startLocalApi();
  });
  afterEach(() => api.close());

  test("creates the resources in the API and returns the API's values as outputs", async () => {
    const { result, resources } = await runProgram(
      async () => {
        const settings = new PageShieldSettings("shop", { zoneId: api.zones.empty, enabled: true });
        return [await known(settings.id), await known(policy("shop", { zoneId: api.zones.empty }).id)];
      },
      { api },
    );
    expect(result[0]).toBe(api.zones.empty);
    const stored = await rawGet(api, `/zones/${api.zones.empty}/page_shield/policies`);
    expect(stored["result"]).toMatchObject([{ id: result[1], description: "shop" }]);
    expect(resources.map(({ id }) => id)).toEqual(expect.arrayContaining(result));
    expect(await rawGet(api, `/zones/${api.zones.empty}/page_shield`)).toMatchObject({
      result: { enabled: true },
    });
  });

  test("shows the impact in preview mode and writes nothing", async () => {
    const { resources, messages } = await runProgram(
      () => policy("shop", { zoneId: api.zones.shop, action: "allow" }),
      { api, preview: true },
    );
    expect(resources[0]?.inputs["impact"]).toMatchObject({
      wouldBlock: { scripts: { count: expect.any(Number) as number } },
    });
    expect(messages).toContainEqual(expect.stringMatching(/would block/));
    expect(api.requests.filter(isWrite)).toEqual([]);
  });

  test("fails the run if a live check fails, like a preview", async () => {
    const zoneId = "0".repeat(32);
    const failure = await failureOf(runProgram(() => policy("shop", { zoneId }), { api }));
    expect(failure.message).toMatch(/^PageShieldPolicy "shop": .*zone/);
  });

  test("fails the run without ending the process if the update fails", async () => {
    await runProgram(() => policy("shop"), { api });
    const failure = await failureOf(runProgram(() => policy("shop", { adopt: "never" }), { api }));
    expect(failure.message).toMatch(/^PageShieldPolicy "shop": .*adopt: "never"/);
  });

  test("sends lookups to the local API", async () => {
    const { result } = await runProgram(() => getKvNamespaces({ accountId: api.accounts.main }), { api });
    expect(result).toEqual([expect.objectContaining({ title: "existing" })]);
  });

  test("ignores credentials for lookups in the environment, the configuration or a provider", async () => {
    const real = await startLocalApi();
    const environment = process.env;
    const canary = "c4nary-c4nary-c4nary";
    process.env = { ...environment, CLOUDFLARE_BASE_URL: real.url, CLOUDFLARE_API_TOKEN: "local-token" };
    const config = { baseUrl: real.url, apiToken: "local-token" };
    const args = { accountId: api.accounts.main };
    const programs = [
      () => getKvNamespaces(args),
      () => getKvNamespaces(args, { config }),
      () => getKvNamespaces(args, { provider: new Provider("real", config) }),
      () => known(getKvNamespacesOutput(args)),
    ];
    try {
      for (const program of programs) {
        expect((await runProgram(program, { api })).result).toEqual([
          expect.objectContaining({ title: "existing" }),
        ]);
        await pulumi.runtime.setMocks(checkedMocks({ api }));
        expect(await program()).toHaveLength(1);
      }
      for (const program of programs.slice(0, 3)) {
        const settings = { "edgeguard:baseUrl": real.url, "edgeguard:apiToken": canary };
        const failure = await failureOf(runProgram(program, { config: settings }));
        expect(failure.message).toMatch(/^edgeguard: a lookup in a unit test needs an API .* Pass \{ api: /);
        expect(failure.message).not.toContain(canary);
        for (const mocks of [checkedMocks(), { ...checkedMocks() }]) {
          await pulumi.runtime.setMocks(mocks);
          expect((await failureOf(program())).message).toMatch(/needs an API/);
        }
      }
      expect(api.requests).toHaveLength(2 * programs.length);
      expect(real.requests).toEqual([]);
    } finally {
      process.env = environment;
      await real.close();
    }
  });

  test("sends a lookup to the current run's API, even if its config object was used in an earlier run", async () => {
    const config = { accountId: api.accounts.main };
    const program = (): Promise<unknown> => getKvNamespaces({}, { config });
    await runProgram(program, { api });
    const other = await startLocalApi();
    try {
      await runProgram(program, { api: other });
      expect([api.requests.length, other.requests.length]).toEqual([1, 1]);
    } finally {
      await other.close();
    }
  });

  test("finds nothing from earlier runs after api.reset()", async () => {
    const declare = (): KvNamespace =>
      new KvNamespace("flags", { accountId: api.accounts.main, title: "existing", adopt: "never" });
    expect((await failureOf(runProgram(declare, { api, preview: true }))).message).toMatch(/already exists/);
    await runProgram(() => new KvNamespace("flags", { accountId: api.accounts.main, title: "flags" }), {
      api,
    });
    api.reset();
    expect(
      (await rawGet(api, `/accounts/${api.accounts.main}/storage/kv/namespaces`))["result"],
    ).toHaveLength(1);
  });
});
