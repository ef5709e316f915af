import { digestOf } from "../basics/digest";
import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { unlessAbsent } from "../api/errors";
import { hostsIn } from "../import/names";
import { jobStateOf } from "../logpush/job-state";
import { PAGE_SHIELD } from "../limits/index";
import { listJobs } from "../logpush/job-api";
import { entryPoint as migratedEntryPoint } from "../migration/api";
import { observe } from "../migration/observation";
import { judged } from "../migration/judge";
import { coversOnHost } from "../page-shield/covered-hosts";
import { parseForeignCsp } from "../page-shield/csp";
import { policyEffect } from "../page-shield/effect";
import type { Script as DetectedScript } from "../page-shield/records";
import { isScoredBelow, threatOf } from "../page-shield/threat";
import { listDetected, listPolicies, readSettings, SCRIPTS } from "../page-shield/wire";
import { shownUrl, wouldBlockOf } from "../page-shield/would-block";
import { entryPointOf, entryPointPath, readEntryPoint } from "../rulesets/entry-point";
import { entryPoint, PHASES } from "../rulesets/wire";
import type { Scope } from "../runtime/composite-id";
import type { Host } from "../runtime/host";
import { omitAbsent } from "../basics/json";
import { COMPLETE, RIGHTS, type Reader } from "./cells";
import type { Account, Cell, ListedZone, SurveyedJob, Zone } from "./model";
import type { PaymentPages } from "./payment-pages";
import {
  coveringDeployments,
  deploymentsOf,
  inZone,
  mayHaveEnterpriseRules,
  owaspOf,
  protectionIn,
  rulesOn,
} from "./read-deployments";
import { eventsCell, type EventsOf } from "./read-events";
import { isNotReadable, isReadable, mapCell, valueOf } from "./readable";
import { tasksOf } from "./tasks";

/** What all zones in a survey share. */
export interface Reading extends Reader {
  /** The accounts that own the zones. They're read before the zones. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly paymentPages: PaymentPages;
  /** Reads a zone's firewall events. Undefined if nobody asked for them. */
  readonly eventsOf: EventsOf | undefined;
  /** What the inventory says about scripts. Undefined without an inventory. */
  readonly inventory:
    | {
        readonly isApproved: (url: string) => boolean;
        readonly isFalsePositive: (script: DetectedScript) => boolean;
      }
    | undefined;
}

