import { JUDGES } from "../../../provider/report/effects";
import * as general from "../../../provider/report/judges/general";
import { RISKS } from "../../../provider/report/judges/unseen";

/** The report's judges, each of which can be made to find nothing. Only the test of the fuzz itself uses them. */

export interface Mutant {
  readonly name: string;
  /** Runs work as if this judge found nothing. */
  without<T>(work: () => T): T;
}

export function mutants(): Mutant[] {
  const rows = Object.entries(JUDGES).flatMap(([kind, table]) =>
    Object.entries(table).map(([path, judges]) => ({ kind, table, path, judges })),
  );
  const all = new Set(rows.flatMap(({ judges }) => judges));
  return [
    ...[...all].map((judge): Mutant => {
      const affected = rows.filter(({ judges }) => judges.includes(judge));
      const [first] = affected;
      return {
        name: `${first?.kind ?? ""} ${affected.map(({ path }) => path).join(", ")} (${judge.name})`,
        without: (work) =>
          replaced(
            [
              ...affected.map(({ table, path, judges }) => ({
                target: table,
                change: { [path]: judges.filter((each) => each !== judge) },
              })),
              // This one isn't only in the table: it judges every resource.
              ...(judge === general.general ? [{ target: general, change: { general: () => [] } }] : []),
            ],
            work,
          ),
      };
    }),
    ...Object.entries(RISKS).flatMap(([kind, risks]) =>
      risks.map((risk): Mutant => ({
        name: `${kind} not seen: ${risk.seen}`,
        without: (work) => replaced([{ target: risk, change: { loses: () => undefined } }], work),
      })),
    ),
  ];
}

function replaced<T>(
  changes: readonly { readonly target: object; readonly change: object }[],
  work: () => T,
): T {
  const undo = changes.map(({ target, change }) => {
    const before = Object.fromEntries(
      Object.keys(change).map((name) => [name, Reflect.get(target, name) as unknown]),
    );
    Object.assign(target, change);
    return () => Object.assign(target, before);
  });
  try {
    return work();
  } finally {
    for (const each of undo) each();
  }
}
