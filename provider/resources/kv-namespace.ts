import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { byCursor } from "../api/pages";
import { namespacesPath } from "../kv/address";
import { deletedKeys, madeNamespaces } from "../kv/held";
import { listNamespacesOf } from "../kv/listing";
import { KV } from "../limits";
import { AdoptionError, createOnce, decideAdoption, sharedId } from "../runtime/adoption";
import { defineLifecycle, type Context } from "../runtime/lifecycle";
import { claimOnce, EdgeResource } from "../runtime/resource";
import { hasUnknown, UNKNOWN } from "../runtime/values";
import { accountId, adopt } from "./fields";

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

export const kvNamespace = defineLifecycle({
  type: "KvNamespace",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed: z.object({ fullTitle: z.string() }),
  computedInputs: ["fullTitle"],
  derivedFrom: { fullTitle: ["title"] },
  replaceOn: ["accountId"],
  fromSettings: { accountId: ({ accountId }) => accountId },
  lock: ({ accountId, title, preview }) => `namespace ${accountId} ${fullTitle(title, preview)}`,

  deriveWithout: ["accountId", "title", "preview", "adopt", "forceDestroy"],

  derive({ args: { title, preview } }) {
    const isKnown = !hasUnknown([title, preview]);
    return Promise.resolve({ computed: { fullTitle: isKnown ? fullTitle(title, preview) : UNKNOWN } });
  },

  async create({ ctx, args }) {
    const title = fullTitle(args.title, args.preview);
    const find = (): Promise<Namespace | undefined> => namespaceByTitle(ctx, args.accountId, title);
    const what = `Creating namespace ${JSON.stringify(title)}`;
    try {
      const { id } = await createOnce(ctx, {
        what: `namespace ${JSON.stringify(title)}`,
        send: () =>
          ctx.api.post(namespacesPath(args.accountId), { what, schema: namespace, body: { title } }),
        find,
      });
      madeNamespaces(ctx).add(id);
      return { id, computed: { fullTitle: title } };
    } catch (error) {
      if (!isTitleTaken(error)) throw error;
    }
    const existing = await find();
    if (existing === undefined)
      throw new AdoptionError(
        `${what} failed: the service says the title is taken, yet lists no such namespace. Run again in a minute.`,
      );
    const held = await countKeys(ctx, args.accountId, existing.id, 1);
    const adopted = decideAdoption({
      adopt: args.adopt,
      object: `a namespace ${JSON.stringify(title)} of account ${args.accountId}`,
      equal: held.count === 0 ? [existing] : [],
      alike: [existing],
      likeness: `the title ${JSON.stringify(title)}`,
    });
    if (adopted === undefined) {
      const how = args.adopt === "never" ? 'and adopt: "never" forbids to take it over' : "and holds keys";
      throw new AdoptionError(
        `Namespace ${JSON.stringify(title)} exists already (${existing.id}) ${how}. Set adopt: "takeOver" to manage it with what it holds, or choose another title.`,
      );
    }
    ctx.say.info(
      `KvNamespace ${JSON.stringify(title)}: namespace ${adopted.id} exists already and is taken over.${sharedId(ctx, adopted.id)}`,
    );
    return { id: adopted.id, computed: { fullTitle: title } };
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
  /** Name of the namespace, 1 to 512 characters, unique in the account. In place. Source: seed 002, "Key-value entry". */
  readonly title: pulumi.Input<string>;
  /**
   * Whether this is the preview namespace: its title in the account then ends in `_preview`, and its snippet says
   * `preview_id`. Default false. In place. Source: seed 002, "Command-line commands" (`--preview`).
   */
  readonly preview?: pulumi.Input<boolean>;
  /**
   * What to do when the title exists in the account. `"ifEqual"`: take it over if it holds no key. `"never"`: refuse.
   * `"takeOver"`: take it over with what it holds. Default `"ifEqual"`. In place, without a write.
   */
  readonly adopt?: pulumi.Input<"ifEqual" | "never" | "takeOver">;
  /**
   * Whether a destroy deletes the namespace although it holds keys, and the keys with it. Default false: a destroy then
   * refuses, and says how many keys there are. In place, without a write.
   */
  readonly forceDestroy?: pulumi.Input<boolean>;
}

/**
 * One key-value namespace of an account (seed 002, "Key-value entry": `id` and `title`). The resource's id is the
 * namespace's. A destroy refuses a namespace that holds keys others wrote, unless `forceDestroy` is set.
 *
 * @throws when the token lacks Workers KV Storage Write, the title is taken and may not be adopted, or keys remain.
 */
export class KvNamespace extends EdgeResource {
  declare readonly accountId: pulumi.Output<string>;
  declare readonly title: pulumi.Output<string>;
  declare readonly preview: pulumi.Output<boolean | undefined>;
  declare readonly adopt: pulumi.Output<"ifEqual" | "never" | "takeOver" | undefined>;
  declare readonly forceDestroy: pulumi.Output<boolean | undefined>;
  /** The title in the account: `title`, with `_preview` behind it for a preview namespace. */
  declare readonly fullTitle: pulumi.Output<string>;

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
    super(kvNamespace, name, args, ["accountId", "fullTitle"], opts, claim);
  }

  /**
   * The snippet for the configuration file of an edge function, as the vendor's command line prints it when it makes a
   * namespace: the binding with `id`, or with `preview_id` for a preview namespace.
   *
   * @param binding name under which the function sees the namespace.
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

function fullTitle(title: string, preview: boolean | undefined): string {
  return preview === true ? `${title}${PREVIEW_SUFFIX}` : title;
}

function isTitleTaken(error: unknown): boolean {
  return error instanceof ApiError && error.hasCode(TITLE_TAKEN);
}

async function namespaceByTitle(
  ctx: Context,
  account: string,
  title: string,
): Promise<Namespace | undefined> {
  for await (const found of listNamespacesOf(ctx.api, account, namespace))
    if (found.title === title) return found;
  return undefined;
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

/** Keys of a namespace, but for those this operation has deleted; counting ends at `enough`. */
async function countKeys(
  ctx: Context,
  account: string,
  id: string,
  enough = Number.POSITIVE_INFINITY,
): Promise<{ readonly count: number; readonly first: readonly string[] }> {
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
  let count = 0;
  for await (const { name } of keys) {
    if (deleted.has(name)) continue;
    count += 1;
    if (first.length < SHOWN_KEYS) first.push(name);
    if (count >= enough) break;
  }
  return { count, first };
}
