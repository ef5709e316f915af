import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { kindOf } from "../runtime/type-tokens";
import { partsOfUrn } from "../runtime/urn";
import { slug } from "../import/names";
import { CommandError } from "../terminal/errors";
import { readText } from "../terminal/files";
import type { Io } from "../terminal/io";
import type { Account, Cell, Deployment, Head, Unmanaged, Zone } from "./model";
import { isNotReadable, mapCell, valueOf } from "./readable";

/** The objects that stacks manage, with this package's resources or those from Cloudflare's own provider. */
export class Stacks {
  readonly #managers = new Map<string, string>();
  readonly names: Head["stacks"][number][] = [];

  add(name: string, resources: readonly Resource[]): void {
    this.names.push({ name, resources: resources.length });
    for (const { type, id } of resources)
      if (id !== undefined) this.#managers.set(`${managedKind(type)} ${id}`, name);
  }

  /** Marks a zone's objects with the stacks that manage them, and lists the unmanaged objects. */
  markZone(zone: Zone): Zone {
    const marked = {
      ...zone,
      pageShield: mapCell(zone.pageShield, (settings) =>
        this.#mark(settings, ["PageShieldSettings", zone.id]),
      ),
      policies: mapCell(zone.policies, (all) =>
        all.map((each) => this.#mark(each, ["PageShieldPolicy", each.id])),
      ),
      deployments: mapCell(zone.deployments, (all) => all.map((each) => this.#markDeployment(each))),
      accountDeployments: mapCell(zone.accountDeployments, (all) =>
        all.map((each) => this.#markDeployment(each)),
      ),
      jobs: this.#markJobs(zone.jobs),
    };
    return { ...marked, unmanaged: unmanagedIn(marked) };
  }

  /** Marks an account's objects with the stacks that manage them, and lists the unmanaged objects. */
  markAccount(account: Account): Account {
    const marked = {
      ...account,
      deployments: mapCell(account.deployments, (all) => all.map((each) => this.#markDeployment(each))),
      jobs: this.#markJobs(account.jobs),
      namespaces: mapCell(account.namespaces, (all) =>
        all.map((each) => this.#mark(each, ["KvNamespace", each.id], ["WorkersKvNamespace", each.id])),
      ),
    };
    return { ...marked, unmanaged: unmanagedInAccount(marked) };
  }

  #markJobs(jobs: Zone["jobs"]): Zone["jobs"] {
    return mapCell(jobs, (all) => all.map((each) => this.#mark(each, ["LogpushJob", each.id])));
  }

  #markDeployment(given: Deployment): Deployment {
    return this.#mark(given, ["ManagedRulesetOverride", given.ruleId], ["Ruleset", given.entryPointId]);
  }

  /** @param resources the classes and IDs of the resources that may manage the object. */
  #mark<T>(
    object: T,
    ...resources: readonly (readonly [kind: string, id: string])[]
  ): T & { readonly stack: string | null } {
    const names = resources.map(([kind, id]) => this.#managers.get(`${kind} ${id}`));
    return { ...object, stack: names.find((name) => name !== undefined) ?? null };
  }
}

/**
 * Returns a resource's class, which is the last part of its type. Supports this package and Cloudflare's own provider.
 */
function managedKind(type: string): string {
  const isOfCloudflare = type.startsWith("cloudflare:");
  return kindOf(type) ?? (isOfCloudflare ? type.slice(type.lastIndexOf(":") + 1) : type);
}

const resource = z.looseObject({
  urn: z.string(),
  type: z.string(),
  id: z.string().exactOptional(),
  /** Whether the program only reads the resource. */
  external: z.boolean().exactOptional(),
  /** Whether the resource is about to be deleted. */
  delete: z.boolean().exactOptional(),
});
type Resource = z.infer<typeof resource>;

const exported = z.looseObject({
  deployment: z.looseObject({ resources: z.array(resource).nullish() }).nullish(),
});

/**
 * Reads the states of stacks. A directory is a Pulumi project, whose selected stack is exported. A file is the output
 * of `pulumi stack export`.
 */
export async function readStacks(io: Io, paths: readonly string[]): Promise<Stacks | undefined> {
  if (paths.length === 0) return undefined;
  const stacks = new Stacks();
  for (const path of paths) {
    const full = resolve(io.cwd, path);
    const isFolder = (await stat(full).catch(() => undefined))?.isDirectory() === true;
    const text = isFolder ? await exportStack(io, full) : await readText(io, path, `the stack in ${path}`);
    const parsed = exported.safeParse(jsonOf(text));
    if (!parsed.success || parsed.data.deployment === undefined)
      throw new CommandError(
        `--stack ${path} is not an exported stack. Pass a project directory, or a file that "pulumi stack export --file" wrote.`,
      );
    const all = parsed.data.deployment?.resources ?? [];
    const managed = all.filter((each) => each.external !== true && each.delete !== true);
    stacks.add(stackName(all[0]?.urn) ?? path, managed);
  }
  return stacks;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not an exported state, as its caller says.
  }
}

/** Returns the name of a URN's stack: `shop/prod` for `urn:pulumi:prod::shop::…`. */
function stackName(urn: string | undefined): string | undefined {
  const parts = partsOfUrn(urn ?? "");
  return parts && `${parts.project}/${parts.stack}`;
}

const MAX_STATE_BYTES = 1024 ** 3;

async function exportStack(io: Io, folder: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("pulumi", ["stack", "export"], {
      cwd: folder,
      env: { ...io.env },
      maxBuffer: MAX_STATE_BYTES,
    });
    return stdout;
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    throw new CommandError(
      `the state of the stack in ${folder} can't be exported: ${reason}. Select a stack there, or pass a file that "pulumi stack export --file" wrote.`,
    );
  }
}

/**
 * Lists a zone's objects that no stack manages. Page Shield settings exist in every zone, but are listed only if Page
 * Shield is on.
 */
function unmanagedIn(zone: Zone): Unmanaged {
  const settings = valueOf(zone.pageShield);
  const name = valueOf(zone.name) ?? zone.id;
  const { pageShield, policies, deployments, jobs } = zone;
  return unmanagedOf(`--zone ${zone.id}`, name, { pageShield, policies, deployments, jobs }, [
    ...(settings?.enabled === true ? [row("PageShieldSettings", zone.id, "", settings.stack)] : []),
    ...(valueOf(zone.policies) ?? []).map((each) =>
      row("PageShieldPolicy", each.id, each.description, each.stack),
    ),
    ...(valueOf(zone.deployments) ?? []).map((each) =>
      row("ManagedRulesetOverride", each.ruleId, each.description, each.stack),
    ),
    ...jobRows(valueOf(zone.jobs)),
  ]);
}

/**
 * Lists an account's objects that no stack manages. Its managed rulesets aren't listed, because `edgeguard import`
 * doesn't import them.
 */
function unmanagedInAccount({ id, jobs, namespaces }: Account): Unmanaged {
  return unmanagedOf(`--account ${id}`, `account-${id.slice(0, 8)}`, { jobs, namespaces }, [
    ...jobRows(valueOf(jobs)),
    ...(valueOf(namespaces) ?? []).map((each) => row("KvNamespace", each.id, each.title, each.stack)),
  ]);
}

function jobRows(jobs: Exclude<Zone["jobs"], { notReadable: unknown }> = []): Row[] {
  return jobs.map((each) => row("LogpushJob", each.id, each.name, each.stack));
}

interface Row {
  readonly type: keyof typeof PRODUCTS;
  readonly id: string;
  readonly name: string;
  readonly stack: string | null | undefined;
}

const row = (type: Row["type"], id: string, name: string, stack: Row["stack"]): Row => ({
  type,
  id,
  name,
  stack,
});

/** The value of `edgeguard import --only` for each resource type. */
const PRODUCTS = {
  PageShieldSettings: "page-shield",
  PageShieldPolicy: "page-shield",
  ManagedRulesetOverride: "rulesets",
  LogpushJob: "logpush",
  KvNamespace: "kv",
} as const;

function unmanagedOf(
  scope: string,
  name: string,
  parts: Readonly<Record<string, Cell<unknown>>>,
  rows: readonly Row[],
): Unmanaged {
  const objects = rows.filter(({ stack }) => stack === null);
  const products = [...new Set(objects.map(({ type }) => PRODUCTS[type]))];
  return {
    objects: objects.map(({ type, id, name }) => ({ type, id, name })),
    unread: Object.keys(parts).filter((part) => isNotReadable(parts[part])),
    command:
      objects.length === 0
        ? ""
        : `edgeguard import ${scope} --only ${products.join(",")} --out ${slug(name) || "imported"}`,
  };
}
