import * as pulumi from "@pulumi/pulumi";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { getKvNamespaces, KvEntries, KvNamespace } from "pulumi-edgeguard";
import { runProgram } from "pulumi-edgeguard/testing";
import { failureOf } from "../support/edge-client";

const ACCOUNT_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const NAMESPACE_ID = "b".repeat(32);

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

test("a run can declare the same resources as an earlier one, but no resource twice", async () => {
  const program =
    (...names: string[]) =>
    (): void => {
      for (const name of names) {
        new KvNamespace(name, { accountId: ACCOUNT_ID, title: "flags" });
        new KvEntries(name, { accountId: ACCOUNT_ID, namespaceId: NAMESPACE_ID, entries: { a: "1" } });
      }
    };
  await runProgram(program("flags"));
  await runProgram(program("flags"));
  const refused = runProgram(program("flags", "again"));
  await expect(refused).rejects.toThrow('"flags" and "again" both declare the namespace "flags"');
  await expect(refused).rejects.toThrow('"flags" and "again" both declare the key "a"');
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
