import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GUIDES, REGISTRY_PAGES } from "./guides";
import { firstSentence, lines, list, section, table, type Page } from "./markdown";
import type { Model } from "./model";

/** The front page of the reference. */
export function indexPage(pages: readonly Page[], model: Model): Page {
  const under = (folder: string): readonly Page[] => pages.filter(({ path }) => path.startsWith(folder));
  const listed = (all: readonly Page[]): string =>
    list(all.map(({ title, path, summary }) => `[${title}](${path}): ${summary}`));
  return {
    path: "index.md",
    title: "Reference",
    summary: "Every resource, lookup, function, command, setting and message.",
    body: lines(
      "Start with the [permissions](permissions.md) that an API token needs and Cloudflare's [limits](limits.md). The " +
        "[glossary](../glossary.md) has the words that these pages use.",
      section(
        2,
        "Resources",
        table(
          ["Resource", "What it is", "What destroy does"],
          under("resources/").map(({ title, path, summary }) => [
            `[${title}](${path})`,
            summary,
            firstSentence(model.item(title).doc.destroy ?? ""),
          ]),
        ),
      ),
      section(
        2,
        "Lookups",
        "Lookups read what exists. They call the API on every preview.",
        listed(under("functions/")),
      ),
      section(2, "Commands", listed(under("cli/"))),
      section(2, "Tables", listed(pages.filter(({ path }) => !path.includes("/")))),
    ),
  };
}

/** A guide's place in the sidebar. Others come after the guides. */
function placeOf(file: string): number {
  const index = GUIDES.indexOf(file.replace(/\.md$/, ""));
  return index < 0 ? GUIDES.length : index;
}

/** The file for language models: every page with one line (https://llmstxt.org). */
export function llmsText(reference: readonly Page[]): string {
  const docs = join(__dirname, "..");
  const guides = ["guides", "."].flatMap((folder) =>
    readdirSync(join(docs, folder))
      .filter((name) => name.endsWith(".md") && !["index.md", ...REGISTRY_PAGES].includes(name))
      .sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1))
      .map((name) => {
        const text = readFileSync(join(docs, folder, name), "utf8");
        const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
        const first = /^# .*\n+(?!```|#)((?:.+\n)+)/m.exec(text)?.[1] ?? "";
        const summary = firstSentence(first.trim());
        return `[${title}](${join(folder, name)})${summary === "" ? "" : `: ${summary}`}`;
      }),
  );
  const pages = reference.map(
    ({ title, path, summary }) => `[${title.replaceAll("`", "")}](reference/${path}): ${summary}`,
  );
  return `${lines(
    "# pulumi-edgeguard",
    "> Pulumi dynamic resources in TypeScript for Cloudflare zones: Page Shield, WAF managed rulesets, WAF migration, Logpush and Workers KV.",
    section(2, "Guides", list(guides)),
    section(2, "Reference", list(pages)),
  )}\n`;
}
