import * as pulumi from "@pulumi/pulumi";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { getKvNamespaces, KvEntries, KvNamespace, ManagedRulesetOverride } from "pulumi-edgeguard";
import { failureOf } from "../support/edge-client";

const ACCOUNT_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const [ZONE_ID, NAMESPACE_ID] = ["5a0c1e7f3b2d4968a7e1c0f2d3b4a501", "b".repeat(32)];

const setMocks = (preview = false): Promise<void> =>
  pulumi.runtime.setMocks(
    {
      newResource: ({ name, inputs }) => ({ id: name, state: inputs as Record<string, unknown> }),
      call: ({ inputs }) => inputs as Record<string, unknown>,
    },
    "project",
    "stack",
    preview,
  );

const namespace = (): KvNamespace => new KvNamespace("flags", { accountId: ACCOUNT_ID, title: "flags" });

describe("with two tests in the same process", () => {
  test("the second test can declare the same resources as the first", async () => {
    await setMocks();
    namespace();
    expect(namespace).toThrow('KvNamespace "flags" and "flags" both declare the namespace "flags"');
    await setMocks();
    expect(namespace).not.toThrow();
  });

  test("the second test can declare the same KV keys as the first", async () => {
    const entries = (name: string): Promise<unknown> =>
      new Promise((done, failed) => {
        const args = { accountId: ACCOUNT_ID, namespaceId: NAMESPACE_ID, entries: { a: "1" } };
        new KvEntries(name, { ...args, prune: { prefix: "x" } }).namespaceId.apply(done);
        setTimeout(() => failed(new Error("not registered")), 5_000).unref();
      });
    await setMocks();
    await entries("first");
    await setMocks();
    await entries("second");
  });

  test("the second test isn't affected by an argument of the first test that resolves late", async () => {
    await setMocks();
    let release: (ref: string) => void = () => undefined;
    const late = new Promise<string>((done) => (release = done));
    const override = (name: string, ref: pulumi.Input<string>): ManagedRulesetOverride =>
      new ManagedRulesetOverride(name, { zoneId: ZONE_ID, ref, ruleset: { name: "OWASP" } });
    override("first", late);
    await setMocks();
    release("twin");
    await late;
    await new Promise(setImmediate);
    expect(() => override("second", "twin")).not.toThrow();
  });
});

describe("a lookup under mocks", () => {
  const apis: LocalApi[] = [];
  const environment = process.env;
  beforeEach(() => {
    process.env = { ...environment };
    delete process.env["CLOUDFLARE_API_TOKEN"];
  });
  afterEach(async () => {
    process.env = environment;
    pulumi.runtime.setAllConfig({});
    await Promise.all(apis.splice(0).map((api) => api.close()));
  });

  test("calls the API that the current test configured, not the previous test's", async () => {
    const asked: number[][] = [];
    for (let run = 0; run < 2; run += 1) {
      const api = await startLocalApi();
      apis.push(api);
      await setMocks();
      const config = { "edgeguard:baseUrl": api.url, "edgeguard:apiToken": "local-token" };
      pulumi.runtime.setAllConfig(config, ["edgeguard:apiToken"]);
      await getKvNamespaces({ accountId: api.accounts.main });
      asked.push(apis.map(({ requests }) => requests.length));
    }
    expect(asked).toEqual([[1], [1, 1]]);
  });

  test("fails with the same message as in a program if there's no API token", async () => {
    await setMocks();
    const failure = await failureOf(getKvNamespaces({ accountId: ACCOUNT_ID }));
    expect(failure.message).toMatch(/^edgeguard: .*CLOUDFLARE_API_TOKEN/);
  });
});
