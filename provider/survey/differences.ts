import { z } from "zod";
import { formatNumber } from "../limits/workers";
import { members, schemaUrl } from "../runtime/published";
import { ownMember, pluralize } from "../runtime/values";
import type { Account, Cell, Deployment, NotReadable, Survey, SurveyedJob, Zone } from "./model";
import { isOn } from "./protection";
import { isNotReadable, isReadable, notReadableText, valueOf } from "./readable";

/**
 * Finds the differences between two surveys, and whether they're better or worse. If only one survey has the
 * information, a difference is neither.
 */

export const VERDICTS = ["worse", "better", "neutral"] as const;
export type Verdict = (typeof VERDICTS)[number];

export const COMPARISON_SCHEMA = schemaUrl("survey-diff.v1");

/** The JSON that `edgeguard survey diff --format json` writes. */
export const comparison = members({
  $schema: z.literal(COMPARISON_SCHEMA),
  /** When each survey began. */
  before: z.string(),
  after: z.string(),
  /**
   * The changes. `neutral` ones are neither better nor worse, such as a zone that was added, or a part that only one
   * survey could read.
   */
  changes: z.array(
    members({
      verdict: z.enum(VERDICTS),
      /** Whether a zone or an account changed. */
      scope: z.enum(["zone", "account"]),
      id: z.string(),
      name: z.string(),
      /** What changed: `Page Shield`, or the name of a policy, ruleset or job. */
      what: z.string(),
      /** The ID of the policy, rule or job. */
      objectId: z.string().exactOptional(),
      before: z.string(),
      after: z.string(),
    }),
  ),
});
export type Change = z.infer<typeof comparison>["changes"][number];

/** Returns all changes. Those for the worse come first; the rest of the order is by name. */
export function changesBetween(before: Survey, after: Survey): Change[] {
  const given = new Set(before.stacks.map(({ name }) => name));
  const stacks = new Set(after.stacks.map(({ name }) => name).filter((name) => given.has(name)));
  const zones = paired(before.zones, after.zones, byId, zoneName).flatMap(([old, now]) =>
    within("zone", old, now, zoneName, (a, b) => zoneDifferences(a, b, stacks)),
  );
  const accounts = paired(before.accounts, after.accounts, byId).flatMap(([old, now]) =>
    within("account", old, now, accountName, (a, b) => accountDifferences(a, b, stacks)),
  );
  return [...zones, ...accounts].sort(
    (a, b) =>
      VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict) ||
      compareText(a.name, b.name) ||
      compareText(a.id, b.id),
  );
}

const byId = ({ id }: { readonly id: string }): string => id;
const zoneName = ({ name, id }: Zone): string => valueOf(name) ?? id;
const accountName = ({ name, id }: Account): string => name ?? id;

/** The same item in both surveys. At least one of them contains it. */
type Pair<T> = readonly [old: T | undefined, now: T | undefined];

/**
 * Pairs items that are the same. Pairs them by the first key, and any that remain by the next key, because an object
 * that was deleted and recreated has a new ID.
 */
function paired<T>(
  before: readonly T[],
  after: readonly T[],
  ...keys: readonly ((item: T) => string)[]
): Pair<T>[] {
  const pairs = new Map<T, T>();
  const left = new Set(after);
  for (const key of keys) {
    const byKey = new Map<string, T[]>();
    for (const now of left) byKey.set(key(now), [...(byKey.get(key(now)) ?? []), now]);
    for (const old of before) {
      const now = pairs.has(old) ? undefined : byKey.get(key(old))?.shift();
      if (now === undefined) continue;
      pairs.set(old, now);
      left.delete(now);
    }
  }
  return [
    ...before.map((old): Pair<T> => [old, pairs.get(old)]),
    ...[...left].map((now): Pair<T> => [undefined, now]),
  ];
}

/** A change, without its zone or account. */
type Difference = Pick<Change, "verdict" | "what" | "objectId" | "before" | "after">;

/** Returns the changes in a zone or account. If only one survey contains it, that's neither better nor worse. */
function within<T extends { readonly id: string }>(
  scope: Change["scope"],
  old: T | undefined,
  now: T | undefined,
  nameOf: (item: T) => string,
  differences: (old: T, now: T) => readonly Difference[],
): Change[] {
  const known = now ?? old;
  if (known === undefined) return [];
  const place = { scope, id: known.id, name: nameOf(known) };
  const found =
    old === undefined || now === undefined
      ? changed(scope, surveyed(old), surveyed(now))
      : [...changed("ID", { text: old.id }, { text: now.id }), ...differences(old, now)];
  return found.map(({ verdict, ...rest }) => ({ verdict, ...place, ...rest }));
}

const surveyed = (given: unknown): Fact => ({ text: given === undefined ? "not surveyed" : "surveyed" });

