import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { byCursor } from "../api/pages";
import { namespacesPath } from "./address";
import { declaredKeys, declaredKeysOf, type DeclaredKeys } from "./declared";
import { deletedKeys, madeNamespaces } from "./held";
import { listNamespacesOf } from "./listing";
import { declaredOf } from "./sole-owner";
import { KV } from "../limits";
import type { Adopted, Adoption } from "../runtime/adopted";
import { adopt as adoptExisting, AdoptionError, RENAME_HINT, sharedIdHint } from "../runtime/adoption";
import { defineLifecycle, type Context, type Review } from "../runtime/lifecycle";
import { claimOnce, edgeResource } from "../runtime/resource";
import { hasUnknown, UNKNOWN } from "../runtime/values";
import { accountId, adopt, type Adopt, type LiteralUnion } from "../runtime/fields";
import { LOCK } from "../runtime/locks";
import { createOnce } from "../runtime/creation";

const args = z.object({
  accountId,
  title: z
    .string()
    .min(1, "has to name the namespace; it is empty")
    .refine((title) => title.length <= KV.MAX_TITLE_CHARACTERS, {
      error: ({ input }) => `is ${String(input).length} characters; the limit is ${KV.MAX_TITLE_CHARACTERS}`,
    }),
  preview: z.boolean().exactOptional(),
  adopt: adopt.exactOptional(),
  forceDestroy: z.boolean().exactOptional(),
});

/** Under this name the class tells the check which keys the program declares. */
const DECLARED = "__declaredKeys";

export const kvNamespace = defineLifecycle({
  type: "KvNamespace",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed: z.object({ fullTitle: z.string() }),
  computedInputs: ["fullTitle"],
  derivedFrom: { fullTitle: ["title"] },
  hints: [DECLARED],
  replaceOn: ["accountId"],
  fromSettings: { accountId: ({ accountId }) => accountId },
  lock: ({ accountId, title, preview }) => LOCK.namespace(accountId, fullTitle(title, preview)),

  async live({ ctx, args, olds }) {
    if (olds["title"] !== undefined) return {};
    const titles = await namespacesOnce(ctx, args.accountId);
    const existing = titles.get(fullTitle(args.title, args.preview));
    if (existing === undefined) {
      warnOfFullAccount(ctx, args, titles.size);
      return {};
    }
    // Whether the title is free in time is a matter of the order, which only the program knows.
    if (ctx.holding(existing.id) === "changing") ctx.say.warn(`KvNamespace: ${stillHeld(args, existing)}`);
    else return await adoptionOf(ctx, args, existing, PREVIEW_KEYS);
    return {};
  },

  deriveWithout: ["accountId", "title", "preview", "adopt", "forceDestroy"],

  derive({ ctx, args, olds, hints }) {
    const { accountId, title, preview } = args;
    const isKnown = !hasUnknown([title, preview]);
    if (isKnown && !hasUnknown(accountId)) {
      const program = programOf(ctx, args);
      program.had ||= (["accountId", "title", "preview"] as const).every((key) => olds[key] === args[key]);
      program.declares = declaredKeysOf.catch([]).parse(hints[DECLARED] ?? program.declares);
    }
    return Promise.resolve({ computed: { fullTitle: isKnown ? fullTitle(title, preview) : UNKNOWN } });
  },

  // A rename to a title that another namespace has would be refused.
  review({ ctx, id, state, args, change }) {
    if (args === undefined || change !== "update") return Promise.resolve([]);
    const title = fullTitle(args.title, args.preview);
    if (title === state.fullTitle) return Promise.resolve([]);
    const isFree = async (): Promise<Review> => {
      const holder = (await namespacesOnce(ctx, args.accountId)).get(title);
      // It may bear the title already, or the list may be older than another resource's rename.
      if (holder === undefined || holder.id === id || ctx.holding(holder.id) === "changed") return {};
      if (ctx.holding(holder.id) === "changing") {
        ctx.say.warn(`KvNamespace: ${stillHeld(args, holder)}`);
        return {};
      }
      const reason = `title: namespace ${holder.id} has the title ${JSON.stringify(title)} already, and titles are unique per account. Choose another title, or rename that namespace first.`;
      return { failures: [{ property: "title", reason }] };
    };
    return Promise.resolve([isFree]);
  },

  async create({ ctx, args }) {
    const title = fullTitle(args.title, args.preview);
    const find = (): Promise<Namespace | undefined> => namespaceByTitle(ctx, args.accountId, title);
    const what = `Creating namespace ${JSON.stringify(title)}`;
    try {
      const { object } = await createOnce(ctx, {
        path: namespacesPath(args.accountId),
        id: ({ id }: Namespace) => id,
        what: `namespace ${JSON.stringify(title)}`,
        send: () =>
          ctx.api.post(namespacesPath(args.accountId), { what, schema: namespace, body: { title } }),
        // One that holds keys was there before: a further request is told that the title is taken.
        list: async () => {
          const found = await find();
          return found !== undefined &&
            (await countKeys(ctx, args.accountId, found.id, { enough: 1 })).count === 0
            ? [found]
            : [];
        },
      });
      const { id } = object;
      madeNamespaces(ctx).add(id);
      return { id, computed: { fullTitle: title } };
    } catch (error) {
      if (!isTitleTaken(error)) throw error;
    }
    const existing = await find();
    if (existing === undefined)
      throw new AdoptionError(
        `${what} failed: Cloudflare says the title is taken, yet lists no such namespace. Run again in a minute.`,
      );
    const adopts = await adoptionOf(ctx, args, existing);
    return { id: existing.id, computed: { fullTitle: title }, ...adopts };
  },

  async read({ ctx, id, state }) {
    const what = `Reading namespace ${id}`;
    const found = await ctx.api.get(`${namespacesPath(state.accountId)}/${id}`, { what, schema: namespace });
    if (found.title === fullTitle(state.title, state.preview)) return { ...state, fullTitle: found.title };
    // A title without the suffix is nobody's preview namespace any more.
    const preview = state.preview === true && found.title.endsWith(PREVIEW_SUFFIX);
    const title = preview ? found.title.slice(0, -PREVIEW_SUFFIX.length) : found.title;
    return { ...state, title, ...(state.preview === undefined ? {} : { preview }), fullTitle: found.title };
  },

  async update({ ctx, id, state, args }) {
    const title = fullTitle(args.title, args.preview);
    if (state.fullTitle === title) return { fullTitle: title };
    // The answer is the namespace or nothing, by the age of the service (facts 8).
    await ctx.api.put(`${namespacesPath(args.accountId)}/${id}`, {
      what: `Renaming namespace ${id} to ${JSON.stringify(title)}`,
      schema: z.unknown(),
      body: { title },
      advice: ({ errors }) =>
        errors.some((e) => e.code === TITLE_TAKEN)
          ? "Another namespace of the account bears that title: choose another, or rename that one first."
          : undefined,
    });
    return { fullTitle: title };
  },

  async delete({ ctx, id, state }) {
    if (state.forceDestroy !== true) await refuseUnlessEmpty(ctx, state.accountId, id, state.fullTitle);
    await ctx.api.delete(`${namespacesPath(state.accountId)}/${id}`, {
      what: `Deleting namespace ${id}`,
      schema: z.unknown(),
    });
  },
});

