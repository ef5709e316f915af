import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderPerTest } from "../support/bench";
import { describeLong } from "../support/long";
import { REPOSITORY } from "../support/repository";

/** The samples in three test runners, as a project's own tests: what passes, and how a wrong argument fails. */

const SAMPLES = join(__dirname, "samples");
const SENTENCE = /PageShieldPolicy "shop": value\.scriptSrc\[0\]: script-src has self without quotes/g;
const FAILED = ["fails with runProgram", "fails with checkedMocks"];

/** Everything that a runner prints, with the failing tests. */
function output(command: string, args: readonly string[], cwd: string): string {
  const { stdout, stderr, status } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, FAILING: "1", NO_COLOR: "1", FORCE_COLOR: "0", NODE_OPTIONS: "" },
  });
  expect(status).toBe(1);
  return stdout + stderr;
}

test("with node:test, an invalid argument fails the test with the preview's message", () => {
  const text = output(process.execPath, ["--test", "--test-reporter", "tap", "node-test.cjs"], SAMPLES);
  const failed = [...text.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, title]) => title);
  expect(failed).toEqual(FAILED);
  expect(text).toMatch(/# pass 3\b/);
  expect(text.match(SENTENCE)?.length).toBeGreaterThanOrEqual(2);
});

describeLong("in the samples for other test runners", () => {
  const folder = folderPerTest("runner");
  beforeEach(() => {
    cpSync(SAMPLES, folder, { recursive: true });
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["@pulumi", "pulumi-edgeguard", "edgeguard-local"])
      symlinkSync(join(REPOSITORY, "node_modules", name), join(folder, "node_modules", name));
  });

  test("an invalid argument fails a Jest test with the preview's message", () => {
    // A project's installed packages aren't transformed; here, they're linked.
    const jestConfig = { transform: {}, testTimeout: 60_000 };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, jest: jestConfig }));
    const jest = join(REPOSITORY, "node_modules/jest/bin/jest.js");
    const text = output(process.execPath, [jest, "--verbose", "--testMatch", "**/jest-test.cjs"], folder);
    expect([...text.matchAll(/✕ (.*) \(/g)].map(([, title]) => title)).toEqual(FAILED);
    expect(text).toMatch(/3 passed/);
    expect(text.match(SENTENCE)?.length).toBeGreaterThanOrEqual(2);
  });

  test("an invalid argument fails a Vitest test with the preview's message", () => {
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const install = ["install", "--prefix", join(folder, "runner"), "--no-audit", "--no-fund", "vitest@4"];
    expect(spawnSync("npm", install, { encoding: "utf8" })).toMatchObject({ status: 0 });
    for (const name of ["vitest", "vite"])
      symlinkSync(join(folder, "runner/node_modules", name), join(folder, "node_modules", name));
    const { bin } = JSON.parse(readFileSync(join(folder, "node_modules/vitest/package.json"), "utf8")) as {
      bin: { vitest: string };
    };
    const vitest = join(folder, "node_modules/vitest", bin.vitest);
    writeFileSync(
      join(folder, "vitest.config.mjs"),
      'export default { test: { include: ["vitest-test.mjs"], reporters: ["verbose"] } };',
    );
    const text = output(process.execPath, [vitest, "run"], folder);
    expect(text).toMatch(/3 passed|4 passed/); // Vitest reports a rejection that no test waits for beside the tests.
    expect(text).toMatch(/fails with runProgram/);
    expect(text.match(SENTENCE)?.length).toBeGreaterThanOrEqual(2);
  });
});
