import { readFileSync } from "node:fs";
import { Lexer, type Token } from "marked";

/** Draws the beginning of a report as the comment that a reviewer sees in a pull request. An image in the README can't be HTML. */

const WIDTH = 940;
const MARGIN = 28;
const LINE = 22;
const SIZE = 14;
/** Average widths of a character, in parts of the font size. An estimate: fonts differ from machine to machine. */
const ADVANCE = { text: 0.51, bold: 0.55, code: 0.6 } as const;
/** So many resources are shown folded; the picture ends there. */
const FOLDED = 6;

type Style = keyof typeof ADVANCE;
interface Piece {
  readonly style: Style;
  readonly text: string;
}

export function pictureOf(file: string): string {
  const rows = rowsOf(readFileSync(file, "utf8"));
  const shapes: string[] = [];
  let y = 84;
  for (const row of rows) {
    y += row.space;
    for (const [index, line] of wrap(row.pieces, row.indent).entries()) {
      if (index === 0 && row.mark !== "")
        shapes.push(textAt(row.indent - 16, y, [{ style: "text", text: row.mark }], "mark"));
      shapes.push(textAt(row.indent, y, line, row.kind));
      y += LINE;
    }
  }
  return frame(y + 8, shapes);
}

interface Row {
  readonly kind: "title" | "heading" | "text";
  readonly mark: string;
  readonly indent: number;
  /** Empty space above. */
  readonly space: number;
  readonly pieces: readonly Piece[];
}

function rowsOf(markdown: string): readonly Row[] {
  const rows: Row[] = [];
  let folded = 0;
  for (const line of markdown.split("\n")) {
    const [, heading = "", title = ""] = /^(#{2,3}) (.*)$/.exec(line) ?? [];
    const item = /^- (.*)$/.exec(line)?.[1];
    const summary = /^<details><summary>(.*)<\/summary>$/.exec(line)?.[1];
    const isFoldedOpen = rows.at(-1)?.mark === "▸" && summary === undefined;
    if (folded > FOLDED) break;
    if (heading !== "")
      rows.push({
        kind: heading === "##" ? "title" : "heading",
        mark: "",
        indent: MARGIN,
        space: 10,
        pieces: piecesOf(title),
      });
    else if (summary !== undefined) {
      folded += 1;
      if (folded <= FOLDED)
        rows.push({
          kind: "text",
          mark: "▸",
          indent: MARGIN + 18,
          space: folded === 1 ? 12 : 4,
          pieces: piecesOfHtml(summary),
        });
    } else if (isFoldedOpen || line === "" || line.startsWith("<")) continue;
    else if (item !== undefined)
      rows.push({ kind: "text", mark: "•", indent: MARGIN + 18, space: 2, pieces: piecesOf(item) });
    else rows.push({ kind: "text", mark: "", indent: MARGIN, space: 8, pieces: piecesOf(line) });
  }
  return rows;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
};

function plain(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}

/** The line of a folded part is HTML: there, `~1` is no markup. */
function piecesOfHtml(html: string): readonly Piece[] {
  return [...html.matchAll(/<b>(.*?)<\/b>|<code>(.*?)<\/code>|([^<]+)/g)].map(([, bold, code, text]) => {
    if (bold !== undefined) return { style: "bold", text: plain(bold) };
    return code === undefined
      ? { style: "text", text: plain(text ?? "") }
      : { style: "code", text: plain(code) };
  });
}

function piecesOf(markdown: string): readonly Piece[] {
  const pieces = (tokens: readonly Token[], style: Style): Piece[] =>
    tokens.flatMap((token) => {
      if (token.type === "strong") return pieces(token.tokens ?? [], "bold");
      if (token.type === "codespan") return [{ style: "code", text: plain(String(token["text"])) }];
      return [{ style, text: plain("text" in token ? String(token.text) : token.raw) }];
    });
  return pieces(Lexer.lexInline(markdown), "text");
}

/** Lines of pieces, broken between words. */
function wrap(pieces: readonly Piece[], indent: number): readonly (readonly Piece[])[] {
  const most = WIDTH - MARGIN - indent;
  const lines: Piece[][] = [[]];
  let used = 0;
  for (const { style, text } of pieces)
    for (const word of text.split(/(?<= )/)) {
      const width = word.length * SIZE * ADVANCE[style];
      if (used + width > most && used > 0) {
        lines.push([]);
        used = 0;
      }
      used += width;
      lines.at(-1)?.push({ style, text: word });
    }
  return lines;
}

function textAt(x: number, y: number, pieces: readonly Piece[], kind: string): string {
  const spans = pieces.map(({ style, text }) =>
    style === "text" ? escape(text) : `<tspan class="${style}">${escape(text)}</tspan>`,
  );
  return `<text x="${x}" y="${y}" class="${kind}" xml:space="preserve">${spans.join("")}</text>`;
}

function frame(height: number, shapes: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="A pull request comment with the report of a plan">
<style>
  text { font: ${SIZE}px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 20px; font-weight: 600; }
  .heading { font-size: 16px; font-weight: 600; }
  .bold { font-weight: 600; }
  .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12.5px; fill: #0550ae; }
  .mark, .head { fill: #59636e; }
  .card { fill: #ffffff; stroke: #d1d9e0; }
  .bar { fill: #f6f8fa; stroke: #d1d9e0; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .code { fill: #79c0ff; }
    .mark, .head { fill: #9198a1; }
    .card { fill: #0d1117; stroke: #3d444d; }
    .bar { fill: #151b23; stroke: #3d444d; }
  }
</style>
<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>
<path class="bar" d="M0.5 44.5V6.5a6 6 0 0 1 6-6h${WIDTH - 13}a6 6 0 0 1 6 6v38z"/>
<text x="${MARGIN}" y="28" class="head"><tspan class="bold">edgeguard</tspan> commented on this pull request</text>
${shapes.join("\n")}
</svg>
`;
}

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
