import { z } from "zod";
import { unlessAbsent } from "../api/errors";
import { hostsIn } from "../import/names";
import { jobStateOf } from "../logpush/job-state";
import { PAGE_SHIELD } from "../limits";
import { listJobs } from "../logpush/job-api";
import { entryPoint as migratedEntryPoint } from "../migration/api";
import { observe } from "../migration/observation";
import { judged } from "../migration/judge";
import { CspError } from "../page-shield/csp";
import { isScoredBelow, isThreat, listDetected, SCRIPTS } from "../page-shield/detected";
import { listPageShieldPolicies, readPageShieldSettings } from "../page-shield/read";
import type { Script as DetectedScript } from "../page-shield/records";
import { wouldBlockOf } from "../page-shield/would-block";
import { entryPointPath } from "../rulesets/entry-point";
import { explain, type ExecutedRuleset } from "../rulesets/explain";
import { findManagedRuleset, UnknownRulesetError } from "../rulesets/managed";
import { entryPoint, type EntryPoint, type ManagedRuleset, type ZoneRule } from "../rulesets/wire";
import type { Scope } from "../runtime/composite-id";
import type { Host } from "../runtime/host";
import { omitAbsent } from "../runtime/members";
import { RIGHTS, type Cells } from "./cells";
import type { Cell, Deployment, ListedZone, NotReadable, SurveyedJob, Zone } from "./model";
import type { PaymentPages } from "./payment-pages";
import { isOn } from "./protection";
import { isNotReadable, isReadable, valueOf } from "./readable";
import { stackOf, unmanagedIn, type Stacks } from "./stacks";
import { tasksOf } from "./tasks";

/** What all zones of a survey share. */
export interface Reading {
  readonly host: Host;
  readonly cells: Cells;
  /** Undefined in a survey without stacks. */
  readonly stacks: Stacks | undefined;
  readonly paymentPages: PaymentPages;
  /** Whether the inventory approves a script. Undefined without an inventory. */
  readonly isApproved: ((url: string) => boolean) | undefined;
}

/** Reads a zone with the fewest requests that its parts take: docs/guides/survey.md lists them. */
export async function readZone(reading: Reading, listed: ListedZone): Promise<Zone> {
  const { host, cells } = reading;
  const { id } = listed;
  const { api } = host;
  const root = `/zones/${id}`;
  const account = valueOf(listed.accountId);
  const cell = <T>(path: string, read: () => Promise<T>): Promise<Cell<T>> =>
    cells.read(`${root}${path}`, account, read);

  // The migration judges the same entry point, so it's read once for both.
  const managedRules = cell("/rulesets", () =>
    unlessAbsent(() =>
      api.get(entryPointPath(id), {
        what: `Reading the managed rules of zone ${id}`,
        schema: bothEntryPoints,
      }),
    ),
  );
  const [settings, policies, found, entry, migration, jobs] = await Promise.all([
    cell("/page_shield", () => readPageShieldSettings(api, id)),
    cell("/page_shield", () => listPageShieldPolicies(api, id)),
    cell("/page_shield", async () => {
      const filters = SCRIPTS.includeAll;
      return (await listDetected(host, SCRIPTS, { zoneId: id, status: "active,infrequent", filters })).items;
    }),
    managedRules,
    cell("/waf_migration/status", () => readMigration(reading, id, managedRules)),
    cell("/logpush/jobs", () => readJobs(reading, { kind: "zone", id })),
  ]);
  const scripts = isReadable(found) ? found : [];
  const deployments = isReadable(entry) ? await deploymentsOf(reading, id, account, entry?.explained) : entry;
  const { paymentPages, stacks } = reading;
  const hosts = (valueOf(policies) ?? []).flatMap(({ expression }) => hostsIn(expression));
  const zone = {
    ...listed,
    hasPaymentPages:
      scripts.some((each) => paymentPages.hasScript(each)) ||
      [valueOf(listed.name) ?? "", ...hosts].some((host) => paymentPages.hasHost(host)),
    pageShield: isReadable(settings)
      ? {
          enabled: settings.enabled,
          ...omitAbsent({
            updatedAt: settings.updatedAt,
            useReportingEndpoint: settings.useReportingEndpoint,
            useConnectionUrlPath: settings.useConnectionUrlPath,
          }),
          ...stackOf(stacks, ["PageShieldSettings", id]),
        }
      : settings,
    policies: isReadable(policies)
      ? policies.map(({ id: policyId, description = "", action, enabled, expression, value }) => ({
          id: policyId,
          description,
          effect: enabled ? (EFFECTS.get(action) ?? action) : "off",
          expression,
          value,
          ...(enabled && action === "allow" && isReadable(found)
            ? { wouldBlock: blockedBy({ expression, value }, scripts) }
            : {}),
          ...stackOf(stacks, ["PageShieldPolicy", policyId]),
        }))
      : policies,
    scripts: isReadable(found) ? summaryOf(found, reading) : found,
    deployments,
    owasp: isReadable(deployments) ? owaspOf(deployments) : deployments,
    migration,
    jobs,
  };
  const unmanaged = stacks === undefined ? {} : { unmanaged: unmanagedIn(zone) };
  return { ...zone, tasks: tasksOf(zone), ...unmanaged };
}

