import { formatNumber } from "../limits/workers";
import { applying, compareText, pluralize } from "../basics/words";
import { ownMember } from "../basics/json";
import type { Account, Cell, Survey, SurveyedJob, Zone } from "./model";
import { protectionOf } from "./protection";
import { isNotReadable, mapCell, notReadableText, valueOf } from "./readable";

/**
 * Finds the differences between two surveys, and whether they're better or worse. If only one survey has the
 * information, a difference is neither. Objects are compared by ID.
 */

export const VERDICTS = ["worse", "better", "neutral"] as const;

interface Difference {
  readonly verdict: (typeof VERDICTS)[number];
  /** What changed: `Page Shield`, or the name of a policy, ruleset or job. */
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

export interface Change extends Difference {
  readonly scope: "zone" | "account";
  /** The name of the zone or account. */
  readonly name: string;
}

/** Returns all changes: worse ones first, then better, then neutral ones, each sorted by name. */
export function changesBetween(before: Survey, after: Survey): Change[] {
  const given = new Set(before.stacks.map(({ name }) => name));
  const stacks = new Set(after.stacks.map(({ name }) => name).filter((name) => given.has(name)));
  const zones = changesIn("zone", before.zones, after.zones, (zone) => ({
    name: valueOf(zone.name) ?? zone.id,
    facts: zoneFacts(zone, stacks),
  }));
  const accounts = changesIn("account", before.accounts, after.accounts, (account) => ({
    name: account.name ?? account.id,
    facts: accountFacts(account, stacks),
  }));
  return [...zones, ...accounts].sort(
    (a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict) || compareText(a.name, b.name),
  );
}

/** Compares zones or accounts. One that's in only one survey is neither better nor worse. */
function changesIn<T extends { readonly id: string }>(
  scope: Change["scope"],
  before: readonly T[],
  after: readonly T[],
  describe: (item: T) => { readonly name: string; readonly facts: Facts },
): Change[] {
  const old = new Map(before.map((item) => [item.id, describe(item)]));
  const now = new Map(after.map((item) => [item.id, describe(item)]));
  const surveyed = (isSurveyed: boolean): Fact => ({ text: isSurveyed ? "surveyed" : "not surveyed" });
  return [...new Map([...old, ...now])].flatMap(([id, { name }]) => {
    const [one, other] = [old.get(id), now.get(id)];
    const found =
      one && other
        ? differences("", one.facts, other.facts)
        : changed(scope, surveyed(one !== undefined), surveyed(other !== undefined));
    return found.map((difference) => ({ scope, name, ...difference }));
  });
}

/** What a survey says about a zone, an account or an object, by name. */
type Facts = Readonly<Record<string, Cell<Fact> | undefined>>;

interface Fact {
  /** Undefined for a list. */
  readonly text?: string;
  /** How good it is: higher is better. Undefined if nobody can rank it. */
  readonly grade?: number | undefined;
  /** More about it, which is compared only if both surveys have it. */
  readonly details?: Facts;
  readonly items?: readonly Item[];
}

/** An object in a list. One that's missing is as good as one that's off. */
interface Item {
  readonly key: string;
  readonly label: string;
  readonly fact: Cell<Fact>;
}

const ABSENT: Fact = { text: "none", grade: 0 };

/** @param path what stands in front of each name. */
function differences(path: string, before: Facts, after: Facts): Difference[] {
  return Object.keys(after).flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    return old === undefined || now === undefined ? [] : differencesOf(path, name, old, now);
  });
}

function differencesOf(path: string, name: string, before: Cell<Fact>, after: Cell<Fact>): Difference[] {
  const what = path + name;
  // Words for the same failure may differ.
  if (isNotReadable(before) && isNotReadable(after)) return [];
  if (isNotReadable(before) || isNotReadable(after)) {
    const readability = (fact: Cell<Fact>): Fact => ({
      text: isNotReadable(fact) ? notReadableText(fact) : fact === ABSENT ? "none" : "readable",
    });
    return changed(what, readability(before), readability(after));
  }
  return [
    ...changed(what, before, after),
    ...differences(`${what}: `, before.details ?? {}, after.details ?? {}),
    ...itemDifferences(path, before.items, after.items),
  ];
}

