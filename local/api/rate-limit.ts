import type { Context } from "hono";
import { failures } from "./envelope";
import type { Settings } from "./options";

/**
 * Counts each credential's requests in fixed windows. Above the limit, rejects everything until the block ends, like
 * Cloudflare and unlike a token bucket.
 */
export class RateLimiter {
  readonly #windows = new Map<string, { startedAt: number; used: number; blockedUntil: number }>();

  constructor(readonly settings: Pick<Settings, "rateLimit" | "clock">) {}

  check(c: Context): void {
    const { rateLimit } = this.settings;
    if (rateLimit === undefined) return;

    const now = this.settings.clock().getTime();
    const who = c.req.header("authorization") ?? c.req.header("x-auth-key") ?? "";
    let window = this.#windows.get(who);
    if (
      window === undefined ||
      (now >= window.startedAt + rateLimit.windowMs && now >= window.blockedUntil)
    ) {
      window = { startedAt: now, used: 0, blockedUntil: 0 };
      this.#windows.set(who, window);
    }

    window.used += 1;
    if (now >= window.blockedUntil && window.used > rateLimit.requests) {
      window.blockedUntil = now + rateLimit.retryAfterSeconds * 1000;
    }

    const resetsAt = Math.max(window.blockedUntil, window.startedAt + rateLimit.windowMs);
    const headers = {
      "x-ratelimit-limit": String(rateLimit.requests),
      "x-ratelimit-remaining": String(Math.max(0, rateLimit.requests - window.used)),
      "x-ratelimit-reset": String(Math.ceil((resetsAt - now) / 1000)),
    };
    if (now < window.blockedUntil) {
      const retryAfter = String(Math.ceil((window.blockedUntil - now) / 1000));
      throw failures.tooManyRequests({ ...headers, "Retry-After": retryAfter });
    }
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
  }
}
