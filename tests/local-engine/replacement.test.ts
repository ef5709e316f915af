import { nameOf, sharedStack, withoutIds, type Resource, type ProgramSpec } from "./support";
import { describeLong } from "../support/long";

const FORCED = "urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::forced";

/** A resource, and one that uses its ID. Changing `kind` replaces both. */
function pair(name: string, kind: string, args: Record<string, unknown> = {}): Record<string, Resource> {
  return {
    [name]: { args: { kind, ...args } },
    [`${name}User`]: { args: { kind: { of: name, output: "id" } } },
  };
}

const programWith = (kind: string, x: number, safe = "one"): ProgramSpec => ({
  resources: {
    ...pair("after", kind),
    ...pair("before", kind, { deleteFirst: true }),
    plain: { type: "Plain", args: { x } },
    safe: { args: { kind: safe }, opts: { protect: true } },
    forced: {},
  },
});

describeLong("a replacement", () => {
  const getStack = sharedStack(programWith("one", 1));

  it("is planned as one step, with its reasons", async () => {
    const stack = getStack();
    await stack.up();
    stack.calls();
    stack.setProgram(programWith("two", 2));
    const plan = await stack.preview();
    expect(plan.changeSummary).toEqual({ replace: 4, same: 3, update: 1 });
    const replaced = plan.steps.filter(({ op }) => op === "replace");
    expect(replaced.map(({ urn }) => nameOf(urn)).sort()).toEqual([
      "after",
      "afterUser",
      "before",
      "beforeUser",
    ]);
    expect(replaced.find(({ urn }) => nameOf(urn) === "after")).toMatchObject({
      replaceReasons: ["kind"],
      detailedDiff: null,
    });
  });

  it("can create the new resource first, or delete the old one first", async () => {
    const stack = getStack();
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

  it("fails for a protected resource, and is limited to the targets of --target-replace", async () => {
    const stack = getStack();
    stack.setProgram(programWith("two", 2, "two"));
    const { exitCode, out } = await stack.run("up", "--yes", "--skip-preview");
    expect(exitCode).toBe(1);
    expect(out).toContain("as it is currently marked for protection");
    expect(stack.calls()).toEqual([]);

    await stack.up("--target-replace", FORCED);
    expect(withoutIds(stack.calls())).toEqual(["create forced", "created forced", "delete forced"]);
  });
});

describeLong("a replacement that fails halfway", () => {
  const getStack = sharedStack({ resources: { base: { args: { kind: "one", deleteFirst: true } } } });

  it("continues in the next update if the old resource was already deleted", async () => {
    const stack = getStack();
    await stack.up();
    stack.setProgram({ resources: { base: { args: { kind: "two", deleteFirst: true, fail: "create" } } } });
    expect(await stack.run("up", "--yes", "--skip-preview")).toMatchObject({ exitCode: 1 });
    expect(await stack.resource("base")).toMatchObject({ pendingReplacement: true });
    stack.calls();
    stack.setProgram({ resources: { base: { args: { kind: "two", deleteFirst: true, fail: "delete" } } } });
    await stack.up();
    expect(stack.calls()).toEqual(["create base", "created base"]);
    expect((await stack.resource("base"))?.["pendingReplacement"]).toBeUndefined();
  });

  it("keeps the old resource in the state until it can be deleted", async () => {
    const stack = getStack();
    stack.setProgram({ resources: { base: { args: { kind: "three" } } } });
    expect((await stack.run("up", "--yes", "--skip-preview")).out).toContain("cannot delete base-");
    const both = (await stack.export()).resources.filter(({ urn }) => nameOf(urn) === "base");
    expect(both.map((each) => each["delete"] ?? false)).toEqual([false, true]);
  });
});
