import type { Head, Zone } from "./model";

/** Lists tasks that are equal in several zones once. The page's script also uses this module, so it doesn't import any libraries. */

export type TaskRow = Head["first"][number];

export class EqualTasks {
  readonly #rows = new Map<string, TaskRow & { readonly zones: { id: string; name: string }[] }>();

  /** @param most how many zones each row lists. It counts all of them. */
  constructor(readonly most: number) {}

  add({ id, tasks }: Pick<Zone, "id" | "tasks">, name: string): void {
    for (const task of tasks) {
      const key = JSON.stringify(task);
      const row = this.#rows.get(key) ?? { ...task, zoneCount: 0, zones: [] };
      if (row.zones.length < this.most) row.zones.push({ id, name });
      this.#rows.set(key, { ...row, zoneCount: row.zoneCount + 1 });
    }
  }

  /** Returns the rows, most urgent first. */
  list(): TaskRow[] {
    return [...this.#rows.values()].sort(
      (a, b) => a.rank - b.rank || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0),
    );
  }
}

/** Returns the lines to paste into a program, or the commands to run. */
export function linesOf({ code, command, zones, zoneCount }: TaskRow): string[] {
  const rest = zoneCount - zones.length;
  const more = rest === 0 ? [] : [`and ${rest} more, which survey.html lists`];
  if (command !== undefined)
    return [
      ...zones.map(({ id }) => command.replaceAll("<zone ID>", id)),
      ...more.map((text) => `# ${text}`),
    ];
  const type = /new (\w+)/.exec(code ?? "")?.[1];
  if (code === undefined || type === undefined) return [];
  const items = zones.map(({ id, name }) => `  [${JSON.stringify(name)}, "${id}"],`);
  const loop = [
    "for (const [zone, zoneId] of [",
    ...items,
    ...more.map((text) => `  // ${text}`),
    "] as const)",
  ];
  return [`import { ${type} } from "pulumi-edgeguard";`, ...loop, `  ${code}`];
}
