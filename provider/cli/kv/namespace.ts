import { z } from "zod";
import { fullTitle, namespacePath, namespacesPath } from "../../kv/address";
import { listKeys as keysOf, namespaceRecord, namespacesByTitle } from "../../kv/listing";
import { KV } from "../../limits/index";
import { pluralize } from "../../basics/words";
import { confirm } from "../../terminal/confirm";
import { UsageError } from "../../terminal/errors";
import { print, printToStderr, type Io } from "../../terminal/io";
import {
  onAccount,
  onNamespace,
  projectOf,
  targetOf,
  type KvOptions,
  type NamespaceSession,
} from "./session";
import { snippetFor } from "./snippet";

/** Creates a namespace with the title that Wrangler gives it: `[<env>-]<NAMESPACE>[_preview]`. */
export async function createNamespace(io: Io, name: string, options: KvOptions): Promise<void> {
  const { preview = false } = options;
  const project = projectOf(io, options, { envNeedsFile: false });
  const { env } = project;
  // Wrangler's title doesn't depend on CLOUDFLARE_ENV.
  const prefix = options.env ? `${options.env}-` : "";
  const title = fullTitle(`${prefix}${checkedTitle(name)}`, preview);
  await onAccount(io, project, async ({ ctx, accountId }) => {
    const { id } = await ctx.api.post(namespacesPath(accountId), {
      what: `Creating namespace ${JSON.stringify(title)}`,
      schema: namespaceRecord,
      body: { title },
      advice: ({ status, errors }) =>
        errors.some(({ code }) => code === TITLE_TAKEN)
          ? "Find the existing namespace's ID with `edgeguard kv namespace list`."
          : status >= 500
            ? "Before you try again, check with `edgeguard kv namespace list` whether the namespace was created."
            : undefined,
    });
    const { text, advice } = snippetFor(project.config, { env, binding: bindingFor(name), preview, id });
    printToStderr(io, `edgeguard: created namespace ${JSON.stringify(title)} (${id}). ${advice}`);
    await print(io, text);
  });
}

export async function listNamespaces(io: Io, options: KvOptions): Promise<void> {
  await onAccount(io, projectOf(io, options), async (session) => {
    const found = await namespacesByTitle(session.ctx.api, session.accountId);
    const shown = found.map(({ id, title, jurisdiction }) => ({ id, title, jurisdiction }));
    await print(io, `${JSON.stringify(shown, undefined, 2)}\n`);
  });
}

export async function renameNamespace(
  io: Io,
  oldTitle: string | undefined,
  options: KvOptions,
): Promise<void> {
  const title = checkedTitle(options.newName ?? "");
  const selected = [oldTitle, options.binding, options.namespaceId, options.title].filter(
    (each) => each !== undefined,
  );
  if (selected.length !== 1)
    throw new UsageError(
      "no namespace, or more than one. Pass exactly one of OLD_NAME, --binding, --namespace-id and --title.",
    );
  const target = oldTitle === undefined ? options : { ...options, title: oldTitle, preview: false };
  await onNamespace(io, target, async (session) => {
    await session.ctx.api.put(namespacePath(session), {
      what: `Renaming namespace ${session.namespaceId} to ${JSON.stringify(title)}`,
      schema: z.unknown(),
      body: { title },
    });
    printToStderr(io, `edgeguard: renamed namespace ${session.namespaceId} to ${JSON.stringify(title)}.`);
  });
}

export async function deleteNamespace(io: Io, options: KvOptions): Promise<void> {
  const target = targetOf(io, options);
  await onNamespace(
    io,
    options,
    async (session) => {
      if (options.yes !== true) await confirm(io, await deletionQuestion(session));
      await session.ctx.api.delete(namespacePath(session), {
        what: `Deleting ${session.name}`,
        schema: z.unknown(),
      });
      const rest =
        options.binding === undefined ? "" : ` Remove its binding from ${target.config?.name ?? ""}.`;
      printToStderr(io, `edgeguard: deleted ${session.name}.${rest}`);
    },
    { target },
  );
}

/** Reads the title of a session's namespace. @throws ApiError if it doesn't exist. */
export async function titleOf(session: NamespaceSession): Promise<string> {
  const { title } = await session.ctx.api.get(namespacePath(session), {
    what: `Reading ${session.name}`,
    schema: namespaceRecord,
  });
  return title;
}

/** Returns the confirmation question, with the number of keys that would be deleted. */
async function deletionQuestion(session: NamespaceSession): Promise<string> {
  const title = await titleOf(session);
  const listed = keysOf(session.ctx.api, session);
  let keys = 0;
  while (keys < KV.MAX_KEYS_PER_PAGE && (await listed.next()).done !== true) keys += 1;
  const more = keys === KV.MAX_KEYS_PER_PAGE ? " or more" : "";
  const what = keys === 0 ? "which has no keys" : `with ${pluralize(keys, "key")}${more}`;
  return `Delete namespace ${JSON.stringify(title)} (${session.namespaceId}), ${what}?`;
}

const TITLE_TAKEN = 10014;

function checkedTitle(title: string): string {
  if (title.trim() === "") throw new UsageError("the namespace's name is empty.");
  if (title.length > KV.MAX_TITLE_CHARACTERS)
    throw new UsageError(
      `the namespace's name is ${title.length} characters; the limit is ${KV.MAX_TITLE_CHARACTERS}.`,
    );
  return title;
}

/** Returns a valid binding name, based on the namespace's name. */
function bindingFor(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, "_");
  return /^\d/.test(plain) ? `_${plain}` : plain;
}
