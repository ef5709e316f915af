import { ApiFailure, type ApiMessage } from "../envelope";

/**
 * Ruleset errors. 10003, 20125, 20217 and 50002 are Cloudflare's codes and messages, as recorded by public clients.
 * 20119 and 20127 have Cloudflare's messages. All other codes and messages are made up, as is the status 400.
 */
export type Problem = ApiMessage;

export const problems = {
  invalidJson: (why: string, pointer: string) => problem(10001, `invalid JSON: ${why}`, pointer),

  expressionBlank: (pointer: string) =>
    invalid(20125, "", "expression", "the expression cannot be blank", pointer),
  expressionTooLong: (length: number, most: number, pointer: string) =>
    problem(20126, `the expression has ${length} characters, but the limit is ${most}`, pointer),
  expressionInvalid: (expression: string, why: string, pointer: string) =>
    invalid(20127, expression, "expression", `could not parse filter expression: ${why}`, pointer),

  /** The message is made up; that the API refuses it is documented. */
  expressionNotEnterprise: (expression: string, pointer: string) =>
    invalid(20127, expression, "expression", 'it must end with `and cf.zone.plan eq "ENT"`', pointer),

  actionMissing: (pointer: string) => problem(20119, "action is required for action parameters", pointer),
  actionNotAllowed: (action: string, phase: string, pointer: string) =>
    invalid(20120, action, "action", `it is not allowed in the phase ${phase}`, pointer),
  parametersMissing: (action: string, pointer: string) =>
    problem(20118, `action parameters are required for the action ${action}`, pointer),

  rulesetUnknown: (id: string, pointer: string) =>
    invalid(20121, id, "id", "there is no such managed ruleset in this phase", pointer),
  versionUnknown: (version: string, pointer: string) =>
    invalid(20122, version, "version", "the ruleset has no such version", pointer),

  overrideEmpty: (pointer: string) => problem(20123, "an override must change something", pointer),
  categoryUnknown: (category: string, pointer: string) =>
    invalid(20128, category, "category", "no rule in the ruleset has this category", pointer),
  ruleUnknown: (id: string, pointer: string) =>
    invalid(20129, id, "id", "the ruleset has no such rule", pointer),
  overrideActionNotAllowed: (action: string, pointer: string) =>
    invalid(20130, action, "action", "none of the overridden rules accepts it", pointer),
  thresholdNotAllowed: (pointer: string) =>
    problem(20131, "only the rule that compares the score accepts a score_threshold", pointer),
  sensitivityNotAllowed: (pointer: string) =>
    problem(20132, "sensitivity_level is only supported in the DDoS protection phases", pointer),
  overriddenTwice: (what: string, pointer: string) =>
    problem(20133, `${what} is overridden more than once`, pointer),

  skipAmbiguous: (one: string, other: string, pointer: string) =>
    problem(20140, `${one} is incompatible with ${other}`, pointer),
  skipNothing: (pointer: string) => problem(20141, "a skip rule must specify what it skips", pointer),
  skipNotAllowed: (what: string, value: string, pointer: string) =>
    invalid(20142, value, what, "it cannot be skipped here", pointer),

  refTaken: (ref: string, pointer: string) =>
    invalid(20150, ref, "ref", "another rule in the ruleset has this ref", pointer),
  idUnknown: (id: string, pointer: string) =>
    invalid(20152, id, "id", "the ruleset has no such rule, and a new rule must not have an id", pointer),
  idTwice: (id: string, pointer: string) => invalid(20153, id, "id", "two rules have this ID", pointer),

  positionAmbiguous: (pointer: string) =>
    problem(20160, "a position must have exactly one of before, after and index", pointer),
  positionUnknown: (id: string, member: string, pointer: string) =>
    invalid(20161, id, member, "the ruleset has no other rule with this ID", pointer),
  positionOutside: (index: number, most: number, pointer: string) =>
    problem(20162, `index ${index} is not between 1 and ${most}`, pointer),

  tooManyRules: (wanted: number, quota: number, phase: string) =>
    problem(20170, `exceeded the maximum number of rules in the phase ${phase}: ${wanted} out of ${quota}`),
  kindInvalid: (kind: string, why: string) => invalid(20180, kind, "kind", why, "/kind"),
  readOnly: () => problem(20182, "only Cloudflare can change a managed ruleset"),
  entryPointExists: (kind: string, phase: string) =>
    invalid(20217, kind, "kind", `exceeded maximum number of ${kind} rulesets for phase ${phase}`, "/kind"),

  notEntitledPhase: (phase: string) => problem(50002, `not entitled to use the phase ${phase}`),
  /** The error for a ruleset that the zone isn't entitled to. Its code is the one for a phase. */
  notEntitledRuleset: (name: string, pointer: string) =>
    problem(50002, `not entitled to use the ruleset ${name}`, pointer),
};

export function refused(...found: readonly Problem[]): ApiFailure {
  return new ApiFailure(400, found);
}

export function entryPointAbsent(phase: string): ApiFailure {
  return new ApiFailure(404, {
    code: 10003,
    message: `could not find entrypoint ruleset in the ${phase} phase`,
  });
}

function invalid(code: number, value: string, member: string, why: string, pointer: string): Problem {
  return problem(code, `'${value}' is not a valid value for ${member} because ${why}`, pointer);
}

function problem(code: number, message: string, pointer?: string): Problem {
  return { code, message, ...(pointer === undefined ? {} : { source: { pointer } }) };
}
