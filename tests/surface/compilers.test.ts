import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { folderPerFile } from "../support/bench";
import { describeLong } from "../support/long";
import { packedModules } from "../support/packed";
import { compileImports } from "./compile";

const SDK = "@pulumi/pulumi";
const NODE_NEXT = ["--module", "nodenext"];
const NODE10 = ["--module", "commonjs", "--moduleResolution", "node10"];
/** The compilers that read the package, with the resolutions that each has. Version 7 has no node10 anymore. */
const COMPILERS: readonly (readonly [version: string, resolutions: readonly (readonly string[])[]])[] = [
  ["5.9", [NODE10, NODE_NEXT]],
  ["6", [[...NODE10, "--ignoreDeprecations", "6.0"], NODE_NEXT]],
  ["7", [["--module", "commonjs", "--moduleResolution", "bundler"], NODE_NEXT]],
];

describeLong("the published package with other versions of TypeScript", () => {
  const home = folderPerFile("compilers");
  beforeAll(() => {
    packedModules(home);
    const compilers = join(home, "compilers");
    mkdirSync(compilers);
    const named = COMPILERS.map(([version]) => `typescript-${version}@npm:typescript@${version}`);
    const install = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
    execFileSync("npm", [...install, "--prefix", compilers, ...named], { stdio: "ignore" });
  }, 240_000);

  it.each(
    COMPILERS.flatMap(([version, resolutions]) =>
      resolutions.flatMap((resolution) =>
        [[], ["--skipLibCheck"]].map((skip) => [version, [...resolution, ...skip].join(" ")] as const),
      ),
    ),
  )(
    "TypeScript %s with %s reports no errors and reads only a few more files than for the SDK alone",
    async (version, options) => {
      const tsc = join(home, `compilers/node_modules/typescript-${version}/bin/tsc`);
      const compile = (...modules: string[]) => compileImports(tsc, home, modules, options.split(" "));
      const theirs = await compile(SDK);
      const ours = await compile("pulumi-edgeguard");
      expect([theirs.errors, ours.errors]).toEqual([[], []]);
      expect(theirs.files).toBeGreaterThan(100);
      expect(ours.files / theirs.files).toBeLessThan(1.1);

      // Version 7 finds errors in the declarations of @pulumi/policy itself.
      const policies = await compile("@pulumi/policy");
      const all = await compile("pulumi-edgeguard", "pulumi-edgeguard/policies", "pulumi-edgeguard/testing");
      expect(all.errors).toEqual(policies.errors);
    },
  );
});
