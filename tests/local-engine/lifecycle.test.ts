import { readFileSync } from "node:fs";
import { nameOf, opsOf, sharedStack, withoutIds } from "./support";

const URN = "urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::";

describe("the local engine", () => {
  const getStack = sharedStack({
    resources: {
      group: { type: "Group" },
      first: { args: { size: 1, list: [1, 2] } },
      second: {
        args: { from: { of: "first", output: "made" }, token: { secret: "hush-hush" } },
        opts: { parent: "group" },
      },
      third: { type: "Plain", args: { deep: { a: 1, b: [1] } }, opts: { dependsOn: ["second"] } },
    },
    outputs: { made: { of: "first", output: "made" }, token: { of: "second", output: "token" } },
    prints: "hello from the program",
  });

  it("previews without creating anything, and shows unknown outputs", async () => {
    const stack = getStack();
    await stack.ok("config", "set", "--secret", "token", "very-secret");
    await stack.ok("config", "set", "plain", "seen");
    const plan = await stack.preview();
    expect(opsOf(plan)).toEqual([
      "create first",
      "create group",
      "create second",
      "create test-dev",
      "create third",
    ]);
    expect(plan.changeSummary).toEqual({ create: 5 });
    expect(plan.config).toEqual({ "test:plain": "seen", "test:token": "[secret]" });
    expect(plan.diagnostics).toEqual([{ message: "hello from the program\n\n", severity: "info" }]);
    const second = plan.steps.find(({ urn }) => nameOf(urn) === "second");
    expect(second?.urn).toBe(
      "urn:pulumi:dev::test::test:index:Group$pulumi-nodejs:dynamic/test:Thing::second",
    );
    expect(second?.newState?.inputs).toMatchObject({
      from: "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
      token: "[secret]",
    });
    expect(stack.calls()).toEqual([]);
  });

  it("creates resources in dependency order, and records the dependencies", async () => {
    const stack = getStack();
    const shown = await stack.up();
    expect(readFileSync(stack.file("objects/calls.log"), "utf8")).toContain("configure very-secret");
    expect(stack.calls()).toEqual(["create first", "created first", "create second", "created second"]);
    expect(shown).toContain("+ 5 created");
    const names = (await stack.export()).resources.map(({ urn }) => nameOf(urn));
    expect(names.indexOf("second")).toBeGreaterThan(names.indexOf("first"));
    expect(names.indexOf("third")).toBeGreaterThan(names.indexOf("second"));
    expect(await stack.resource("second")).toMatchObject({
      parent: "urn:pulumi:dev::test::test:index:Group::group",
      dependencies: [`${URN}first`],
      propertyDependencies: { from: [`${URN}first`], token: [] },
      inputs: { from: "made first" },
    });
  });

  it("does nothing in a second update, and leaves the state file unchanged", async () => {
    const stack = getStack();
    const before = stack.stateFile();
    const shown = await stack.up("--expect-no-changes");
    expect(shown).toContain("5 unchanged");
    expect(stack.calls()).toEqual([]);
    expect(withoutTime(stack.stateFile())).toBe(withoutTime(before));
  });

  it("keeps secrets encrypted, and shows them only on request", async () => {
    const stack = getStack();
    expect(stack.stateFile()).not.toMatch(/hush-hush|very-secret/);
    const settings = readFileSync(stack.file("Pulumi.dev.yaml"), "utf8");
    expect(settings).toMatch(/config:\n {2}test:token:\n {4}secure: v1:.*\n {2}test:plain: seen/);
    expect(await stack.ok("preview", "--diff")).not.toMatch(/hush-hush|very-secret/);
    expect((await stack.resource("second"))?.outputs["token"]).toMatchObject({
      ciphertext: expect.stringMatching(/^v1:/) as string,
    });
    expect((await stack.resource("second", "--show-secrets"))?.outputs["token"]).toMatchObject({
      plaintext: '"hush-hush"',
    });
    const passphrase = stack.env["PULUMI_CONFIG_PASSPHRASE"];
    stack.env["PULUMI_CONFIG_PASSPHRASE"] = "wrong";
    expect(await stack.run("up", "--yes")).toMatchObject({
      exitCode: 1,
      err: "error: incorrect passphrase\n",
    });
    stack.env["PULUMI_CONFIG_PASSPHRASE"] = passphrase;
  });

  it("previews changes to objects and lists element by element", async () => {
    const stack = getStack();
    stack.setProgram({
      resources: {
        renamed: {
          args: { label: "first", size: 2, list: [1, 3, 4] },
          opts: {
            aliases: [{ name: "first" }],
            ignoreChanges: ["size"],
            additionalSecretOutputs: ["made"],
            protect: true,
          },
        },
        third: {
          type: "Plain",
          args: { deep: { a: 2, b: [1, 2] }, more: true },
          opts: { retainOnDelete: true },
        },
      },
    });
    const plan = await stack.preview();
    expect(opsOf(plan)).toEqual([
      "delete group",
      "delete second",
      "same test-dev",
      "update renamed",
      "update third",
    ]);
    const { exitCode, out, err } = await stack.run("preview", "--expect-no-changes");
    expect(exitCode).toBe(7);
    expect(err).toBe("error: no changes were expected but changes were proposed\n");
    expect(out).toMatch(
      /~ {2}pulumi-nodejs:dynamic\/test:Thing {2}renamed {2}update\n\s+~ list\[1\]: 2 => 3\n\s+\+ list\[2\]: 4\n/,
    );
    expect(out).not.toContain("__provider");
  });

  it("updates in place, and honors resource options", async () => {
    const stack = getStack();
    await stack.up();
    expect(withoutIds(stack.calls())).toEqual(["update first", "delete second"]);
    expect(await stack.resource("first")).toBeUndefined();
    expect(await stack.resource("renamed")).toMatchObject({
      inputs: { size: 1, list: [1, 3, 4] },
      protect: true,
      outputs: { made: { ciphertext: expect.any(String) as string } },
    });
  });

  it("refuses to delete a protected resource and its dependencies", async () => {
    const stack = getStack();
    const { exitCode, out } = await stack.run("destroy", "--yes", "--skip-preview");
    expect(exitCode).toBe(1);
    expect(out).toContain("because it is protected");
    expect(stack.calls()).toEqual([]);
    expect((await stack.export()).resources.map(({ urn }) => nameOf(urn))).toEqual([
      "test-dev",
      "default",
      "renamed",
    ]);
  });

  it("destroys everything in reverse order", async () => {
    const stack = getStack();
    stack.setProgram({
      resources: {
        renamed: { args: { label: "first" } },
        user: { args: { from: { of: "renamed", output: "made" } } },
        friend: { opts: { dependsOn: ["user"] } },
      },
    });
    await stack.up();
    stack.calls();
    expect(await stack.ok("destroy", "--yes", "--skip-preview")).toContain("- 4 deleted");
    expect(withoutIds(stack.calls())).toEqual(["delete friend", "delete user", "delete first"]);
    expect((await stack.export()).resources).toEqual([]);
    expect(await stack.run("preview", "--stack", "other")).toMatchObject({ exitCode: 6 });
  });
});

/** The manifest contains the time of the write. */
const withoutTime = (state: string): string => state.replace(/"time":"[^"]*"/, "");
