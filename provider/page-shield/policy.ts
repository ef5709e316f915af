import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { RequestOptions } from "../api/client";
import { expression, expressionWarning, isSameExpression } from "../rules-language/argument";
import type { Adopted } from "../runtime/adopted";
import { adopt as adoptExisting, RENAME_HINT } from "../runtime/adoption";
import { BooleanMember, type BooleanForm } from "../runtime/boolean-form";
import { CompositeId } from "../runtime/composite-id";
import { ID, adopt, type Adopt, type LiteralUnion } from "../runtime/fields";
import { record } from "../basics/schemas";
import type { Claim, Context, Findings } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { EXTRA } from "../runtime/extra";
import {
  omitAbsent,
  canonicalJson,
  isJsonObject,
  omit,
  pick,
  sameJson,
  type JsonObject,
} from "../basics/json";
import { applying } from "../basics/words";
import { PAGE_SHIELD } from "../limits/index";
import { defineResource } from "../runtime/resource";
import type { Unmanaged } from "../runtime/unmanaged";
import { notInPlan } from "../runtime/zone-plan";
import { coveredHosts, mayShareHosts } from "./covered-hosts";
import { canonicalCsp, CspError, lintCsp } from "./csp";
import { policyEffect } from "./effect";
import { policyRecord, SEEN, type PolicyImpact } from "./impact";
import type { PageShieldPolicyState } from "./records";
import { listPolicies, policiesPath, policyAnswer, POLICIES, readPolicy, type PolicyAnswer } from "./wire";
import { computeWouldBlock, type EnforcedPolicy } from "./would-block";

const KNOWN_MEMBERS = ["id", "description", "action", "expression", "enabled", "value"];

/** CSP text, or directives by name. `parseCsp` checks the content and reports all mistakes at once. */
const cspInput = z.union(
  [z.string(), record(z.unknown())],
  "must be CSP text or an object of directives, each with a list of sources or true",
);

const value = cspInput.transform((given, ctx) => {
  try {
    return canonicalCsp(given);
  } catch (error) {
    if (!(error instanceof CspError)) throw error;
    for (const { path, message } of error.problems)
      ctx.addIssue({ code: "custom", path: [...path], message });
    return z.NEVER;
  }
});

const args = z.object({
  zoneId: ID.zone,
  description: z.string().min(1, "is empty. Describe the policy in a few words"),
  action: z.enum(["log", "allow", "add_reporting_directives"], {
    error: 'To block, use "allow": visitors then load only what the value lists',
  }),
  expression,
  enabled: z.boolean().default(true),
  value,
  adopt: adopt.exactOptional(),
  extra: EXTRA.schema(KNOWN_MEMBERS).exactOptional(),
});
type PolicyArgs = z.output<typeof args>;

const FIELDS = ["description", "action", "expression", "enabled", "value"] as const;

