import { formatNumber } from "../limits/workers";
import { applying, compareText, pluralize } from "../basics/words";
import { ownMember } from "../basics/json";
import { VERDICTS, type Change, type Verdict } from "./comparison";
import type { Account, Cell, Deployment, NotReadable, Survey, SurveyedJob, Zone } from "./model";
import { protectionOf } from "./protection";
import { isNotReadable, isReadable, textOf, valueOf } from "./readable";

/**
 * Finds the differences between two surveys, and whether they're better or worse. If only one survey has the
 * information, a difference is neither.
 */

/** Returns all changes: worse ones first, then better, then neutral ones, each sorted by name. */
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
      : [...changed("ID", text(old.id), text(now.id)), ...differences(old, now)];
  return found.map(({ verdict, ...rest }) => ({ verdict, ...place, ...rest }));
}

const text = (given: string): Fact => ({ text: given });
const surveyed = (given: unknown): Fact => text(given === undefined ? "not surveyed" : "surveyed");

const SWITCH_GRADES: Readonly<Record<string, number>> = { off: 0, perhaps: 0.5, on: 1 };
/** The grade of each zone status. Cloudflare protects only active zones. */
const STATUS_GRADES: Readonly<Record<string, number>> = { paused: 0, pending: 0, moved: 0, active: 1 };
const POLICY_GRADES: Readonly<Record<string, number>> = { off: 0, logging: 1, enforced: 2 };
const JOB_GRADES: Readonly<Record<string, number>> = { off: 0, failing: 0, new: 1, working: 2 };
const READINESS_GRADES: Readonly<Record<string, number>> = { blocked: 0, ready: 1, underWay: 2, done: 3 };

function zoneDifferences(old: Zone, now: Zone, stacks: Stacks): Difference[] {
  const both = <Part extends keyof Zone>(part: Part): [Zone[Part], Zone[Part]] => [old[part], now[part]];
  return [
    ...inPart("plan", both("plan"), (a, b) => changed("plan", text(a), text(b))),
    ...inPart("status", both("status"), (a, b) =>
      changed("status", graded(STATUS_GRADES, a), graded(STATUS_GRADES, b)),
    ),
    ...inPart("Page Shield", both("pageShield"), (a, b) => [
      ...changed("Page Shield", switched(a.enabled), switched(b.enabled)),
      ...(b.enabled ? stackDifferences("Page Shield", [a, b], stacks) : []),
    ]),
    ...inPart("policies", both("policies"), (a, b) =>
      inObjects(a, b, {
        keys: [byId, ({ expression, value }) => JSON.stringify([expression, value])],
        idOf: byId,
        labelOf: ({ id, description }) => labelOf("policy", description, id),
        differences: policyDifferences,
        stacks,
      }),
    ),
    ...inPart("scripts", both("scripts"), scriptDifferences),
    ...inPart("managed rulesets", both("deployments"), deploymentsDifferences(stacks)),
    ...protectionDifferences(old, now),
    ...inPart("OWASP", both("owasp"), (a, b) => changed("OWASP", owaspFact(a, b), owaspFact(b, a))),
    ...inPart("WAF migration", both("migration"), (a, b) => [
      ...changed(
        "WAF migration",
        graded(READINESS_GRADES, a.readiness),
        graded(READINESS_GRADES, b.readiness),
      ),
      ...(a.readiness === "blocked" && b.readiness === "blocked"
        ? changed("WAF migration: blockers", fewer(a.because.length), fewer(b.because.length))
        : []),
    ]),
    ...inPart("Logpush jobs", both("jobs"), jobsDifferences(stacks)),
  ];
}

function accountDifferences(old: Account, now: Account, stacks: Stacks): Difference[] {
  return [
    ...inPart("managed rulesets", [old.deployments, now.deployments], deploymentsDifferences(stacks)),
    ...inPart("Logpush jobs", [old.jobs, now.jobs], jobsDifferences(stacks)),
    ...inPart("Workers KV namespaces", [old.namespaces, now.namespaces], (a, b) =>
      inObjects(a, b, {
        keys: [byId, ({ title }) => title],
        idOf: byId,
        labelOf: ({ id, title }) => labelOf("namespace", title, id),
        differences: ([before, after], what, id) => changed(what, existing(before), existing(after), id),
        stacks,
      }),
    ),
  ];
}

const switched = (isEnabled: boolean): Fact => graded(SWITCH_GRADES, isEnabled ? "on" : "off");
const existing = (given: unknown): Fact => text(given === undefined ? "none" : "exists");

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
    ...changed(`${what}: pages`, text(old.expression), text(now.expression), id),
    ...changed(`${what}: allows`, text(old.value), text(now.value), id),
    ...(before && after ? changed(`${what}: scripts that it blocks`, before, after, id) : []),
  ];
}

