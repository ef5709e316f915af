import * as pulumi from "@pulumi/pulumi";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { getScripts, KvEntries } from "pulumi-edgeguard";
import { readFilter } from "../../provider/logpush/filter-read";
import { fromWire, toWire } from "../../provider/migration/rules";
import { mappedSensitivity, ruleText, rulesetName } from "../../provider/migration/rule-text";
import { report } from "../../provider/report";
import { REGISTER } from "../../provider/register";
import { read } from "../report/plans";
import { Operation } from "../support/operation";
import { passes } from "../../provider/logpush/test-filter";

/** What every object inherits something under is a name like any other, wherever names come from outside. */

const NAMES = ["__proto__", "constructor", "hasOwnProperty", "prototype", "toString", "valueOf"];

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(() => api.close());

const member = (name: string, value: unknown): Record<string, unknown> => Object.fromEntries([[name, value]]);

describe.each(NAMES)("a property named %s", (name) => {
  test("is refused as an argument of any resource", async () => {
    for (const type of Object.keys(REGISTER)) {
      const sentence = expect.stringContaining(`${name}: unknown argument "${name}". `) as string;
      expect(await new Operation(api).refusals(type, member(name, 1))).toContainEqual(sentence);
    }
  });

  test("is refused as a policy's directive, and passed through in extra", async () => {
    const policy = { zoneId: api.zones.shop, description: "d", action: "log", expression: "true" };
    const op = new Operation(api);
    const value = { scriptSrc: ["'self'"], ...member(name, ["x.example"]) };
    const { failures } = await op.check("PageShieldPolicy", { ...policy, value });
    expect(failures.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(new RegExp(`^value\\.${name}: "${name}" is not a CSP directive\\. Use one of: `)),
    ]);
    const passed = await op.check("PageShieldPolicy", {
      ...policy,
      value: "script-src 'self'",
      extra: member(name, { [name]: 1 }),
    });
    expect(passed.failures).toEqual([]);
    expect(JSON.stringify(passed.inputs["extra"])).toBe(`{"${name}":{"${name}":1}}`);
  });

  test("is refused as a filter's operator, and accepted as its field", () => {
    const where = (leaf: object): object => ({ where: { and: [leaf] } });
    const unknown = readFilter(where({ key: "a", operator: name, value: "1" }));
    expect(unknown).toEqual({
      issues: [{ path: ["where", "and", 0, "operator"], reason: expect.any(String) as string }],
    });
    expect(JSON.stringify(unknown)).toContain(`\\"${name}\\" is not an operator. Use one of: eq, `);
    const read = readFilter(where({ key: name, operator: "contains", value: "v" }));
    if (!("filter" in read)) throw new Error(JSON.stringify(read));
    expect(passes(read.filter, JSON.parse(`{"${name}":["v"]}`) as object as Record<string, unknown>)).toBe(
      true,
    );
    expect(passes(read.filter, {})).toBe(false);
  });

  test("is kept in a migrated rule, and treated as an unknown sensitivity or ruleset", () => {
    const rule = { action: name, expression: "true", ...member(name, { deep: member(name, 1) }) };
    expect(JSON.stringify(toWire(fromWire(rule)))).toContain(`"${name}":{"deep":{"${name}":1}}`);
    expect(ruleText(rule)).toMatch(new RegExp(`^${name}`));
    expect(mappedSensitivity(name)).toEqual(mappedSensitivity(undefined));
    expect(rulesetName(name)).toBe(`ruleset ${name}`);
  });

  test("is shown in the report if it's the name of an action", () => {
    const plan = read("created.json").replaceAll('"action": "log"', `"action": "${name}"`);
    expect(plan).not.toBe(read("created.json"));
    const { text } = report(plan, "text");
    expect(text).toContain(name);
    expect(text).not.toMatch(/native code|\[object/);
  });

  test("is accepted as a parameter of a lookup", async () => {
    api.clearRequests();
    const config = { baseUrl: api.url, apiToken: "local-token" };
    await getScripts({ zoneId: api.zones.shop, filters: member(name, "x") as { x: string } }, { config });
    expect(Object.entries(api.requests[0]?.query ?? {})).toContainEqual([name, "x"]);
  });
});

test("refuses a property that Pulumi's SDK would silently drop", async () => {
  await pulumi.runtime.setMocks({
    newResource: ({ inputs }) => ({ id: "x", state: inputs as Record<string, unknown> }),
    call: ({ inputs }) => inputs as Record<string, unknown>,
  });
  const [accountId, namespaceId] = ["a".repeat(32), "b".repeat(32)];
  const declare = (name: string, value: unknown): KvEntries =>
    new KvEntries(name, { accountId, namespaceId, entries: member(name, value) as Record<string, string> });
  expect(() => declare("__proto__", "v")).toThrow(
    'edgeguard: KvEntries "__proto__" has a property named "__proto__", which Pulumi\'s SDK drops. Choose another name. KvEntries accepts such a key from a file or directory.',
  );
  expect(() => declare("deep", { value: "v", metadata: member("__proto__", 1) })).toThrow(/SDK drops/);
  expect(() => declare("constructor", "v")).not.toThrow();
});
