import { isWrite } from "../support/is-write";
import { Bench } from "../support/bench";
import { rawGet } from "../support/operation";
import { SAMPLES } from "../support/samples";
import type { JsonObject } from "../../provider/basics/json";

/** An update that failed after it may have changed something: the program may be reverted before the next one. */

describe.each([
  ["PageShieldPolicy", (zone: string) => `/zones/${zone}/page_shield/policies`, "PUT"],
  ["LogpushJob", (zone: string) => `/zones/${zone}/logpush/jobs`, "PUT"],
] as const)("a %s", (type, pathOf, method) => {
  const b = new Bench(type);
  const list = async (): Promise<unknown> => (await rawGet(b.api, pathOf(b.api.zones.empty))).result;

  test("whose update's response is lost is recorded as unfinished, and the next update undoes it after a revert", async () => {
    const { args, changed } = SAMPLES[type](b.api);
    const recorded = await b.up(args);
    const before = await list();
    b.api.fault({ kind: "dropAfter", times: 9, match: { method } });
    const failed = await b.failedUp(changed, recorded);
    expect(await list()).not.toEqual(before);
    expect(failed.message).toContain("Cloudflare may have applied the change.");
    expect(failed.message).toContain("The resource is recorded as unfinished: the next `pulumi up` writes");
    const { recorded: half } = failed;
    if (half === undefined) throw new Error("nothing was recorded");
    for (const name of Object.keys(args)) expect(half.outputs[name]).toEqual(recorded.outputs[name]);
    b.api.clearFaults();
    const { inputs } = await b.preview(args, half);
    await b.update(inputs, half);
    expect(await list()).toEqual(before);
  });

  test("whose update was refused is recorded as it was", async () => {
    const { args, changed } = SAMPLES[type](b.api);
    const recorded = await b.up(args);
    b.api.fault({ kind: "status", status: 403, times: 9, match: { method } });
    const failed = await b.failedUp(changed, recorded);
    expect(failed.recorded).toBeUndefined();
    expect(failed.message).not.toContain("unfinished");
  });
});

describe("a ManagedRulesetOverride", () => {
  const b = new Bench("ManagedRulesetOverride");

  test.each([403, 500])(
    "whose exception was created before its own change failed with %i is recorded as unfinished, and a revert removes the exception",
    async (status) => {
      const { args } = SAMPLES.ManagedRulesetOverride(b.api);
      const recorded = await b.up(args);
      const path = `/zones/${b.api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;
      const rules = async (): Promise<JsonObject[]> => {
        const { result } = await rawGet(b.api, path);
        return (result as { rules: JsonObject[] }).rules;
      };
      expect(await rules()).toHaveLength(1);
      b.api.fault({ kind: "status", status, times: 9, match: { method: "PATCH" } });
      const weaker = { ...args, description: "waf", exceptions: [{ expression: "true", skip: "all" }] };
      const { recorded: half, message } = await b.failedUp(weaker, recorded);
      expect(await rules()).toHaveLength(2);
      expect(message).toContain("unfinished");
      if (half === undefined) throw new Error("nothing was recorded");
      b.api.clearFaults();
      b.api.clearRequests();
      const { inputs } = await b.preview(args, half);
      await b.update(inputs, half);
      expect(await rules()).toMatchObject([{ action: "execute" }]);
      expect(b.api.requests.filter(isWrite).length).toBeGreaterThan(0);
    },
  );
});
