import { z } from "zod";
import { PAGE_SHIELD } from "../limits/index";
import { describe } from "../basics/json";
import { LookupError } from "../runtime/lookup";

/** Validates a threshold. Without this, an invalid threshold would let every script pass. */
export function parseThreshold(given: unknown): number {
  const parsed = threshold.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new LookupError(`threshold must be a number from 1 to 100, not ${describe(given)}.`);
}

const threshold = z.number().min(1).max(100).default(PAGE_SHIELD.MALICIOUS_BELOW_SCORE);