function itemDifferences(path: string, before: Fact["items"] = [], after: Fact["items"] = []): Difference[] {
  const [old, now] = [byKey(before), byKey(after)];
  // Only a readable deployment has its ruleset's name.
  const known = [...new Map([...now, ...old, ...[...now].filter(([, { fact }]) => !isNotReadable(fact))])];
  return known.flatMap(([key, { label }]) => {
    const isOnly = known.filter(([, each]) => each.label === label).length === 1;
    const name = isOnly ? label : `${label} (${key})`;
    return differencesOf(path, name, old.get(key)?.fact ?? ABSENT, now.get(key)?.fact ?? ABSENT);
  });
}

/** Numbers items that have the same key, such as two deployments of a ruleset. */
function byKey(items: readonly Item[]): Map<string, Item> {
  const found = new Map<string, Item>();
  for (const item of items) {
    let key = item.key;
    for (let number = 2; found.has(key); number += 1) key = `${item.key} #${number}`;
    found.set(key, item);
  }
  return found;
}

function changed(what: string, { text: before = "", grade: from = NaN }: Fact, now: Fact): Difference[] {
  const { text: after = "", grade: to = NaN } = now;
  if (before === after) return [];
  return [{ verdict: to > from ? "better" : to < from ? "worse" : "neutral", what, before, after }];
}

type Grades = Readonly<Record<string, number>>;
const SWITCH: Grades = { off: 0, perhaps: 0.5, on: 1 };
/** Cloudflare protects only active zones. */
const STATUS: Grades = { paused: 0, pending: 0, moved: 0, active: 1 };
const POLICY: Grades = { off: 0, logging: 1, enforced: 2 };
const JOB: Grades = { off: 0, failing: 0, new: 1, working: 2 };
const READINESS: Grades = { blocked: 0, ready: 1, underWay: 2, done: 3 };

const plain = (text: string): Fact => ({ text });
const graded = (grades: Grades, text: string): Fact => ({ text, grade: ownMember(grades, text) });
const switched = (isOn: boolean): Fact => graded(SWITCH, isOn ? "on" : "off");
const more = (count: number): Fact => ({ text: formatNumber(count), grade: count });
const fewer = (count: number): Fact => ({ text: formatNumber(count), grade: -count });
/** An action that only logs blocks nothing. */
const acting = (action = "default"): Fact => ({ text: action, grade: Number(action !== "log") });

function list<T>(cell: Cell<readonly T[]>, item: (each: T) => Item): Cell<Fact> {
  return isNotReadable(cell) ? cell : { items: cell.map(item) };
}

function labelOf(noun: string, name: string, id: string): string {
  return `${noun} ${name === "" ? id : JSON.stringify(name)}`;
}

function zoneFacts(zone: Zone, stacks: Stacks): Facts {
  const protection = valueOf(protectionOf(zone));
  return {
    plan: mapCell(zone.plan, plain),
    status: mapCell(zone.status, (status) => graded(STATUS, status)),
    "Page Shield": mapCell(
      zone.pageShield,
      ({ enabled, useReportingEndpoint, useConnectionUrlPath, stack }) => ({
        ...switched(enabled),
        ...(enabled && {
          details: {
            "Cloudflare's reporting endpoint":
              useReportingEndpoint === undefined ? undefined : switched(useReportingEndpoint),
            "paths of connections":
              useConnectionUrlPath === undefined ? undefined : switched(useConnectionUrlPath),
            stack: managedBy(stack, stacks),
          },
        }),
      }),
    ),
    policies: list(zone.policies, ({ id, description, effect, expression, value, wouldBlock, stack }) => ({
      key: id,
      label: labelOf("policy", description, id),
      fact: {
        ...graded(POLICY, effect),
        details: {
          pages: plain(expression),
          allows: plain(value),
          "scripts that it blocks": wouldBlock ? plain(formatNumber(wouldBlock.count)) : undefined,
          stack: managedBy(stack, stacks),
        },
      },
    })),
    scripts: mapCell(zone.scripts, ({ worst, unapproved }) => ({
      // Only surveys with an inventory count these.
      details: { unapproved: unapproved === null ? undefined : fewer(unapproved) },
      items: worst.map(({ url, host }) => ({
        key: `${url} on ${host}`,
        label: `malicious or suspicious script ${url}`,
        fact: { text: `seen on ${host}`, grade: -1 },
      })),
    })),
    "managed rulesets": deploymentFacts(zone.deployments, stacks),
    "managed rulesets for responses": deploymentFacts(zone.responseDeployments, stacks),
    // Compared per zone, because the account's deployments may cover only some of its zones.
    "protected by a managed ruleset": protection && switched(protection === "on"),
    OWASP: mapCell(zone.owasp, ({ state, paranoiaLevel, scoreThreshold, action }) => ({
      ...graded(SWITCH, state),
      details: {
        "paranoia level": paranoiaLevel === undefined ? undefined : more(paranoiaLevel),
        "score threshold": scoreThreshold === undefined ? undefined : fewer(scoreThreshold),
        action: action === undefined ? undefined : acting(action),
      },
    })),
    "WAF migration": mapCell(zone.migration, ({ readiness, because }) => ({
      ...graded(READINESS, readiness),
      details: { blockers: readiness === "blocked" ? fewer(because.length) : undefined },
    })),
    "Logpush jobs": jobFacts(zone.jobs, stacks),
  };
}