/** One property in a survey, and how good its value is. */
interface Fact {
  readonly text: string;
  /**
   * How good the value is: higher is better. If there are several grades, all of them must improve, or all must worsen.
   * Undefined if the value can't be graded.
   */
  readonly grades?: readonly (number | undefined)[];
}

/** The grade of a missing object: the same as for one that's off. */
const ABSENT: Fact = { text: "none", grades: [0] };

function changed(what: string, before: Fact, after: Fact, objectId?: string): Difference[] {
  if (before.text === after.text) return [];
  return [
    {
      verdict: verdictOf(before, after),
      what,
      ...(objectId === undefined ? {} : { objectId }),
      before: before.text,
      after: after.text,
    },
  ];
}

function verdictOf({ grades: before = [] }: Fact, { grades: after = [] }: Fact): Verdict {
  const steps = before.map((from, index) => {
    const to = after[index];
    return from === to ? 0 : from === undefined || to === undefined ? Number.NaN : Math.sign(to - from);
  });
  const [direction, ...others] = new Set(steps.filter((step) => step !== 0));
  if (others.length > 0) return "neutral";
  return direction === 1 ? "better" : direction === -1 ? "worse" : "neutral";
}

/** Compares a part that both surveys could read. If only one could read it, that's reported as the change. */
function inPart<T>(
  what: string,
  before: Cell<T>,
  after: Cell<T>,
  differences: (before: Exclude<T, NotReadable>, after: Exclude<T, NotReadable>) => readonly Difference[],
): readonly Difference[] {
  if (isReadable(before) && isReadable(after)) return differences(before, after);
  const [from, to] = [before, after].map((each) =>
    isNotReadable(each) ? { text: notReadableText(each), isRead: false } : { text: "readable", isRead: true },
  );
  // Words for the same failure may differ.
  if (from === undefined || to === undefined || from.isRead === to.isRead) return [];
  return changed(what, { text: from.text }, { text: to.text });
}

/**
 * Compares objects that have IDs with their earlier versions. Gives each a name that no other object in the part has.
 */
function inObjects<T>(
  pairs: readonly Pair<T>[],
  identify: (item: T) => { readonly id: string; readonly label: string },
  differences: (pair: Pair<T>, what: string, id: string) => readonly Difference[],
): Difference[] {
  const known = pairs.flatMap((pair) => {
    const item = pair[1] ?? pair[0];
    return item === undefined ? [] : [{ pair, ...identify(item) }];
  });
  return known.flatMap(({ pair, id, label }) => {
    const isOnly = known.filter((each) => each.label === label).length === 1;
    return differences(pair, isOnly ? label : `${label} (${id})`, id);
  });
}

const SWITCH_GRADES: Readonly<Record<string, number>> = { off: 0, on: 1 };
/** The grade of each zone status. Cloudflare protects only active zones. */
const STATUS_GRADES: Readonly<Record<string, number>> = { paused: 0, pending: 0, moved: 0, active: 1 };
const POLICY_GRADES: Readonly<Record<string, number>> = { off: 0, logging: 1, enforced: 2 };
const JOB_GRADES: Readonly<Record<string, number>> = { off: 0, failing: 0, new: 1, working: 2 };
const READINESS_GRADES: Readonly<Record<string, number>> = { blocked: 0, ready: 1, underWay: 2, done: 3 };

function graded(grades: Readonly<Record<string, number>>, text: string): Fact {
  return { text, grades: [ownMember(grades, text)] };
}

function fewer(count: number, text = formatNumber(count)): Fact {
  return { text, grades: [-count] };
}

function zoneDifferences(old: Zone, now: Zone, stacks: Stacks): Difference[] {
  return [
    ...inPart("plan", old.plan, now.plan, (a, b) => changed("plan", { text: a }, { text: b })),
    ...inPart("status", old.status, now.status, (a, b) =>
      changed("status", graded(STATUS_GRADES, a), graded(STATUS_GRADES, b)),
    ),
    ...inPart("Page Shield", old.pageShield, now.pageShield, (a, b) => [
      ...changed("Page Shield", switched(a.enabled), switched(b.enabled)),
      ...(b.enabled ? stackDifferences("Page Shield", [a, b], stacks) : []),
    ]),
    ...inPart("policies", old.policies, now.policies, (a, b) =>
      inObjects(
        paired(a, b, byId, ({ expression, value }) => JSON.stringify([expression, value])),
        ({ id, description }) => ({ id, label: labelOf("policy", description, id) }),
        (pair, what, id) => [
          ...policyDifferences(pair, what, id),
          ...stackDifferences(what, pair, stacks, id),
        ],
      ),
    ),
    ...inPart("scripts", old.scripts, now.scripts, scriptDifferences),
    ...inPart("managed rulesets", old.deployments, now.deployments, (a, b) =>
      deploymentsDifferences(a, b, stacks),
    ),
    ...inPart("OWASP", old.owasp, now.owasp, (a, b) => changed("OWASP", owaspFact(a, b), owaspFact(b, a))),
    ...inPart("WAF migration", old.migration, now.migration, (a, b) => [
      ...changed(
        "WAF migration",
        graded(READINESS_GRADES, a.readiness),
        graded(READINESS_GRADES, b.readiness),
      ),
      ...(a.readiness === "blocked" && b.readiness === "blocked"
        ? changed("WAF migration: blockers", fewer(a.because.length), fewer(b.because.length))
        : []),
    ]),
    ...jobsDifferences(old.jobs, now.jobs, stacks),
  ];
}