export const pageShieldPolicy = defineResource({
  type: "PageShieldPolicy",
  compositeId: new CompositeId(["<zone ID>/<policy ID>"]),
  importedWith: "--only page-shield",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed: z.object({}),
  computedInputs: ["logged", "adopted"],
  record: policyRecord,
  pending: ({ inputs }) => (inputs["action"] === "log" ? [] : ["logged"]),
  equal: { expression: isSameExpression },
  replaceOn: ["zoneId"],
  claims: [
    {
      by: args.keyof().options,
      of(declared) {
        const { zoneId, adopt, description } = declared;
        const content = {
          key: canonicalJson(omit(declared, ["adopt"])),
          clash: `declare the same policy, with identical fields, in zone ${zoneId}. Keep one of them`,
        };
        const clash = `have the same description in zone ${zoneId}, and one takes over the policy with this description. Give them different descriptions`;
        const isTaking = adopt === "takeOver";
        const described = { key: `${zoneId} ${description}`, ...(isTaking && { clash }) };
        const takeover = {
          key: `${zoneId} takes over ${description}`,
          ...(!isTaking && { clash, isRead: true }),
        };
        return [content, described, takeover, ...(isEnforced(declared) ? enforcedOn(declared) : [])];
      },
    },
  ],
  lock: ({ zoneId }) => LOCK.pageShield(zoneId),

  rules: [
    {
      needs: ["value", "description"],
      quotes: ["value"],
      check: ({ description }, given) => {
        const { data } = cspInput.safeParse(given["value"]);
        const warnings = data === undefined ? [] : lintCsp(data);
        if (warnings.length === 0) return undefined;
        return { warning: `policy ${JSON.stringify(description)}: ${warnings.join("; ")}.` };
      },
    },
    {
      needs: ["expression", "description"],
      quotes: ["expression"],
      check: ({ expression, description }) =>
        expressionWarning(`policy ${JSON.stringify(description)}`, { expression }),
    },
    {
      needs: ["action", "description"],
      check: ({ action, description }) => {
        if (action !== "add_reporting_directives") return undefined;
        const warning = `policy ${JSON.stringify(description)}: Cloudflare may reject the action add_reporting_directives, which is documented only in its OpenAPI schema.`;
        return { warning };
      },
    },
  ],

  deriveWithout: ["description", "expression", "value", "adopt", "extra"],

  derive({ args, olds }) {
    return Promise.resolve({ computed: omitAbsent({ logged: wasLogged(args, olds) }) });
  },

  async current({ ctx, olds }) {
    const recorded = olds as PolicyArgs; // Inputs contain every argument.
    const own = findOwnPolicy(await cachedPolicies(ctx, recorded.zoneId), recorded, olds);
    return own && { id: own.id, args: toArgs(own, recorded.extra) };
  },

  live({ ctx, args, olds }) {
    const isNew = olds["zoneId"] !== args.zoneId;
    /** The policy that a create adopts, or the resource's own one. */
    const current = async () => {
      const policies = await cachedPolicies(ctx, args.zoneId);
      return isNew ? await findPolicyToAdopt(ctx, args, policies) : findOwnPolicy(policies, args, olds);
    };
    const existing = async (): Promise<Findings> => {
      const policies = await cachedPolicies(ctx, args.zoneId);
      // 1. Fail the preview of a new policy that the update couldn't adopt.
      const own = await current();
      if (isNew && policies.length === 0) {
        const failures = await notInPlan(ctx, args.zoneId, POLICIES, PAGE_SHIELD.POLICY_PLANS);
        if (failures.length > 0) return { failures };
        // The plan can't prove the add-on, and Cloudflare's sources disagree about Pro and Business.
        for (const { reason } of await notInPlan(ctx, args.zoneId, POLICIES, ["enterprise"]))
          ctx.say.warn(
            `policy ${JSON.stringify(args.description)}: according to Cloudflare's documentation, ${reason}. Its OpenAPI schema lists the plan, so only the update can tell.`,
          );
      }
      // 2. Warn about other policies that also apply to visitors.
      warnAboutOtherPolicies(ctx, args, policies, { own, isNew });
      return { seen: [SEEN.existingPolicy], ...(isNew && own !== undefined && adoptionFor(ctx, args, own)) };
    };
    // 3. Show the reviewer what an enforced policy would block.
    const blocked = async (): Promise<Findings> => {
      // If the policies can't be read, `existing` says so.
      const before = await current().catch(() => undefined);
      const found = await computeWouldBlock(ctx, { ...args, ...policyBefore(before) });
      if (found === undefined) return {};
      const { wouldBlock, isComplete } = found;
      return { seen: isComplete ? [SEEN.wouldBlock] : [], found: { wouldBlock } };
    };
    return Promise.resolve(isEnforced(args) ? [existing, blocked] : [existing]);
  },

  async create({ ctx, args }) {
    const policies = await listAll(ctx, args.zoneId);
    const adopted = await findPolicyToAdopt(ctx, args, policies);
    if (adopted !== undefined) {
      const { extra = {} } = args;
      const hasExtra = sameJson(pick(adopted.extra, Object.keys(extra)), extra);
      if (!hasExtra || !matchesArgs(adopted, args)) await putPolicy(ctx, args, adopted);
      return { id: adopted.id, computed: {}, ...adoptionFor(ctx, args, adopted) };
    }
    warnAboutOtherPolicies(ctx, args, policies, { own: undefined, isNew: true });
    const { id } = await createPolicy(ctx, args, policies);
    return { id, computed: {} };
  },

  async read({ ctx, id, state }) {
    const policy = await readOne(ctx, state.zoneId, id);
    return { zoneId: state.zoneId, ...toArgs(policy, state.extra), ...omitAbsent({ adopt: state.adopt }) };
  },

  existing({ address: { scope, id } }) {
    return Promise.resolve({ id, outputs: { zoneId: scope.id } });
  },

  async list({ ctx, scope }) {
    const policies = await listPolicies(ctx.api, scope.id);
    return policies.map(({ policy }) => ({ id: policy.id, name: policy.description ?? "" }));
  },

  async update({ ctx, id, state, args }) {
    const policy = await readOne(ctx, args.zoneId, id);
    // The PUT omits fields removed from `extra`, so that Cloudflare goes back to its own default.
    const removed = EXTRA.removed(state.extra, args.extra);
    const current = { ...policy, extra: omit(policy.extra, removed) };
    const stillSet = removed.some((name) => policy.extra[name] !== undefined);
    const extraChanged = stillSet || !sameJson(state.extra ?? {}, args.extra ?? {});
    if (extraChanged || !matchesArgs(current, args)) await putPolicy(ctx, args, current);
    return {};
  },

  async delete({ ctx, id, state }) {
    await ctx.api.delete(`${policiesPath(state.zoneId)}/${id}`, {
      what: `Deleting policy ${id} in zone ${state.zoneId}`,
      schema: z.unknown(),
    });
  },
});

