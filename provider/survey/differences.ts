import { formatNumber } from "../limits/workers";
import { compareText, ownMember, pluralize } from "../runtime/values";
import { VERDICTS, type Change } from "./comparison";
import {
  ABSENT,
  changed,
  fewer,
  graded,
  inObjects,
  inPart,
  paired,
  stackDifferences,
  type Difference,
  type Fact,
  type Pair,
  type Stacks,
} from "./difference";
import type { Account, Deployment, NotReadable, Survey, SurveyedJob, Zone } from "./model";
import { protectionOf } from "./protection";
import { isNotReadable, isReadable, valueOf } from "./readable";

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
      : [...changed("ID", { text: old.id }, { text: now.id }), ...differences(old, now)];
  return found.map(({ verdict, ...rest }) => ({ verdict, ...place, ...rest }));
}

const surveyed = (given: unknown): Fact => ({ text: given === undefined ? "not surveyed" : "surveyed" });

const SWITCH_GRADES: Readonly<Record<string, number>> = { off: 0, perhaps: 0.5, on: 1 };
/** The grade of each zone status. Cloudflare protects only active zones. */
const STATUS_GRADES: Readonly<Record<string, number>> = { paused: 0, pending: 0, moved: 0, active: 1 };
const POLICY_GRADES: Readonly<Record<string, number>> = { off: 0, logging: 1, enforced: 2 };
const JOB_GRADES: Readonly<Record<string, number>> = { off: 0, failing: 0, new: 1, working: 2 };
const READINESS_GRADES: Readonly<Record<string, number>> = { blocked: 0, ready: 1, underWay: 2, done: 3 };

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
    ...protectionDifferences(old, now),
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

/**
 * Compares malicious scripts one by one if both surveys list all of them, otherwise by number. Also compares the number
 * of unapproved scripts.
 */
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
  // A rule keeps its ref where its ID changes, but not every rule has a ref of its own. One that executes another
  // ruleset is another deployment, whatever it kept.
  const within = (key: "ruleId" | "ref" | "expression") => (each: Deployment) =>
    JSON.stringify([each.rulesetId, each[key]]);
  const pairs = paired(old, now, within("ruleId"), within("ref"), within("expression"));
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
  if (old === undefined || now === undefined) return changed(what, stateFact(old), stateFact(now), id);
  // What an unreadable ruleset leaves unknown isn't compared.
  const unread = [old.effect, now.effect].find(isNotReadable);
  const shown = [
    ...(unread === undefined || old.enabled !== now.enabled
      ? changed(what, stateFact(old), stateFact(now), id)
      : []),
    ...changed(`${what}: requests`, { text: old.expression }, { text: now.expression }, id),
  ];
  const isOff = ({ enabled, state }: Deployment): boolean =>
    !enabled || (unread === undefined && state === "off");
  if (isOff(old) || isOff(now)) return shown;
  return [
    ...shown,
    ...changed(`${what}: exceptions`, ...exceptionFacts(old, now), id),
    ...inPart(`${what}: effect`, old.effect, now.effect, (a, b) => [
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
  const text = ({ skips, expression }: Exception): string =>
    `${skips === "all" ? "all rules" : pluralize(skips, "rule")} if ${expression}`;
  const pairs = paired(before.exceptions, after.exceptions, text, ({ expression }) => expression);
  const fact = (all: readonly (Exception | undefined)[]): Fact => ({
    text:
      all
        .flatMap((each) => (each ? [text(each)] : []))
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