function accountFacts({ deployments, jobs, namespaces }: Account, stacks: Stacks): Facts {
  return {
    "managed rulesets": deploymentFacts(deployments, stacks),
    "Logpush jobs": jobFacts(jobs, stacks),
    "Workers KV namespaces": list(namespaces, ({ id, title, stack }) => ({
      key: id,
      label: labelOf("namespace", title, id),
      fact: { text: "exists", details: { stack: managedBy(stack, stacks) } },
    })),
  };
}

/** Compares deployments by their ruleset, because tools that write the whole entry point give rules new IDs. */
function deploymentFacts(deployments: Zone["deployments"], stacks: Stacks): Cell<Fact> {
  return list(deployments, ({ rulesetId, effect, state, expression, exceptions, payloadLogging, stack }) => ({
    key: rulesetId,
    label: valueOf(effect)?.name ?? rulesetId,
    fact: mapCell(effect, ({ version, versionsBehind, action, rulesOn, rulesOnLog }) => ({
      ...graded(SWITCH, state),
      details: {
        stack: managedBy(stack, stacks),
        ...(state !== "off" && {
          requests: plain(expression),
          action: acting(action),
          version: plain(version),
          // Another version of the ruleset has other rules.
          [`rules that do more than log in version ${version}`]: more(rulesOn - rulesOnLog),
          [`rules on log in version ${version}`]: plain(formatNumber(rulesOnLog)),
          "payload logging": switched(payloadLogging === true),
          "versions behind": fewer(versionsBehind),
          exceptions: list(exceptions, ({ skips, logging, expression: requests }) => ({
            key: requests,
            label: `exception if ${requests}`,
            fact: {
              text: `${skips === "all" ? "all rules" : pluralize(skips, "rule")}${logging === false ? ", not logged" : ""}`,
              grade: skips === "all" ? -Infinity : -skips,
            },
          })),
        }),
      },
    })),
  }));
}

function jobFacts(jobs: Zone["jobs"], stacks: Stacks): Cell<Fact> {
  return list(jobs, ({ id, name, state, destination, stack, ...job }) => ({
    key: id,
    label: labelOf("Logpush job", name, id),
    fact: {
      ...graded(JOB, state),
      details: {
        destination: plain(destination),
        "lines left out": leftOut(job),
        fields: job.fields === undefined ? undefined : more(job.fields),
        "filter (digest)": plain(job.filter ?? "none"),
        "output options (digest)": plain(job.outputOptions),
        stack: managedBy(stack, stacks),
      },
    },
  }));
}

/** What keeps lines of a job from being pushed. */
function leftOut({ filter, sampleRate, filterAttackTraffic, transformerId }: Partial<SurveyedJob>): Fact {
  const all = applying(
    filter !== undefined && "by the filter",
    sampleRate !== undefined && `all but a sample (${sampleRate})`,
    filterAttackTraffic === true && "attack traffic",
    transformerId !== undefined && `by transformer ${transformerId}`,
  );
  return { text: all.join(", ") || "none", grade: (sampleRate ?? 1) - all.length };
}

/** The stacks that both surveys include. Only these can be compared. */
type Stacks = ReadonlySet<string>;

/** It's better if a stack manages an object. */
function managedBy(stack: string | null | undefined, stacks: Stacks): Fact | undefined {
  if (stack === undefined || stacks.size === 0) return undefined;
  return stack === null ? ABSENT : { text: stack, grade: stacks.has(stack) ? 1 : undefined };
}
