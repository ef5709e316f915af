import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb";
import { goalOf } from "../../local/engine/goal";
import { readProject } from "../../local/engine/project";
import { nameOf, opsOf, sharedStack } from "./support";

describe("the local engine", () => {
  const getStack = sharedStack({ resources: { bad: { args: { size: -1 } } } });

  it("shows a failed check next to its resource, and fails the preview", async () => {
    const plan = await getStack().preview();
    expect(plan.diagnostics).toEqual([
      {
        urn: "urn:pulumi:dev::test::pulumi-nodejs:dynamic/test:Thing::bad",
        severity: "error",
        message:
          "error: pulumi-nodejs:dynamic/test:Thing resource 'bad': property size value {-1} has a problem: it is negative\n",
      },
    ]);
    expect(plan.exitCode).toBe(1);
  });

  it("doesn't record a failed create, lets parallel steps finish, and doesn't start dependents", async () => {
    const stack = getStack();
    stack.setProgram({
      resources: {
        slow: { args: { wait: 600 } },
        bad: { args: { fail: "create", wait: 200 } },
        after: { args: { from: { of: "bad", output: "made" } } },
      },
    });
    const { exitCode, out } = await stack.run("up", "--yes", "--skip-preview");
    expect(exitCode).toBe(1);
    expect(out).toContain("error: cannot create bad");
    expect(out).toContain("error: update failed");
    expect(stack.calls().sort()).toEqual(["create bad", "create slow", "created slow"]);
    const { resources, pending_operations } = await stack.export();
    expect(resources.map(({ urn }) => nameOf(urn))).toEqual(["test-dev", "default", "slow"]);
    expect(pending_operations).toEqual([]);
  });

  it("records an object that was created before the failure, and continues from there in the next update", async () => {
    const stack = getStack();
    stack.setProgram({ resources: { half: { args: { fail: "init" } } }, outputs: { said: "before" } });
    expect((await stack.run("up", "--yes", "--skip-preview")).out).toContain("* the wheels are missing");
    const half = await stack.resource("half");
    expect(half).toMatchObject({ initErrors: ["the wheels are missing"], outputs: { made: "made half" } });
    stack.calls();
    await stack.up();
    expect(stack.calls()).toEqual([`update ${half?.id ?? ""}`, expect.stringMatching(/^delete slow-/)]);

    stack.setProgram({ resources: { half: { args: { fail: "update-init", size: 2 } } } });
    expect((await stack.run("up", "--yes", "--skip-preview")).exitCode).toBe(1);
    const quarter = await stack.resource("half");
    expect(quarter).toMatchObject({ initErrors: ["half done"], outputs: { made: "half", size: 2 } });
    expect(quarter?.inputs["size"]).toBeUndefined();
  });

  it("changes nothing if the program fails, not even the stack's outputs", async () => {
    const stack = getStack();
    stack.calls();
    stack.setProgram({ throws: true });
    const { exitCode, out } = await stack.run("up", "--yes", "--skip-preview");
    expect(exitCode).toBe(1);
    expect(out).toContain("the program is broken");
    expect(stack.calls()).toEqual([]);
    expect(await stack.resource("half")).toBeDefined();
    expect((await stack.resource("test-dev"))?.outputs).toEqual({ said: "before" });
  });

  it("names an unsupported feature, command or option in the error", async () => {
    const stack = getStack();
    stack.setProgram({ uses: "invoke" });
    const plan = await stack.preview();
    expect(opsOf(plan)).toEqual(["same test-dev"]);
    expect(plan.exitCode).toBe(1);
    expect(plan.diagnostics[0]?.message).toContain(
      "the local engine does not support provider functions (`invoke`)",
    );
    expect((await stack.run("preview", "--policy-pack", "x")).err).toContain(
      "unknown option '--policy-pack'",
    );
    expect((await stack.run("whoami")).err).toContain("unknown command 'whoami'");
    expect((await stack.run("refresh", "--yes", "--run-program")).err).toContain(
      "does not support --run-program",
    );
    expect((await stack.run("preview", "--save-plan", "plan.json")).err).toContain(
      "does not support --save-plan: use the Pulumi CLI",
    );
    expect((await stack.run("up", "--yes", "--plan", "plan.json")).err).toContain(
      "does not support --plan: use the Pulumi CLI",
    );
    expect((await stack.run("preview", "--target", "urn:*")).err).toContain(
      "does not support wildcards in targets",
    );
    expect(await stack.run("up")).toMatchObject({ exitCode: 2 });
  });
});

describe("the local engine", () => {
  function hooks(): RegisterResourceRequest.ResourceHooksBinding {
    const binding = new RegisterResourceRequest.ResourceHooksBinding();
    binding.addBeforeCreate("h");
    return binding;
  }

  const request = () =>
    new RegisterResourceRequest().setType("pulumi-nodejs:dynamic:Resource").setName("a").setCustom(true);

  const unknownProvider = () =>
    request()
      .setType("pulumi:providers:pulumi-nodejs")
      .setObject(Struct.fromJavaScript({ token: "04da6b54-80e4-46f7-96ec-b56ff0331ba9" }));

  it.each([
    ["resources of other providers (aws:s3:Bucket)", request().setType("aws:s3:Bucket")],
    [
      "resources of other providers (edgeguard:index:KvNamespace)",
      request().setType("edgeguard:index:KvNamespace"),
    ],
    ["other providers (pulumi:providers:aws)", request().setType("pulumi:providers:aws")],
    ["explicit providers whose inputs are unknown in a preview", unknownProvider()],
    ["remote components", request().setRemote(true)],
    ["the resource option `import`", request().setImportid("id")],
    ["the resource option `deletedWith`", request().setDeletedwith("urn")],
    ["the resource option `replaceOnChanges`", request().setReplaceonchangesList(["a"])],
    ["the resource option `replaceWith`", request().setReplaceWithList(["urn"])],
    ["the resource option `hideDiffs`", request().setHidediffsList(["a"])],
    [
      "the resource option `customTimeouts`",
      request().setCustomtimeouts(new RegisterResourceRequest.CustomTimeouts().setCreate("5m")),
    ],
    ["the resource option `hooks`", request().setHooks(hooks())],
  ])("rejects a resource registration with %s, and says why", (feature, asked) => {
    expect(() => goalOf(asked)).toThrow(`the local engine does not support ${feature}`);
  });
});

it.each([
  ["`plugins` in Pulumi.yaml", "runtime: nodejs\nplugins: { providers: [{ name: edgeguard, path: . }] }"],
  ["the runtime yaml", "runtime: yaml"],
  ["`config` in Pulumi.yaml", "runtime: nodejs\nconfig: { zoneId: x }"],
  ["`backend` in Pulumi.yaml", "runtime: nodejs\nbackend: { url: 'file:///x' }"],
  ["the runtime option `tsconfig`", "runtime: { name: nodejs, options: { tsconfig: t.json } }"],
])("the local engine rejects a project with %s", async (feature, project) => {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-project-"));
  try {
    writeFileSync(join(folder, "Pulumi.yaml"), `name: shop\n${project}\n`);
    await expect(readProject(folder)).rejects.toThrow(`the local engine does not support ${feature}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
