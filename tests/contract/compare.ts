/** Compares two sides of the contract, and sets reviewed differences apart. */

/** A difference: `Logpush job, sent: sends lacks logpull_options`. */
export interface Difference {
  readonly subject: string;
  readonly side: string;
  readonly verb: "lacks" | "adds";
  readonly path: string;
}

/** Returns the members that only one side has, without what's below them. */
export function memberDifferences(
  about: Pick<Difference, "subject" | "side">,
  theirs: ReadonlySet<string>,
  ours: ReadonlySet<string>,
): readonly Difference[] {
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>): readonly string[] =>
    [...one].filter((path) => {
      const parent = path.slice(0, Math.max(0, path.lastIndexOf("."))).replace(/(\[\])+$/, "");
      const isOpen =
        parent === "" ||
        [...other].some((each) => each.startsWith(`${parent}.`) || each.startsWith(`${parent}[].`));
      return !path.includes("=") && !other.has(path) && isOpen;
    });
  return [
    ...only(theirs, ours).map((path) => ({ ...about, verb: "lacks" as const, path })),
    ...only(ours, theirs).map((path) => ({ ...about, verb: "adds" as const, path })),
  ];
}

/** Returns the values that only one side lists, of members for which both list some. */
export function valueDifferences(
  subject: string,
  theirs: ReadonlySet<string>,
  ours: ReadonlySet<string>,
): readonly Difference[] {
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>): readonly string[] =>
    [...one].filter((path) => {
      const [member = "", value] = path.split("=");
      return (
        value !== undefined && !other.has(path) && [...other].some((each) => each.startsWith(`${member}=`))
      );
    });
  const about = { subject, side: "accepts" };
  return [
    ...only(theirs, ours).map((path) => ({ ...about, verb: "lacks" as const, path })),
    ...only(ours, theirs).map((path) => ({ ...about, verb: "adds" as const, path })),
  ];
}

/** A difference that somebody has looked at. The subject may end early, and `*` stands for any side. */
export type Reviewed = readonly [
  subject: string,
  side: string,
  verb: Difference["verb"],
  path: string,
  reason: string,
];

export const MOST_REVIEWED = 60;

/** Returns one line for each difference that isn't reviewed, and for each reviewed one that no longer exists. */
export function complaints(found: readonly Difference[], reviewed: readonly Reviewed[]): readonly string[] {
  const isOf = ([subject, side, verb, path]: Reviewed, each: Difference): boolean =>
    each.subject.startsWith(subject) &&
    (side === "*" || side === each.side) &&
    verb === each.verb &&
    path === each.path;
  const unknown = found.filter((each) => !reviewed.some((row) => isOf(row, each)));
  const stale = reviewed.filter((row) => !found.some((each) => isOf(row, each)));
  const tooMany = reviewed.length - MOST_REVIEWED;
  return [
    ...unknown.map(({ subject, side, verb, path }) => `${subject}: ${side} ${verb} ${path}`),
    ...stale.map(([subject, side, verb, path]) => `${subject}: reviewed, but gone: ${side} ${verb} ${path}`),
    ...(tooMany > 0 ? [`${reviewed.length} differences are reviewed. At most ${MOST_REVIEWED} may be.`] : []),
  ];
}
