/** Markdown that GitHub and VitePress show alike. */

/** A page of the reference. */
export interface Page {
  /** Relative to docs/reference. */
  readonly path: string;
  readonly title: string;
  /** One line for the index, the site's search and llms.txt. */
  readonly summary: string;
  readonly body: string;
}

export function lines(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => typeof part === "string" && part !== "").join("\n\n");
}

/** A heading with its content, or nothing where there is no content. */
export function section(
  level: number,
  title: string,
  ...content: readonly (string | false | undefined)[]
): string {
  const text = lines(...content);
  return text === "" ? "" : `${"#".repeat(level)} ${title}\n\n${text}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const row = (cells: readonly string[]): string => `| ${cells.map(inCell).join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

function inCell(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").replace(/(?<!\\)\|/g, "\\|");
}

export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item.replace(/\n/g, "\n  ")}`).join("\n");
}

export function code(text: string): string {
  const ticks = text.includes("`") ? "``" : "`";
  return text === "" ? "" : `${ticks}${text}${ticks}`;
}

export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** A message as people read it: its characters mean nothing to Markdown. */
export function quote(message: string): string {
  return message
    .split("\n")
    .map((line) => `> ${literally(line)}`)
    .join("\n>\n");
}

export function literally(text: string): string {
  return text.replace(/[\\`*_[\]<>]/g, (char) =>
    char === "<" ? "&lt;" : char === ">" ? "&gt;" : `\\${char}`,
  );
}

/** The first sentence of a docstring. */
export function firstSentence(text: string): string {
  const [paragraph = ""] = text.split("\n\n");
  return /^.*?[.!?](?=\s|$)/s.exec(paragraph)?.[0].replace(/\s+/g, " ") ?? paragraph.replace(/\s+/g, " ");
}

/** A heading's anchor, as GitHub makes it; the site is told to do the same. */
export function slug(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{Pc}\s-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

/** A value as a program writes it. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, each]) => `${/^[a-z_]\w*$/i.test(name) ? name : literal(name)}: ${literal(each)}`,
    );
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  if (typeof value === "string" && value.length > 300) return literal(`${value.slice(0, 20)}…`);
  if (typeof value === "string" && value.includes('"') && !value.includes("'")) return `'${value}'`;
  return JSON.stringify(value);
}

export function kebab(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
}
