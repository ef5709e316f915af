/** One complete message from the engine or a provider. */
export interface Diagnostic {
  /** `info#err` is what a provider wrote to stderr, such as this package's warnings. */
  readonly severity: string;
  /** One or more lines. */
  readonly text: string;
  readonly urn: string | undefined;
}

interface Recorded {
  readonly urn?: string | undefined;
  readonly prefix?: string | undefined;
  readonly message?: string | undefined;
  readonly severity?: string | undefined;
}

/** The prefix of this package's messages. */
const OWN = "edgeguard: ";

/** Joins lines that the engine records separately. An indented line continues the message before it. */
export function messagesOf(recorded: readonly Recorded[]): Diagnostic[] {
  const messages: { severity: string; lines: string[]; urn: string | undefined }[] = [];
  /** The last message without a resource, by severity. */
  const last = new Map<string, { readonly lines: string[] }>();
  for (const { urn, prefix = "", message = "", severity = "info" } of recorded) {
    const lines = withoutColors(`${prefix}${message}`)
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
    .map(({ severity, lines, urn }) => ({ urn, text: joinLines(lines), severity }))
    .map((each) => (isOfPlugin(each) ? { ...each, severity: "info#err" } : each))
    .filter(({ text }) => text !== "");
}

/** Whether the diagnostic is one of the plugin's warnings. The classes' provider writes the same warnings to stderr. */
function isOfPlugin({ severity, urn, text }: Diagnostic): boolean {
  return severity === "warning" && urn === undefined && text.startsWith(OWN);
}

function joinLines(lines: readonly string[]): string {
  return withoutValue(
    lines.filter((line) => line.trim() !== "" && !STACK_FRAME.test(line)).join("\n"),
  ).trim();
}

/** Matches a line of a stack trace, which doesn't help a reviewer. */
const STACK_FRAME = /^\s+at (async )?\S.*(:\d+:\d+\)?|\(index \d+\)|<anonymous>\)?)$/;

/**
 * Removes a rejected argument's value from the engine's message, because the engine prints even secret values. The
 * provider's own words that follow quote the value if that's safe.
 */
function withoutValue(text: string): string {
  return text.replace(
    /^\S+ resource '.*?'(?:: property (.+?) value .*\})? has a problem: /s,
    (_, property?: string) => (property === undefined ? "" : `${property}: `),
  );
}

/** Removes ANSI colors and the CLI's own markup for them. */
function withoutColors(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m|<\{%[^%]*%\}>/g, "");
}

/**
 * Makes an error of what Pulumi's YAML host writes to stderr about a program that it can't run. Only for a preview in which
 * no program registered a resource: others may write the like.
 */
export function withHostErrors(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const isWritten = ({ severity, urn, text }: Diagnostic): boolean =>
    severity === "info#err" && urn === undefined && !text.startsWith(OWN);
  const written = diagnostics.filter(isWritten);
  if (!written.some(({ text }) => text.startsWith("Error: "))) return diagnostics;
  const text = written.map((each) => each.text.replace(/^Error: /, "")).join("\n");
  return [...diagnostics.filter((each) => !isWritten(each)), { severity: "error", urn: undefined, text }];
}

/** Returns this package's warnings, without their prefix. */
export function ownWarnings(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics
    .filter(({ severity, text }) => severity === "info#err" && text.startsWith(OWN))
    .map(({ text }) => text.slice(OWN.length));
}
