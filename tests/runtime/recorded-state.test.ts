import { forwarder } from "../../provider/runtime/forwarder";
import { apiPerTest } from "../support/bench";
import { Operation, sent, type Recorded } from "../support/operation";

/** States as released versions wrote them. A state is read for years: what stands here is added to, never changed. */

const api = apiPerTest();

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";

describe("with a state written by version 0.1", () => {
  test("refreshes Page Shield settings, finds them unchanged, and restores what they recorded", async () => {
    const put = {
      method: "PUT",
      headers: { authorization: "Bearer local-token", "content-type": "application/json" },
    };
    await fetch(`${api.url}/zones/${ZONE}/page_shield`, { ...put, body: '{"enabled":true}' });
    const inputs = { zoneId: ZONE, enabled: true, __provider: forwarder("PageShieldSettings") };
    const state: Recorded = {
      id: ZONE,
      inputs,
      outputs: {
        ...inputs,
        previous: { enabled: false, useConnectionUrlPath: false, useReportingEndpoint: true },
        updatedAt: "2026-11-21T08:15:09.618000Z",
        schemaVersion: 1,
      },
    };
    const refreshed = await new Operation(api).refresh("PageShieldSettings", state);
    expect(refreshed?.outputs).toEqual(
      expect.objectContaining({ enabled: true, previous: state.outputs["previous"], schemaVersion: 1 }),
    );
    expect(
      (await new Operation(api).preview("PageShieldSettings", { zoneId: ZONE, enabled: true }, state)).step,
    ).toBe("same");
    await new Operation(api).destroy("PageShieldSettings", state);
    expect(api.requests.filter((r) => r.method === "PUT").at(-1)?.body).toEqual({ enabled: false });
  });

  test("refreshes a policy, finds it unchanged, and deletes it", async () => {
    const declared = {
      zoneId: ZONE,
      description: "checkout",
      action: "log",
      expression: "true",
      value: "script-src 'self'",
    };
    const made = await new Operation(api).up("PageShieldPolicy", declared);
    const inputs = { ...declared, enabled: true, __provider: forwarder("PageShieldPolicy") };
    const state: Recorded = { id: made.id, inputs, outputs: { ...inputs, schemaVersion: 1 } };
    expect((await new Operation(api).refresh("PageShieldPolicy", state))?.inputs).toEqual(inputs);
    expect((await new Operation(api).preview("PageShieldPolicy", declared, state)).step).toBe("same");
    await new Operation(api).destroy("PageShieldPolicy", state);
    expect(sent(api, "DELETE")).toHaveLength(1);
  });
});
