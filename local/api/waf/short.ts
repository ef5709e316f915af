import type { z } from "zod";
import { newId } from "../rulesets/ids";
import type { FirewallRule, PageRule } from "./entities";
import * as entities from "./entities";

/** Short forms of a zone's rules. Missing properties are filled in. */
export const shortFirewallRule = entities.firewallRule
  .partial({ id: true, paused: true, description: true, action: true, priority: true })
  .omit({ created_on: true });
export const shortPageRule = entities.pageRule
  .partial({ id: true, priority: true, status: true })
  .omit({ created_on: true });

/** Returns a firewall rule from its short form. By default, it bypasses the managed rules. */
export function firewallRule(short: z.infer<typeof shortFirewallRule>, at: Date): FirewallRule {
  const { expression, id = newId(), action = "bypass", paused = false } = short;
  const { description = "", priority = null, products = ["waf"] } = short;
  const bypassed = action === "bypass" ? { products } : {};
  return { id, paused, description, action, ...bypassed, priority, expression, created_on: at.toISOString() };
}

/** Returns a page rule from its short form. By default, earlier rules have a higher priority. */
export function pageRule(short: z.infer<typeof shortPageRule>, position: number, at: Date): PageRule {
  const { url, actions, id = newId(), priority = -position, status = "active" } = short;
  return { id, url, actions, priority, status, created_on: at.toISOString() };
}
