import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DANGERS } from "../../provider/report/model";
import { stepOf, pathOf, planJson, read } from "../report/plans";
import { Shell } from "./shell";
import { BIN, ended } from "./support";

/** `edgeguard report` as a pipeline runs it: its output and exit codes. */

const shell = new Shell("report");
const { bin, here } = shell;

/** The digest that a reviewer copies from the report. */
const digestIn = (name: string): string =>
  /^Digest of these dangers: `([0-9a-f]{64})`$/m.exec(read(`${name}.md`))?.[1] ?? "the report shows none";

describe("edgeguard report, as built", () => {
  test("reads a file or standard input, and writes the report to stdout", async () => {
    const [file, piped] = await Promise.all([bin([pathOf("changed.json")]), bin([], read("changed.json"))]);
    expect(file).toMatchObject({ code: 0, stdout: read("changed.md"), stderr: "" });
    expect(piped).toMatchObject({ code: 0, stdout: read("changed.md"), stderr: "" });
  });

  test("writes the report even if it exits with 1", async () => {
    expect(
      await bin([pathOf("changed.json"), "--format", "text", "--fail-on", "irreversible,blocks"]),
    ).toMatchObject({
      code: 1,
      stdout: read("changed.txt"),
      stderr:
        "edgeguard: the plan has dangers of the kinds in --fail-on: irreversible (WafMigration older), blocks (PageShieldPolicy checkout). " +
        `Read the report. To accept all of its dangers, pass --accept ${digestIn("changed")}\n`,
    });
  });
});

describe("edgeguard report, if its reader stops early", () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  const plans = {
    gated: planJson(...names.map((name) => stepOf("delete", "KvNamespace", name, { old: { title: name } }))),
    drifted: read("drift/data.json"),
  };

  /** The exit code of the command in a shell's pipeline. */
  const piped = async (plan: keyof typeof plans, line: string): Promise<unknown> => {
    writeFileSync(join(shell.cwd, `${plan}.json`), plans[plan]);
    const script = `report() { "${process.execPath}" "${BIN}" report ${plan}.json "$@"; }; ${line}; exit "\${PIPESTATUS[0]}"`;
    const child = spawn("bash", ["-c", script], { cwd: shell.cwd, stdio: ["ignore", "pipe", "pipe"] });
    const { code, stdout, stderr } = await ended(child);
    return { code, bytes: stdout.length, stderr: stderr.slice(0, 60) };
  };

  test("exits with 1 if the plan has dangers", async () => {
    expect(await piped("gated", "report --fail-on delete --format json | head -c 1000")).toEqual({
      code: 1,
      bytes: 1000,
      stderr: "edgeguard: the plan has dangers of the kinds in --fail-on: d",
    });
  });

  test("exits with 0 if nothing is to fail, and with 3 on drift", async () => {
    expect(await piped("gated", "report --format json | head -c 1000")).toEqual({
      code: 0,
      bytes: 1000,
      stderr: "",
    });
    expect(await piped("drifted", "report --drift --format json | (exec <&-; sleep 2)")).toEqual({
      code: 3,
      bytes: 0,
      stderr: "edgeguard: someone changed something manually; the report sa",
    });
  });

  test("exits with 1 if nobody reads its messages either", async () => {
    expect(await piped("gated", "report --fail-on delete --format json 2>&1 | head -c 0")).toEqual({
      code: 1,
      bytes: 0,
      stderr: "",
    });
  });
});

describe("edgeguard report --drift", () => {
  const drift = (name: string): string => pathOf(`drift/${name}.json`);

  test("exits with 3 if someone changed something manually, and with 0 if nobody did", async () => {
    expect(await here(["--drift", drift("data")])).toEqual({
      code: 3,
      stdout: read("drift/data.md"),
      stderr: "edgeguard: someone changed something manually; the report says what\n",
    });
    expect(await here(["--drift"], { input: read("drift/none.json") })).toEqual({
      code: 0,
      stdout: read("drift/none.md"),
      stderr: "",
    });
    expect(await here(["--drift", drift("none"), pathOf("drifted.json")])).toMatchObject({
      code: 1,
      stderr: "edgeguard: two plans are for edge/dev. Pass one plan per stack.\n",
    });
  });

  test("exits with 1 if the preview failed or doesn't show drift, and with 2 if combined with a gate option", async () => {
    expect(await here(["--drift", pathOf("failed.json")])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("### The preview failed") as string,
      stderr: "edgeguard: the preview failed; the report says why\n",
    });
    expect(await here(["--drift", pathOf("changed.json")])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("made without --refresh") as string,
    });
    expect(await here(["--drift", "--fail-on", "unprotect", drift("data")])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'--drift' cannot be used with option '--fail-on <kinds>'") as string,
    });
  });
});