export interface KvNamespaceArgs {
  /**
   * The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. Replaces.
   */
  readonly accountId?: pulumi.Input<string>;
  /** Title of the namespace, 1 to 512 characters, unique per account. Updates in place. */
  readonly title: pulumi.Input<string>;
  /**
   * Whether this is the preview namespace: its title in the account then ends in `_preview`, and its snippet says
   * `preview_id`. Default false. Updates in place.
   */
  readonly preview?: pulumi.Input<boolean>;
  /**
   * What to do when the title exists in the account. `"ifEqual"`: take it over if it holds no key. `"never"`: refuse.
   * `"takeOver"`: take it over with what it holds. Default `"ifEqual"`. In place, without a write.
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * Whether a destroy deletes the namespace although it holds keys, and the keys with it. Default false: a destroy then
   * refuses, and says how many keys there are. In place, without a write.
   */
  readonly forceDestroy?: pulumi.Input<boolean>;
}

/**
 * One Workers KV namespace of an account. The resource's ID is the namespace's. A destroy refuses a namespace that holds
 * keys others wrote, unless `forceDestroy` is set.
 *
 * Token permissions: Workers KV Storage Read to preview and refresh; Workers KV Storage Write to update and destroy.
 *
 * @throws when the token lacks a permission, the title is taken and may not be adopted, or keys remain.
 */