export interface PageShieldPolicyArgs {
  /** The ID of the zone that the policy protects (32 hex digits). Changing it replaces the policy. */
  readonly zoneId: pulumi.Input<string>;
  /** The policy's description. It can't be empty, because a policy has no other name. Updates in place. */
  readonly description: pulumi.Input<string>;
  /**
   * What happens to a script that `value` doesn't allow: `"log"` reports it, `"allow"` blocks it. Cloudflare's OpenAPI
   * schema also has `"add_reporting_directives"`, which a zone may reject. Updates in place.
   */
  readonly action: pulumi.Input<LiteralUnion<"log" | "allow" | "add_reporting_directives">>;
  /**
   * The requests that the policy covers, in Cloudflare's Rules language: `http.host eq "www.example.com"`. An invalid
   * expression fails the preview, and the message gives the position of the mistake. A field or function that
   * this version doesn't know causes a warning. The expression is sent as written, but differences in whitespace and
   * notation (`==` for `eq`) don't count as changes. Updates in place.
   */
  readonly expression: pulumi.Input<string>;
  /**
   * Whether the policy is enabled. Always sent, as a string or a boolean, depending on what the zone accepts. Updates
   * in place.
   *
   * @defaultValue `true`
   */
  readonly enabled?: pulumi.Input<boolean>;
  /**
   * The Content Security Policy: CSP text, or directives by their camelCase names, such as
   * `{ scriptSrc: ["'self'", "cdn.example.com"] }`, with `true` for a directive without sources. Differences in order
   * and case that have no effect are ignored. A misspelled or repeated directive, and a misspelled keyword or one without quotes, fail the
   * preview. The preview warns about an empty list (`'none'`), a nonce, a directive that Page Shield doesn't list, a
   * directive without a semicolon before it, hosts in `frame-ancestors`, and sources that let any script run. Updates
   * in place.
   */
  readonly value: pulumi.Input<
    string | Readonly<Record<string, pulumi.Input<readonly pulumi.Input<string>[] | boolean>>>
  >;
  /**
   * What to do if the zone already has an equal policy, or one with the same description. `"ifEqual"` adopts a policy
   * that's equal in every field, `"takeOver"` adopts the policy with this description and changes what differs, and
   * `"never"` fails if there's an equal one. Otherwise, one with the same description stays beside the new policy, and a
   * warning names it, and it's an error if another resource of the program declares it. A forced replacement requires `"ifEqual"` or `"takeOver"`: with `"never"`, it fails because
   * the resource's own policy still exists. Changing it writes nothing.
   *
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /** API fields of a policy that have no corresponding argument. They're sent unchanged. Updates in place. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/**
 * A Page Shield policy: a Content Security Policy (CSP) for the requests that its expression matches.
 *
 * Start with a `log` policy, which only reports what it doesn't allow; an `allow` policy blocks it. For an enabled
 * `allow` policy, the preview shows in `impact.wouldBlock` which of the zone's active scripts it would block. The preview also
 * warns about other enforced policies, because browsers apply them all.
 *
 * Token permissions: Page Shield Read to preview and refresh; Page Shield Write to update and destroy.
 *
 * @example Report scripts that the checkout shouldn't load
 * ```ts
 * import { PageShieldPolicy } from "pulumi-edgeguard";
 *
 * new PageShieldPolicy("checkout", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   description: "Checkout: report unknown scripts",
 *   action: "log",
 *   expression: 'http.host eq "checkout.shop.example"',
 *   value: "script-src 'self' https://js.payments.example",
 * });
 * ```
 *
 * @example Block scripts, with the policy as directives
 * ```ts
 * import { PageShieldPolicy } from "pulumi-edgeguard";
 *
 * const policy = new PageShieldPolicy("shop", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   description: "Shop: only known scripts",
 *   action: "allow",
 *   expression: 'http.host in {"www.shop.example" "checkout.shop.example"}',
 *   value: {
 *     scriptSrc: ["'self'", "https://js.payments.example", "https://cdn.libraries.example"],
 *     upgradeInsecureRequests: true,
 *   },
 * });
 *
 * export const wouldBlock = policy.impact.apply((impact) => impact?.wouldBlock);
 * ```
 *
 * @destroy Deletes the policy, including one that was adopted. Visitors' browsers no longer apply it.
 *
 * @importing The resource's ID is the policy's ID. `edgeguard import --zone <zone ID>` writes the program and the
 * import file for the zone's policies. Without it, a policy that is equal in every field is adopted by the next
 * `pulumi up`.
 *
 * @throws If the token lacks a permission, or the zone's plan doesn't include Page Shield policies.
 * @throws If the expression or the CSP is invalid.
 * @throws If the zone already has such a policy and it can't be adopted.
 *
 * @see https://developers.cloudflare.com/client-side-security/rules/
 * @see `POST /zones/{zone_id}/page_shield/policies`
 * @see `GET /zones/{zone_id}/page_shield/policies/{policy_id}`
 * @see `PUT /zones/{zone_id}/page_shield/policies/{policy_id}`
 * @see `DELETE /zones/{zone_id}/page_shield/policies/{policy_id}`
 */
export class PageShieldPolicy extends pageShieldPolicy.base<PageShieldPolicyArgs>() {
  /** The policy as CSP text, in canonical order. */
  declare readonly value: pulumi.Output<string>;
  /**
   * What the last change found out about the zone. For an enabled `allow` policy, `wouldBlock` is what it would have
   * blocked.
   */
  declare readonly impact: pulumi.Output<PolicyImpact | undefined>;
  /**
   * Whether an enabled `allow` policy was an enabled `log` policy before. Absent for other policies, and for a policy
   * that was imported or was enforced by an earlier version of this package.
   */
  declare readonly logged: pulumi.Output<boolean | undefined>;
  /** The existing policy that the resource adopted when it was created, and what adopting it changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;
  /**
   * Members of the policy on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest stands
   * for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- it has the type of the arguments
  constructor(name: string, args: PageShieldPolicyArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, args, opts);
  }
}

/** A policy from the API, in canonical form. */
interface Policy extends PageShieldPolicyState {
  readonly description: string;
  readonly extra: JsonObject;
}

const canonicalPolicy = ({ policy }: PolicyAnswer): Policy => ({
  ...policy,
  description: policy.description ?? "",
  expression: policy.expression.trim(),
  value: canonicalValue(policy.value),
  extra: policy.extra ?? {},
});

function toRequest(policy: PolicyArgs, form: BooleanForm, current?: Policy): Record<string, unknown> {
  return {
    // A PUT without unknown fields might lose them. Timestamps and versions are set by Cloudflare.
    ...omit(current?.extra ?? {}, EXTRA.stamps),
    ...policy.extra,
    description: policy.description,
    action: policy.action,
    expression: policy.expression,
    enabled: form === "string" ? String(policy.enabled) : policy.enabled,
    value: policy.value,
  };
}

function toArgs(policy: Policy, extra: PolicyArgs["extra"]): Omit<PolicyArgs, "zoneId" | "adopt"> {
  const { description, expression, enabled, value } = policy;
  // An unknown action is drift, not an error: the next preview shows it and the next update corrects it.
  const action = policy.action as PolicyArgs["action"];
  return { description, action, expression, enabled, value, ...EXTRA.found(extra, policy.extra) };
}

function canonicalValue(text: string): string {
  try {
    return canonicalCsp(text);
  } catch (error) {
    if (error instanceof CspError) return text.trim(); // Someone stored an invalid policy manually. Show it unchanged.
    throw error;
  }
}

/** Whether a policy equals the arguments. A field of `extra` that the API doesn't return is ignored. */
function matchesArgs(policy: Policy, args: JsonObject): boolean {
  const extra = Object.entries(isJsonObject(args["extra"]) ? args["extra"] : {});
  return (
    FIELDS.every((key) => isSameField(key, policy[key], args[key])) &&
    extra.every(([name, wanted]) => policy.extra[name] === undefined || sameJson(policy.extra[name], wanted))
  );
}

/** Finds the existing policy that a create should adopt. */
async function findPolicyToAdopt(
  ctx: Context,
  args: PolicyArgs,
  policies: readonly Policy[],
): Promise<Policy | undefined> {
  const ids = (found: readonly Policy[]): string => found.map(({ id }) => id).join(", ");
  return await adoptExisting({
    adopt: args.adopt,
    alike: policies.filter((p) => ctx.holding(p.id) === undefined && p.description === args.description),
    equal: () => policies.filter((p) => ctx.isUnclaimed(p.id) && matchesArgs(p, args)),
    refusals: {
      never: (found) =>
        `zone ${args.zoneId} already has a policy equal to this one (${ids(found)}), and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise set adopt: "ifEqual", delete the policy in the dashboard, or declare a different one.`,
      several: (found, are) =>
        `zone ${args.zoneId} has ${found.length} policies ${are === "equal" ? "equal to this one" : `with the description ${JSON.stringify(args.description)}`}, and only one can be adopted: ${ids(found)}. Delete all but one, then run again. ${RENAME_HINT}`,
    },
  });
}

/**
 * Returns what the preview reports about adopting a policy. Empty if this program already owns the policy and is
 * replacing it.
 */
function adoptionFor(ctx: Context, args: PolicyArgs, policy: Policy): Pick<Findings, "adopts"> {
  const { id, extra: shown } = policy;
  if (ctx.holding(id) !== undefined) return {};
  const adopts = {
    what: `PageShieldPolicy ${JSON.stringify(args.description)}`,
    object: `policy ${id} in zone ${args.zoneId}`,
    raw: shown,
    found: toArgs(policy, args.extra),
    onDestroy: "deletes it",
  };
  return { adopts };
}

/**
 * Finds the resource's own policy. A check doesn't get the policy's ID, so this looks for the recorded fields, then for
 * the result of an update that wasn't recorded.
 */
function findOwnPolicy(policies: readonly Policy[], args: PolicyArgs, olds: JsonObject): Policy | undefined {
  return (
    policies.find((p) => matchesArgs(p, olds)) ??
    policies.find((p) => matchesArgs(p, args)) ??
    policies.find((p) => p.description === olds["description"])
  );
}

/** Claims the hosts of an enforced policy. One that may apply to any host also reads whether others claim some. */
function enforcedOn({ zoneId, expression }: Pick<PolicyArgs, "zoneId" | "expression">): readonly Claim[] {
  const clash = `are both enforced allow policies in zone ${zoneId}, so visitors get only the scripts that both allow`;
  const [any, some] = ["*", "some host"];
  const claim = (host: string, isRead = false): Claim => ({
    key: `${zoneId} enforced ${host}`,
    clash,
    warnOnly: true,
    isRead,
  });
  const hosts = coveredHosts(expression);
  return hosts === undefined
    ? [claim(any), claim(some, true)]
    : [...[...hosts].map((host) => claim(host)), { key: claim(some).key }, claim(any, true)];
}

/**
 * Warns about the zone's other policies: those that visitors' browsers apply as well, and those with the same description,
 * which an interrupted create may have left.
 */
function warnAboutOtherPolicies(
  ctx: Context,
  args: PolicyArgs,
  policies: readonly Policy[],
  { own, isNew }: { readonly own: Policy | undefined; readonly isNew: boolean },
): void {
  const others = policies.filter((p) => p.id !== own?.id);
  const enforced = isEnforced(args)
    ? others.filter((p) => isEnforced(p) && mayShareHosts(p.expression, args.expression))
    : [];
  const alike = others.filter((p) => p.description === args.description && ctx.holding(p.id) === undefined);
  const zone = `zone ${args.zoneId} already`;
  const listed = (found: readonly Policy[]): string =>
    found.map(({ id, description }) => `${id} ${JSON.stringify(description)}`).join(", ");
  const which = enforced.length === 1 ? "another allow policy" : `${enforced.length} allow policies`;
  const sentences = applying(
    enforced.length > 0 &&
      `${zone} enforces ${which}: ${listed(enforced)}. Browsers apply every policy on a page, so visitors get only the scripts that all of them allow.`,
    isNew &&
      own === undefined &&
      alike.length > 0 &&
      `${zone} has a policy with this description, which an interrupted \`pulumi up\` may have created: ${listed(alike)}. Set adopt: "takeOver" to change it instead of creating another one.`,
  );
  if (sentences.length > 0)
    ctx.say.warn(`policy ${JSON.stringify(args.description)}: ${sentences.join(" ")}`);
}

/**
 * Whether the policy only logged before it started to block. Undefined for a `log` policy, because its inputs show that
 * it logs.
 */
function wasLogged(
  args: Pick<PolicyArgs, "zoneId" | "action" | "enabled">,
  olds: JsonObject,
): boolean | undefined {
  const isNew = olds["zoneId"] !== args.zoneId;
  if (isLogging(args)) return undefined;
  if (!isNew && (olds["logged"] === true || isLogging(olds))) return true;
  if (!isEnforced(args)) return undefined;
  return !isNew && isEnforced(olds) && olds["logged"] === undefined ? undefined : false;
}

/** Returns what a policy did before the change, if it blocked or logged. */
function policyBefore(
  policy: { readonly expression?: unknown; readonly value?: unknown } | undefined,
): Pick<EnforcedPolicy, "before"> {
  if (policy === undefined || (!isEnforced(policy) && !isLogging(policy))) return {};
  const { expression, value } = policy;
  if (typeof expression !== "string" || typeof value !== "string") return {};
  return { before: { expression, value, isEnforced: isEnforced(policy) } };
}

const isEnforced = (policy: object): boolean => policyEffect(policy) === "enforced";
const isLogging = (policy: object): boolean => policyEffect(policy) === "logging";

/**
 * Creates a policy exactly once, even if a response is lost.
 *
 * @param before the policies that the zone had before the request.
 */
async function createPolicy(
  ctx: Context,
  args: PolicyArgs,
  before: readonly Policy[],
): Promise<Pick<Policy, "id">> {
  const path = policiesPath(args.zoneId);
  const what = `Creating policy ${JSON.stringify(args.description)} in zone ${args.zoneId}`;
  const known = new Set(before.map(({ id }) => id));
  const mayBeOurs = (p: Policy): boolean =>
    !known.has(p.id) && ctx.holding(p.id) === undefined && matchesArgs(p, args);
  return await ctx.createOnce({
    path,
    id: ({ id }) => id,
    what: `policy ${JSON.stringify(args.description)}`,
    send: () =>
      enabledMember(ctx, args.zoneId).send((form) =>
        ctx.api.post(path, { what, schema: createdPolicy, body: toRequest(args, form), ...WRITE_OPTIONS }),
      ),
    list: async () => (await listAll(ctx, args.zoneId)).filter(mayBeOurs),
  });
}

const createdPolicy = policyAnswer.transform(({ policy }): Pick<Policy, "id"> => policy);

function isSameField(key: (typeof FIELDS)[number], one: unknown, other: unknown): boolean {
  return key === "expression" ? isSameExpression(one, other) : sameJson(one, other);
}

async function putPolicy(ctx: Context, args: PolicyArgs, current: Policy): Promise<void> {
  const path = `${policiesPath(args.zoneId)}/${current.id}`;
  await enabledMember(ctx, args.zoneId).send((form) =>
    ctx.api.put(path, {
      what: `Updating policy ${current.id} in zone ${args.zoneId}`,
      schema: z.unknown(),
      body: toRequest(args, form, current),
      ...WRITE_OPTIONS,
    }),
  );
}

/**
 * Describes the field `enabled`, which Cloudflare documents both as a string and as a boolean. It's sent as a string
 * first, unless the zone returns a boolean.
 */
function enabledMember(ctx: Context, zone: string): BooleanMember {
  return new BooleanMember(ctx, `policies.enabled in zone ${zone}`, "/enabled", true);
}

/** Lists all policies. Fails if one is malformed, because that one may be the policy to adopt. */
async function listAll(ctx: Context, zone: string): Promise<readonly Policy[]> {
  const policies = await listPolicies(ctx.api, zone, { complete: true });
  const [first] = policies;
  if (first !== undefined) enabledMember(ctx, zone).noteShown(first.form);
  return policies.map(canonicalPolicy);
}

const cachedPolicies = (ctx: Context, zone: string): Promise<readonly Policy[]> =>
  ctx.once(`policies of ${zone}`, () => listAll(ctx, zone));

async function readOne(ctx: Context, zone: string, id: string): Promise<Policy> {
  const found = await readPolicy(ctx.api, zone, id);
  enabledMember(ctx, zone).noteShown(found.form);
  ctx.noteUnmanaged(found.policy.extra ?? {});
  return canonicalPolicy(found);
}

const WRITE_OPTIONS: Pick<RequestOptions<unknown>, "advice" | "entitlement"> = {
  advice: ({ status }) =>
    status === 400
      ? `Check the expression and the value in the dashboard's editor, and make sure your plan includes ${POLICIES}.`
      : undefined,
  entitlement: POLICIES,
};
