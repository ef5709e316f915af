import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme } from "vitepress";
import { slug } from "../generate/markdown.ts";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

const GUIDES = [
  "first-hour",
  "policy-from-detections",
  "rules-logs-kv",
  "migrate-a-waf",
  "pipelines",
  "many-zones",
  "state-and-secrets",
  "troubleshooting",
  "how-it-works",
  "differences-from-terraform",
];

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

export default defineConfig({
  title: "pulumi-edgeguard",
  description: "Pulumi resources for Cloudflare: Page Shield, WAF managed rulesets, Logpush and Workers KV",
  lang: "en-US",
  // The site works under any address: DOCS_BASE is the path that it's served from.
  base: process.env["DOCS_BASE"] ?? "/",
  cleanUrls: false,
  srcExclude: ["README.md"],
  // Links to files outside docs/ are for GitHub; a test checks that they exist.
  ignoreDeadLinks: [
    /\/(tests|examples|provider|local)\//,
    /^(\.\.\/)+(README|CONTRIBUTING|CHANGELOG|examples|tests)/,
  ],
  markdown: {
    anchor: { slugify: slug },
    // Vue would evaluate the "{{" of a template or a message.
    config: ({ renderer: { rules } }) => {
      for (const kind of ["text", "code_inline"] as const) {
        const render = rules[kind];
        rules[kind] = (...all) => (render?.(...all) ?? "").replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  themeConfig: {
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
    search: { provider: "local", options: { detailedView: true } },
  },
});
