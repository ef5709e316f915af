import { rmSync, writeFileSync } from "node:fs";
import { describeInLongRun, nameOf, opsOf, storyOf } from "./support";

const urn = (name: string): string => `urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::${name}`;

describeInLongRun("what others changed", () => {
  const story = storyOf({
    resources: { still: { args: { size: 1 } }, moved: { args: { size: 1 } }, gone: { args: { size: 1 } } },
  });

  it("is shown by a refresh", async () => {
    const stack = story();
    await stack.up();
    writeFileSync(stack.world((await stack.resource("moved"))?.id ?? ""), JSON.stringify({ size: 7 }));
    rmSync(stack.world((await stack.resource("gone"))?.id ?? ""));
    stack.calls();
    const shown = await stack.ok("refresh", "--preview-only");
    expect(shown).toMatch(/~ {2}pulumi-nodejs:dynamic\/test:Thing {2}moved {2}update\n\s+~ size: 1 => 7/);
    expect(shown).toMatch(/- {2}pulumi-nodejs:dynamic\/test:Thing {2}gone {2}delete/);
    expect(stack.calls().filter((call) => call.startsWith("read"))).toHaveLength(3);
    expect(await stack.resource("gone")).toBeDefined();
  });

  it("is read before a preview where it is asked to", async () => {
    const plan = await story().preview("--refresh");
    expect(opsOf(plan)).toEqual(
      expect.arrayContaining(["create gone", "refresh gone", "refresh moved", "update moved"]),
    );
  });

  it("is taken over by a refresh and put right by the next update", async () => {
    const stack = story();
    const refresh = await stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes");
    expect(refresh).toMatchObject({
      exitCode: 7,
      err: "error: no changes were expected but changes occurred\n",
    });
    expect(await stack.resource("gone")).toBeUndefined();
    expect((await stack.resource("moved"))?.inputs["size"]).toBe(7);
    expect(await stack.up()).toMatch(/~ 1 updated\n\s+\+ 1 created|\+ 1 created\n\s+~ 1 updated/);
  });
});

describeInLongRun("an import file", () => {
  const story = storyOf({
    resources: { a: { args: { size: 1 } }, b: { args: { token: { secret: "hush" } } } },
  });

  it("takes over what exists, and the preview after it is clean", async () => {
    const stack = story();
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

  it("is refused where it brings an id alone", async () => {
    const stack = story();
    const file = stack.file("import.json");
    writeFileSync(
      file,
      JSON.stringify({ resources: [{ type: "pulumi-nodejs:dynamic/test:Thing", name: "x", id: "1" }] }),
    );
    expect((await stack.run("import", "--file", file, "--yes")).err).toContain(
      "does not support importing a dynamic resource by its id (x)",
    );
  });

  it("is not the only way to limit what is touched: targets are another", async () => {
    const stack = story();
    stack.scene({
      resources: { a: { args: { size: 2 } }, b: {}, c: {}, d: { args: { from: { of: "c", take: "made" } } } },
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
