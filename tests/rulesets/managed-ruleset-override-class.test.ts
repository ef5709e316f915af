import * as pulumi from "@pulumi/pulumi";
import { managedRulesets } from "edgeguard-local";
import { ManagedRulesetOverride } from "pulumi-edgeguard";
import { Operation } from "../support/operation";

const ZONE_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const ruleset = { id: managedRulesets.owasp };

let sent: Record<string, Record<string, unknown>>;
beforeEach(async () => {
  sent = {};
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
});

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

test("a default ref longer than 120 characters or like an exception's is replaced with a digest of the resource's name", async () => {
  const long = "w".repeat(120);
  const ref = await made(long);
  expect(ref).toMatch(/^edgeguard\/[0-9a-f]{40}$/);
  expect(await made(`${long}x`)).toMatch(/^edgeguard\/[0-9a-f]{40}$/);
  expect(await made(`${long}y`)).not.toBe(ref);
  expect(await made("waf/exception/1")).toMatch(/^edgeguard\/[0-9a-f]{40}$/);
});

/** Checks resources of one program, and returns why they're refused. */
async function refused(...resources: [string, object][]): Promise<string[]> {
  const op = new Operation(
    { url: "http://127.0.0.1:1/client/v4" },
    { config: { "edgeguard:liveChecks": "false", "edgeguard:accountId": ZONE_ID } },
  );
  const found: string[] = [];
  for (const [name, more] of resources) {
    const inputs = { zoneId: ZONE_ID, ruleset, description: name, ref: name, __resourceName: name, ...more };
    found.push(...(await op.refusals("ManagedRulesetOverride", inputs)));
  }
  return found;
}

test("refuses two resources with the same ref in a zone", async () => {
  const elsewhere = { ref: "twin", zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a502" };
  const failures = await refused(
    ["first", { ref: "twin" }],
    ["elsewhere", elsewhere],
    ["second", { ref: "twin" }],
  );
  expect(failures).toEqual([
    `ManagedRulesetOverride "first" and "second" have the same ref "twin" in zone ${ZONE_ID}. Change one of the refs.`,
  ]);
});
