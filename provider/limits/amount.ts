/** Units of the documentation. Kilobytes and their like are left open there: see `boundsOf`. */
export type Unit = "" | "B" | "KB" | "MB" | "GB" | "ms" | "s" | "min";

/** A figure as the documentation has it. */
export interface Amount {
  readonly amount: number;
  readonly unit: Unit;
}

/** One row of a table of limits: a figure, or `null` for no limit, for each of its columns. */
export interface Limit<Column extends string> {
  /** What is limited, as the table's first cell has it. */
  readonly feature: string;
  readonly limit: Readonly<Record<Column, Amount | null>>;
  /** Seed file and section. */
  readonly source: string;
  /** In these columns the service raises it on request. */
  readonly onRequest?: readonly Column[];
}

/** The same limit, from two points of view: in bytes, milliseconds or as a count. */
export interface Bounds {
  /** By the smaller reading of the unit: 1 MB is 1,000,000 bytes. Warned of above. */
  readonly documented: number;
  /** By the larger reading: 1 MB is 1,048,576 bytes. Refused above. */
  readonly most: number;
}

/** The documentation does not say whether its kilobytes are of 1,000 or of 1,024 bytes; nobody is refused what may pass. */
export function boundsOf({ amount, unit }: Amount): Bounds {
  const bytes = ["B", "KB", "MB", "GB"].indexOf(unit);
  if (bytes >= 0) return { documented: amount * 1000 ** bytes, most: amount * 1024 ** bytes };
  const plain = amount * (unit === "s" ? 1000 : unit === "min" ? 60_000 : 1);
  return { documented: plain, most: plain };
}

/** `26,214,400` */
export function figure(number: number): string {
  return number.toLocaleString("en-US");
}

/** `10 MB`, `1,000` */
export function shown({ amount, unit }: Amount): string {
  return unit === "" ? figure(amount) : `${figure(amount)} ${unit}`;
}

/** `1,048,577 bytes`, `51 ms`, `65` */
export function measured(number: number, { unit }: Amount): string {
  if (["B", "KB", "MB", "GB"].includes(unit)) return `${figure(number)} bytes`;
  return ["ms", "s", "min"].includes(unit) ? `${figure(number)} ms` : figure(number);
}
