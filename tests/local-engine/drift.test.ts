import { rmSync, writeFileSync } from "node:fs";
import { nameOf, opsOf, sharedStack } from "./support";
import { describeLong } from "../support/long";

const urn = (name: string): string => `urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::${name}`;

describeLong("drift on the local engine", () => {
  const getStack = sharedStack({
    resources: { still: { args: { size: 1 } }, moved: { args: { size: 1 } }, gone: { args: { size: 1 } } },
  });

  it("is shown by a preview with --refresh", async () => {
    const stack = getStack();
    await stack.up();
    writeFileSync(stack.objectFile((await stack.resource("moved"))?.id ?? ""), JSON.stringify({ size: 7 }));
    rmSync(stack.objectFile((await stack.resource("gone"))?.id ?? ""));
    expect(opsOf(await stack.preview("--refresh"))).toEqual(
      expect.arrayContaining(["create gone", "refresh moved", "update moved"]),
    );
    expect(await stack.resource("gone")).toBeDefined();
  });

  it("is recorded by a refresh, and repaired by the next update", async () => {
    const stack = getStack();
    const refresh = await stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes");
    expect(refresh).toMatchObject({
      exitCode: 7,
      err: "error: no changes were expected but changes occurred\n",
    });
    expect(refresh.out).toMatch(
      /~ {2}pulumi-nodejs:dynamic\/test:Thing {2}moved {2}updated\n\s+~ size: 1 => 7/,
    );
    expect(refresh.out).toMatch(/- {2}pulumi-nodejs:dynamic\/test:Thing {2}gone {2}deleted/);
    expect(await stack.resource("gone")).toBeUndefined();
    expect((await stack.resource("moved"))?.inputs["size"]).toBe(7);
    expect(await stack.up()).toMatch(/~ 1 updated\n\s+\+ 1 created|\+ 1 created\n\s+~ 1 updated/);
  });
});

describeLong("the local engine", () => {
  const getStack = sharedStack({
    resources: { a: { args: { size: 1 } }, b: { args: { token: { secret: "hush" } } } },
  });

  it("imports existing resources from a file, and the next preview shows no changes", async () => {
    const stack = getStack();
    await stack.up();
    const { resources } = await stack.export("--show-secrets");
    const things = resources.filter(({ type }) => type.startsWith("pulumi-nodejs:"));
    const entries = things.map(({ type, urn: of, id, inputs, outputs }) => ({
      type,
      name: nameOf(of),
      id,
      inputs,
      outputs,
    }));
    const file = stack.file("import.json");
    writeFileSync(file, JSON.stringify({ resources: entries }));
    await stack.ok("stack", "init", "second");
    stack.calls();
    const shown = await stack.ok(
      "import",
      "--file",
      file,
      "--yes",
      "--skip-preview",
      "--protect=false",
      "--generate-code=false",
    );
    expect(shown).toContain("= 2 imported");
    expect(stack.calls()).toEqual([]);
    expect(opsOf(await stack.preview("--show-sames"))).toEqual(["same a", "same b", "same test-second"]);
    await stack.ok("stack", "select", "dev");
  });

  it("rejects an import file that contains only a resource's ID", async () => {
    const stack = getStack();
    const file = stack.file("import.json");
    writeFileSync(
      file,
      JSON.stringify({ resources: [{ type: "pulumi-nodejs:dynamic/test:Thing", name: "x", id: "1" }] }),
    );
    expect((await stack.run("import", "--file", file, "--yes")).err).toContain(
      "does not support importing a dynamic resource by its ID alone (x)",
    );
  });

  it("limits updates and destroys to the resources in --target", async () => {
    const stack = getStack();
    stack.setProgram({
      resources: {
        a: { args: { size: 2 } },
        b: {},
        c: {},
        d: { args: { from: { of: "c", output: "made" } } },
      },
    });
    await stack.up("--target", urn("c"), "--target", urn("d"));
    expect(stack.calls()).toEqual(["create c", "created c", "create d", "created d"]);
    expect((await stack.resource("a"))?.inputs["size"]).toBe(1);
    const alone = await stack.run("destroy", "--yes", "--skip-preview", "--target", urn("c"));
    expect(alone.out).toContain(
      `Resource '${urn("d")}' will be destroyed but was not specified in --target list`,
    );
    expect(stack.calls()).toEqual([]);
    await stack.ok("destroy", "--yes", "--skip-preview", "--target", urn("d"));
    expect((await stack.export()).resources.map(({ urn: of }) => nameOf(of)).sort()).toEqual([
      "a",
      "b",
      "c",
      "default",
      "test-dev",
    ]);
    expect((await stack.run("destroy", "--yes", "--skip-preview", "--target", urn("nobody"))).out).toContain(
      `Target '${urn("nobody")}' could not be found in the stack`,
    );
  });
});
