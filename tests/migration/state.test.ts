import { decideState, isFurther, isReached, stateText, TARGETS } from "../../provider/migration/state";

/** How a status is read. Cloudflare documents none of its members, and of the states only `start`. */

describe("the state of a migration", () => {
  const on = { old_waf: "enabled", new_waf: "enabled" };
  const over = { old_waf: "disabled", new_waf: "enabled" };
  const before = { old_waf: "enabled", new_waf: "disabled" };
  const neither = { old_waf: "disabled", new_waf: "disabled" };

  test.each([
    // Previous rules off and new ones on: finished, whatever the names and values.
    ["finished", { ...over, migration_state: "finished" }, undefined],
    ["finished", { ...over, migration_state: "phase-nine" }, undefined],
    ["finished", over, "start"],
    ["finished", { previous_rules: false, new_rules: true }, undefined],
    ["finished", { legacy: "off", next: "on" }, undefined],
    ["finished", { oldRules: "DISABLED", newRules: " Enabled " }, undefined],
    ["finished", { rules: { previous: { enabled: false }, new: { enabled: true } } }, undefined],
    ["finished", { ...over, old_count: 12 }, undefined],
    // Both on: validation.
    ["validation", { ...on, migration_state: "anything" }, undefined],
    ["validation", { old: true, new: true }, undefined],
    ["validation", { previous: "on", next: "on" }, "start"],
    // The only documented state.
    ["start", { ...before, migration_state: "start" }, undefined],
    ["start", { ...before, state: "Start" }, undefined],
    ["start", { ...neither, migration_state: "start" }, undefined],
    ["start", before, "start"],
    ["start", {}, "start"],
    ["start", null, "start"],
    ["start", "start", "start"],
    // Anything else is recorded as it is and leads to nothing.
    ["other", { ...before, migration_state: "pending" }, "start"],
    ["other", { migration_state: "finished" }, undefined],
    ["other", { ...before, migration_state: "finished" }, "finished"],
    ["other", { ...neither, migration_state: "finished" }, undefined],
    ["other", { ...neither, migration_state: "validation" }, undefined],
    ["other", { old_waf: "maybe", new_waf: "enabled" }, undefined],
    ["other", { old_waf: "enabled", legacy_waf: "disabled", new_waf: "enabled" }, undefined],
    ["other", { old_waf: 0, new_waf: 1 }, undefined],
    ["other", { old_to_new: true }, undefined],
    ["other", before, undefined],
    ["other", before, ""],
    ["other", {}, undefined],
    ["other", [], undefined],
    ["other", null, "startled"],
    ["other", { from_state: "start", to_state: "finished" }, undefined],
  ] as const)("is %s if the status is %j and the check reports the state %j", (phase, status, check) => {
    expect(decideState(status, check).phase).toBe(phase);
  });

  test("is Cloudflare's own word if it's undocumented, unless that word contradicts the rest of the status", () => {
    expect(decideState({ ...before, migration_state: "switching" })).toEqual({
      phase: "other",
      raw: "switching",
      previousRulesEnabled: true,
      newRulesEnabled: false,
    });
    expect(stateText(decideState({ ...before, migration_state: "switching" }))).toBe("switching");
    expect(stateText(decideState(over))).toBe("finished");
    // The word "finished" is contradicted by the previous rules being on.
    expect(stateText(decideState({ ...before, migration_state: "finished" }))).toBe("unknown");
    expect(stateText(decideState({}))).toBe("unknown");
  });
});

test("a target is a minimum: a later state satisfies it, and an unknown state never does", () => {
  const phases = ["start", "validation", "finished", "other", "retired"] as const;
  const rows = phases.map((phase) => [
    phase,
    TARGETS.filter((target) => isReached(target, { phase })).join(" "),
    TARGETS.filter((target) => isFurther(target, { phase })).join(" "),
  ]);
  expect(rows).toEqual([
    ["start", "assessed", ""],
    ["validation", "assessed validation", "assessed"],
    ["finished", "assessed validation finished", "assessed validation"],
    ["other", "assessed", ""],
    ["retired", "assessed", ""],
  ]);
});
