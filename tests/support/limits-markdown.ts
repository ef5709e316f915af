import { limits } from "pulumi-edgeguard";

/** The README's tables, generated from the limits that the code checks. */
export function limitsMarkdown(): string {
  const { KV, LOGPUSH, WORKERS, REQUESTS } = limits;
  const bytes = (n: number): string => `${n.toLocaleString("en-US")} bytes`;
  return [
    table(["Worker", "free", "bundled", "unbound, standard"], rows(WORKERS, ["free", "bundled", "standard"])),
    table(
      ["Request, by plan of the zone", "free", "pro", "business", "enterprise"],
      rows(REQUESTS, ["free", "pro", "business", "enterprise"]),
    ),
    table(
      ["Workers KV and Logpush", "limit"],
      [
        ["KV key", bytes(KV.MAX_KEY_BYTES)],
        ["KV value", `25 MB: ${bytes(KV.MAX_VALUE_BYTES)}`],
        ["KV metadata", `${bytes(KV.MAX_METADATA_BYTES)} of JSON`],
        ["KV TTL", `at least ${KV.MIN_TTL_SECONDS} s`],
        ["Logpush filter", `${LOGPUSH.MAX_FILTER_OPERATORS} operators, ${bytes(LOGPUSH.MAX_FILTER_BYTES)}`],
      ],
    ),
  ].join("\n\n");
}

function rows<Column extends string>(
  all: Readonly<Record<string, limits.Limit<Column>>>,
  columns: readonly Column[],
): string[][] {
  return Object.values(all).map(({ feature, limit, onRequest = [] }) => {
    // If every column has the same remark, only the first column shows it.
    const always = columns.every((column) => onRequest.includes(column));
    const more = (column: Column): string => (!always && onRequest.includes(column) ? MORE : "");
    return [
      `${feature}${always ? MORE : ""}`,
      ...columns.map((column) => cell(limit[column]) + more(column)),
    ];
  });
}

const MORE = ", more on request";

function cell(amount: limits.Amount | null): string {
  if (amount === null) return "none";
  const number = amount.amount.toLocaleString("en-US");
  return amount.unit === "" ? number : `${number} ${amount.unit}`;
}

/** A table in prettier's format. */
export function table(head: string[], body: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]): string =>
    `| ${row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
