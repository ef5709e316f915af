import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { fullTitle, namespacesPath, PREVIEW_SUFFIX } from "./address";
import { keysOf } from "./namespace-keys";
import { listKeys, namespaceRecord, listedNamespaces, namespacesByTitle, type Namespace } from "./listing";
import { KV } from "../limits/index";
import type { Adopted } from "../runtime/adopted";
import { adopt as adoptExisting, AdoptionError, RENAME_HINT } from "../runtime/adoption";
import type { Context, Findings } from "../runtime/lifecycle";
import { defineResource } from "../runtime/resource";
import { hasUnknown } from "../runtime/engine-values";
import { omitAbsent } from "../basics/json";
import { pluralize } from "../basics/words";
import { CompositeId } from "../runtime/composite-id";
import { ID, adopt, type Adopt, type LiteralUnion } from "../runtime/fields";
import { LOCK } from "../runtime/locks";
import type { Unmanaged } from "../runtime/unmanaged";
import { SEEN } from "./impact";

const args = z.object({
  accountId: ID.account,
  title: z
    .string()
    .min(1, "must not be empty")
    .refine((title) => title.length <= KV.MAX_TITLE_CHARACTERS, {
      error: ({ input }) => `is ${String(input).length} characters; the limit is ${KV.MAX_TITLE_CHARACTERS}`,
    }),
  preview: z.boolean().exactOptional(),
  jurisdiction: z.enum(["eu", "us", "fedramp"]).exactOptional(),
  adopt: adopt.exactOptional(),
  forceDestroy: z.boolean().exactOptional(),
});

type Declared = z.output<typeof args>;

