import type { Line } from "./evaluate";
import type { Fields } from "./fields";
import { formatNanos, nanosOf } from "./timestamps";
import type { EffectiveOptions } from "./wire";

/** Formats one log line in the job's format. */
export function recordOf(
  line: Line,
  names: readonly string[],
  options: EffectiveOptions,
  fields: Fields | undefined,
): string {
  const value = (name: string): string => {
    if (fields?.get(name) === "int or string") {
      const nanos = nanosOf(line[name]);
      if (nanos !== undefined) return formatNanos(nanos, options.timestamp_format);
    }
    return options.output_type === "csv" ? csvValue(line[name]) : JSON.stringify(line[name] ?? null);
  };
  const body =
    options.record_template === ""
      ? names
          .map((name) =>
            options.output_type === "csv" ? value(name) : `${JSON.stringify(name)}:${value(name)}`,
          )
          .join(options.field_delimiter)
      : fillTemplate(options.record_template, (name) => (names.includes(name) ? value(name) : "null"));
  return options.record_prefix + body + options.record_suffix;
}

/**
 * Fills in a template with the part of Go templates that Logpush supports: `{{.Field}}`, `{{"constant"}}` or ``
 * {{`constant`}} ``, and comments.
 */
function fillTemplate(template: string, value: (name: string) => string): string {
  return template.replaceAll(
    /\{\{\s*(?:\/\*[\s\S]*?\*\/|\.(\w+)|("(?:[^"\\]|\\.)*")|`([^`]*)`)\s*\}\}/g,
    (_, field?: string, quoted?: string, raw?: string) => {
      if (field !== undefined) return value(field);
      return quoted === undefined ? (raw ?? "") : String(JSON.parse(quoted));
    },
  );
}

function csvValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `"${text.replaceAll('"', '""')}"`;
}
