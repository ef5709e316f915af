import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser } from "playwright-core";

/** A Chromium that the npm registry delivers; it is no dependency, because only what looks at pages needs its 66 MB. */
const DELIVERED = "@sparticuz/chromium@147.0.0";

/** The browser of EDGEGUARD_BROWSER, one on the PATH, or the one that the registry delivers. */
export async function launch(): Promise<Browser | undefined> {
  const installed = [
    process.env["EDGEGUARD_BROWSER"],
    ...["chromium", "chromium-browser", "google-chrome"].map(onPath),
  ];
  const executablePath = installed.find((path) => path !== undefined && path !== "") ?? (await delivered());
  if (executablePath === undefined) return undefined;
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
}

function onPath(name: string): string | undefined {
  const { status, stdout } = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

async function delivered(): Promise<string | undefined> {
  const folder = resolve(__dirname, "../node_modules/.cache/browser");
  try {
    mkdirSync(folder, { recursive: true });
    const isThere = existsSync(join(folder, "node_modules/@sparticuz/chromium"));
    if (!isThere)
      execFileSync(
        "npm",
        ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", folder, DELIVERED],
        { stdio: "ignore" },
      );
    const entry = createRequire(join(folder, "package.json")).resolve("@sparticuz/chromium");
    const { default: packed } = (await import(pathToFileURL(entry).href)) as {
      default: { executablePath(): Promise<string> };
    };
    return await packed.executablePath();
  } catch (error) {
    console.log(
      `No browser from the registry: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)}`,
    );
    return undefined;
  }
}
