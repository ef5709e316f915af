import { z } from "zod";
import { Ground } from "./support";

/** What a survey makes of answers that the local API would never give. */

const BUDGET = ["--budget", "100"] as const;
const ENTRY_POINT = "http_request_firewall_managed/entrypoint";

describe("a survey of zones whose entry point can't be read", () => {
  it("calls no migration ready, because rules that block it may be in there", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 400, match: { path: ENTRY_POINT }, times: 1_000 });
    const { code, stderr } = await ground.survey(...BUDGET);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("nothing blocks the zone")]);
    const { zones } = ground.result();
    for (const { deployments, migration } of zones) {
      expect(deployments).toMatchObject({ notReadable: "failed" });
      if (!("readiness" in migration)) expect(migration).toEqual(deployments);
      else expect(migration.readiness).toBe("retired");
    }
  });

  it.each([
    ["without an ID", { id: undefined }],
    ["with a rule whose expression isn't text", { rules: [{ id: "a", action: "block", expression: 5 }] }],
    ["that isn't an object", undefined],
  ])("goes on after one %s", async (_, odd) => {
    const ground = await Ground.with();
    const { shop, blog } = ground.api.zones;
    const { code } = await ground.surveyChanged(
      (path, result) =>
        path.includes(shop) && path.endsWith(ENTRY_POINT)
          ? odd === undefined
            ? "none"
            : { ...z.looseObject({}).parse(result), ...odd }
          : undefined,
      ...BUDGET,
    );
    expect(code).toBe(0);
    expect(ground.zone(shop)).toMatchObject({
      deployments: { notReadable: "failed" },
      migration: { notReadable: "failed" },
      pageShield: { enabled: true },
    });
    expect(ground.zone(blog).deployments).toEqual(expect.any(Array));
  });
});
