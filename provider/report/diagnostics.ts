/** What the engine and the providers said, in whole messages. */
export interface Diagnostic {
  /** `info#err` is what a provider has written to stderr: the warnings of this package come so. */
  readonly severity: string;
  /** Several lines where it was said so. */
  readonly text: string;
  readonly urn: string | undefined;
}

interface Recorded {
  readonly urn?: string | undefined;
  readonly prefix?: string | undefined;
  readonly message?: string | undefined;
  readonly severity?: string | undefined;
}

/** How a line of this package begins. */
const OWN = "edgeguard: ";

/** The engine takes what a provider writes line by line; indented lines go on with what was said before. */
export function messagesOf(recorded: readonly Recorded[]): Diagnostic[] {
  const messages: { severity: string; lines: string[]; urn: string | undefined }[] = [];
  /** Of no resource, by severity. */
  const last = new Map<string, { readonly lines: string[] }>();
  for (const { urn, prefix = "", message = "", severity = "info" } of recorded) {
    const lines = withoutColours(`${prefix}${message}`)
      .replace(/^(error|warning|info): /, "")
      .trimEnd()
      .split("\n");
    const before = urn === undefined ? last.get(severity) : undefined;
    if (before?.lines[0]?.startsWith(OWN) === true && /^\s+\S/.test(lines[0] ?? "")) {
      before.lines.push(...lines);
      continue;
    }
    const made = { severity, lines, urn };
    messages.push(made);
    if (urn === undefined) last.set(severity, made);
  }
  return messages
    .map(({ severity, lines, urn }) => ({ severity, urn, text: told(lines) }))
    .filter(({ text }) => text !== "");
}

function told(lines: readonly string[]): string {
  return withoutValue(lines.filter((line) => line.trim() !== "" && !PLACE.test(line)).join("\n")).trim();
}

/** Where in the code of others something happened is of no use to a reviewer. */
const PLACE = /^\s+at (async )?\S.*(:\d+:\d+\)?|\(index \d+\)|<anonymous>\)?)$/;

/**
 * The engine repeats the value that was refused, of a secret argument, too, and in plain text; what was given is in the
 * reason where it may be said.
 */
function withoutValue(text: string): string {
  return text.replace(
    /^\S+ resource '.*?'(?:: property (.+?) value .*\})? has a problem: /s,
    (_, property?: string) => (property === undefined ? "" : `${property}: `),
  );
}

/** Colours, and the CLI's own markup for them. */
function withoutColours(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m|<\{%[^%]*%\}>/g, "");
}

/** Lines of this package, as it said them, of one stream or of all. */
export function ownMessages(diagnostics: readonly Diagnostic[], severity?: "info" | "info#err"): string[] {
  return diagnostics
    .filter((each) => each.text.startsWith(OWN) && (severity === undefined || each.severity === severity))
    .map(({ text }) => text.slice(OWN.length));
}
