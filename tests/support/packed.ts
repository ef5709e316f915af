import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { REPOSITORY } from "./engine";

const OURS = "pulumi-edgeguard";

/** Creates a node_modules in `home` as an installation would: the packed package and its dependencies. */
export function packedModules(home: string): string {
  const modules = join(home, "node_modules");
  mkdirSync(modules);
  const installed = join(REPOSITORY, "node_modules");
  for (const name of readdirSync(installed))
    if (name !== OURS) symlinkSync(join(installed, name), join(modules, name));

  // Packs the build that the tests use, without building again.
  const pack = ["pack", "--workspace", "provider", "--pack-destination", home, "--json", "--silent"];
  const printed = execFileSync("npm", [...pack, "--ignore-scripts"], { cwd: REPOSITORY, encoding: "utf8" });
  const [{ filename }] = packed.parse(JSON.parse(printed));
  execFileSync("tar", ["-xzf", join(home, filename), "-C", home]);
  renameSync(join(home, "package"), join(modules, OURS));
  return modules;
}

const packed = z.tuple([z.looseObject({ filename: z.string() })]);
