import { readdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme, type MarkdownEnv } from "vitepress";
import { GUIDES, REGISTRY_PAGES } from "../generate/guides.ts";
import { slug } from "../generate/markdown.ts";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

/** A page by its title. */
function entry(path: string): DefaultTheme.SidebarItem {
  const title = /^# (.*)$/m.exec(readFileSync(`${DOCS}${path}.md`, "utf8"))?.[1] ?? path;
  return { text: title.replaceAll("`", ""), link: `/${path}` };
}

/** The pages of a folder; those named come first, in that order. */
function entries(folder: string, first: readonly string[] = []): DefaultTheme.SidebarItem[] {
  const names = readdirSync(`${DOCS}${folder}`)
    .filter((name) => name.endsWith(".md") && name !== "index.md")
    .map((name) => name.replace(/\.md$/, ""))
    .sort();
  const ordered = [
    ...first.filter((name) => names.includes(name)),
    ...names.filter((name) => !first.includes(name)),
  ];
  return ordered.map((name) => entry(`${folder}/${name}`));
}

function leavesDocs(href: string, page: string): boolean {
  return href.startsWith("../") && !resolve(dirname(page), href).startsWith(DOCS);
}

export default defineConfig({
  title: "pulumi-edgeguard",
  description: "Pulumi resources for Cloudflare: Page Shield, WAF managed rulesets, Logpush and Workers KV",
  lang: "en-US",
  // The site works under any address: DOCS_BASE is the path that it's served from.
  base: process.env["DOCS_BASE"] ?? "/",
  cleanUrls: false,
  srcExclude: ["README.md", ...REGISTRY_PAGES],
  markdown: {
    anchor: { slugify: slug },
    config: ({ renderer: { rules } }) => {
      const openLink = rules.link_open;
      // Links to files outside docs/ are for GitHub: here they are plain text.
      rules.link_open = (tokens, index, options, env: MarkdownEnv, self) => {
        const href = tokens[index]?.attrGet("href") ?? "";
        const close = tokens.slice(index).find(({ type }) => type === "link_close");
        if (close === undefined || !leavesDocs(href, env.path))
          return openLink?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options);
        close.hidden = true;
        return "";
      };
      // Vue would evaluate the "{{" of a template or a message.
      for (const kind of ["text", "code_inline"] as const) {
        const render = rules[kind];
        rules[kind] = (...all) => (render?.(...all) ?? "").replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  themeConfig: {
    logo: "/logo.svg",
    nav: [
      { text: "Guides", link: "/guides/first-hour", activeMatch: "/guides/" },
      { text: "Reference", link: "/reference/", activeMatch: "/reference/" },
      { text: "Messages", link: "/reference/messages" },
    ],
    sidebar: [
      { text: "Guides", items: entries("guides", GUIDES) },
      { text: "Resources", items: entries("reference/resources") },
      { text: "Lookups and functions", items: entries("reference/functions") },
      { text: "Commands", collapsed: true, items: entries("reference/cli") },
      {
        text: "More",
        items: [
          { text: "Reference", link: "/reference/" },
          ...entries("reference"),
          entry("api-differences"),
          entry("glossary"),
        ],
      },
    ],
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        detailedView: true,
        // The table of all messages would hide the sections that explain them.
        _render: (text, env: MarkdownEnv, md) =>
          md.render(env.relativePath === "reference/messages.md" ? text.replace(/^\|.*\n/gm, "") : text, env),
      },
    },
  },
});
