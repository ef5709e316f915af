import { marked, type Token, type Tokens } from "marked";
import { report } from "../../provider/report";
import { COMMENT_CHARACTERS, marker } from "../../provider/report/markdown";
import {
  diagnostic,
  found,
  list,
  planJson,
  read,
  RECORDED,
  stepOf,
  type MadeStep,
  created,
  deleted,
} from "./plans";

/** The comment as GitHub renders it. */

/** Every token, including nested ones. */
function tokensOf(markdown: string): Token[] {
  const all: Token[] = [];
  void marked.walkTokens(marked.lexer(markdown, { gfm: true }), (token) => void all.push(token));
  return all;
}

const tablesIn = (markdown: string): Tokens.Table[] =>
  tokensOf(markdown).filter((token): token is Tokens.Table => token.type === "table");
const codeIn = (markdown: string): Tokens.Code[] =>
  tokensOf(markdown).filter((token): token is Tokens.Code => token.type === "code");

/** What a person sees: without tags and zero-width spaces, with entities resolved. */
function visibleText(html: string): string {
  return html
    .replace(/<[^>]*>/g, "")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&")
    .replaceAll("\u200b", "");
}

describe("the rendered comment", () => {
  test.each(RECORDED)("has tables, lists and folded details, and no stray markup: %s", (name) => {
    const markdown = read(`${name}.md`);
    const html = marked.parse(markdown, { async: false, gfm: true });
    const count = (pattern: RegExp, text = html): number => text.match(pattern)?.length ?? 0;

    expect(count(/<table>/g)).toBe(count(/^\| --- /gm, markdown));
    expect(count(/<details>/g)).toBe(count(/<\/details>/g));
    expect(count(/<summary>/g)).toBe(count(/<\/summary>/g));
    expect(count(/<pre>/g)).toBe(count(/^ *```+[a-z]+$/gm, markdown));
    // Nothing outside of code looks like Markdown.
    const prose = visibleText(html.replace(/<(pre|code)\b.*?<\/\1>/gs, "").replace(/<b>.*?<\/b>/g, ""));
    if (name !== "hostile") expect(prose).not.toMatch(/\*\*|```|\| ---|^#+ |\\[|*_`[<]/m);
    for (const table of tablesIn(markdown)) {
      for (const row of table.rows) expect(row).toHaveLength(table.header.length);
    }
    expect(html).not.toMatch(/<(script|img|a|iframe)\b/);
  });

  test("has a row for each argument in the resource's folded details", () => {
    const html = marked.parse(read("drifted.md"), { async: false });
    const [, inside = ""] =
      /<summary>~ PageShieldSettings <b>shop<\/b><\/summary>(.*?)<\/details>/s.exec(html) ?? [];
    expect(inside.replace(/\s+/g, " ").trim()).toBe(
      "<p>Changed outside the program: <code>enabled</code>.</p> <table> <thead> <tr> <th>argument</th> <th>before</th> <th>after</th> </tr> </thead> " +
        "<tbody><tr> <td><code>enabled</code></td> <td><code>false</code></td> <td><code>true</code></td> </tr> </tbody></table>",
    );
  });
});

describe("the first line of a comment", () => {
  test("names the stack, so that a pipeline finds the stack's comment", () => {
    for (const name of RECORDED) {
      expect(read(`${name}.md`).split("\n", 1)[0]).toBe("<!-- edgeguard report edge/dev -->");
    }
    // examples/pipelines/github/preview-comment.yml searches for this.
    expect(marker("a/b")).toMatch(/^<!-- edgeguard report[^>]* -->$/);
  });
  test("isn't ended early by a stack's name", () => {
    expect(marker('shop--> <img src=x> "/dev')).toBe("<!-- edgeguard report shop-_ _img src_x_ _/dev -->");
  });
  test("names the stack even if the plan contains only an error", () => {
    const plan = JSON.stringify({
      diagnostics: [
        {
          urn: "urn:pulumi:dev::edge::pulumi:pulumi:Stack::edge-dev",
          message: "error: no",
          severity: "error",
        },
      ],
    });
    expect(report(plan, "markdown").text).toMatch(/^<!-- edgeguard report edge\/dev -->\n/);
  });
});

describe("text from a plan", () => {
  const HOSTILE = [
    "a|b",
    "a\\|b\\",
    "`code` ``` ``",
    "` ",
    "<script>alert(1)</script><img src=x onerror=y>",
    "</summary></details>",
    "<!-- --> -->",
    "@octocat @octo/team",
    "#1 octo/repo#2 GH-3",
    "![x](https://x.example/p.png) [y](javascript:z)",
    "**b** _i_ ~~s~~ $x$ :tada:",
    "&lt;b&gt; &#64;octocat",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "    code",
    "line\n\n```mermaid\nstateDiagram-v2",
    "\u202eright\u202c to left \u0007 \u001b[31mred",
    "",
  ];

  test.each(HOSTILE.map((text) => [JSON.stringify(text), text]))(
    "is never interpreted as markup in a value, name or message: %s",
    (_, text) => {
      const plan = JSON.stringify({
        steps: [
          created("KvNamespace", text || "n", { title: text }),
          stepOf("update", "PageShieldPolicy", "p", {
            old: { description: "a", action: "allow", value: "script-src 'self'" },
            new: { description: text, action: "log", expression: text, value: `script-src ${text}` },
          }),
          stepOf("update", "LogpushJob", "j", {
            old: { dataset: text },
            new: {
              dataset: "a",
              filter: JSON.stringify({ where: { key: text || "k", operator: "eq", value: text } }),
            },
          }),
        ],
        diagnostics: [
          diagnostic(`edgeguard: policy ${text}: careful`, "info#err"),
          { message: `error: ${text}!`, severity: "error" },
        ],
      });
      const { text: markdown } = report(plan, "markdown");
      const tokens = tokensOf(markdown);
      // A URL in a message may only link to itself.
      const html = marked
        .parse(markdown, { async: false, gfm: true })
        .replace(/<a href="([^"]*)">\1<\/a>/g, "$1");

      expect(markdown.startsWith("<!-- edgeguard report edge/dev -->\n## ")).toBe(true);
      expect(
        html.match(
          /<(?!\/?(?:details|summary|p|table|thead|tbody|tr|th|td|code|pre|b|h2|h3|ul|li|strong)\b|!--)[^>]*>/g,
        ),
      ).toBeNull();
      expect(html.match(/<details>/g)).toHaveLength(4);
      expect(html.match(/<\/details>/g)).toHaveLength(4);
      expect(tokens.filter(({ type }) => type === "heading")).toHaveLength(3);
      expect(html).not.toContain("language-mermaid");
      // Nothing outside of code mentions, references or links.
      const beside = html.replace(/<(pre|code)\b.*?<\/\1>/gs, "").replace(/&#8203;/g, "\u200b");
      expect(beside).not.toMatch(/(^|\W)@\w|(?<!&)#\d|\bGH-\d|:tada:|\$x\$<|<a /);

      const cells = tablesIn(markdown)
        .flatMap((table) => table.rows)
        .map((row) => row.map((c) => c.text));
      const title = cells.find(([name]) => name === "`title`")?.[1] ?? "";
      const shown = visibleText(marked.parseInline(title, { async: false }));
      const escaped = text.replace(/[\n\u0007\u001b\u202c\u202e]/g, (sign) =>
        sign === "\n" ? "\\n" : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
      expect(shown).toBe(text.trim() === text && text !== "" ? escaped : JSON.stringify(text));
      // Nor does the text contain control characters.
      expect(report(plan, "text").text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/);
    },
  );

  test("is shortened around the difference if two long values differ", () => {
    const long = "x".repeat(300);
    const step = stepOf("update", "KvNamespace", "n", {
      old: { title: `${long}a` },
      new: { title: `${long}b` },
    });
    const { text } = report(JSON.stringify({ steps: [step] }), "markdown");
    expect(text).toContain(`| \`title\` | \`…${"x".repeat(20)}a\` | \`…${"x".repeat(20)}b\` |`);
  });
});

describe("the diagram of a migration", () => {
  const diagrams = ["changed", "created", "migrations", "replaced"].flatMap((name) =>
    codeIn(read(`${name}.md`)).filter(({ lang }) => lang === "mermaid"),
  );

  test("shows the zone's current state and the next one", () => {
    expect(diagrams.length).toBeGreaterThan(5);
    for (const { text } of diagrams) {
      const [first, direction, ...lines] = text.split("\n");
      expect([first, direction]).toEqual(["stateDiagram-v2", "  direction LR"]);
      for (const line of lines) {
        expect(line).toMatch(
          /^ {2}(state "(start|validation|finished)( \((now|next)\))?" as s_\w+|s_\w+ --> s_\w+|classDef \w+ [\w:,-]+|class s_\w+ (now|next))$/,
        );
      }
      const declared = [...text.matchAll(/ as (s_\w+)$/gm)].map(([, id]) => id);
      for (const [, from, to] of text.matchAll(/(s_\w+) --> (s_\w+)/g))
        expect(declared).toEqual(expect.arrayContaining([from, to]));
      const marks = [...text.matchAll(/^ {2}class (s_\w+) (now|next)$/gm)].map(
        ([, id = "", mark = ""]) => `${id.slice(2)} (${mark})`,
      );
      for (const mark of marks) expect(text).toContain(`state "${mark}"`);
    }
    const ways = diagrams.map(({ text }) =>
      [...text.matchAll(/class s_(\w+) (?:now|next)/g)].map(([, state]) => state).join(" → "),
    );
    expect(new Set(ways)).toEqual(
      new Set(["start", "start → finished", "start → validation", "validation → finished", "finished"]),
    );
  });
});

describe("a plan that's too large for a comment", () => {
  const many = (count: number, more: (index: number) => object = () => ({})): string => {
    const steps = Array.from({ length: count }, (_, index): MadeStep => {
      const name = `entries-${String(index).padStart(4, "0")}`;
      const namespaceId = String(index % 40).padStart(32, "0");
      return stepOf("update", "KvEntries", name, {
        old: { namespaceId, keys: 1, bytes: 10 },
        new: {
          namespaceId,
          keys: 2,
          bytes: index,
          ...found({ added: list(`key/${index}`), changed: list(), removed: list() }),
          ...more(index),
        },
      });
    });
    const gone = deleted("KvNamespace", "zz-last", { title: "data", forceDestroy: true });
    return planJson(...steps, gone);
  };

  test("gives a comment within the limit that names what's left out, and keeps the dangers", () => {
    const { text } = report(many(600), "markdown");
    expect(text.length).toBeLessThanOrEqual(COMMENT_CHARACTERS);
    expect(text.length).toBeGreaterThan(COMMENT_CHARACTERS * 0.9);
    expect(text).toContain("**600 to update, 1 to delete**");
    expect(text).toContain("- **irreversible** `KvNamespace zz-last`");
    expect(text).toContain("<p>- KvNamespace <b>zz-last</b>");
    const shown = text.match(/<summary>~ KvEntries/g)?.length ?? 0;
    const [, left = ""] =
      /^_([\d,]+) resources left out to stay within the comment's limit of 65,536 characters: `KvEntries entries-/m.exec(
        text,
      ) ?? [];
    expect(shown + Number(left.replace(",", ""))).toBe(600);
    const html = marked.parse(text, { async: false });
    expect(html.match(/<details>/g)).toHaveLength(shown);
    expect(html.match(/<\/details>/g)).toHaveLength(shown);
  });

  test("is complete as text", () => {
    const { text } = report(many(500), "text");
    expect(text.match(/^~ KvEntries/gm)).toHaveLength(500);
  });

  test("is also cut within resources, messages and lists, each with a note of what's missing", () => {
    const rules = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, i) => [String(i).padStart(32, "0"), { enabled: false }]),
    );
    const sources = Array.from({ length: 900 }, (_, i) => `https://cdn-${i}.example`).join(" ");
    const plan = JSON.stringify({
      steps: [
        created("ManagedRulesetOverride", "r", { zoneId: "z", rules }),
        created("PageShieldPolicy", "p", { description: "d", action: "log", value: `script-src ${sources}` }),
        ...Array.from({ length: 900 }, (_, i) => ({
          op: "delete",
          urn: `urn:pulumi:dev::edge::aws:s3/bucket:Bucket::b${i}`,
          oldState: { custom: true },
        })),
      ],
      diagnostics: [
        ...Array.from({ length: 300 }, (_, i) => ({
          message: `error: ${i} ${"e".repeat(3_000)}\n  more\n`,
          severity: "error",
        })),
        ...Array.from({ length: 300 }, (_, i) => ({
          message: `warning: ${i} ${"w".repeat(300)}`,
          severity: "warning",
        })),
      ],
    });
    const { text } = report(plan, "markdown");
    expect(text.length).toBeLessThanOrEqual(COMMENT_CHARACTERS);
    expect(text).toMatch(/^\| and 1,\d\d\d more \| {3}\|$/m);
    expect(text).toMatch(/^… and \d+ more\n```$/m);
    expect(text).toMatch(/^- and 29\d more: `edgeguard report --format text` shows all of them$/m);
    expect(text).toMatch(/^\| and \d+ more \| {3}\| {3}\|$/m);
    expect(text).toMatch(/`aws:s3\/bucket:Bucket b\d+` and 880 more$/m);
    expect(text).not.toContain("left out");
  });
});
