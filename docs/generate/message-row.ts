import { kebab, literally, slug } from "./markdown";

/** One row of messages.md: what is said, and where the reference explains it. `type` is empty for what is common to all. */
export function messageRow(type: string, title: string, said: string): string {
  const place = type === "" ? `#${slug(title)}` : `resources/${kebab(type)}.md#${slug(title)}`;
  const text = said.split("\n").map(literally).join("<br>").replaceAll("|", "\\|");
  return `| ${text} | [${type === "" ? "" : `${type}: `}${title}](${place}) |`;
}
