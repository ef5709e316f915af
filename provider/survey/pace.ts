import { DOCUMENTED_RATE, type RateWindow } from "../api/rate-budget";
import { formatNumber } from "../limits/workers";
import { pluralize } from "../basics/words";

/** Determines how many requests a survey may send, and estimates how long it takes. */

/**
 * The number of requests per zone: `least` for a finished migration and one page of scripts, `usual` for an unfinished
 * migration.
 */
const REQUESTS_PER_ZONE = { least: 6, usual: 9 };

const SPREAD_MS = 10_000;

/** The numbers of zones and namespaces that a survey still has to read. Each namespace takes one request. */
export interface Work {
  readonly zones: number;
  readonly namespaces: number;
}

/**
 * Returns a survey's rate limits. If all of its requests fit into its share of the limit, they're sent immediately.
 * Otherwise, they're spread evenly, so that other users of the token never have to wait for minutes.
 *
 * @param percent the survey's share of the documented limit.
 */
export function ratesFor(left: Work, percent: number): RateWindow[] {
  const share = { ...DOCUMENTED_RATE, requests: shareOf(percent) };
  if (requestsFor(left).usual <= share.requests) return [share];
  const spread = Math.max(1, Math.floor((share.requests * SPREAD_MS) / share.ms));
  return [share, { requests: spread, ms: SPREAD_MS }];
}

function requestsFor({ zones, namespaces }: Work): typeof REQUESTS_PER_ZONE {
  const { least, usual } = REQUESTS_PER_ZONE;
  return { least: zones * least + namespaces, usual: zones * usual + namespaces };
}

function shareOf(percent: number): number {
  return Math.max(1, Math.floor((DOCUMENTED_RATE.requests * percent) / 100));
}

/** Returns the survey's first line, which says how many requests it needs and how long it will take. */
export function forecast(all: Work, left: Work, percent: number): string {
  const { least, usual } = requestsFor(left);
  const perMinute = shareOf(percent) / (DOCUMENTED_RATE.ms / 60_000);
  const minutes = (requests: number): string => durationText(Math.ceil(requests / perMinute) * 60_000);
  const time = usual <= shareOf(percent) ? "about a minute" : `${minutes(least)} to ${minutes(usual)}`;
  const counted = (name: "zone" | "namespace", key: keyof Work): string[] => {
    const done = all[key] - left[key];
    const resumed = done === 0 ? "" : ` (${formatNumber(done)} already read)`;
    return all[key] === 0 ? [] : [`${pluralize(all[key], name)}${resumed}`];
  };
  const what = [...counted("zone", "zones"), ...counted("namespace", "namespaces")].join(" and ");
  return `surveying ${what}: about ${formatNumber(least)} to ${formatNumber(usual)} requests, at most ${formatNumber(Math.floor(perMinute))} a minute (--budget ${percent}): ${time}`;
}

/** Formats a duration, such as "2 h 5 min" or "40 s". */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