describe("edgeguard report", () => {
  const ALL = DANGERS.join(",");
  test.each<[number, string, string | undefined]>([
    [0, "changed", undefined],
    [1, "changed", "irreversible"],
    [1, "changed", "unprotect"],
    [1, "changed", "blocks"],
    [0, "changed", "replace,delete"],
    [0, "changed", "unseen"],
    [1, "deleted", "unseen"],
    [1, "changed", " delete , irreversible"],
    [0, "created", "irreversible,unprotect,removes,unseen,replace,delete"],
    [1, "created", "blocks"],
    [1, "replaced", "replace"],
    [1, "replaced", "irreversible"],
    [1, "deleted", "delete"],
    [0, "deleted", "replace,blocks"],
    [1, "pruned", "irreversible"],
    [0, "pruned", "unprotect,blocks,removes,unseen,replace,delete"],
    [1, "migrations", "irreversible"],
    [0, "unchanged", ALL],
    [0, "imported", ALL],
    // A failed preview always exits with 1.
    [1, "failed", undefined],
    [1, "refused", undefined],
    [1, "secret", ALL],
  ])("exits with %i for the plan %j and --fail-on %j", async (code, name, failOn) => {
    const ran = await here([pathOf(`${name}.json`), ...(failOn === undefined ? [] : ["--fail-on", failOn])]);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: read(`${name}.md`) });
    expect(ran.stderr).toMatch(
      code === 0 ? /^$/ : /^edgeguard: the (plan has dangers of the kinds in --fail-on: |preview failed)/,
    );
  });

  test("exits with 1 for each kind of several --fail-on", async () => {
    const plan = pathOf("deleted.json");
    expect((await here([plan, "--fail-on", "delete", "--fail-on", "traffic=100"])).code).toBe(1);
    expect((await here([plan, "--fail-on", "traffic=100", "--fail-on", "replace"])).code).toBe(0);
    const traffic = pathOf("traffic.log-to-block.json");
    for (const counts of [
      ["traffic=0", "traffic=9999999"],
      ["traffic=9999999", "traffic=0"],
    ])
      expect((await here([traffic, ...counts.flatMap((each) => ["--fail-on", each])])).code).toBe(1);
    expect((await here([traffic, "--fail-on", "traffic=9999999"])).code).toBe(0);
  });

  test("exits with 1 and lists the first five names if there are many dangers", async () => {
    const steps = Array.from({ length: 8 }, (_, i) =>
      stepOf("delete", "PageShieldPolicy", `p${i}`, { old: { action: "log" } }),
    );
    const { code, stderr } = await here(["--fail-on", "delete"], { input: planJson(...steps) });
    expect(code).toBe(1);
    expect(stderr).toMatch(/delete \(PageShieldPolicy p4\), and 3 more\. Read /);
  });

  test.each<[number, string, string[], RegExp]>([
    [
      1,
      "a missing file",
      ["nothing.json"],
      /^edgeguard: the plan in nothing\.json can't be read: it does not exist/,
    ],
    [1, "a directory", ["."], /it is a directory/],
    [1, "empty input", [], /^edgeguard: no plan: the input is empty/],
    [
      1,
      "the plan of a refresh",
      [pathOf("refreshed.json")],
      /^edgeguard: \S*refreshed\.json: this is the plan of a `pulumi refresh`/,
    ],
    [1, "text that isn't JSON", [pathOf("changed.md")], /^edgeguard: \S*changed\.md: this isn't a plan from/],
    [
      1,
      "drift in such text",
      ["--drift", pathOf("changed.md")],
      /^edgeguard: \S*changed\.md: this isn't a plan/,
    ],
    [
      2,
      "an unknown danger",
      ["--fail-on", "irreversible,danger"],
      /"danger" is not a kind of danger\. Choose from irreversible, unprotect, blocks, traffic, removes, unseen, replace, delete/,
    ],
    [2, "an empty kind", ["--fail-on", ""], /"" is not a kind of danger/],
    [2, "a short digest", ["--accept", "0d8f6deb"], /"0d8f6deb" is not a digest \(64 hex digits\)/],
    [2, "an unknown format", ["--format", "html"], /Allowed choices are markdown, text, json/],
    [2, "standard input twice", ["-", "-"], /only one plan can come from standard input/],
    [
      1,
      "two files of which one isn't a plan",
      [pathOf("changed.json"), pathOf("changed.md")],
      /changed\.md: this isn't a plan/,
    ],
    [
      1,
      "two plans of one stack",
      [pathOf("changed.json"), pathOf("deleted.json")],
      /two plans are for edge\/dev/,
    ],
    [2, "an unknown option", ["--fail"], /unknown option '--fail'/],
  ])("exits with %i for %s, and writes nothing to stdout", async (code, _, args, sentence) => {
    const ran = await here(args);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" });
    expect(ran.stderr).toMatch(sentence);
  });

  test("exits with 2 if there's no plan and stdin is a terminal", async () => {
    expect(await here([], { tty: true })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no plan\. Pass a file/) as string,
    });
  });
});

