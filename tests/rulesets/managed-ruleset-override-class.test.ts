import * as pulumi from "@pulumi/pulumi";
import { managedRulesets } from "edgeguard-local";
import { ManagedRulesetOverride } from "pulumi-edgeguard";
import { failureOf } from "../support/edge-client";

const ZONE_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const ruleset = { id: managedRulesets.owasp };

let sent: Record<string, Record<string, unknown>>;
let warned: string[];
beforeEach(async () => {
  sent = {};
  warned = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ name, inputs }) => {
        sent[name] = inputs as Record<string, unknown>;
        return { id: "0".repeat(32), state: inputs as Record<string, unknown> };
      },
      call: ({ inputs }) => inputs as Record<string, unknown>,
    },
    "site",
    "dev",
  );
  jest.spyOn(pulumi.log, "warn").mockImplementation((line) => {
    warned.push(line);
    return Promise.resolve();
  });
});
afterEach(() => jest.restoreAllMocks());

const made = (name: string, more: object = {}) =>
  new Promise<unknown>((done) => {
    const one = new ManagedRulesetOverride(name, { zoneId: ZONE_ID, ruleset, description: name, ...more });
    one.ref.apply(done);
  });

test("the default ref contains the project, stack and resource name, and an explicit ref is kept", async () => {
  expect(await made("waf-a")).toBe("edgeguard/site/dev/waf-a");
  expect(sent["waf-a"]).toMatchObject({ ref: "edgeguard/site/dev/waf-a", zoneId: ZONE_ID });
  expect(await made("waf-b", { ref: pulumi.output("mine") })).toBe("mine");
});

test("a default ref longer than 120 characters is replaced with a digest that depends on the resource's name", async () => {
  const long = "w".repeat(120);
  const ref = await made(long);
  expect(ref).toMatch(/^edgeguard\/[0-9a-f]{40}$/);
  expect(await made(`${long}x`)).toMatch(/^edgeguard\/[0-9a-f]{40}$/);
  expect(await made(`${long}y`)).not.toBe(ref);
});

test("refuses two resources with the same ref in a zone", async () => {
  await made("first", { ref: "twin" });
  const failure = await failureOf(made("second", { ref: "twin" }));
  expect(failure.message).toBe(
    `edgeguard: ManagedRulesetOverride "first" and "second" have the same ref "twin" in zone ${ZONE_ID}. Change one of the refs.`,
  );
  await made("elsewhere", { ref: "twin", zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a502" });
});

test("warns about two resources that run the same ruleset for the same requests", async () => {
  const expression = 'http.host eq "twice.example"';
  await made("once", { expression });
  await made("twice", { expression });
  await made("not-twice", { expression: 'http.host eq "once.example"' });
  expect(warned).toEqual([
    `edgeguard: ManagedRulesetOverride "once" and "twice" execute the same managed ruleset for the same requests in zone ${ZONE_ID}, so it will run twice.`,
  ]);
});

test("refuses two identical resources, because each would adopt the other's rule", async () => {
  const expression = 'http.host eq "equal.example"';
  const description = "both";
  await made("equal", { expression, description, owasp: { paranoiaLevel: 2, scoreThreshold: "high" } });
  const failure = await failureOf(
    made("same", {
      expression,
      description,
      owasp: { scoreThreshold: 25, paranoiaLevel: 2 },
      ref: "of-its-own",
    }),
  );
  expect(failure.message).toBe(
    `edgeguard: ManagedRulesetOverride "equal" and "same" declare the same rule in zone ${ZONE_ID}, with identical arguments. Remove one of the two resources.`,
  );
});
