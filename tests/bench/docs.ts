import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { median, type Row } from "./table";

const run = promisify(execFile);
const MOST_SECONDS = 60;

/** Building the reference and the site, with the tools of docs/ installed. */
export async function docs(): Promise<Row[]> {
  const npm = async (script: string): Promise<void> => {
    await run("npm", ["run", "--silent", script], { cwd: resolve(__dirname, "../..") });
  };
  await npm("docs:install");
  return [
    {
      what: "building the reference and the site",
      ours: (await median(1, () => npm("docs:site"))) / 1000,
      unit: "s",
      against: "the bound",
      theirs: MOST_SECONDS,
      atMost: 1,
    },
  ];
}
