import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { RequestOptions } from "../api/client";
import { expression, expressionWarning, isSameExpression } from "../rules-language/argument";
import { withTimestamp, type Adopted, type Adoption } from "../runtime/adopted";
import { adopt as adoptExisting, RENAME_HINT, sharedIdHint, isUnclaimed } from "../runtime/adoption";
import { inEitherForm, noteShownForm, type BooleanForm, type BooleanMember } from "../runtime/boolean-form";
import { adopt, zoneId, type Adopt, type LiteralUnion } from "../runtime/fields";
import { record } from "../runtime/json";
import { defineLifecycle, PartialFailure, type Context } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { extra, extraFound, omitAbsent, removedExtra, STAMPS } from "../runtime/members";
import { claimOnce, edgeResource, type Claim } from "../runtime/resource";
import { canonicalJson, isJsonObject, omit, pick, sameJson, type JsonObject } from "../runtime/values";
import { canonicalCsp, CspError, lintCsp } from "./csp";
import { computeWouldBlock, type WouldBlock } from "./would-block";
import { createOnce, type Created } from "../runtime/creation";

const KNOWN_MEMBERS = ["id", "description", "action", "expression", "enabled", "value"];

/** CSP text, or directives by name: what is wrong inside, `parseCsp` says all at once. */
const cspInput = z.union(
  [z.string(), record(z.unknown())],
  "has to be CSP text or an object of directives, each a list of sources or true",
);

/** The canonical form is text. */
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
  zoneId,
  description: z.string().min(1, "has to say in a word what the policy is for; it is empty"),
  action: z.enum(["log", "allow", "add_reporting_directives"]),
  expression,
  enabled: z.boolean().default(true),
  value,
  adopt: adopt.exactOptional(),
  extra: extra(KNOWN_MEMBERS).exactOptional(),
});
type PolicyArgs = z.output<typeof args>;

const FIELDS = ["description", "action", "expression", "enabled", "value"] as const;

export const pageShieldPolicy = defineLifecycle({
  type: "PageShieldPolicy",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed: z.object({}),
  computedInputs: ["wouldBlock"],
  equal: { expression: isSameExpression },
  replaceOn: ["zoneId"],
  lock: ({ zoneId }) => LOCK.pageShield(zoneId),

  rules: [
    {
      needs: ["value", "description"],
      check: ({ description }, given) => {
        const { data } = cspInput.safeParse(given["value"]);
        const found = data === undefined ? [] : lintCsp(data);
        if (found.length === 0) return undefined;
        return { warning: `policy ${JSON.stringify(description)}: ${found.join("; ")}.` };
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
        const warning = `policy ${JSON.stringify(description)}: the action add_reporting_directives is known from the OpenAPI only; a zone may refuse it.`;
        return { warning };
      },
    },
  ],

  async live({ ctx, args, olds }) {
    const policies = await ctx.once(`policies of ${args.zoneId}`, () => listPolicies(ctx, args.zoneId));
    // 1. A new policy that cannot be adopted is refused before anything runs.
    const isNew = olds["zoneId"] !== args.zoneId;
    const own = isNew ? await findPolicyToAdopt(ctx, args, policies) : findOwnPolicy(policies, args, olds);
    // 2. Policies beside it that visitors would meet as well.
    warnAboutOtherPolicies(ctx, args, policies, { own, isNew });
    // 3. What an enforced policy would stop, for the reviewer to see.
    const adopts = isNew && own !== undefined ? adoptionFor(ctx, args, own) : {};
    if (!isEnforced(args)) return adopts;
    return { ...adopts, computed: omitAbsent({ wouldBlock: await computeWouldBlock(ctx, args) }) };
  },

  async create({ ctx, args }) {
    const policies = await listPolicies(ctx, args.zoneId, true);
    const adopted = await findPolicyToAdopt(ctx, args, policies);
    if (adopted !== undefined) {
      const { extra = {} } = args;
      const isEchoed = sameJson(pick(adopted.raw, Object.keys(extra)), extra);
      if (!isEchoed || !matchesArgs(adopted, args)) await putPolicy(ctx, args, adopted);
      return { id: adopted.id, computed: {}, ...adoptionFor(ctx, args, adopted) };
    }
    warnAboutOtherPolicies(ctx, args, policies, { own: undefined, isNew: true });
    const { object, doubled } = await createPolicy(ctx, args, policies);
    if (doubled !== undefined) throw new PartialFailure(object.id, {}, doubled);
    return { id: object.id, computed: {} };
  },

  async read({ ctx, id, state }) {
    const found = await readPolicy(ctx, state.zoneId, id);
    return {
      ...toState(found, state.zoneId),
      ...omitAbsent({ adopt: state.adopt }),
      ...extraFound(state.extra, found.raw),
    };
  },

  async update({ ctx, id, state, args }) {
    const read = await readPolicy(ctx, args.zoneId, id);
    // What was declared in `extra` and no longer is, is left out of the PUT: Cloudflare goes back to its own default.
    const removed = removedExtra(state.extra, args.extra);
    const found = { ...read, raw: omit(read.raw, removed) };
    const kept = removed.filter((name) => read.raw[name] !== undefined);
    const extraChanged = kept.length > 0 || !sameJson(state.extra ?? {}, args.extra ?? {});
    if (extraChanged || !matchesArgs(found, args)) await putPolicy(ctx, args, found);
    return {};
  },

  async delete({ ctx, id, state }) {
    await ctx.api.delete(`${policiesPath(state.zoneId)}/${id}`, {
      what: `Deleting policy ${id} of zone ${state.zoneId}`,
      schema: z.unknown(),
    });
  },
});

