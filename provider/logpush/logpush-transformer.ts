import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { digestOf } from "../basics/digest";
import { omit, omitAbsent, sameJson, type JsonObject } from "../basics/json";
import { inSeries } from "../basics/words";
import { TRANSFORMER } from "../limits/index";
import type { Adopted } from "../runtime/adopted";
import { CompositeId } from "../runtime/composite-id";
import { EXTRA } from "../runtime/extra";
import { adopt, ID, type Adopt, type LiteralUnion } from "../runtime/fields";
import type { Context, Findings } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { defineResource } from "../runtime/resource";
import type { Unmanaged } from "../runtime/unmanaged";
import { adoptByName } from "./adopt-job";
import { SEEN } from "./impact";
import { deletedAdvice } from "./job-api";
import { boundedString, defaultName } from "./job-args";

const args = z.object({
  accountId: ID.account,
  name: boundedString(TRANSFORMER.MAX_NAME_BYTES, "bytes"),
  description: boundedString(TRANSFORMER.MAX_DESCRIPTION_BYTES, "bytes").exactOptional(),
  code: boundedString(TRANSFORMER.MAX_CODE_BYTES, "bytes"),
  adopt: adopt.exactOptional(),
});
type Args = z.output<typeof args>;

const computed = z.object({ codeDigest: z.string(), dataset: z.string().exactOptional() });