/** Reads a zone with as few requests as possible. docs/guides/survey.md lists them. */
export async function readZone(reading: Reading, listed: ListedZone): Promise<Zone> {
  const { host, cells, paymentPages } = reading;
  const { id } = listed;
  const { api } = host;
  const account = reading.accounts.get(valueOf(listed.accountId) ?? "");
  const cell = <T>(path: string, read: () => Promise<T>): Promise<Cell<T>> =>
    cells.read(`/zones/${id}/${path}`, read);

  // The migration judges the same entry point, so it's read once for both.
  const managedRules = cell("rulesets", () =>
    unlessAbsent(() =>
      api.get(entryPointPath(entryPointOf({ zoneId: id })), {
        what: `Reading the managed rules of zone ${id}`,
        schema: bothEntryPoints,
      }),
    ),
  );
  const [settings, policies, found, entry, responses, migration, jobs] = await Promise.all([
    cell("page_shield", () => readSettings(api, id)),
    cell("page_shield", () => listPolicies(api, id, COMPLETE)),
    cell("page_shield", async () => {
      const filters = SCRIPTS.includeAll;
      const query = { zoneId: id, status: "active,infrequent", filters, ...COMPLETE };
      return await listDetected(api, SCRIPTS, query);
    }),
    managedRules,
    // They take the same permission.
    managedRules.then((requests) => {
      if (isNotReadable(requests)) return requests;
      const address = entryPointOf({ zoneId: id, phase: PHASES[1] });
      return mayHaveEnterpriseRules(listed)
        ? cell("rulesets", () => readEntryPoint(host, address))
        : undefined;
    }),
    // It depends on the zone's managed rules.
    managedRules.then((own) =>
      isNotReadable(own) ? own : cell("waf_migration/status", () => readMigration(api, id, own?.migrated)),
    ),
    cell("logpush/jobs", () => readJobs(host, { kind: "zone", id })),
  ]);
  const deployments = isReadable(entry)
    ? inZone(listed, await deploymentsOf(reading, id, account, entry?.explained))
    : entry;
  const responseDeployments = isReadable(responses)
    ? inZone(listed, await deploymentsOf(reading, id, account, responses))
    : responses;
  const accountDeployments = coveringDeployments(account, listed);
  const events = await reading.eventsOf?.(id);
  const firewallEvents =
    events &&
    eventsCell(events, await rulesOn(reading, account, isReadable(entry) ? entry?.explained : undefined));
  const scripts = isReadable(found) ? found : [];
  const all = (valueOf(policies) ?? []).map(({ policy }) => policy);
  const hosts = all.flatMap(({ expression }) => hostsIn(expression));
  const enforced = all.filter((policy) => policyEffect(policy) === "enforced");
  const zone = {
    ...listed,
    hasPaymentPages: paymentPages.inZone(found, [valueOf(listed.name) ?? "", ...hosts]),
    pageShield: mapCell(
      settings,
      ({ settings: { enabled, updatedAt, useReportingEndpoint, useConnectionUrlPath } }) => ({
        enabled,
        ...omitAbsent({ updatedAt, useReportingEndpoint, useConnectionUrlPath }),
      }),
    ),
    policies: mapCell(policies, (all) =>
      all.map(({ policy: { id: policyId, description = "", action, enabled, expression, value } }) => ({
        id: policyId,
        description,
        effect: policyEffect({ enabled, action }) ?? action,
        expression,
        value,
        ...(policyEffect({ enabled, action }) === "enforced" && isReadable(found)
          ? { wouldBlock: blockedBy({ expression, value }, scripts) }
          : {}),
      })),
    ),
    scripts: mapCell(found, (all) => summaryOf(all, reading, enforced)),
    deployments,
    responseDeployments,
    accountDeployments,
    protection: protectionIn({ ...listed, accountDeployments, deployments }),
    ...omitAbsent({ firewallEvents }),
    owasp: owaspOf([accountDeployments, deployments]),
    migration,
    jobs,
  };
  return { ...zone, tasks: tasksOf(zone) };
}

/** Parses the entry point twice: for the deployments and for the migration. */
const bothEntryPoints = z
  .unknown()
  .transform((raw) => ({ explained: raw, migrated: raw }))
  .pipe(z.object({ explained: entryPoint, migrated: migratedEntryPoint }));
type BothEntryPoints = z.infer<typeof bothEntryPoints>;

type Policy = Exclude<Zone["policies"], { notReadable: unknown }>[number];

function blockedBy(
  policy: Pick<Policy, "expression" | "value">,
  scripts: readonly DetectedScript[],
): NonNullable<Policy["wouldBlock"]> | null {
  const active = scripts.filter(({ status }) => status === "active");
  if (parseForeignCsp(policy.value) === undefined) return null; // Cloudflare holds a policy that it would no longer accept.
  const { seen, scripts: all } = wouldBlockOf(policy, { script: active, connection: undefined });
  if (all === undefined) return null;
  const harmless = active.filter((each) => threatOf(each, PAGE_SHIELD.MALICIOUS_BELOW_SCORE) === undefined);
  const { scripts: others = all } = wouldBlockOf(policy, { script: harmless, connection: undefined });
  const malicious = all.count - others.count;
  return { count: all.count, malicious, seen, scripts: [...(others.count > 0 ? others : all).urls] };
}

/** The maximum number of scripts that the survey lists per zone. It counts all of them. */
const WORST_SCRIPTS = 100;

