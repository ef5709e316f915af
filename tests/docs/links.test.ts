import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { marked, type Token, type Tokens } from "marked";
import { slug } from "../../docs/generate/markdown";
import { REPOSITORY } from "../support/engine";

/** Every link in the documents leads somewhere: to a file, and to a heading as GitHub names it. */

const FOLDERS = ["docs", "examples", "provider", "local", "plugin"];
const DOCUMENTS = [
  ...readdirSync(REPOSITORY).filter((name) => name.endsWith(".md")),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md") && !/node_modules|dist\//.test(path))
      .map((path) => join(folder, path)),
  ),
];

const tokensOf = new Map<string, Token[]>();

function tokens(document: string): Token[] {
  const known = tokensOf.get(document);
  if (known !== undefined) return known;
  const all: Token[] = [];
  void marked.walkTokens(marked.lexer(readFileSync(join(REPOSITORY, document), "utf8")), (token) => {
    all.push(token);
  });
  tokensOf.set(document, all);
  return all;
}

/** The headings of a document; a repeated one is numbered. */
function anchors(document: string): Set<string> {
  const seen = new Map<string, number>();
  return new Set(
    tokens(document)
      .filter((token): token is Tokens.Heading => token.type === "heading")
      .map(({ text }) => {
        const name = slug(text);
        const before = seen.get(name) ?? 0;
        seen.set(name, before + 1);
        return before === 0 ? name : `${name}-${before}`;
      }),
  );
}

function brokenLinks(document: string): string[] {
  const links = tokens(document).filter((token): token is Tokens.Link => token.type === "link");
  const images = tokens(document).filter((token): token is Tokens.Image => token.type === "image");
  return [...links, ...images].map(({ href }) => href).filter((href) => !leadsSomewhere(document, href));
}

function leadsSomewhere(document: string, href: string): boolean {
  if (/^[a-z]+:/.test(href))
    return URL.canParse(href) && /^(https:\/\/[\w.-]+\.\w+|http:\/\/127\.0\.0\.1|mailto:)/.test(href);
  const [path = "", anchor] = href.split("#");
  const target =
    path === "" ? document : relative(REPOSITORY, resolve(REPOSITORY, dirname(document), decodeURI(path)));
  const file = join(REPOSITORY, target);
  if (target.startsWith("..") || !existsSync(file)) return false;
  if (anchor === undefined) return true;
  const text = statSync(file).isDirectory() ? join(target, "README.md") : target;
  return text.endsWith(".md") && anchors(text).has(decodeURIComponent(anchor));
}

test.each(DOCUMENTS)("every link in %s leads to a file and heading that exist", (document) => {
  expect(brokenLinks(document)).toEqual([]);
});
