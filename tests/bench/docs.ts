import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { median, type Row } from "./table";

const MOST_SECONDS = 60;

/** Building the reference and the site, with the tools of docs/ installed. */
export async function docs(): Promise<Row[]> {
  const npm = (script: string): void => {
    execFileSync("npm", ["run", "--silent", script], { cwd: resolve(__dirname, "../.."), stdio: "ignore" });
  };
  npm("docs:install");
  return [
    {
      what: "building the reference and the site",
      ours: (await median(1, () => Promise.resolve(npm("docs:site")))) / 1000,
      unit: "s",
      against: "the bound",
      theirs: MOST_SECONDS,
      atMost: 1,
    },
  ];
}
