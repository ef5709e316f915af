import type { Deployed, EntryPoint, RulesetsSnapshot, ZoneRule } from "./entities";
import { managedRulesets } from "./ids";

/** IDs of the rules that are deployed at every start, so that programs and docs can use them. */
export const seededEntryPoints = {
  shop: "5a0c1e7f3b2d4968a7e1c0f2d3b4c101",
  blog: "5a0c1e7f3b2d4968a7e1c0f2d3b4c102",
} as const;

export const seededRules = {
  shop: {
    /** Skips all later rules for the monitoring's requests. */
    monitoring: "5a0c1e7f3b2d4968a7e1c0f2d3b4c111",
    /** Executes the Cloudflare Managed Ruleset with overrides, and has its own ref. */
    managed: "5a0c1e7f3b2d4968a7e1c0f2d3b4c112",
    /** Executes the exposed credentials check for the login page. */
    credentials: "5a0c1e7f3b2d4968a7e1c0f2d3b4c113",
  },
  blog: {
    /** Executes the OWASP Core Ruleset, as the dashboard sets it up. */
    owasp: "5a0c1e7f3b2d4968a7e1c0f2d3b4c121",
  },
} as const;

const DEPLOYED_AT = "2026-08-20T14:05:11.204613Z";

export function seeded(zones: Readonly<Record<"shop" | "blog", string>>): RulesetsSnapshot {
  return { published: [], zones: { [zones.shop]: shop(), [zones.blog]: blog() } };
}

function shop(): Deployed {
  const ids = seededRules.shop;
  return deployed(seededEntryPoints.shop, 6, [
    {
      ...rule(ids.monitoring),
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: 'http.request.uri.path eq "/health" and http.user_agent contains "monitor"',
      description: "The monitoring system requests the health page every second",
      logging: { enabled: true },
    },
    {
      ...rule(ids.managed),
      ref: "security-team/managed",
      version: 3,
      action: "execute",
      action_parameters: {
        id: managedRulesets.managed,
        version: "latest",
        overrides: {
          categories: [
            { category: "wordpress", enabled: false },
            { category: "anomaly", action: "log" },
          ],
        },
      },
      expression: "true",
      description: "Baseline of the security team",
    },
    {
      ...rule(ids.credentials),
      action: "execute",
      action_parameters: {
        id: managedRulesets.exposedCredentials,
        version: "latest",
        overrides: { action: "log" },
      },
      expression: 'http.request.uri.path eq "/login"',
      description: "Stolen credentials at the login",
    },
  ]);
}

function blog(): Deployed {
  return deployed(seededEntryPoints.blog, 2, [
    {
      ...rule(seededRules.blog.owasp),
      action: "execute",
      action_parameters: { id: managedRulesets.owasp, version: "latest" },
      expression: "true",
      description: "",
    },
  ]);
}

function deployed(id: string, version: number, rules: ZoneRule[]): Deployed {
  const entryPoint: EntryPoint = {
    id,
    name: "zone",
    description: "",
    version,
    last_updated: DEPLOYED_AT,
    rules,
  };
  return { entryPoint };
}

function rule(id: string) {
  return { id, version: 1, last_updated: DEPLOYED_AT, ref: id, enabled: true };
}
