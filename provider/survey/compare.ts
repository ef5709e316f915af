import { z } from "zod";
import { formatNumber } from "../limits/workers";
import { members, schemaUrl } from "../runtime/published";
import { ownMember } from "../runtime/values";
import { printable } from "../api/printable";
import { CommandError } from "../terminal/errors";
import { readText } from "../terminal/files";
import { print, type Io } from "../terminal/io";
import { survey, type Cell, type Survey, type Zone } from "./model";
import { isOn } from "./protection";
import { isNotReadable, notReadableText, valueOf } from "./readable";

/** Compares two surveys, zone by zone. */

export interface CompareOptions {
  readonly format: "text" | "json";
}

const VERDICTS = ["worse", "better", "neutral"] as const;
type Verdict = (typeof VERDICTS)[number];

const COMPARISON_SCHEMA = schemaUrl("survey-diff.v1");

/** What `edgeguard survey diff --format json` writes. */
export const comparison = members({
  $schema: z.literal(COMPARISON_SCHEMA),
  /** When each survey began. */
  before: z.string(),
  after: z.string(),
  /** `neutral` changes are neither: a zone that was added, or a part that only one survey could read. */
  changes: z.array(
    members({
      verdict: z.enum(VERDICTS),
      zoneId: z.string(),
      zone: z.string(),
      /** `Page Shield`, or a policy, ruleset or job by its name. */
      what: z.string(),
      before: z.string(),
      after: z.string(),
    }),
  ),
});
type Change = z.infer<typeof comparison>["changes"][number];

export async function compareSurveys(
  io: Io,
  oldFile: string,
  newFile: string,
  { format }: CompareOptions,
): Promise<void> {
  const [before, after] = [await readSurvey(io, oldFile), await readSurvey(io, newFile)];
  const changes = changesBetween(before, after);
  const result = { $schema: COMPARISON_SCHEMA, before: before.at, after: after.at, changes };
  if (format === "json") await print(io, `${JSON.stringify(result, undefined, 2)}\n`);
  else await print(io, printable(textOf(before, after, changes)));
}