function accountDifferences(old: Account, now: Account, stacks: Stacks): Difference[] {
  return [
    ...inPart("managed rulesets", old.deployments, now.deployments, (a, b) =>
      deploymentsDifferences(a, b, stacks),
    ),
    ...jobsDifferences(old.jobs, now.jobs, stacks),
    ...inPart("Workers KV namespaces", old.namespaces, now.namespaces, (a, b) =>
      inObjects(
        paired(a, b, byId, ({ title }) => title),
        ({ id, title }) => ({ id, label: labelOf("namespace", title, id) }),
        (pair, what, id) => [
          ...changed(what, existing(pair[0]), existing(pair[1]), id),
          ...stackDifferences(what, pair, stacks, id),
        ],
      ),
    ),
  ];
}

const switched = (isEnabled: boolean): Fact => graded(SWITCH_GRADES, isEnabled ? "on" : "off");
const existing = (given: unknown): Fact => ({ text: given === undefined ? "none" : "exists" });

function labelOf(noun: string, name: string, id: string): string {
  return `${noun} ${name === "" ? id : JSON.stringify(name)}`;
}

type Item<T> = T extends readonly (infer Each)[] ? Each : never;
type Policy = Item<Zone["policies"]>;

function policyDifferences([old, now]: Pair<Policy>, what: string, id: string): Difference[] {
  const effect = (given: Policy | undefined): Fact =>
    given === undefined ? ABSENT : graded(POLICY_GRADES, given.effect);
  const shown = changed(what, effect(old), effect(now), id);
  if (old === undefined || now === undefined) return shown;
  const blocked = ({ wouldBlock }: Policy): Fact | undefined =>
    wouldBlock ? { text: formatNumber(wouldBlock.count) } : undefined;
  const [before, after] = [blocked(old), blocked(now)];
  return [
    ...shown,
    ...changed(`${what}: pages`, { text: old.expression }, { text: now.expression }, id),
    ...changed(`${what}: allows`, { text: old.value }, { text: now.value }, id),
    ...(before && after ? changed(`${what}: scripts that it blocks`, before, after, id) : []),
  ];
}

type Scripts = Exclude<Zone["scripts"], NotReadable>;

/** Returns the malicious scripts that differ, if both surveys list all of them. */
function scriptDifferences(old: Scripts, now: Scripts): Difference[] {
  const isWhole = [old, now].every(({ malicious, worst }) => malicious === worst.length);
  const fact = (script: Item<Scripts["worst"]> | undefined): Fact =>
    script === undefined ? ABSENT : fewer(1, `seen on ${script.host}`);
  const malicious = isWhole
    ? paired(old.worst, now.worst, ({ url, host }) => JSON.stringify([url, host])).flatMap(([a, b]) =>
        changed(`malicious script ${(b ?? a)?.url ?? ""}`, fact(a), fact(b)),
      )
    : changed("malicious scripts", fewer(old.malicious), fewer(now.malicious));
  // Only surveys with an inventory count these.
  const unapproved =
    old.unapproved === null || now.unapproved === null
      ? []
      : changed("unapproved scripts", fewer(old.unapproved), fewer(now.unapproved));
  return [...malicious, ...unapproved];
}

function deploymentsDifferences(
  old: readonly Deployment[],
  now: readonly Deployment[],
  stacks: Stacks,
): Difference[] {
  // A rule keeps its ref where its ID changes, but not every rule has a ref of its own.
  const pairs = paired(
    old,
    now,
    ({ ruleId }) => ruleId,
    ({ ref }) => ref,
    ({ rulesetId, expression }) => JSON.stringify([rulesetId, expression]),
  );
  const names = new Map(
    [...old, ...now].flatMap(({ rulesetId, effect }) =>
      isReadable(effect) ? [[rulesetId, effect.name] as const] : [],
    ),
  );
  return inObjects(
    pairs,
    ({ ruleId, rulesetId }) => ({ id: ruleId, label: names.get(rulesetId) ?? rulesetId }),
    (pair, what, id) => [
      ...deploymentDifferences(pair, what, id),
      ...stackDifferences(what, pair, stacks, id),
    ],
  );
}

