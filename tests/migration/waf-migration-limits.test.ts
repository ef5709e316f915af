import { startLocalApi, type LocalApi } from "edgeguard-local";
import { Operation } from "../support/operation";
import { TYPE } from "./support";

let api: LocalApi;
let inputs: { readonly zoneId: string; readonly target: "assessed" };
beforeAll(async () => {
  api = await startLocalApi();
  inputs = { zoneId: api.zones.migrateEnterprise, target: "assessed" };
});
afterAll(() => api.close());
beforeEach(() => {
  api.reset();
  api.clearRequests();
});

const bypass = (products: string[], expression = "ip.src eq 192.0.2.1") => ({ expression, products });
const block = { expression: "ip.src eq 192.0.2.1", action: "block" as const };

async function blockers(): Promise<unknown[]> {
  const { outputs } = await new Operation(api).up(TYPE, inputs);
  return (outputs["findings"] as { weight: string; about: string }[])
    .filter(({ weight }) => weight === "blocks")
    .map(({ about }) => about);
}

test.each([
  ["201 firewall rules that bypass the WAF block the migration", bypass(["waf"]), ["firewallRules"]],
  ["201 firewall rules that bypass something else don't block the migration", bypass(["rateLimit"]), []],
  ["201 firewall rules with the action block don't block the migration", block, []],
])("%s", async (_, rule, expected) => {
  const rules = Array.from({ length: 201 }, () => rule);
  api.inDashboard(inputs.zoneId, { do: "firewallRules", rules });
  expect(await blockers()).toEqual(expected);
});

test.each([
  [
    "an expression over 4 KB blocks the migration if its rule bypasses the WAF",
    "waf",
    ["firewallExpression"],
  ],
  [
    "an expression over 4 KB doesn't block the migration if its rule bypasses something else",
    "rateLimit",
    [],
  ],
])("%s", async (_, product, expected) => {
  const expression = `http.request.uri.path eq "${"x".repeat(4_200)}"`;
  api.inDashboard(inputs.zoneId, { do: "firewallRules", rules: [bypass([product], expression)] });
  expect(await blockers()).toEqual(expected);
});

test("requests the check and the configuration with phase_two=1, and the status without a query", async () => {
  await new Operation(api).up(TYPE, inputs);
  const asked = api.requests
    .filter(({ path }) => path.includes("/waf_migration/"))
    .map(({ path, query }) => `${path.split("/").at(-1) ?? ""} ${JSON.stringify(query)}`);
  expect([...new Set(asked)].sort()).toEqual([
    'check {"phase_two":"1"}',
    'config {"phase_two":"1"}',
    "status {}",
  ]);
});