async function readSurvey(io: Io, file: string): Promise<Survey> {
  const text = await readText(io, file, `the survey in ${file}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new CommandError(`${file} is not valid JSON. Pass the survey.json of a survey.`);
  }
  const parsed = survey.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CommandError(
    `${file} is not a survey that this version can read (${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}). Pass the survey.json of a survey, and update pulumi-edgeguard if a later version wrote it.`,
  );
}

/** A fact of a zone that can change for better or worse. */
interface Fact {
  readonly text: string;
  /** A higher one is better. Undefined if it can't be compared. */
  readonly grade?: number;
  /** The fact of the part that it belongs to. If only one survey could read that part, its objects aren't compared. */
  readonly part?: string;
  readonly isNotReadable?: boolean;
}

/** Returns all changes: worse ones first, then by zone. */
function changesBetween(before: Survey, after: Survey): Change[] {
  const [old, now] = [before, after].map((each) => new Map(each.zones.map((zone) => [zone.id, zone])));
  const ids = new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])]);
  const changes = [...ids].flatMap((id) => zoneChanges(id, old?.get(id), now?.get(id)));
  return changes.sort(
    (a, b) =>
      VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict) ||
      (a.zone < b.zone ? -1 : a.zone > b.zone ? 1 : 0),
  );
}

const ABSENT: Fact = { text: "none" };

function zoneChanges(zoneId: string, old: Zone | undefined, now: Zone | undefined): Change[] {
  const zone = valueOf((now ?? old)?.name ?? "") ?? zoneId;
  if (old === undefined || now === undefined) {
    const [before, after] = old === undefined ? ["not surveyed", "surveyed"] : ["surveyed", "not surveyed"];
    return [{ verdict: "neutral", zoneId, zone, what: "zone", before, after }];
  }
  const [oldFacts, newFacts] = [factsOf(old), factsOf(now)];
  return [...new Set([...oldFacts.keys(), ...newFacts.keys()])].flatMap((what): Change[] => {
    const [before, after] = [oldFacts.get(what) ?? ABSENT, newFacts.get(what) ?? ABSENT];
    if (before.text === after.text) return [];
    const part = before.part ?? after.part ?? "";
    if ([oldFacts, newFacts].some((facts) => facts.get(part)?.isNotReadable === true)) return [];
    return [
      { verdict: verdictOf(before, after), zoneId, zone, what, before: before.text, after: after.text },
    ];
  });
}

/** An object that's missing grades 0. So does a part that's off. */
function verdictOf(before: Fact, after: Fact): Verdict {
  const [from, to] = [before, after].map((fact) => (fact === ABSENT ? 0 : fact.grade));
  if (from === undefined || to === undefined || from === to) return "neutral";
  return to > from ? "better" : "worse";
}

const SWITCH_GRADES: Readonly<Record<string, number>> = { off: 0, on: 1 };
const POLICY_GRADES: Readonly<Record<string, number>> = { off: 0, logging: 1, enforced: 2 };
const JOB_GRADES: Readonly<Record<string, number>> = { off: 0, failing: 0, new: 1, working: 2 };
const READINESS_GRADES: Readonly<Record<string, number>> = {
  blocked: 0,
  notCounted: 1,
  underWay: 1,
  ready: 2,
  done: 3,
};

/** The facts of a zone, by what they're about. Several objects of one name are told apart by their IDs. */
function factsOf(zone: Zone): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  const add = <T>(what: string, cell: Cell<T>, fact: (value: T) => Fact): void => {
    const given = isNotReadable(cell) ? { text: notReadableText(cell), isNotReadable: true } : fact(cell);
    facts.set(what, given);
  };
  const some = (what: string, part: string, count = 0): void => {
    if (count > 0) facts.set(what, { ...fewer(count), part });
  };
  add("plan", zone.plan, (text) => ({ text }));
  add("Page Shield", zone.pageShield, ({ enabled }) => graded(SWITCH_GRADES, enabled ? "on" : "off"));
  add("malicious scripts", zone.scripts, ({ malicious }) => fewer(malicious));
  add("unapproved scripts", zone.scripts, ({ unapproved }) =>
    unapproved === null ? { text: "no inventory" } : fewer(unapproved),
  );
  add("policies", zone.policies, () => READABLE);
  for (const { id, description, effect } of valueOf(zone.policies) ?? [])
    facts.set(`policy ${id} ${JSON.stringify(description)}`, {
      ...graded(POLICY_GRADES, effect),
      part: "policies",
    });
  add("managed rulesets", zone.deployments, () => READABLE);
  for (const each of valueOf(zone.deployments) ?? []) {
    const { ruleId, rulesetId, effect, exceptions } = each;
    const { name = rulesetId, versionsBehind, rulesOn } = valueOf(effect) ?? {};
    const what = `${name} (rule ${ruleId})`;
    const part = "managed rulesets";
    facts.set(what, { ...graded(SWITCH_GRADES, isOn(each) ? "on" : "off"), part });
    if (rulesOn !== undefined)
      facts.set(`${what}: rules on`, { text: formatNumber(rulesOn), grade: rulesOn, part });
    some(`${what}: exceptions`, part, exceptions.length);
    some(`${what}: versions behind`, part, versionsBehind);
  }
  add("OWASP", zone.owasp, ({ state, paranoiaLevel = 0, scoreThreshold = 0, action = "" }) =>
    state === "off"
      ? { text: state, grade: 0 }
      : {
          text: `paranoia level ${paranoiaLevel}, threshold ${scoreThreshold}, ${action}`,
          grade: owaspGrade(paranoiaLevel, scoreThreshold, action),
        },
  );
  add("WAF migration", zone.migration, ({ readiness }) => graded(READINESS_GRADES, readiness));
  add("Logpush jobs", zone.jobs, () => READABLE);
  for (const { id, name, state } of valueOf(zone.jobs) ?? [])
    facts.set(`Logpush job ${id} ${JSON.stringify(name)}`, {
      ...graded(JOB_GRADES, state),
      part: "Logpush jobs",
    });
  if (zone.unmanaged !== undefined) facts.set("unmanaged objects", fewer(zone.unmanaged.objects.length));
  return facts;
}

const READABLE: Fact = { text: "readable" };

function graded(grades: Readonly<Record<string, number>>, text: string): Fact {
  const grade = ownMember(grades, text);
  return grade === undefined ? { text } : { text, grade };
}

function fewer(count: number): Fact {
  return { text: formatNumber(count), grade: -count };
}

/** An action that blocks counts most, then a lower threshold, then a higher level. */
function owaspGrade(level: number, threshold: number, action: string): number {
  return 1 + (action === "log" ? 0 : 100_000) + (1_000 - threshold) * 10 + level;
}

function textOf(before: Survey, after: Survey, changes: readonly Change[]): string {
  const groups = VERDICTS.flatMap((verdict) => {
    const group = changes.filter((each) => each.verdict === verdict);
    const lines = group.map((each) => `  ${each.zone}: ${each.what}: ${each.before} -> ${each.after}`);
    return group.length === 0 ? [] : [`${HEADINGS[verdict]} (${formatNumber(group.length)}):`, ...lines];
  });
  const head = `${before.at} -> ${after.at}: ${formatNumber(before.zoneCount)} -> ${formatNumber(after.zoneCount)} zones`;
  return `${[head, ...(groups.length === 0 ? ["Nothing changed."] : groups)].join("\n")}\n`;
}

const HEADINGS: Readonly<Record<Verdict, string>> = {
  worse: "Worse",
  better: "Better",
  neutral: "Neither better nor worse",
};