export const kvNamespace = defineResource({
  type: "KvNamespace",
  compositeId: new CompositeId(["<account ID>/<namespace ID>"]),
  importedWith: "--only kv",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed: z.object({ fullTitle: z.string() }),
  computedInputs: ["fullTitle", "adopted"],
  pending: () => ["fullTitle"],
  derivedFrom: { fullTitle: ["title"] },
  replaceOn: ["accountId", "jurisdiction"],
  deleteFirstOn: ["jurisdiction"], // Its successor has the same title.
  claims: [
    {
      by: ["accountId", "title", "preview"],
      of({ accountId, title, preview }) {
        const full = fullTitle(title, preview);
        const clash = `both declare the namespace ${JSON.stringify(full)} in the same account: keep one of them`;
        return [{ key: `${accountId} ${full}`, clash }];
      },
    },
  ],
  ofAccount: true,
  lock: ({ accountId, title, preview }) => LOCK.namespace(accountId, fullTitle(title, preview)),

  async live({ ctx, args, olds }) {
    if (olds["title"] !== undefined) return {};
    const looked = { seen: [SEEN.existingNamespace] };
    const titles = await ctx.once(`namespaces of ${args.accountId}`, () => namespacesOf(ctx, args.accountId));
    const existing = titles.get(fullTitle(args.title, args.preview));
    // A replacement comes after the deletion of the namespace that has its title now.
    if (existing === undefined || replacedIn(ctx).has(existing.id)) return looked;
    if (ctx.holding(existing.id) !== "changing")
      return { ...(await decideAdoption(ctx, args, existing)), ...looked };
    // Whether the title is free by then depends only on the order of operations in the program.
    ctx.say.warn(`KvNamespace: ${renamePending(args, existing)}`);
    return looked;
  },

  deriveWithout: ["accountId", "title", "preview", "jurisdiction", "adopt", "forceDestroy"],

  derive({ args: { title, preview } }) {
    const isKnown = !hasUnknown([title, preview]);
    return Promise.resolve(isKnown ? { computed: { fullTitle: fullTitle(title, preview) } } : {});
  },

  review({ ctx, id, state, args, change }) {
    if (change !== "replacement") return Promise.resolve([]);
    replacedIn(ctx).add(id);
    // Only the first of a replacement's steps would find out, which deletes the namespace.
    const isEmpty = async (): Promise<Findings> => {
      await refuseUnlessEmpty(ctx, state.accountId, id, state.fullTitle);
      return {};
    };
    const isMoved = args !== undefined && args.jurisdiction !== state.jurisdiction;
    return Promise.resolve(isMoved && state.forceDestroy !== true ? [isEmpty] : []);
  },

  async create({ ctx, args }) {
    const title = fullTitle(args.title, args.preview);
    const find = async (): Promise<Namespace | undefined> =>
      (await namespacesOf(ctx, args.accountId)).get(title);
    const what = `Creating namespace ${JSON.stringify(title)}`;
    try {
      const { id } = await ctx.createOnce({
        path: namespacesPath(args.accountId),
        id: ({ id }: Namespace) => id,
        what: `namespace ${JSON.stringify(title)}`,
        send: () =>
          ctx.api.post(namespacesPath(args.accountId), {
            what,
            schema: namespaceRecord,
            body: omitAbsent({ title, jurisdiction: args.jurisdiction }),
          }),
        // A namespace with keys must have existed before. The next create then fails because its title is taken.
        list: async () => {
          const found = await find();
          return found !== undefined && (await countKeys(ctx, args.accountId, found.id, 1)).count === 0
            ? [found]
            : [];
        },
      });
      keysOf(ctx, { accountId: args.accountId, namespaceId: id }).isCreated = true;
      return { id, computed: { fullTitle: title } };
    } catch (error) {
      if (!isTitleTaken(error)) throw error;
    }
    const existing = await find();
    if (existing === undefined)
      throw new AdoptionError(
        `${what} failed: Cloudflare says the title is taken but doesn't list the namespace yet. Run \`pulumi up\` again in a minute.`,
      );
    const adopts = await decideAdoption(ctx, args, existing);
    return { id: existing.id, computed: { fullTitle: title }, ...adopts };
  },

  async read({ ctx, id, state }) {
    const what = `Reading namespace ${id}`;
    const path = `${namespacesPath(state.accountId)}/${id}`;
    const found = await ctx.api.get(path, { what, schema: namespaceRecord });
    ctx.noteUnmanaged(found.extra ?? {});
    const isImport = state.title === "";
    // What isn't declared is left alone: changing it would replace the namespace. Its type is checked by the next preview.
    if (found.jurisdiction !== undefined && (isImport || state.jurisdiction !== undefined))
      state = { ...state, jurisdiction: found.jurisdiction as NonNullable<typeof state.jurisdiction> };
    if (found.title === fullTitle(state.title, state.preview)) return { ...state, fullTitle: found.title };
    // If it was renamed elsewhere to a title without the suffix, it's no longer a preview namespace.
    const preview = state.preview === true && found.title.endsWith(PREVIEW_SUFFIX);
    const title = preview ? found.title.slice(0, -PREVIEW_SUFFIX.length) : found.title;
    return { ...state, title, ...(state.preview === undefined ? {} : { preview }), fullTitle: found.title };
  },

  // The title is filled in by the read.
  existing({ address: { scope, id } }) {
    return Promise.resolve({ id, outputs: { accountId: scope.id, title: "", fullTitle: "" } });
  },

  list: ({ ctx, scope }) => listedNamespaces(ctx.api, scope.id),

  async update({ ctx, id, state, args }) {
    const title = fullTitle(args.title, args.preview);
    if (state.fullTitle === title) return { fullTitle: title };
    // Newer versions of the API return the namespace, older ones nothing.
    await ctx.api.put(`${namespacesPath(args.accountId)}/${id}`, {
      what: `Renaming namespace ${id} to ${JSON.stringify(title)}`,
      schema: z.unknown(),
      body: { title },
      advice: ({ errors }) =>
        errors.some((e) => e.code === TITLE_TAKEN)
          ? "Another namespace in the account has that title. Choose another title, or rename that namespace first."
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
   * The ID of the account that owns the namespace (32 hex digits). By default, the setting `edgeguard:accountId`, or
   * `CLOUDFLARE_ACCOUNT_ID`. Changing it replaces the namespace.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The namespace's title: 1 to 512 characters, unique per account. Updates in place. If another namespace has the new
   * title, the update fails, not the preview.
   */
  readonly title: pulumi.Input<string>;
  /**
   * Whether this is the preview namespace of a binding. If so, its title in the account ends in `_preview`, and
   * `bindingSnippet` returns `preview_id`. Updates in place.
   *
   * @defaultValue `false`
   */
  readonly preview?: pulumi.Input<boolean>;
  /**
   * Where Cloudflare stores the namespace's data. Changing it replaces the namespace: the old one is deleted first, because
   * both have the same title, and only if it has no keys or `forceDestroy` is set. Removing it replaces it too.
   *
   * @defaultValue anywhere
   */
  readonly jurisdiction?: pulumi.Input<LiteralUnion<"eu" | "us" | "fedramp">>;
  /**
   * What to do if the account already has a namespace with this title. `"ifEqual"` adopts it if it has no keys.
   * `"takeOver"` adopts it with all its keys. `"never"` always fails. A forced replacement finds its own namespace, so it
   * needs `"takeOver"` if that has keys. Changing it writes nothing.
   *
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * Whether destroying the resource deletes a namespace that still has keys, along with the keys. If `false`, the
   * destroy fails and says how many keys there are. Changing it writes nothing.
   *
   * @defaultValue `false`
   */
  readonly forceDestroy?: pulumi.Input<boolean>;
}

/**
 * A Workers KV namespace: a key-value store in an account.
 *
 * A new namespace is empty. Write keys with `KvEntries`, or let a Worker write them through a binding.
 *
 * Token permissions: Workers KV Storage Read to preview and refresh; Workers KV Storage Write to update and destroy.
 *
 * @example
 * A namespace and its entries
 * ```ts
 * import { KvEntries, KvNamespace } from "pulumi-edgeguard";
 *
 * const flags = new KvNamespace("flags", { accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1", title: "flags" });
 *
 * new KvEntries("flags", {
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   namespaceId: flags.id,
 *   entries: { "checkout/express": "on" },
 * });
 * ```
 * @example
 * A preview namespace, and the bindings for the Worker's configuration file
 * ```ts
 * import { KvNamespace } from "pulumi-edgeguard";
 *
 * const accountId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
 * const catalog = new KvNamespace("catalog", { accountId, title: "catalog" });
 * const preview = new KvNamespace("catalog-preview", { accountId, title: "catalog", preview: true });
 *
 * export const bindings = [catalog.bindingSnippet("CATALOG"), preview.bindingSnippet("CATALOG")];
 * ```
 * @destroy
 * Deletes the namespace. If it still has keys, the destroy fails and the namespace is kept. With `forceDestroy`, the
 * namespace and its keys are deleted.
 * @importing
 * `edgeguard import --account <account ID> --only kv` writes the program and the import file. The resource's ID is
 * the namespace's ID.
 * @reading
 * `title` is the whole title, even if it ends in `_preview`.
 * @throws If the title is empty, too long, or taken by a namespace that may not be adopted.
 * @throws If another resource of the program still has the title: add that resource to `dependsOn`.
 * @throws In a destroy, if the namespace still has keys and `forceDestroy` is not set.
 * @throws If the token lacks a permission.
 * @see https://developers.cloudflare.com/kv/concepts/kv-namespaces/
 * @see `POST /accounts/{account_id}/storage/kv/namespaces`
 * @see `PUT /accounts/{account_id}/storage/kv/namespaces/{namespace_id}`
 * @see `DELETE /accounts/{account_id}/storage/kv/namespaces/{namespace_id}`
 */
export class KvNamespace extends kvNamespace.base<KvNamespaceArgs>() {
  /** The title in the account: `title`, followed by `_preview` for a preview namespace. */
  declare readonly fullTitle: pulumi.Output<string>;
  /** The existing namespace that the resource adopted when it was created. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  /** The declared value of `preview`, because the output of an unset argument is unknown in every preview. */
  readonly #preview: KvNamespaceArgs["preview"];

  /**
   * Members of the namespace on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest stands
   * for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  constructor(name: string, args: KvNamespaceArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, args, opts);
    this.#preview = args.preview;
  }

  /**
   * Returns the binding for a Worker's configuration file (wrangler.toml), as Wrangler prints it when it creates a
   * namespace. It has an `id`, or a `preview_id` for a preview namespace.
   *
   * @param binding the name by which the Worker accesses the namespace.
   */
  bindingSnippet(binding: string): pulumi.Output<string> {
    return pulumi
      .all([this.id, this.#preview])
      .apply(
        ([id, preview]) =>
          `[[kv_namespaces]]\nbinding = ${JSON.stringify(binding)}\n${preview === true ? "preview_id" : "id"} = ${JSON.stringify(id)}\n`,
      );
  }
}

/** The error code for "A namespace with this account ID and title already exists". */
const TITLE_TAKEN = 10014;

interface Address {
  readonly accountId: string;
  readonly title: string;
  readonly preview?: boolean | undefined;
}

function isTitleTaken(error: unknown): boolean {
  return error instanceof ApiError && error.hasCode(TITLE_TAKEN);
}

/** The namespaces that this operation replaces. */
function replacedIn(ctx: Context): Set<string> {
  return ctx.once("replaced namespaces", () => new Set<string>());
}

/**
 * Decides whether a create may adopt an existing namespace.
 *
 * @throws AdoptionError if the namespace may not be adopted.
 */
async function decideAdoption(
  ctx: Context,
  args: Declared,
  { id, jurisdiction }: Namespace,
): Promise<Pick<Findings, "adopts">> {
  const title = JSON.stringify(fullTitle(args.title, args.preview));
  if (ctx.holding(id) === "changing") throw new AdoptionError(renamePending(args, { id }));
  if (args.jurisdiction !== undefined && args.jurisdiction !== jurisdiction)
    throw new AdoptionError(
      `Namespace ${title} already exists (${id}) with jurisdiction ${JSON.stringify(jurisdiction ?? "none")}, which can't be changed. Choose another title, or delete that namespace.`,
    );
  let more = "The namespace keeps its keys.";
  let firstKey = "";
  const isEmpty = async (): Promise<boolean> => {
    const { count, first } = await countKeys(ctx, args.accountId, id, 1);
    more = "The namespace has no keys.";
    [firstKey = ""] = first;
    return count === 0;
  };
  await adoptExisting({
    adopt: args.adopt,
    alike: [id],
    equal: async () => ((await isEmpty()) ? [id] : []),
    refusals: {
      several: () => "", // Titles are unique per account.
      never: () =>
        `Namespace ${title} already exists (${id}), and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise choose another title, or remove adopt: "never".`,
      different: () =>
        `Namespace ${title} already exists (${id}) and has keys, such as ${JSON.stringify(firstKey)}. ${RENAME_HINT} ` +
        'Otherwise set adopt: "takeOver" to manage it with all its keys, or choose another title.',
    },
  });
  const onDestroy =
    args.forceDestroy === true ? "deletes it with all its keys" : "deletes it once it has no keys";
  const object = `namespace ${id} in account ${args.accountId}`;
  return { adopts: { what: `KvNamespace ${title}`, object, found: {}, onDestroy, more } };
}

function renamePending({ title, preview }: Address, { id }: Pick<Namespace, "id">): string {
  return (
    `Namespace ${JSON.stringify(fullTitle(title, preview))} (${id}) belongs to another resource in this program, and this update renames it. ` +
    "Add that resource to this one's dependsOn, so that the rename happens first."
  );
}

/** Reads the account's namespaces by title. */
async function namespacesOf(ctx: Context, account: string): Promise<Map<string, Namespace>> {
  return new Map((await namespacesByTitle(ctx.api, account)).map((one) => [one.title, one]));
}

/** @throws If the namespace lists keys that this operation didn't delete. */
async function refuseUnlessEmpty(ctx: Context, account: string, id: string, title: string): Promise<void> {
  // One page is enough: the keys of a large namespace take minutes to count.
  const left = await countKeys(ctx, account, id, KV.MAX_KEYS_PER_PAGE);
  if (left.count === 0) return;
  const names = left.first.map((name) => JSON.stringify(name)).join(", ");
  const least = left.count === KV.MAX_KEYS_PER_PAGE ? "at least " : "";
  throw new Error(
    `Namespace ${JSON.stringify(title)} (${id}) still has ${least}${pluralize(left.count, "key")}: ${names}${left.count > left.first.length ? ", …" : ""}. ` +
      "Deleting the namespace would also delete its keys. Delete them first, or set forceDestroy: true and run `pulumi up` before you destroy. " +
      "To keep the namespace without managing it, run `pulumi state delete '<URN>'`; `pulumi stack --show-urns` lists the URNs. " +
      `Keys that were just deleted elsewhere may be listed for up to ${KV.CONSISTENCY_SECONDS} s.`,
  );
}

const SHOWN_KEYS = 5;

/** Counts a namespace's keys, except those that this operation deleted. Stops at `enough` keys. */
async function countKeys(
  ctx: Context,
  accountId: string,
  namespaceId: string,
  enough = Number.POSITIVE_INFINITY,
): Promise<{ readonly count: number; readonly first: readonly string[] }> {
  const address = { accountId, namespaceId };
  const { deleted } = keysOf(ctx, address);
  const first: string[] = [];
  let count = 0;
  for await (const { name } of listKeys(ctx.api, address)) {
    if (deleted.has(name)) continue;
    count += 1;
    if (first.length < SHOWN_KEYS) first.push(name);
    if (count >= enough) break;
  }
  return { count, first };
}
