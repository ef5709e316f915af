/** What other products of this local API use of the rulesets; routes are registered by `routes.ts`. */
export type { EntryPointRequest, Workplace } from "./entry-point";
export { appendRules, putEntryPoint } from "./entry-point";
export type { RuleRequest } from "./check";
export type { EntryPoint, ZoneRule } from "./entities";
export type { RulesetStore } from "./store";
export { managedRulesets, OWASP_SCORE_RULE } from "./ids";
