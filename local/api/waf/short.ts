import { newId } from "../rulesets/ids";
import type { FirewallRule, PageRule } from "./entities";

/** Short forms of a zone's rules. Missing properties are filled in. */
export type ShortFirewallRule = Partial<Omit<FirewallRule, "created_on">> & Pick<FirewallRule, "expression">;
export type ShortPageRule = Partial<Omit<PageRule, "created_on">> & Pick<PageRule, "url" | "actions">;

/** Returns a firewall rule from its short form. By default, it bypasses the managed rules. */
export function firewallRule(short: ShortFirewallRule, at: Date): FirewallRule {
  const { expression, id = newId(), action = "bypass", paused = false } = short;
  const { description = "", priority = null, products = ["waf"] } = short;
  const bypassed = action === "bypass" ? { products } : {};
  return { id, paused, description, action, ...bypassed, priority, expression, created_on: at.toISOString() };
}

/** Returns a page rule from its short form. By default, earlier rules have a higher priority. */
export function pageRule(short: ShortPageRule, position: number, at: Date): PageRule {
  const { url, actions, id = newId(), priority = -position, status = "active" } = short;
  return { id, url, actions, priority, status, created_on: at.toISOString() };
}
