import { limits } from "pulumi-edgeguard";

/** The tables of the README, made of `limits`: what the code acts on is what people read. */
export function limitsMarkdown(): string {
  const { KV, LOGPUSH, EDGE_FUNCTION, EDGE_REQUEST } = limits;
  const bytes = (n: number): string => `${n.toLocaleString("en-US")} bytes`;
  return [
    table(
      ["An edge function", "free", "bundled", "unbound, standard"],
      rows(EDGE_FUNCTION, ["free", "bundled", "standard"]),
    ),
    table(
      ["A request, by plan of the zone", "free", "pro", "business", "enterprise"],
      rows(EDGE_REQUEST, ["free", "pro", "business", "enterprise"]),
    ),
    table(
      ["Key-value data and filters", "limit"],
      [
        ["Key", bytes(KV.MAX_KEY_BYTES)],
        [
          "Value",
          `25 MB: warned of above ${bytes(KV.SEED_VALUE_BYTES)}, refused above ${bytes(KV.MAX_VALUE_BYTES)}`,
        ],
        ["Metadata of a key", `${bytes(KV.MAX_METADATA_BYTES)} of JSON`],
        ["Lifetime of a key", `at least ${KV.MIN_TTL_SECONDS} s`],
        ["Log-push filter", `${LOGPUSH.MAX_FILTER_OPERATORS} operators, ${bytes(LOGPUSH.MAX_FILTER_BYTES)}`],
      ],
    ),
  ].join("\n\n");
}

function rows<Column extends string>(
  all: Readonly<Record<string, limits.Limit<Column>>>,
  columns: readonly Column[],
): string[][] {
  return Object.values(all).map(({ feature, limit, onRequest = [] }) => {
    // What holds in every column is said once.
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

/** As the formatter of the repository writes it. */
export function table(head: string[], body: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]): string =>
    `| ${row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
