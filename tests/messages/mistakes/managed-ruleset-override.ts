import { managedRulesets } from "edgeguard-local";
import type { Mistake } from "./play";

const OWASP = { ruleset: { id: managedRulesets.owasp } };

export const MANAGED_RULESET_OVERRIDE: readonly Mistake[] = [
  {
    title: "A ruleset name that doesn't exist",
    write: { ruleset: { name: "Cloudflare OWASP Core Rules" } },
    instead: { ruleset: { name: "Cloudflare OWASP Core Ruleset" } },
  },
  {
    title: "A ruleset that the zone's plan doesn't include",
    write: (api) => ({ zoneId: api.zones.free }),
    fix: "Upgrade the zone's plan, or remove the resource.",
  },
  {
    title: "A tag that no rule has",
    write: { categories: [{ tag: "wordpres", enabled: false }] },
    instead: { categories: [{ tag: "wordpress", enabled: false }] },
  },
  {
    title: "An override that changes nothing",
    write: { categories: [{ tag: "wordpress" }] },
    instead: { categories: [{ tag: "wordpress", enabled: false }] },
  },
  {
    title: "A tag given twice",
    write: {
      categories: [
        { tag: "wordpress", enabled: true },
        { tag: "wordpress", action: "log" },
      ],
    },
    instead: { categories: [{ tag: "wordpress", enabled: true, action: "log" }] },
  },
  {
    title: "A rule that the ruleset doesn't have",
    write: { rules: { "00000000000000000000000000000001": { enabled: false } } },
    fix: "Find the rule's ID with [`getManagedRuleset`](../functions/managed-rulesets.md#getmanagedruleset), or in a security event.",
  },
  {
    title: "A rule's name that matches several rules",
    write: { rules: { "SQL injection": { action: "log" } } },
    instead: { rules: { "Drupal SQL injection": { action: "log" } } },
  },
  {
    title: "A rule's number with a typo",
    write: { ...OWASP, rules: { "92027": { enabled: false } } },
    instead: { ...OWASP, rules: { "920272": { enabled: false } } },
  },
  {
    title: "An action that doesn't exist",
    write: { action: "deny" },
    instead: { action: "block" },
  },
  {
    title: "A paranoia level above 4",
    write: { ...OWASP, owasp: { paranoiaLevel: 5 } },
    instead: { ...OWASP, owasp: { paranoiaLevel: 4 } },
  },
  {
    title: "A misspelled score threshold",
    write: { ...OWASP, owasp: { paranoiaLevel: 2, scoreThreshold: "meduim" } },
    instead: { ...OWASP, owasp: { paranoiaLevel: 2, scoreThreshold: "medium" } },
  },
  {
    title: "Categories that contradict the paranoia level",
    write: {
      ...OWASP,
      owasp: { paranoiaLevel: 2 },
      categories: [{ tag: "paranoia-level-3", enabled: true }],
    },
    instead: { ...OWASP, owasp: { paranoiaLevel: 3 } },
  },
  {
    title: "OWASP settings on another ruleset",
    write: { owasp: { paranoiaLevel: 2 } },
    instead: { ...OWASP, owasp: { paranoiaLevel: 2 } },
  },
  {
    title: "An exception that skips rules without their ruleset",
    write: {
      exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: { rules: ["0".repeat(32)] } }],
    },
    instead: { exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: "this" }] },
  },
  {
    title: "A path without quotes in an exception",
    write: { exceptions: [{ expression: "http.request.uri.path eq /upload", skip: "all" }] },
    instead: { exceptions: [{ expression: 'http.request.uri.path eq "/upload"', skip: "all" }] },
  },
  {
    title: "A version as a number",
    write: { version: 37 },
    instead: { version: "latest" },
  },
  {
    title: "A position after a rule that isn't there",
    write: { position: { after: "payments" } },
    fix: "Name the `ref` of a rule that exists, or of another `ManagedRulesetOverride` that `dependsOn` creates first.",
    warns: true,
  },
];