export class KvNamespace extends edgeResource<KvNamespaceArgs>()(kvNamespace) {
  /** The title in the account: `title`, with `_preview` behind it for a preview namespace. */
  declare readonly fullTitle: pulumi.Output<string>;
  /** The namespace that existed and was adopted when the resource was created. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  constructor(name: string, args: KvNamespaceArgs, opts?: pulumi.CustomResourceOptions) {
    const { accountId, title, preview } = args;
    const claim = claimOnce("KvNamespace", name, { accountId, title, preview }, (known) => {
      const full = fullTitle(known.title, known.preview);
      const account = known.accountId?.toLowerCase() ?? "of the settings";
      return [
        {
          key: `${account} ${full}`,
          clash: `are both the namespace ${JSON.stringify(full)} of one account: keep one of them`,
        },
      ];
    });
    const made: { id?: pulumi.Output<pulumi.ID> } = {};
    const declared = declaredOf(() => made.id);
    super(name, { ...args, [DECLARED]: declared }, opts, claim);
    made.id = this.id;
  }

  /**
   * The snippet for a Worker's configuration file, as Wrangler prints it when it creates a namespace: the binding with `id`, or with `preview_id` for a preview namespace.
   *
   * @param binding name under which the Worker sees the namespace.
   */
  bindingSnippet(binding: string): pulumi.Output<string> {
    return pulumi
      .all([this.id, this.preview])
      .apply(
        ([id, preview]) =>
          `[[kv_namespaces]]\nbinding = ${JSON.stringify(binding)}\n${preview === true ? "preview_id" : "id"} = ${JSON.stringify(id)}\n`,
      );
  }
}

const PREVIEW_SUFFIX = "_preview";

/** "A namespace with this account ID and title already exists" (facts 1.5). */
const TITLE_TAKEN = 10014;

const namespace = z.looseObject({ id: z.string(), title: z.string() });
type Namespace = z.infer<typeof namespace>;

interface Address {
  readonly accountId: string;
  readonly title: string;
  readonly preview?: boolean | undefined;
}

function fullTitle(title: string, preview: boolean | undefined): string {
  return preview === true ? `${title}${PREVIEW_SUFFIX}` : title;
}

function isTitleTaken(error: unknown): boolean {
  return error instanceof ApiError && error.hasCode(TITLE_TAKEN);
}

/** What the host knows of a namespace of the program before it is made. */
interface InProgram {
  /** Whether the resource was declared with this title before: what it had then is its own, though it is replaced. */
  had: boolean;
  declares: readonly DeclaredKeys[];
}

function programOf(ctx: Context, { accountId, title, preview }: Address): InProgram {
  const key = `namespace of the program: ${accountId} ${fullTitle(title, preview)}`;
  return ctx.shared(key, (): InProgram => ({ had: false, declares: [] }));
}

/** Keys that a preview looks at; beyond, the create decides. */
const PREVIEW_KEYS = 10_000;

/** Says of a new namespace that there is no room for it. No failure: Cloudflare raises the limit on request. */
function warnOfFullAccount(
  ctx: Context,
  { accountId, title, preview }: Address & { readonly title: string; readonly preview?: boolean | undefined },
  existing: number,
): void {
  const created = ctx.shared(`new namespaces of ${accountId}`, () => new Set<string>());
  created.add(fullTitle(title, preview));
  if (existing + created.size <= KV.MAX_NAMESPACES_PER_ACCOUNT) return;
  ctx.warnOnce(
    `KvNamespace: account ${accountId} has ${existing} namespaces, and the documented limit is ${KV.MAX_NAMESPACES_PER_ACCOUNT}: the update fails unless Cloudflare has raised it. Delete a namespace first, or ask Cloudflare.`,
  );
}

/**
 * Decides whether a create may have a namespace that exists: an empty one, its own, or one that holds nothing but keys the
 * program declares for it. Whether their values are as declared, the entries find out when they adopt them.
 *
 * @returns nothing for the resource's own, in a replacement.
 * @throws AdoptionError where it may not.
 */
async function adoptionOf(
  ctx: Context,
  args: Address & { readonly adopt?: Adopt | undefined; readonly forceDestroy?: boolean | undefined },
  { id }: Namespace,
  most = Number.POSITIVE_INFINITY,
): Promise<{ readonly adopts?: Adoption }> {
  const title = JSON.stringify(fullTitle(args.title, args.preview));
  if (ctx.holding(id) === "changing") throw new AdoptionError(stillHeld(args, { id }));
  let more = "It keeps the keys it holds.";
  let strange = "";
  const own = { isReplaced: false };
  const isOurs = async (): Promise<boolean> => {
    const { had, declares } = programOf(ctx, args);
    const isHeld = ctx.holding(id) !== undefined;
    own.isReplaced = had && !isHeld;
    if (own.isReplaced) return true;
    const declared = isHeld ? [] : await Promise.all(declares.map(declaredKeys));
    const { count, first, ours } = await countKeys(ctx, args.accountId, id, {
      enough: 1,
      most,
      isOurs: (key) => declared.some((keys) => keys.has(key)),
    });
    more = ours === 0 ? "It holds no keys." : "It holds only keys that the program declares.";
    [strange = ""] = first;
    return count === 0;
  };
  await adoptExisting({
    adopt: args.adopt,
    alike: [id],
    equal: async () => ((await isOurs()) ? [id] : []),
    refusals: {
      several: () => "", // A title is given once in an account.
      never: () =>
        `Namespace ${title} exists already (${id}) and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise choose another title, or remove adopt.`,
      different: () =>
        `Namespace ${title} exists already (${id}) and holds keys that this program doesn't declare for it, such as ${JSON.stringify(strange)}. ${RENAME_HINT} ` +
        'Otherwise set adopt: "takeOver" to manage it with what it holds, or choose another title.',
    },
  });
  if (own.isReplaced) return {};
  const onDestroy =
    args.forceDestroy === true ? "deletes it with every key in it" : "deletes it once it holds no keys";
  const object = `namespace ${id} of account ${args.accountId}`;
  return {
    adopts: {
      what: `KvNamespace ${title}`,
      object,
      found: {},
      onDestroy,
      more,
      afterwards: sharedIdHint(id),
    },
  };
}

