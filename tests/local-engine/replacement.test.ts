import { describeInLongRun, nameOf, opsOf, storyOf, withoutIds, type Resource, type Scene } from "./support";

const FORCED = "urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::forced";

/** A resource and one that is made of its id; both are replaced when `kind` changes. */
function pair(name: string, kind: string, args: Record<string, unknown> = {}): Record<string, Resource> {
  return {
    [name]: { args: { kind, ...args } },
    [`${name}User`]: { args: { kind: { of: name, take: "id" } } },
  };
}

const scene = (kind: string, x: number, safe = "one"): Scene => ({
  resources: {
    ...pair("after", kind),
    ...pair("before", kind, { deleteFirst: true }),
    plain: { type: "Plain", args: { x }, opts: { replaceOnChanges: ["x"] } },
    safe: { args: { kind: safe }, opts: { protect: true } },
    forced: {},
  },
});

describeInLongRun("a replacement", () => {
  const story = storyOf(scene("one", 1));

  it("is planned as one step, with its reasons", async () => {
    const stack = story();
    await stack.up();
    stack.calls();
    stack.scene(scene("two", 2));
    const plan = await stack.preview("--replace", FORCED, "--show-replacement-steps");
    expect(plan.changeSummary).toEqual({ replace: 6, same: 2 });
    expect(opsOf(plan)).toEqual(
      expect.arrayContaining(["create-replacement after", "delete-replaced after"]),
    );
    const replaced = plan.steps.filter(({ op }) => op === "replace");
    expect(replaced.map(({ urn }) => nameOf(urn)).sort()).toEqual([
      "after",
      "afterUser",
      "before",
      "beforeUser",
      "forced",
      "plain",
    ]);
    expect(replaced.find(({ urn }) => nameOf(urn) === "after")).toMatchObject({
      replaceReasons: ["kind"],
      detailedDiff: null,
    });
    expect(replaced.find(({ urn }) => nameOf(urn) === "plain")?.detailedDiff).toEqual({
      x: { kind: "update-replace", inputDiff: true },
    });
  });

  it("makes the new one before it deletes the old one, or the other way round", async () => {
    const stack = story();
    await stack.up();
    const calls = withoutIds(stack.calls()).filter((call) => !call.startsWith("created"));
    const about = (name: string): string[] => calls.filter((call) => call.includes(name));
    expect(about("after")).toEqual(["create after", "create afterUser", "delete afterUser", "delete after"]);
    expect(about("before")).toEqual([
      "delete beforeUser",
      "delete before",
      "create before",
      "create beforeUser",
    ]);
    expect(about("forced")).toEqual([]);
    expect((await stack.export()).resources.filter((each) => each["delete"] === true)).toEqual([]);
  });

  it("is refused for what is protected, and done for what is named", async () => {
    const stack = story();
    stack.scene(scene("two", 2, "two"));
    const { exitCode, out } = await stack.run("up", "--yes", "--skip-preview");
    expect(exitCode).toBe(1);
    expect(out).toContain("as it is currently marked for protection");
    expect(stack.calls()).toEqual([]);

    await stack.up("--target-replace", FORCED);
    expect(withoutIds(stack.calls())).toEqual(["create forced", "created forced", "delete forced"]);
  });
});

describeInLongRun("a replacement that fails halfway", () => {
  const story = storyOf({ resources: { base: { args: { kind: "one", deleteFirst: true } } } });

  it("is gone on with where the old one is deleted already", async () => {
    const stack = story();
    await stack.up();
    stack.scene({ resources: { base: { args: { kind: "two", deleteFirst: true, fail: "create" } } } });
    expect(await stack.run("up", "--yes", "--skip-preview")).toMatchObject({ exitCode: 1 });
    expect(await stack.resource("base")).toMatchObject({ pendingReplacement: true });
    stack.calls();
    stack.scene({ resources: { base: { args: { kind: "two", deleteFirst: true, fail: "delete" } } } });
    await stack.up();
    expect(stack.calls()).toEqual(["create base", "created base"]);
    expect((await stack.resource("base"))?.["pendingReplacement"]).toBeUndefined();
  });

  it("keeps the old one in the state until it could be deleted", async () => {
    const stack = story();
    stack.scene({ resources: { base: { args: { kind: "three" } } } });
    expect((await stack.run("up", "--yes", "--skip-preview")).out).toContain("cannot delete base-");
    const both = (await stack.export()).resources.filter(({ urn }) => nameOf(urn) === "base");
    expect(both.map((each) => each["delete"] ?? false)).toEqual([false, true]);
  });
});