/** An entry point, for the deployments and for the migration. */
const bothEntryPoints = z
  .unknown()
  .transform((raw) => ({ explained: raw, migrated: raw }))
  .pipe(z.object({ explained: entryPoint, migrated: migratedEntryPoint }));
type BothEntryPoints = z.infer<typeof bothEntryPoints>;

const EFFECTS: ReadonlyMap<string, string> = new Map([
  ["allow", "enforced"],
  ["log", "logging"],
]);

type Policy = Exclude<Zone["policies"], { notReadable: unknown }>[number];

function blockedBy(
  policy: Pick<Policy, "expression" | "value">,
  scripts: readonly DetectedScript[],
): NonNullable<Policy["wouldBlock"]> | null {
  const active = scripts.filter(({ status }) => status === "active");
  try {
    const found = wouldBlockOf(policy, active);
    return found === undefined ? null : { ...found, scripts: [...found.scripts] };
  } catch (error) {
    if (error instanceof CspError) return null; // Cloudflare holds a policy that it would no longer accept.
    throw error;
  }
}

/** A zone has at most this many scripts in the survey. All of them count. */
const WORST_SCRIPTS = 10;

function summaryOf(
  found: readonly DetectedScript[],
  { paymentPages, isApproved }: Pick<Reading, "paymentPages" | "isApproved">,
): Exclude<Zone["scripts"], { notReadable: unknown }> {
  const threshold = PAGE_SHIELD.MALICIOUS_BELOW_SCORE;
  const malicious = found.filter((each) => isThreat(each, threshold));
  const worst = malicious
    .map((each) => ({
      ...omitAbsent({
        url: each.url,
        host: each.host,
        firstPageUrl: each.firstPageUrl,
        score: each.jsIntegrityScore,
        threats: threatsOf(each),
      }),
      isMalicious: true,
      onPaymentPage: paymentPages.hasScript(each),
    }))
    .sort(
      (a, b) =>
        Number(b.onPaymentPage) - Number(a.onPaymentPage) ||
        (a.score ?? 0) - (b.score ?? 0) ||
        (a.url < b.url ? -1 : 1),
    );
  return {
    seen: found.length,
    malicious: malicious.length,
    notScored: found.filter(
      (each) => !isThreat(each, threshold) && isScoredBelow(each, threshold) === undefined,
    ).length,
    unapproved: isApproved === undefined ? null : found.filter(({ url }) => !isApproved(url)).length,
    onPaymentPages: found.filter((each) => paymentPages.hasScript(each)).length,
    worst: worst.slice(0, WORST_SCRIPTS),
  };
}

function threatsOf(script: DetectedScript): string[] | undefined {
  const all = [...(script.maliciousDomainCategories ?? []), ...(script.maliciousUrlCategories ?? [])];
  return all.length === 0 ? undefined : [...new Set(all)].sort();
}

async function deploymentsOf(
  reading: Reading,
  zone: string,
  account: string | undefined,
  found: EntryPoint | undefined,
): Promise<Deployment[]> {
  const effects = new Map<string, Cell<Effect>>();
  for (const rule of found?.rules ?? [])
    if (rule.deploys !== undefined) effects.set(rule.id, await readEffect(reading, account, rule));
  const rulesetOf = ({ id }: ZoneRule): ExecutedRuleset | undefined => {
    const deployed = valueOf(effects.get(id) ?? NONE)?.deployed;
    return deployed === undefined ? undefined : { managed: deployed };
  };
  return explain(zone, found, rulesetOf).deployments.map((each) => {
    const effect = effects.get(each.ruleId) ?? NONE;
    const { paranoiaLevel, scoreThreshold, action, rules } = each;
    return {
      ruleId: each.ruleId,
      ref: each.ref,
      description: each.description,
      enabled: each.enabled,
      expression: each.expression,
      rulesetId: each.ruleset.id,
      exceptions: each.exceptions.map(({ description, expression, skips }) => ({
        description,
        expression,
        skips,
      })),
      effect: isReadable(effect)
        ? {
            name: effect.deployed.name,
            version: effect.deployed.version,
            versionsBehind: Math.max(0, Number(effect.latest) - Number(effect.deployed.version)) || 0,
            ...omitAbsent({ paranoiaLevel, scoreThreshold, action }),
            rulesOn: rules?.on ?? 0,
            rulesOff: rules?.off ?? 0,
          }
        : effect,
      ...stackOf(reading.stacks, ["ManagedRulesetOverride", each.ruleId], ["Ruleset", found?.id ?? ""]),
    };
  });
}