export const logpushTransformer = defineResource({
  type: "LogpushTransformer",
  compositeId: new CompositeId(["<account ID>/<transformer ID>"]),
  importedWith: "--only logpush",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["codeDigest", "adopted"],
  pending: () => ["codeDigest"],
  replaceOn: ["accountId"],
  named: (about) => ({ name: defaultName(about) }),
  claims: [
    {
      by: ["accountId", "name"],
      of: ({ accountId, name }) => [
        {
          key: `${accountId} ${name}`,
          clash: `both declare Logpush transformer ${JSON.stringify(name)} in account ${accountId}. Give each transformer a different name`,
        },
      ],
    },
  ],
  ofAccount: true,
  secret: { code: (redactor, given) => redactor.addStrings(partsOf(given)) },
  lock: ({ accountId }) => LOCK.logpush(`account ${accountId}`),

  rules: [
    {
      needs: ["name", "code"],
      check({ name, code }) {
        if (!/\bfrom\s/i.test(code))
          return { property: "code", reason: 'has no FROM clause. Name a dataset: "… FROM http_requests"' };
        if (Buffer.byteLength(code) <= TRANSFORMER.DOCUMENTED_CODE_BYTES) return undefined;
        return {
          warning: `${labelOf(name)}: Cloudflare may reject the code, which has more than the 10 KB of its guide.`,
        };
      },
    },
  ],

  derive: ({ args: { code } }) => Promise.resolve({ computed: { codeDigest: digestOfCode(code) } }),

  async current({ ctx, olds }) {
    const accountId = String(olds["accountId"]);
    const own = (await cachedList(ctx, accountId)).find(({ name }) => name === olds["name"]);
    return own && { id: own.id, args: shown(await readTransformer(ctx, accountId, own.id)) };
  },

  async live({ ctx, args, olds }) {
    if (olds["accountId"] === args.accountId) return {};
    const listed = await cachedList(ctx, args.accountId);
    const adopts = adoptionOf(ctx, args, await findToAdopt(ctx, args, listed));
    return { ...adopts, seen: [SEEN.existingTransformer] };
  },

  async create({ ctx, args }) {
    const { accountId, name, code } = args;
    const before = await listTransformers(ctx, accountId);
    const adopted = await findToAdopt(ctx, args, before);
    if (adopted !== undefined) {
      const computed = computedOf(ctx, code, await write(ctx, args, adopted));
      return { id: adopted.id, computed, ...adoptionOf(ctx, args, adopted) };
    }
    const known = new Set(before.map(({ id }) => id));
    const made = await ctx.createOnce({
      what: labelOf(name),
      path: pathOf(accountId),
      id: ({ id }) => id,
      send: () =>
        ctx.api.post(pathOf(accountId), {
          what: `Creating Logpush transformer ${JSON.stringify(name)} in account ${accountId}`,
          schema: optionalTransformer,
          body: omitAbsent({ name, description: args.description, code }),
        }),
      list: async () =>
        (await listTransformers(ctx, accountId)).filter(
          (each) => each.name === name && !known.has(each.id) && ctx.holding(each.id) === undefined,
        ),
    });
    return { id: made.id, computed: computedOf(ctx, code, made) };
  },

  async read({ ctx, id, state: { accountId, adopt } }) {
    const found = await readTransformer(ctx, accountId, id);
    const { name, description, code } = found;
    return { accountId, name, code, ...omitAbsent({ description, adopt }), ...computedOf(ctx, code, found) };
  },

  // The rest is filled in by the read.
  existing({ address: { scope, id } }) {
    return Promise.resolve({ id, outputs: { accountId: scope.id, name: "", code: "", codeDigest: "" } });
  },

  list: ({ ctx, scope }) => listTransformers(ctx, scope.id),

  async update({ ctx, id, args }) {
    const found = await readTransformer(ctx, args.accountId, id);
    return computedOf(ctx, args.code, await write(ctx, args, found));
  },

  async delete({ ctx, id, state: { accountId } }) {
    try {
      await ctx.api.delete(pathOf(accountId, id), {
        what: `Deleting Logpush transformer ${id} of account ${accountId}`,
        schema: z.unknown(),
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      const by = inSeries((await readTransformer(ctx, accountId, id)).jobs) || "Logpush jobs";
      const advice = `It's used by ${by}. Remove transformerId from each of them, or delete them, first.`;
      throw new ApiError({ ...error.init, advice });
    }
  },
});

const cachedList = (ctx: Context, accountId: string): ReturnType<typeof listTransformers> =>
  ctx.once(`transformers of ${accountId}`, () => listTransformers(ctx, accountId));

/** Arguments of a `LogpushTransformer`. */
export interface LogpushTransformerArgs {
  /**
   * The ID of the account that owns the transformer (32 hex digits). By default, the setting `edgeguard:accountId`, or
   * `CLOUDFLARE_ACCOUNT_ID`. Changing it replaces the transformer.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The transformer's name, 1 to 255 bytes. It identifies the transformer in the account. Updates in place.
   *
   * @defaultValue `<project>-<stack>-<resource name>`, with `-` for everything but letters, digits, `.` and `-`
   */
  readonly name?: pulumi.Input<string>;
  /**
   * What the transformer is for, at most 4,096 bytes. Updates in place.
   *
   * @defaultValue no description
   */
  readonly description?: pulumi.Input<string>;
  /**
   * The SQL query that each log line goes through: one `SELECT` whose `FROM` clause names a dataset. Lines that its `WHERE`
   * clause doesn't match are dropped, and so are fields that it doesn't select. At most 32 KB; above 10 KB, which is the
   * limit in Cloudflare's guide, the preview warns. Cloudflare checks the query in the update, not in the preview.
   * Whitespace around it doesn't matter. Secret, and shown as `codeDigest`. Updates in place, which makes a new version.
   */
  readonly code: pulumi.Input<string>;
  /**
   * What to do with an existing transformer that has the same name in the account. `"ifEqual"` adopts it if everything
   * matches. `"takeOver"` also changes what differs. `"never"` always fails. Changing it writes nothing.
   *
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
}

/**
 * A Logpush transformer: an SQL query that drops or rewrites log lines before Logpush jobs push them.
 *
 * Attach it by setting `transformerId` of a `LogpushJob` whose dataset is the one in the `FROM` clause, and whose
 * output type is `"ndjson"`. Each change of `code` makes a new version, which the jobs use from then on; Cloudflare
 * keeps the earlier versions to look at. If the query fails on a batch of lines, none of them is pushed.
 *
 * Token permissions: Logs Write, even for a preview.
 *
 * @example Push requests that failed, without the visitors' IP addresses
 * ```ts
 * import { destination, LogpushJob, LogpushTransformer } from "pulumi-edgeguard";
 *
 * const failed = new LogpushTransformer("failed-requests", {
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   code: "SELECT RayID, ClientRequestHost, EdgeResponseStatus FROM http_requests WHERE EdgeResponseStatus >= 500",
 * });
 *
 * new LogpushJob("requests", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   dataset: "http_requests",
 *   destination: destination.https({ url: "https://logs.example.com/cloudflare" }),
 *   outputOptions: { fieldNames: ["RayID", "ClientRequestHost", "EdgeResponseStatus"] },
 *   transformerId: failed.id,
 * });
 * ```
 * @example Group and rename the fields of an account's audit log
 * ```ts
 * import { LogpushTransformer } from "pulumi-edgeguard";
 *
 * const audit = new LogpushTransformer("audit", {
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   description: "The format of the security team",
 *   code: `
 *     SELECT UPPER(ActionType) AS action, named_struct('email', ActorEmail, 'ip', ActorIP) AS actor
 *     FROM audit_logs
 *     WHERE ActionType <> 'login'`,
 * });
 *
 * export const dataset = audit.dataset;
 * ```
 * @destroy Deletes the transformer with all its versions. If Logpush jobs still use it, the destroy fails and names
 * them.
 * @importing `edgeguard import --account <account ID> --only logpush` writes the program, with the code, and the import
 * file. The resource's ID is the transformer's number.
 * @throws in the preview, if the code has no `FROM` clause or is too long.
 * @throws in the preview, if an existing transformer may not be adopted.
 * @throws in the update, if Cloudflare rejects the SQL query.
 * @throws in a destroy, if Logpush jobs use the transformer.
 * @see https://developers.cloudflare.com/logs/logpush/transformers/
 * @see `POST /accounts/{account_id}/logpush/transformers`
 * @see `GET /accounts/{account_id}/logpush/transformers/{transformer_id}/content`
 * @see `PUT /accounts/{account_id}/logpush/transformers/{transformer_id}`
 * @see `DELETE /accounts/{account_id}/logpush/transformers/{transformer_id}`
 */
export class LogpushTransformer extends logpushTransformer.base<LogpushTransformerArgs>() {
  /** A digest of the code, which shows that it changes. */
  declare readonly codeDigest: pulumi.Output<string>;
  /** The dataset that the code selects from, according to Cloudflare. Undefined if Cloudflare can't tell. */
  declare readonly dataset: pulumi.Output<string | undefined>;
  /** The existing transformer that the resource adopted when it was created, and what adopting it changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  /**
   * Members of the transformer on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest
   * stands for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  constructor(name: string, args: LogpushTransformerArgs, opts?: pulumi.CustomResourceOptions) {
    super(name, { ...args, code: pulumi.secret(args.code) }, opts);
  }
}

const MEMBERS = ["id", "name", "description", "dataset", "associated_jobs"];

const associatedJob = z
  .object({ id: z.int(), name: z.string(), object_tag: z.string(), object_type: z.string() })
  .transform((job) => `job ${job.id} ${JSON.stringify(job.name)} of ${job.object_type} ${job.object_tag}`);

const wireTransformer = z
  .looseObject({
    id: z.int(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    dataset: z.string().nullish(),
    associated_jobs: z.array(associatedJob).catch([]),
  })
  .transform((raw) => ({
    id: String(raw.id),
    name: raw.name ?? "",
    description: raw.description === "" ? undefined : (raw.description ?? undefined),
    dataset: raw.dataset ?? undefined,
    jobs: raw.associated_jobs,
    raw,
  }));
type Transformer = z.output<typeof wireTransformer>;
type WithCode = Transformer & { readonly code: string };

/** The response to a write, which may not include the transformer. */
const optionalTransformer = z.unknown().transform((answer) => wireTransformer.safeParse(answer).data);

function pathOf(accountId: string, id?: string): string {
  return `/accounts/${accountId}/logpush/transformers${id === undefined ? "" : `/${id}`}`;
}

const labelOf = (name: string): string => `LogpushTransformer ${JSON.stringify(name)}`;

const digestOfCode = (code: string): string => digestOf(code).slice(0, 32);

/** Returns the code with its lines and texts, because an error may quote one of them. */
function partsOf(code: unknown): readonly unknown[] {
  return typeof code === "string" ? [code.trim(), ...code.split(/\s*[\n']\s*/)] : [code];
}

/** Lists an account's transformers, without their code. Fails if one can't be parsed, because a create may have to adopt it. */
export async function listTransformers(
  { api }: Pick<Context, "api">,
  accountId: string,
): Promise<readonly Transformer[]> {
  const what = `Listing the Logpush transformers of account ${accountId}`;
  return (await api.list(pathOf(accountId), { what, record: wireTransformer, complete: true })).records;
}

async function readTransformer(ctx: Context, accountId: string, id: string): Promise<WithCode> {
  const what = `Reading Logpush transformer ${id} of account ${accountId}`;
  const path = pathOf(accountId, id);
  const advice = deletedAdvice("transformer");
  const found = await ctx.api.get(path, { what, schema: wireTransformer, advice });
  const schema = z.looseObject({ content: z.string().trim() });
  const { content: code } = await ctx.api.get(`${path}/content`, { what, schema, advice });
  ctx.hide(code);
  return { ...found, code };
}

/** Returns what's compared and shown, with a digest for the code. */
function shown({ name, description, code }: Pick<WithCode, "name" | "code"> & Partial<WithCode>): JsonObject {
  return { name, description, codeDigest: digestOfCode(code) };
}

/**
 * Returns the existing transformer that a create should adopt. Undefined if the create should make a new one.
 *
 * @throws AdoptionError with the IDs of the matching transformers.
 */
async function findToAdopt(
  ctx: Context,
  args: Args,
  listed: readonly Transformer[],
): Promise<WithCode | undefined> {
  const alike = listed.filter(({ id, name }) => name === args.name && ctx.isUnclaimed(id));
  return await adoptByName<WithCode>(ctx, {
    adopt: args.adopt,
    alike: await Promise.all(alike.map(({ id }) => readTransformer(ctx, args.accountId, id))),
    noun: "transformer",
    object: `Logpush transformer ${JSON.stringify(args.name)} in account ${args.accountId}`,
    isEqual: (each) => sameJson(shown(each), shown(args)),
    found: shown,
    declared: shown(args),
  });
}

/** Describes the adoption for the preview. Empty if there's none, or if this program already owns the transformer. */
function adoptionOf(
  ctx: Context,
  { accountId, name }: Args,
  adopted: WithCode | undefined,
): Pick<Findings, "adopts"> {
  if (adopted === undefined || ctx.holding(adopted.id) !== undefined) return {};
  const { id, raw } = adopted;
  const object = `transformer ${id} of account ${accountId}`;
  return { adopts: { what: labelOf(name), object, found: shown(adopted), onDestroy: "deletes it", raw } };
}

/** Writes what differs. The code is sent only if it differs, because that makes a new version. */
async function write(ctx: Context, args: Args, live: WithCode): Promise<Transformer> {
  if (sameJson(shown(live), shown(args))) return live;
  const { accountId, name, description, code } = args;
  const answered = await ctx.api.put(pathOf(accountId, live.id), {
    what: `Updating Logpush transformer ${live.id} of account ${accountId}`,
    schema: optionalTransformer,
    body: {
      ...omit(live.raw, [...MEMBERS, ...EXTRA.stamps]),
      // Cloudflare clears a description that it isn't sent.
      ...omitAbsent({ name, description, code: code === live.code ? undefined : code }),
    },
  });
  return answered ?? live;
}

function computedOf(ctx: Context, code: string, { raw, dataset }: Transformer): z.output<typeof computed> {
  ctx.noteUnmanaged(omit(raw, MEMBERS));
  return { codeDigest: digestOfCode(code), ...omitAbsent({ dataset }) };
}