describe("edgeguard report --accept", () => {
  const GATE = ["--fail-on", "irreversible,unprotect"];

  test("lets accepted dangers pass, and marks them in the report", async () => {
    const ran = await here([pathOf("changed.json"), ...GATE, "--accept", digestIn("changed")]);
    const accepted = read("changed.md").replace(/^- \*\*(\w+)\*\*/gm, "- **$1 (accepted)**");
    expect(ran).toMatchObject({ code: 0, stdout: accepted, stderr: "" });
  });

  test("fails if the accepted digest belongs to another plan, and prints the right one", async () => {
    const { code, stderr } = await here([
      pathOf("changed.json"),
      ...GATE,
      "--accept",
      digestIn("migrations"),
    ]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(
          `--accept ${digestIn("migrations")}: no danger in this plan has that digest\\. .* Read the report again, then pass --accept ${digestIn("changed")}\\n$`,
        ),
      ) as string,
    });
  });

  test("still fails if only one of several dangers is accepted", async () => {
    const json = await here([pathOf("changed.json"), "--format", "json"]);
    const [migration, ...others] = dangersIn.parse(JSON.parse(json.stdout)).dangers;
    const one = await here([pathOf("changed.json"), ...GATE, "--accept", migration?.digest ?? ""]);
    expect(one).toMatchObject({
      code: 1,
      stderr: expect.not.stringContaining("WafMigration older") as string,
    });
    const all = [migration, ...others].flatMap((danger) => ["--accept", danger?.digest ?? ""]);
    expect(await here([pathOf("changed.json"), ...GATE, ...all])).toMatchObject({ code: 0, stderr: "" });
  });

  test("changes nothing for a failed preview or a plan without dangers", async () => {
    const accept = ["--accept", digestIn("changed")];
    expect(await here([pathOf("failed.json"), ...accept])).toMatchObject({ code: 1 });
    expect(await here([pathOf("unchanged.json"), ...GATE, ...accept])).toMatchObject({ code: 0, stderr: "" });
  });

  const dangersIn = z.object({ dangers: z.array(z.object({ digest: z.string() })) });
});

test("edgeguard report --help has an example of each report and explains each kind of danger", async () => {
  const { code, stdout } = await here(["--help"]);
  expect(code).toBe(0);
  expect(stdout.match(/^ {2}\$ .*$/gm)).toHaveLength(2);
  for (const kind of ["irreversible", "unprotect", "blocks", "replace", "delete"])
    expect(stdout).toMatch(new RegExp(`^  ${kind} +\\w`, "m"));
});