type Scripts = Exclude<Zone["scripts"], NotReadable>;

/**
 * Compares malicious and suspicious scripts one by one if both surveys list all of them, otherwise by number. Also compares the number
 * of unapproved scripts.
 */
function scriptDifferences(old: Scripts, now: Scripts): Difference[] {
  const isWhole = [old, now].every(
    ({ malicious, suspicious, worst }) => malicious + suspicious === worst.length,
  );
  const fact = (script: Item<Scripts["worst"]> | undefined): Fact =>
    script === undefined ? ABSENT : fewer(1, `seen on ${script.host}`);
  const malicious = isWhole
    ? paired(old.worst, now.worst, ({ url, host }) => JSON.stringify([url, host])).flatMap(([a, b]) =>
        changed(`malicious or suspicious script ${(b ?? a)?.url ?? ""}`, fact(a), fact(b)),
      )
    : changed(
        "malicious or suspicious scripts",
        fewer(old.malicious + old.suspicious),
        fewer(now.malicious + now.suspicious),
      );
  // Only surveys with an inventory count these.
  const unapproved =
    old.unapproved === null || now.unapproved === null
      ? []
      : changed("unapproved scripts", fewer(old.unapproved), fewer(now.unapproved));
  return [...malicious, ...unapproved];
}

function deploymentsDifferences(stacks: Stacks) {
  return (old: readonly Deployment[], now: readonly Deployment[]): Difference[] => {
    // A rule keeps its ref where its ID changes, but not every rule has a ref of its own. One that executes another
    // ruleset is another deployment, whatever it kept.
    const within = (key: "ruleId" | "ref" | "expression") => (each: Deployment) =>
      JSON.stringify([each.rulesetId, each[key]]);
    const names = new Map(
      [...old, ...now].flatMap(({ rulesetId, effect }) =>
        isReadable(effect) ? [[rulesetId, effect.name] as const] : [],
      ),
    );
    return inObjects(old, now, {
      keys: [within("ruleId"), within("ref"), within("expression")],
      idOf: ({ ruleId }) => ruleId,
      labelOf: ({ rulesetId }) => names.get(rulesetId) ?? rulesetId,
      differences: deploymentDifferences,
      stacks,
    });
  };
}

