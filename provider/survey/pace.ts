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

/**
 * Returns a survey's rate limits. If all of its requests fit into its share of the limit, they're sent immediately.
 * Otherwise, they're spread evenly, so that other users of the token never have to wait for minutes.
 *
 * @param left how many zones it still has to read.
 * @param percent the survey's share of the documented limit.
 */
export function ratesFor(left: number, percent: number): RateWindow[] {
  const share = { ...DOCUMENTED_RATE, requests: shareOf(percent) };
  if (left * REQUESTS_PER_ZONE.usual <= share.requests) return [share];
  const spread = Math.max(1, Math.floor((share.requests * SPREAD_MS) / share.ms));
  return [share, { requests: spread, ms: SPREAD_MS }];
}

function shareOf(percent: number): number {
  return Math.max(1, Math.floor((DOCUMENTED_RATE.requests * percent) / 100));
}

/** Returns the survey's first line, which says how many requests it needs and how long it will take. */
export function forecast(zones: number, left: number, percent: number): string {
  const [least, usual] = [left * REQUESTS_PER_ZONE.least, left * REQUESTS_PER_ZONE.usual];
  const perMinute = shareOf(percent) / (DOCUMENTED_RATE.ms / 60_000);
  const minutes = (requests: number): string => durationText(Math.ceil(requests / perMinute) * 60_000);
  const time = usual <= shareOf(percent) ? "about a minute" : `${minutes(least)} to ${minutes(usual)}`;
  const resumed = left === zones ? "" : ` (${formatNumber(zones - left)} already read)`;
  return `surveying ${pluralize(zones, "zone")}${resumed}: about ${formatNumber(least)} to ${formatNumber(usual)} requests, and one for each Workers KV namespace, at most ${formatNumber(Math.floor(perMinute))} a minute (--budget ${percent}): ${time}`;
}

/** Formats a duration, such as "2 h 5 min" or "40 s". */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