interface Effect {
  readonly deployed: ManagedRuleset;
  /** The latest version's number. */
  readonly latest: string;
}

const NONE = { notReadable: "account", what: "the zone's account isn't known: pass --account" } as const;

/** Reads a deployed ruleset. Each version is read once for all zones of an account. */
async function readEffect(
  { host, cells }: Reading,
  account: string | undefined,
  { deploys }: ZoneRule,
): Promise<Cell<Effect>> {
  if (account === undefined || deploys === undefined) return NONE;
  const ctx = host.context("survey");
  const choice = { id: deploys.rulesetId };
  return await cells.read(`/accounts/${account}/rulesets`, account, async (): Promise<Cell<Effect>> => {
    try {
      const latest = await findManagedRuleset(ctx, account, choice);
      const deployed = await findManagedRuleset(ctx, account, choice, deploys.version);
      return { deployed, latest: latest.version };
    } catch (error) {
      if (!(error instanceof UnknownRulesetError)) throw error;
      return { notReadable: "failed", what: error.reason };
    }
  });
}

function owaspOf(deployments: readonly Deployment[]): Zone["owasp"] {
  for (const { effect } of deployments.filter(isOn)) {
    if (!isReadable(effect)) return effect;
    if (effect.paranoiaLevel === undefined) continue;
    const { paranoiaLevel, scoreThreshold, action } = effect;
    return { state: "on", paranoiaLevel, ...omitAbsent({ scoreThreshold, action }) };
  }
  return { state: "off" };
}

type Migration = Exclude<Zone["migration"], { notReadable: unknown }>;

/** Ends the judgement of a migration that needs a part which couldn't be read. */
class UnreadPart extends Error {
  override readonly name = "UnreadPart";

  constructor(readonly why: NotReadable) {
    super(why.what);
  }
}

/** @throws ApiError if the migration can't be read. */
async function readMigration(
  reading: Reading,
  zone: string,
  managedRules: Promise<Cell<BothEntryPoints | undefined>>,
): Promise<Cell<Migration>> {
  try {
    return await judgeMigration(reading, zone, managedRules);
  } catch (error) {
    if (error instanceof UnreadPart) return error.why;
    throw error;
  }
}

async function judgeMigration(
  { host }: Reading,
  zone: string,
  managedRules: Promise<Cell<BothEntryPoints | undefined>>,
): Promise<Migration> {
  const observation = await observe(host.api, zone, {
    onlyBlockers: true,
    entryPoint: async () => {
      const found = await managedRules;
      // Without this, an entry point that couldn't be read would look like none at all.
      if (isNotReadable(found)) throw new UnreadPart(found);
      return found?.migrated;
    },
  });
  const { readiness, migrationState = "", because } = judged(observation);
  const right = [...RIGHTS].find(([, place]) => because.some((text) => text.includes(place)))?.[0];
  return { readiness, state: migrationState, because: [...because], ...omitAbsent({ missingRight: right }) };
}

/** Reads the Logpush jobs of a zone or account. */
export async function readJobs({ host, stacks }: Reading, scope: Scope): Promise<SurveyedJob[]> {
  const jobs = (await listJobs(host.api, scope)).map(jobStateOf);
  return jobs.map(({ id, name, dataset, enabled, destination, lastComplete, lastError, errorMessage }) => ({
    id,
    name,
    dataset,
    state: !enabled
      ? "off"
      : lastError !== undefined
        ? "failing"
        : lastComplete === undefined
          ? "new"
          : "working",
    destination,
    ...omitAbsent({ lastComplete, lastError, errorMessage }),
    ...stackOf(stacks, ["LogpushJob", id]),
  }));
}