function deploymentDifferences(
  [old, now]: Pair<Deployment>,
  what: string,
  id: string,
): readonly Difference[] {
  if (old === undefined || now === undefined) return changed(what, stateFact(old), stateFact(now), id);
  // What an unreadable ruleset leaves unknown isn't compared.
  const unread = [old.effect, now.effect].find(isNotReadable);
  const shown = [
    ...(unread === undefined || old.enabled !== now.enabled
      ? changed(what, stateFact(old), stateFact(now), id)
      : []),
    ...changed(`${what}: requests`, text(old.expression), text(now.expression), id),
  ];
  const isOff = ({ enabled, state }: Deployment): boolean =>
    !enabled || (unread === undefined && state === "off");
  if (isOff(old) || isOff(now)) return shown;
  return [
    ...shown,
    ...changed(`${what}: exceptions`, ...exceptionFacts(old, now), id),
    ...inPart(`${what}: effect`, [old.effect, now.effect], (a, b) => [
      ...changed(`${what}: action`, actionFact(a.action), actionFact(b.action), id),
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

function stateFact(given: Deployment | undefined): Fact {
  return given === undefined ? ABSENT : graded(SWITCH_GRADES, given.state);
}

function rulesFact(rulesOn: number, version: string, other: string): Fact {
  const text = formatNumber(rulesOn);
  return version === other ? { text, grades: [rulesOn] } : { text: `${text} in version ${version}` };
}

/** Grades a ruleset's action. An action that only logs is worse, because it blocks nothing. */
function actionFact(action = "default"): Fact {
  return { text: action, grades: [Number(action !== "log")] };
}

type Exception = Item<Deployment["exceptions"]>;

/** Grades a deployment's exceptions in both surveys, regardless of their order: skipping fewer rules is better. */
function exceptionFacts(before: Deployment, after: Deployment): [before: Fact, after: Fact] {
  const words = ({ skips, expression, logging }: Exception): string =>
    `${skips === "all" ? "all rules" : pluralize(skips, "rule")}${logging === false ? ", not logged," : ""} if ${expression}`;
  const pairs = paired(before.exceptions, after.exceptions, words, ({ expression }) => expression);
  const fact = (all: readonly (Exception | undefined)[]): Fact => ({
    text:
      all
        .flatMap((each) => (each ? [words(each)] : []))
        .sort()
        .join("; ") || ABSENT.text,
    grades: all.map((each) => (each?.skips === "all" ? -Infinity : -(each?.skips ?? 0))),
  });
  return [fact(pairs.map(([old]) => old)), fact(pairs.map(([, now]) => now))];
}

/**
 * Compares whether a managed ruleset protects the zone. This is compared per zone, because the account's deployments
 * may cover only some of its zones.
 */
function protectionDifferences(...zones: readonly [old: Zone, now: Zone]): readonly Difference[] {
  const [before, after] = zones.map((zone) => {
    const protection = valueOf(protectionOf(zone));
    return protection && switched(protection === "on");
  });
  return before && after ? changed("protected by a managed ruleset", before, after) : [];
}

/**
 * Grades the OWASP settings: an action that blocks, a lower threshold and a higher paranoia level are each better. If
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

function jobsDifferences(stacks: Stacks) {
  const state = (job: SurveyedJob | undefined): Fact =>
    job === undefined ? ABSENT : graded(JOB_GRADES, job.state);
  return (old: readonly SurveyedJob[], now: readonly SurveyedJob[]): Difference[] =>
    inObjects(old, now, {
      keys: [byId, ({ name, dataset }) => JSON.stringify([name, dataset])],
      idOf: byId,
      labelOf: ({ id, name }) => labelOf("Logpush job", name, id),
      differences: ([before, after], what, id) => [
        ...changed(what, state(before), state(after), id),
        ...(before && after
          ? [
              ...changed(`${what}: destination`, text(before.destination), text(after.destination), id),
              ...changed(`${what}: lines left out`, leftOut(before), leftOut(after), id),
            ]
          : []),
      ],
      stacks,
    });
}

/** What keeps lines of a job from being pushed, other than its filter. */
function leftOut({ filterAttackTraffic, transformerId }: SurveyedJob): Fact {
  const all = applying(
    filterAttackTraffic === true && "attack traffic",
    transformerId !== undefined && `by transformer ${transformerId}`,
  );
  return { text: all.join(", ") || "none", grades: [-all.length] };
}

/** An item in the old and the new survey. Undefined for a survey that doesn't contain it. */
type Pair<T> = readonly [old: T | undefined, now: T | undefined];

/**
 * Pairs the items of two surveys by the first key, then the remaining items by the next key: an object that was deleted
 * and recreated has a new ID, but may have the same name.
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

/** One property in a survey, and how good its value is. */
interface Fact {
  readonly text: string;
  /**
   * How good the value is: higher is better. If some grades improve and others worsen, the change is neutral. Undefined
   * if the value can't be graded.
   */
  readonly grades?: readonly (number | undefined)[];
}

/** A missing object. It has the same grade as an object that's off. */
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
  [before, after]: readonly [before: Cell<T>, after: Cell<T>],
  differences: (before: Exclude<T, NotReadable>, after: Exclude<T, NotReadable>) => readonly Difference[],
): readonly Difference[] {
  if (isReadable(before) && isReadable(after)) return differences(before, after);
  // Words for the same failure may differ.
  if (isNotReadable(before) && isNotReadable(after)) return [];
  const fact = (given: Cell<T>): Fact => ({ text: textOf(given, () => "readable") });
  return changed(what, fact(before), fact(after));
}

/** How to compare the objects of a list. */
interface Comparing<T> {
  /** What pairs an object with its earlier version, in this order: see `paired`. */
  readonly keys: readonly ((item: T) => string)[];
  readonly idOf: (item: T) => string;
  readonly labelOf: (item: T) => string;
  readonly differences: (pair: Pair<T>, what: string, id: string) => readonly Difference[];
  readonly stacks: Stacks;
}

/** Compares objects, and which stacks manage them. If several have the same label, their IDs are added to it. */
function inObjects<T extends Stacked>(
  before: readonly T[],
  after: readonly T[],
  { keys, idOf, labelOf, differences, stacks }: Comparing<T>,
): Difference[] {
  const known = paired(before, after, ...keys).flatMap((pair) => {
    const item = pair[1] ?? pair[0];
    return item === undefined ? [] : [{ pair, id: idOf(item), label: labelOf(item) }];
  });
  return known.flatMap(({ pair, id, label }) => {
    const isOnly = known.filter((each) => each.label === label).length === 1;
    const what = isOnly ? label : `${label} (${id})`;
    return [...differences(pair, what, id), ...stackDifferences(what, pair, stacks, id)];
  });
}

function graded(grades: Readonly<Record<string, number>>, text: string): Fact {
  return { text, grades: [ownMember(grades, text)] };
}

function fewer(count: number, text = formatNumber(count)): Fact {
  return { text, grades: [-count] };
}

/** The stacks that both surveys include. Only these can be compared. */
type Stacks = ReadonlySet<string>;

interface Stacked {
  readonly stack?: string | null;
}

/**
 * Compares which stacks manage an object. It's better if a stack manages it. A new object that no stack manages counts
 * as worse.
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