function summaryOf(
  found: readonly DetectedScript[],
  { paymentPages, inventory }: Pick<Reading, "paymentPages" | "inventory">,
  enforced: readonly Pick<Policy, "expression" | "value">[],
): Exclude<Zone["scripts"], { notReadable: unknown }> {
  const threshold = PAGE_SHIELD.MALICIOUS_BELOW_SCORE;
  const isOnPaymentPage = paymentPages.among(found);
  const isBlocked = (each: DetectedScript): boolean =>
    enforced.some(
      (policy) =>
        coversOnHost(policy.expression, "true", each.host) &&
        (blockedBy(policy, [{ ...each, status: "active" }])?.count ?? 0) > 0,
    );
  const judged = found.map((each) => ({
    each,
    threat: inventory?.isFalsePositive(each) === true ? undefined : threatOf(each, threshold),
  }));
  const threats = judged.filter(({ threat }) => threat !== undefined);
  const malicious = threats.filter(({ threat }) => threat === "malicious").length;
  const worst = threats
    .map(({ each, threat }) => ({
      ...omitAbsent({
        url: shownUrl(each.url),
        host: each.host,
        firstPageUrl: each.firstPageUrl?.replace(/[?#].*$/s, ""),
        score: each.jsIntegrityScore,
        threats: threatsOf(each),
      }),
      isMalicious: threat === "malicious",
      onPaymentPage: isOnPaymentPage(each),
    }))
    .sort(
      (a, b) =>
        Number(b.isMalicious) - Number(a.isMalicious) ||
        Number(b.onPaymentPage) - Number(a.onPaymentPage) ||
        (a.score ?? 0) - (b.score ?? 0) ||
        (a.url < b.url ? -1 : 1),
    );
  return {
    seen: found.length,
    malicious,
    suspicious: threats.length - malicious,
    maliciousBlocked: threats.filter(({ each }) => isBlocked(each)).length,
    notScored: judged.filter(
      ({ each, threat }) => threat === undefined && isScoredBelow(each, threshold) === undefined,
    ).length,
    unapproved: inventory === undefined ? null : found.filter(({ url }) => !inventory.isApproved(url)).length,
    onPaymentPages: found.filter(isOnPaymentPage).length,
    worst: worst.slice(0, WORST_SCRIPTS),
  };
}

function threatsOf(script: DetectedScript): string[] | undefined {
  const all = [...(script.maliciousDomainCategories ?? []), ...(script.maliciousUrlCategories ?? [])];
  return all.length === 0 ? undefined : [...new Set(all)].sort();
}

type Migration = Exclude<Zone["migration"], { notReadable: unknown }>;

/** @throws ApiError if the migration can't be read. */
async function readMigration(
  api: EdgeApi,
  zone: string,
  managedRules: BothEntryPoints["migrated"] | undefined,
): Promise<Migration> {
  const entryPoint = (): Promise<typeof managedRules> => Promise.resolve(managedRules);
  const observation = await observe(api, zone, { onlyBlockers: true, entryPoint });
  const { readiness, migrationState = "", because } = judged(observation);
  const right = [...RIGHTS].find(([, place]) => because.some((text) => text.includes(place)))?.[0];
  return { readiness, state: migrationState, because: [...because], ...omitAbsent({ missingRight: right }) };
}

/** Reads the Logpush jobs of a zone or account. */
export async function readJobs({ api }: Host, scope: Scope): Promise<SurveyedJob[]> {
  return (await listJobs(api, scope, COMPLETE)).map((job) => {
    const { id, name, dataset, enabled, destination, lastComplete, lastError, ...state } = jobStateOf(job);
    const { errorMessage, filter, outputOptions, filterAttackTraffic, transformerId } = state;
    const { fieldNames, sampleRate } = outputOptions;
    return {
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
      // Either may contain text that must stay where it is.
      outputOptions: digestOf(outputOptions),
      ...omitAbsent({
        filter: filter && digestOf(filter),
        fields: typeof fieldNames === "object" ? fieldNames.length : undefined,
        sampleRate,
        filterAttackTraffic,
        transformerId,
        lastComplete,
        lastError,
        errorMessage,
      }),
    };
  });
}