export interface PageShieldPolicyArgs {
  /** The zone, 32 hexadecimal digits. Replaces. */
  readonly zoneId: pulumi.Input<string>;
  /** What the policy is for; the API gives it no other name. At least one character. In place. Source: seed 000, "Policy". */
  readonly description: pulumi.Input<string>;
  /**
   * What happens to a script that `value` does not allow: `"log"` records it, `"allow"` blocks it. The OpenAPI adds
   * `"add_reporting_directives"`, which a zone may refuse. In place. Source: seed 000, "Policy" and rule 2.
   */
  readonly action: pulumi.Input<LiteralUnion<"log" | "allow" | "add_reporting_directives">>;
  /**
   * Which requests the policy covers, in Cloudflare's Rules language: `http.host eq "www.example.com"`. What Cloudflare
   * can't read fails the preview, with its place; a field or function that Cloudflare doesn't document is a warning.
   * Notation alone (white space, `==` for `eq`) is no change. Sent as it is. Updates in place.
   */
  readonly expression: pulumi.Input<string>;
  /** Whether the policy acts. Default true, always sent. In place. Source: seed 000, "Policy" (a string on the wire). */
  readonly enabled?: pulumi.Input<boolean>;
  /**
   * The policy: CSP text, or directives by their camelCase name: `{ scriptSrc: ["'self'", "cdn.example.com"] }`, `true`
   * for a directive without sources. Order and case that carry no meaning are no change. A misspelt directive, one that
   * stands twice, and a keyword without quotes are errors. Warnings: an empty list ('none'), a nonce, a directive Page Shield
   * does not list, hosts in `frame-ancestors`, and a source that lets any script run. Updates in place.
   */
  readonly value: pulumi.Input<
    string | Readonly<Record<string, pulumi.Input<readonly pulumi.Input<string>[] | boolean>>>
  >;
  /**
   * What to do when the zone has such a policy already. `"ifEqual"`: take over one that is equal in every field.
   * `"never"`: refuse. `"takeOver"`: take over the one with this description and change what differs.
   * Default `"ifEqual"`. In place, without a write. A forced replacement needs `"ifEqual"` or `"takeOver"`: with
   * `"never"` the resource's own object stands in its way.
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /** Members of the API's policy that this version does not know by name, sent as they are. In place. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/**
 * One content-security policy of a zone. The resource's id is the policy's. An `allow` policy
 * blocks: its preview shows in the input `wouldBlock` which of the zone's active scripts it would stop.
 *
 * Token permissions: Page Shield Read to preview and refresh; Page Shield Write to update and destroy.
 *
 * @throws when the token lacks a permission, the plan lacks policies, or an existing policy may not be adopted.
 */
export class PageShieldPolicy extends edgeResource<PageShieldPolicyArgs>()(pageShieldPolicy) {
  /** The policy as CSP text, in canonical order. */
  declare readonly value: pulumi.Output<string>;
  /** For an enabled `allow` policy: what it would have blocked when it was last changed. */
  declare readonly wouldBlock: pulumi.Output<WouldBlock | undefined>;
  /** The policy that existed and was adopted when the resource was created, with what that changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  constructor(name: string, args: PageShieldPolicyArgs, opts?: pulumi.CustomResourceOptions) {
    const claim = claimOnce("PageShieldPolicy", name, { ...args }, (known) => {
      const parsed = pageShieldPolicy.args.safeParse(pick(known, Object.keys(pageShieldPolicy.args.shape)));
      if (!parsed.success) return []; // The check of the resource says what is wrong with it.
      const { zoneId, action, enabled, adopt, description } = parsed.data;
      const whole: Claim = {
        key: canonicalJson(omit(parsed.data, ["adopt"])),
        clash: `declare the same policy of zone ${zoneId}, equal in every field: keep one of them`,
      };
      const named: Claim = {
        key: `${zoneId} ${description}`,
        clash: `would both take over the policy of zone ${zoneId} so described: describe them differently`,
      };
      const enforced: Claim = {
        key: `${zoneId} enforced`,
        clash: `are both enforced allow policies of zone ${zoneId}: only scripts that both allow are loaded`,
        warnOnly: true,
      };
      return [
        whole,
        ...(adopt === "takeOver" ? [named] : []),
        ...(enabled && action === "allow" ? [enforced] : []),
      ];
    });
    super(name, args, opts, claim);
  }
}

/** A policy as Cloudflare holds it, in canonical form, with the answer it came from. */
interface Policy {
  readonly id: string;
  readonly description: string;
  readonly action: string;
  readonly expression: string;
  readonly enabled: boolean;
  readonly value: string;
  readonly form: BooleanForm;
  readonly raw: JsonObject;
}

const wire = z
  .looseObject({
    id: z.string(),
    description: z.string().nullish(),
    action: z.string(),
    expression: z.string(),
    enabled: z.union([z.boolean(), z.enum(["true", "false"])]),
    value: z.string(),
  })
  .transform((raw): Policy => ({
    id: raw.id,
    description: raw.description ?? "",
    action: raw.action,
    expression: raw.expression.trim(),
    enabled: raw.enabled === true || raw.enabled === "true",
    value: canonicalValue(raw.value),
    form: typeof raw.enabled === "string" ? "string" : "boolean",
    raw,
  }));

function toRequest(policy: PolicyArgs, form: BooleanForm, found?: Policy): Record<string, unknown> {
  return {
    // Members that we do not know: a PUT without them might lose them. Cloudflare's own stamps are left out.
    ...omit(found?.raw ?? {}, [...KNOWN_MEMBERS, ...STAMPS]),
    ...policy.extra,
    description: policy.description,
    action: policy.action,
    expression: policy.expression,
    enabled: form === "string" ? String(policy.enabled) : policy.enabled,
    value: policy.value,
  };
}

function toState(policy: Policy, zoneId: string): Omit<PolicyArgs, "adopt" | "extra"> {
  const { description, action, expression, enabled, value } = policy;
  // An action this version does not know is drift, not an error: the next preview shows it and the next up mends it.
  return { zoneId, description, action: action as PolicyArgs["action"], expression, enabled, value };
}

function canonicalValue(text: string): string {
  try {
    return canonicalCsp(text);
  } catch (error) {
    if (error instanceof CspError) return text.trim(); // What somebody stored by hand is shown as it is.
    throw error;
  }
}

/** Equal in every declared field that Cloudflare gives back; a further member it does not echo is no difference. */
function matchesArgs(policy: Policy, args: JsonObject): boolean {
  const further = Object.entries(isJsonObject(args["extra"]) ? args["extra"] : {});
  return (
    FIELDS.every((key) => isSameField(key, policy[key], args[key])) &&
    further.every(([name, wanted]) => policy.raw[name] === undefined || sameJson(policy.raw[name], wanted))
  );
}

/** The policy that a create adopts. */
async function findPolicyToAdopt(
  ctx: Context,
  args: PolicyArgs,
  policies: readonly Policy[],
): Promise<Policy | undefined> {
  const ids = (found: readonly Policy[]): string => found.map(({ id }) => id).join(", ");
  const object = `a policy of zone ${args.zoneId}`;
  return await adoptExisting({
    adopt: args.adopt,
    alike: policies.filter((p) => ctx.holding(p.id) === undefined && p.description === args.description),
    equal: () => policies.filter((p) => isUnclaimed(ctx, p.id) && matchesArgs(p, args)),
    refusals: {
      never: (found) =>
        `There is ${object} equal to this one already (${ids(found)}), and adopt: "never" prevents adopting it. ${RENAME_HINT} ` +
        'Otherwise set adopt: "ifEqual", delete it in the dashboard, or declare something else.',
      several: (found, are) =>
        `There are ${found.length} objects that could be adopted, each ${object} ${are === "equal" ? "equal to this one" : `with the description ${JSON.stringify(args.description)}`}: ${ids(found)}. Delete all but one, then run again. ${RENAME_HINT}`,
    },
  });
}

/** How a policy is adopted; nothing of one that this program holds, as the resource gives it up in a replacement. */
function adoptionFor(ctx: Context, args: PolicyArgs, policy: Policy): { readonly adopts?: Adoption } {
  const { id, raw } = policy;
  if (ctx.holding(id) !== undefined) return {};
  const adopts = {
    what: `PageShieldPolicy ${JSON.stringify(args.description)}`,
    object: withTimestamp(`policy ${id} of zone ${args.zoneId}`, raw),
    found: { ...pick({ ...policy }, FIELDS), ...extraFound(args.extra, raw) },
    onDestroy: "deletes it",
    afterwards: sharedIdHint(id),
  };
  return { adopts };
}

/** Which listed policy is the resource's own. A check is not told its id: by what is recorded, or by what an unrecorded update left. */
function findOwnPolicy(policies: readonly Policy[], args: PolicyArgs, olds: JsonObject): Policy | undefined {
  return (
    policies.find((p) => matchesArgs(p, olds)) ??
    policies.find((p) => matchesArgs(p, args)) ??
    policies.find((p) => p.description === olds["description"])
  );
}

/** Says what a policy does to visitors beside those that exist, the one it was probably meant to change first. */
function warnAboutOtherPolicies(
  ctx: Context,
  args: PolicyArgs,
  policies: readonly Policy[],
  { own, isNew }: { readonly own: Policy | undefined; readonly isNew: boolean },
): void {
  const others = policies.filter((p) => p.id !== own?.id);
  const isAlike = (p: Policy): boolean => p.description === args.description;
  const alike =
    isNew && own === undefined ? others.filter((p) => isAlike(p) && ctx.holding(p.id) === undefined) : [];
  const enforced = isEnforced(args)
    ? others.filter(isEnforced).sort((a, b) => Number(isAlike(b)) - Number(isAlike(a)))
    : [];
  const warn = (...sentences: string[]): void =>
    ctx.warnOnce(
      `policy ${JSON.stringify(args.description)}: zone ${args.zoneId} already ${[...sentences, ...adviceOnSameDescription(alike)].join(" ")}`,
    );
  if (enforced.length > 0) {
    const which = enforced.length === 1 ? "another allow policy" : `${enforced.length} allow policies`;
    const listed = enforced.map((p) => {
      const likeness = isAlike(p) ? ` (same description, different ${differingFields(p, args)})` : "";
      return `${p.id} ${JSON.stringify(p.description)}${likeness}`;
    });
    warn(
      `enforces ${which}: ${listed.join(", ")}.`,
      "Browsers apply every policy of a page: visitors get only the scripts that each of them allows.",
    );
  } else if (alike.length > 0) {
    const listed = alike.map((p) => `${p.id} (different ${differingFields(p, args)})`).join(", ");
    const effect = "It stays as it is, and a second policy is created.";
    warn(`has this description on ${listed}.`, effect);
  }
}

const isEnforced = (p: { readonly enabled: boolean; readonly action: string }): boolean =>
  p.enabled && p.action === "allow";

function adviceOnSameDescription(alike: readonly Policy[]): string[] {
  const [only, ...more] = alike;
  if (only === undefined) return [];
  if (more.length > 0)
    return [`Delete those that are no longer wanted: ${alike.map(({ id }) => id).join(", ")}.`];
  return [
    `An interrupted \`pulumi up\` of this resource may have created ${only.id}. Set adopt: "takeOver" to change it instead of creating a second policy.`,
  ];
}

/** Creates a policy once, although an answer may get lost. @param before the zone's policies before it. */
async function createPolicy(
  ctx: Context,
  args: PolicyArgs,
  before: readonly Policy[],
): Promise<Created<Policy>> {
  const path = policiesPath(args.zoneId);
  const what = `Creating policy ${JSON.stringify(args.description)} in zone ${args.zoneId}`;
  const known = new Set(before.map(({ id }) => id));
  const mayBeThis = (p: Policy): boolean =>
    !known.has(p.id) && ctx.holding(p.id) === undefined && matchesArgs(p, args);
  return await createOnce(ctx, {
    path,
    id: ({ id }) => id,
    what: `policy ${JSON.stringify(args.description)}`,
    send: () =>
      inEitherForm(ctx, enabledMember(args.zoneId), (form) =>
        ctx.api.post(path, { what, schema: wire, body: toRequest(args, form), ...WRITE_OPTIONS }),
      ),
    list: async () => (await listPolicies(ctx, args.zoneId, true)).filter(mayBeThis),
  });
}

function differingFields(policy: Policy, args: PolicyArgs): string {
  return FIELDS.filter((key) => !isSameField(key, policy[key], args[key])).join(", ") || "extra";
}

function isSameField(key: (typeof FIELDS)[number], one: unknown, other: unknown): boolean {
  return key === "expression" ? isSameExpression(one, other) : sameJson(one, other);
}

async function putPolicy(ctx: Context, args: PolicyArgs, found: Policy): Promise<void> {
  const path = `${policiesPath(args.zoneId)}/${found.id}`;
  await inEitherForm(ctx, enabledMember(args.zoneId), (form) =>
    ctx.api.put(path, {
      what: `Updating policy ${found.id} of zone ${args.zoneId}`,
      schema: z.unknown(),
      body: toRequest(args, form, found),
      ...WRITE_OPTIONS,
    }),
  );
}

/** `enabled` goes out as text first, unless the zone has shown otherwise: one document has it so, another as a boolean. */
function enabledMember(zone: string): BooleanMember {
  return { key: `enabled of the policies of zone ${zone}`, pointer: "/enabled", doubtful: true };
}

/** @param complete whether a policy that cannot be read fails the list, as before a create: it may be the very policy. */
async function listPolicies(ctx: Context, zone: string, complete = false): Promise<readonly Policy[]> {
  const { records } = await ctx.api.list(policiesPath(zone), {
    what: `Listing the policies of zone ${zone}`,
    record: wire,
    complete,
    entitlement: ENTITLEMENT,
  });
  const [shown] = records;
  if (shown !== undefined) noteShownForm(ctx, enabledMember(zone).key, shown.form);
  return records;
}

async function readPolicy(ctx: Context, zone: string, id: string): Promise<Policy> {
  const policy = await ctx.api.get(`${policiesPath(zone)}/${id}`, {
    what: `Reading policy ${id} of zone ${zone}`,
    schema: wire,
    advice: ({ status }) =>
      status === 404
        ? "If it was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew."
        : undefined,
  });
  noteShownForm(ctx, enabledMember(zone).key, policy.form);
  return policy;
}

function policiesPath(zone: string): string {
  return `/zones/${zone}/page_shield/policies`;
}

const ENTITLEMENT = "Page Shield policies (an add-on of the Enterprise plan)";

/** How a policy is written. */
const WRITE_OPTIONS: Pick<RequestOptions<unknown>, "advice" | "entitlement"> = {
  advice: ({ status }) =>
    status === 400
      ? `Check expression and value in the dashboard's editor, and whether the plan includes ${ENTITLEMENT}.`
      : undefined,
  entitlement: ENTITLEMENT,
};
