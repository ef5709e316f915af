import { managedRulesets } from "edgeguard-local";
import type { JsonObject } from "../../provider/basics/json";
import { accounts, apiPerTest, zones } from "../support/bench";
import { Operation, rawGet, rawSend, UNKNOWN } from "../support/operation";
import { created, deleted, stepOf, type MadeStep, dangerLines } from "./plans";

/** What the exceptions of a new deployment weaken, wherever the update puts it. */

const api = apiPerTest();
const TYPE = "ManagedRulesetOverride";
const [ZONE, ACCOUNT] = [zones.empty, accounts.main];
const ENTRY_POINT = `/zones/${ZONE}/rulesets/phases/http_request_firewall_managed/entrypoint`;
const STACK = "edgeguard/site/prod/";
const GETS_EXCEPTION = /^unprotect managed: .*gets an exception: ssl skips/;

const managed = (more: JsonObject = {}): JsonObject => ({
  zoneId: ZONE,
  accountId: ACCOUNT,
  ref: `${STACK}managed`,
  ruleset: { id: managedRulesets.managed },
  exceptions: [{ expression: "ssl", skip: { rulesets: ["this", managedRulesets.owasp] } }],
  ...more,
});
const owasp = (more: JsonObject = {}): JsonObject => ({
  zoneId: ZONE,
  accountId: ACCOUNT,
  ref: `${STACK}owasp`,
  ruleset: { id: managedRulesets.owasp },
  ...more,
});
const preview = async (declared: JsonObject): Promise<MadeStep> =>
  created(TYPE, "managed", (await new Operation(api).preview(TYPE, declared)).inputs);
const refs = async (): Promise<string[]> => {
  const { result } = await rawGet(api, ENTRY_POINT);
  return (result as { rules: { ref: string }[] }).rules.map(({ ref }) => ref.replace(STACK, ""));
};

test.each(["edgeguard/site/dev/owasp", "owasp"])(
  "a deployment that gets a default ref of the stack in the same update (now %s) may come to run behind the new one",
  async (ref) => {
    const recorded = await new Operation(api).up(TYPE, owasp({ ref }));
    const { inputs } = await new Operation(api).preview(TYPE, owasp(), recorded);
    const { inputs: old, outputs, id } = recorded;
    const renamed = stepOf("update", TYPE, "owasp", { old, outputs, new: inputs, state: { id } });
    const dangers = dangerLines(renamed, await preview(managed()));
    const operation = new Operation(api);
    await operation.up(TYPE, owasp(), recorded);
    await operation.up(TYPE, managed());
    expect(await refs()).toEqual(["managed/exception/1", "managed", "owasp"]);
    expect(dangers).toContainEqual(expect.stringMatching(GETS_EXCEPTION));
  },
);

test("a deployment from the dashboard may come to run behind two new ones", async () => {
  const action_parameters = { id: managedRulesets.owasp };
  const dash = { action: "execute", expression: "true", ref: "dash", action_parameters };
  await rawSend(api, "PUT", ENTRY_POINT, { rules: [dash] });
  const first = owasp({ position: "first", expression: 'http.host eq "a"' });
  const dangers = dangerLines(await preview(managed()));
  const operation = new Operation(api);
  await operation.up(TYPE, first);
  await operation.up(TYPE, managed());
  expect(await refs()).toEqual(["managed/exception/1", "managed", "owasp", "dash"]);
  expect(dangers).toEqual([expect.stringMatching(GETS_EXCEPTION)]);
});

test("a deployment that's deleted and created again comes to run before those that its exceptions name", async () => {
  await new Operation(api).up(TYPE, owasp());
  const plain = await new Operation(api).up(TYPE, managed({ exceptions: [] }));
  const late = await new Operation(api).up(TYPE, managed(), plain);
  expect((await refs())[0]).toBe("owasp");
  const { inputs } = await new Operation(api).preview(TYPE, managed());
  const { inputs: old, outputs } = late;
  const state = { id: `${ZONE}/${String(outputs["ruleId"])}` };
  const step = stepOf("replace", TYPE, "managed", { old, outputs, new: inputs, state });
  const gone = { ...deleted(TYPE, "managed", old, outputs), op: "delete-replaced" };
  const dangers = dangerLines(gone, step, { ...step, op: "create-replacement" });
  await new Operation(api).destroy(TYPE, late);
  await new Operation(api).up(TYPE, managed());
  expect((await refs()).at(-1)).toBe("owasp");
  expect(dangers).toContainEqual(
    expect.stringMatching(/^unprotect managed: .*created again: this rule's exceptions will also apply/),
  );
});

test("every exception of a new deployment counts if one of them puts it first, although an argument isn't known yet", async () => {
  await new Operation(api).up(TYPE, owasp());
  const named = { expression: "ssl", skip: { rulesets: ["this", managedRulesets.owasp] } };
  const exceptions = [{ expression: 'http.host eq "x"', skip: "all" }, named];
  expect(dangerLines(await preview(managed({ exceptions, description: UNKNOWN })))).toEqual([
    expect.stringContaining("all managed rules after it"),
    expect.stringMatching(GETS_EXCEPTION),
  ]);
});

test("exceptions of a new deployment for its own rules weaken nothing, although the zone isn't known yet", async () => {
  const skip = { rules: { this: ["00000000000000000000000000000001"] } };
  const exceptions = [{ expression: "ssl", skip }];
  expect(dangerLines(await preview(managed({ zoneId: UNKNOWN, exceptions })))).toEqual([]);
});