function stillHeld({ title, preview }: Address, { id }: Pick<Namespace, "id">): string {
  return (
    `Namespace ${JSON.stringify(fullTitle(title, preview))} (${id}) belongs to another resource of this program, which this update renames. ` +
    "Add that resource to this one's dependsOn, so that it is renamed first."
  );
}

async function namespaceByTitle(
  ctx: Context,
  account: string,
  title: string,
): Promise<Namespace | undefined> {
  return (await namespacesOf(ctx, account)).get(title);
}

/** Read once per operation, for a preview. */
function namespacesOnce(ctx: Context, account: string): Promise<Map<string, Namespace>> {
  return ctx.once(`namespaces of ${account}`, () => namespacesOf(ctx, account));
}

/** By title. */
async function namespacesOf(ctx: Context, account: string): Promise<Map<string, Namespace>> {
  const found = new Map<string, Namespace>();
  for await (const one of listNamespacesOf(ctx.api, account, namespace)) found.set(one.title, one);
  return found;
}

/** How often a namespace that seems to hold keys is listed again. */
const LOOK_EVERY_MS = 5_000;

/** @throws when keys of others are left after the time a listing may lag behind. */
async function refuseUnlessEmpty(ctx: Context, account: string, id: string, title: string): Promise<void> {
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    const left = await countKeys(ctx, account, id);
    if (left.count === 0) return;
    if (waited >= KV.CONSISTENCY_SECONDS * 1000) {
      const names = left.first.map((name) => JSON.stringify(name)).join(", ");
      throw new Error(
        `Namespace ${JSON.stringify(title)} (${id}) still holds ${left.count} ${left.count === 1 ? "key" : "keys"}: ${names}${left.count > left.first.length ? ", …" : ""}. ` +
          "Deleting it would delete them. Remove them first, or set forceDestroy: true, run `pulumi up`, then destroy.",
      );
    }
    if (waited === 0) {
      ctx.say.info(
        `Namespace ${JSON.stringify(title)} seems to hold ${left.count} ${left.count === 1 ? "key" : "keys"}; its listing may lag behind, so it is looked at again for up to ${KV.CONSISTENCY_SECONDS} s.`,
      );
    }
    await ctx.pause(LOOK_EVERY_MS);
  }
}

const SHOWN_KEYS = 5;

interface Count {
  /** Keys of others. */
  readonly count: number;
  readonly first: readonly string[];
  readonly ours: number;
}

/** Keys of a namespace, but for those this operation has deleted; counting ends at `enough` of others, or `most` in all. */
async function countKeys(
  ctx: Context,
  account: string,
  id: string,
  {
    enough = Number.POSITIVE_INFINITY,
    most = Number.POSITIVE_INFINITY,
    isOurs = () => false,
  }: { enough?: number; most?: number; isOurs?: (key: string) => boolean } = {},
): Promise<Count> {
  const deleted = deletedKeys(ctx, id);
  const keys = byCursor(ctx.api, `${namespacesPath(account)}/${id}/keys`, {
    what: `Listing the keys of namespace ${id}`,
    record: z.looseObject({ name: z.string() }),
    complete: true, // A key that was left out would be deleted with the namespace.
    perPage: KV.MAX_KEYS_PER_PAGE,
    sizeParameter: "limit",
    key: ({ name }) => name,
  });
  const first: string[] = [];
  let [count, ours] = [0, 0];
  for await (const { name } of keys) {
    if (deleted.has(name)) continue;
    if (isOurs(name)) ours += 1;
    else {
      count += 1;
      if (first.length < SHOWN_KEYS) first.push(name);
    }
    if (count >= enough || count + ours >= most) break;
  }
  return { count, first, ours };
}
