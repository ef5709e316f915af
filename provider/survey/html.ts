import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { unicodeEscape, visible } from "../basics/printable";
import type { Head, Zone } from "./model";

/**
 * Writes a survey as a single HTML file. It contains its data, style and script, and its content security policy allows
 * no requests and no other scripts.
 *
 * @param out the stream to write to. The caller has to end it.
 */
export async function writeHtml(out: Writable, head: Head, zones: AsyncIterable<Zone>): Promise<void> {
  const { before, after } = shell();
  await write(out, `${before}${dataBlock("head", embedded(head))}${ZONES_START}`);
  let separator = "";
  for await (const zone of zones) {
    await write(out, `${separator}${embedded(zone)}`);
    separator = ",\n";
  }
  await write(out, `${ZONES_END}${after}`);
}

const ZONES_START = '<script type="application/json" id="zones">[\n';
const ZONES_END = "\n]</script>\n";

/** Writes text to a stream, and waits until the stream has accepted it. Throws if the file can't be written. */
export function write(out: Writable, part: string): Promise<void> {
  return new Promise((done, fail) =>
    out.write(part, (error) => {
      if (error) fail(error);
      else done();
    }),
  );
}

function dataBlock(id: string, json: string): string {
  return `<script type="application/json" id="${id}">${json}</script>\n`;
}

/**
 * Formats JSON so that it can be embedded in a script element: it doesn't end the element or start a comment, and
 * contains no invisible characters, such as line breaks.
 */
function embedded(value: object): string {
  return visible(JSON.stringify(value)).replace(/[<>&]/g, unicodeEscape);
}

/** The modules of the page's script. They load each other by file name, and the last one starts the page. */
const MODULES = [
  "../../basics/printable",
  "../protection",
  "../readable",
  "../equal-tasks",
  "../counts",
  "./rows",
  "./dom",
  "./cells",
  "./charts",
  "./columns",
  "./part",
  "./totals",
  "./main",
] as const;

/** Returns the HTML before and after the data. */
function shell(): { readonly before: string; readonly after: string } {
  // Read from the package, because the script runs in another environment than this file: its own project compiles it.
  const root = dirname(require.resolve("pulumi-edgeguard/package.json"));
  const style = readFileSync(join(root, "survey/page/page.css"), "utf8");
  const modules = MODULES.map((path) => {
    const code = readFileSync(join(root, `dist/survey/page/${path}.js`), "utf8");
    return `"${basename(path)}"(require, exports) {\n${code}}`;
  });
  const script = `{
const modules = {\n${modules.join(",\n")}\n};
const loaded = {};
const load = (path) => {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!(name in loaded)) modules[name](load, (loaded[name] = {}));
  return loaded[name];
};
load("${MODULES[MODULES.length - 1]}");
}`;
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
  return {
    before: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Cloudflare survey</title>
<style>${style}</style>
</head>
<body>
<p id="unfinished">The survey appears here once the whole file is loaded. If it doesn't, JavaScript is off or the file is incomplete.
The same data is in survey.csv and survey.json, in the same directory.</p>
`,
    after: `<script>${script}</script>\n</body>\n</html>\n`,
  };
}

/** Returns the CSP source that allows an inline script or style. */
function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