function deploymentDifferences(
  [old, now]: Pair<Deployment>,
  what: string,
  id: string,
): readonly Difference[] {
  if (old === undefined || now === undefined) {
    const [before, after] = [old, now].map((each) => (each === undefined ? ABSENT : switched(isOn(each))));
    return changed(what, before ?? ABSENT, after ?? ABSENT, id);
  }
  // What an unreadable ruleset leaves unknown isn't compared.
  const unread = [old.effect, now.effect].find(isNotReadable);
  const [wasOn, isOnNow] = [old, now].map((each) =>
    isOn(unread === undefined ? each : { ...each, effect: unread }),
  );
  const shown = [
    ...changed(what, switched(wasOn === true), switched(isOnNow === true), id),
    ...changed(`${what}: requests`, { text: old.expression }, { text: now.expression }, id),
  ];
  if (wasOn !== true || isOnNow !== true) return shown;
  return [
    ...shown,
    ...changed(`${what}: exceptions`, exceptionsFact(old), exceptionsFact(now), id),
    ...inPart(`${what}: effect`, old.effect, now.effect, (a, b) => [
      // Another version of the ruleset has other rules.
      ...changed(
        `${what}: rules on`,
        rulesFact(a.rulesOn, a.version, b.version),
        rulesFact(b.rulesOn, b.version, a.version),
        id,
      ),
      ...changed(`${what}: versions behind`, fewer(a.versionsBehind), fewer(b.versionsBehind), id),
    ]),
  ];
}

function rulesFact(rulesOn: number, version: string, other: string): Fact {
  const text = formatNumber(rulesOn);
  return version === other ? { text, grades: [rulesOn] } : { text: `${text} in version ${version}` };
}

function exceptionsFact({ exceptions }: Deployment): Fact {
  const all = exceptions.map(
    ({ skips, expression }) => `${skips === "all" ? "all rules" : pluralize(skips, "rule")} if ${expression}`,
  );
  return exceptions.length === 0 ? ABSENT : fewer(exceptions.length, all.join("; "));
}

/**
 * Returns the OWASP settings. An action that blocks, a lower threshold and a higher paranoia level are each better. If
 * one improves and another worsens, the change is neutral.
 */
function owaspFact({ state, ...owasp }: Owasp, other: Owasp): Fact {
  const { paranoiaLevel: level, scoreThreshold: threshold, action } = owasp;
  const parts = [
    level === undefined ? undefined : `paranoia level ${level}`,
    threshold === undefined ? undefined : `threshold ${threshold}`,
    action,
  ];
  const blocks = action === undefined ? undefined : Number(action !== "log");
  return {
    text: [state, ...parts.filter((part) => part !== undefined)].join(", "),
    grades:
      state === other.state
        ? [level, threshold === undefined ? undefined : -threshold, blocks]
        : [ownMember(SWITCH_GRADES, state)],
  };
}
type Owasp = Exclude<Zone["owasp"], NotReadable>;

function jobsDifferences(old: Zone["jobs"], now: Zone["jobs"], stacks: Stacks): readonly Difference[] {
  const state = (job: SurveyedJob | undefined): Fact =>
    job === undefined ? ABSENT : graded(JOB_GRADES, job.state);
  return inPart("Logpush jobs", old, now, (a, b) =>
    inObjects(
      paired(a, b, byId, ({ name, dataset }) => JSON.stringify([name, dataset])),
      ({ id, name }) => ({ id, label: labelOf("Logpush job", name, id) }),
      (pair, what, id) => {
        const [before, after] = pair;
        return [
          ...changed(what, state(before), state(after), id),
          ...(before && after
            ? changed(`${what}: destination`, { text: before.destination }, { text: after.destination }, id)
            : []),
          ...stackDifferences(what, pair, stacks, id),
        ];
      },
    ),
  );
}

/** The stacks that both surveys include. For other stacks, only one survey knows what they manage. */
type Stacks = ReadonlySet<string>;

interface Stacked {
  readonly stack?: string | null;
}

/**
 * Compares which stacks manage an object. Being managed by a stack is better. A new object that no stack manages is
 * worse if a stack could manage it.
 */
function stackDifferences(
  what: string,
  [old, now]: Pair<Stacked>,
  stacks: Stacks,
  id?: string,
): Difference[] {
  if (now?.stack === undefined || stacks.size === 0) return [];
  if (old === undefined)
    return now.stack === null
      ? changed(`${what}: stack`, ABSENT, { text: "not in a stack", grades: [-1] }, id)
      : [];
  if (old.stack === undefined) return [];
  const fact = (stack: string | null): Fact =>
    stack === null
      ? { text: "none", grades: [0] }
      : { text: stack, ...(stacks.has(stack) ? { grades: [1] } : {}) };
  return changed(`${what}: stack`, fact(old.stack), fact(now.stack), id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
