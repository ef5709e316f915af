import type { Mistake, Played } from "../../tests/messages/mistakes";
import { lines, section, type Page } from "./markdown";
import { messageRow } from "./message-row";
import { mistakeSection } from "./resource-page";

export type PlayedMistake = readonly [type: string, mistake: Mistake, played: Played];

/** Every message of the mistakes, for searching; those that any resource can meet are explained here. */
export function messagesPage(all: readonly PlayedMistake[]): Page {
  const common = all.filter(([type]) => type === "");
  const rows = [...all]
    .sort(([, , one], [, , other]) => (one.said.toLowerCase() < other.said.toLowerCase() ? -1 : 1))
    .map(([type, { title }, { said }]) => messageRow(type, title, said));
  return {
    path: "messages.md",
    title: "Messages",
    summary: "What previews say about the most common mistakes, and what to do.",
    body: lines(
      "What previews say about the most common mistakes. Search this page for a few words of your message; the link explains what to do. " +
        "Messages from Cloudflare itself end with a code: see [API error codes](error-codes.md).",
      section(2, "By message", ["| Message | Explained |", "| --- | --- |", ...rows].join("\n")),
      section(
        2,
        "With any resource",
        "Credentials, the network and the stack's configuration:",
        ...common.map(([, mistake, played]) => mistakeSection(mistake, played)),
      ),
    ),
  };
}
