import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { omitAbsent, parseJson } from "../basics/json";
import { kindOf } from "../runtime/type-tokens";
import { partsOfUrn } from "../runtime/urn";
import { slug } from "../import/names";
import { CommandError } from "../terminal/errors";
import { readText } from "../terminal/files";
import type { Io } from "../terminal/io";
import type { Account, Cell, Head, TaskKind, Unmanaged, Zone } from "./model";
import { isNotReadable, mapCell, valueOf } from "./readable";
import { IMPORT } from "./tasks";

/** The resources that tasks say to declare, of which a zone has one. */
const DECLARED: Partial<Readonly<Record<TaskKind, string>>> = {
  readyToMigrate: "WafMigration",
  pageShieldOff: "PageShieldSettings",
};

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
    const { id, name } = zone;
    const list = new UnmanagedList();
    const parts = {
      // Page Shield settings exist in every zone, so they're listed only if Page Shield is on.
      pageShield: mapCell(zone.pageShield, (settings) =>
        this.#mark(settings, "PageShieldSettings", id, "", settings.enabled ? list : undefined),
      ),
      policies: mapCell(zone.policies, (all) =>
        all.map((each) => this.#mark(each, "PageShieldPolicy", each.id, each.description, list)),
      ),
      deployments: this.#markDeployments(zone.deployments, list),
      responseDeployments: this.#markDeployments(zone.responseDeployments, list),
      jobs: this.#markJobs(zone.jobs, list),
    };
    const accountDeployments = this.#markDeployments(zone.accountDeployments);
    const unmanaged = list.of(`--zone ${id}`, valueOf(name) ?? id, parts);
    // A stack that already has the resource can't declare it a second time.
    const tasks = zone.tasks.map((task) => {
      const deployed =
        task.command === IMPORT ? valueOf(parts.deployments)?.find((each) => each.stack) : undefined;
      const type = deployed === undefined ? DECLARED[task.kind] : "ManagedRulesetOverride";
      const stack = deployed?.stack ?? this.#managers.get(`${type} ${id}`);
      const text = `${task.text} Stack ${stack} has the zone's ${type}: change it there.`;
      return stack === undefined ? task : omitAbsent({ ...task, text, code: undefined, command: undefined });
    });
    return { ...zone, ...parts, accountDeployments, unmanaged, tasks };
  }

  /** Marks an account's objects with the stacks that manage them, and lists the unmanaged objects. */
  markAccount(account: Account): Account {
    const { id } = account;
    const list = new UnmanagedList();
    const parts = {
      deployments: this.#markDeployments(account.deployments, list),
      jobs: this.#markJobs(account.jobs, list),
      namespaces: mapCell(account.namespaces, (all) =>
        all.map((each) => this.#mark(each, "KvNamespace", each.id, each.title, list)),
      ),
    };
    const unmanaged = list.of(`--account ${id}`, `account-${id.slice(0, 8)}`, parts);
    return { ...account, ...parts, unmanaged };
  }

  #markJobs(jobs: Zone["jobs"], list: UnmanagedList): Zone["jobs"] {
    return mapCell(jobs, (all) =>
      all.map((each) => this.#mark(each, "LogpushJob", each.id, each.name, list)),
    );
  }

  #markDeployments(deployments: Zone["deployments"], list?: UnmanagedList): Zone["deployments"] {
    return mapCell(deployments, (all) =>
      all.map((each) => {
        const { ruleId, entryPointId, description } = each;
        return this.#mark(each, "ManagedRulesetOverride", ruleId, description, list, entryPointId);
      }),
    );
  }

  /**
   * Marks an object with the stack that manages it.
   *
   * @param list the list to add the object to if no stack manages it.
   * @param otherId the ID of the resource of Cloudflare's own provider, if it differs.
   */
  #mark<T>(
    object: T,
    type: ObjectType,
    id: string,
    name: string,
    list: UnmanagedList | undefined,
    otherId = id,
  ): T & { readonly stack: string | null } {
    const other = `${OBJECTS[type].other} ${otherId}`;
    const stack = this.#managers.get(`${type} ${id}`) ?? this.#managers.get(other) ?? null;
    if (stack === null) list?.objects.push({ type, id, name });
    return { ...object, stack };
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
    const parsed = exported.safeParse(parseJson(text));
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
 * The resource types whose objects a survey lists, with the class of Cloudflare's own provider for the same object, and
 * the value of `edgeguard import --only`.
 */
const OBJECTS = {
  PageShieldSettings: { other: "PageShieldSettings", product: "page-shield" },
  PageShieldPolicy: { other: "PageShieldPolicy", product: "page-shield" },
  ManagedRulesetOverride: { other: "Ruleset", product: "rulesets" },
  LogpushJob: { other: "LogpushJob", product: "logpush" },
  KvNamespace: { other: "WorkersKvNamespace", product: "kv" },
} as const;
type ObjectType = keyof typeof OBJECTS;

/** Collects the objects of a zone or account that no stack manages. */
class UnmanagedList {
  readonly objects: (Unmanaged["objects"][number] & { readonly type: ObjectType })[] = [];

  of(scope: string, name: string, parts: Readonly<Record<string, Cell<unknown>>>): Unmanaged {
    const products = [...new Set(this.objects.map(({ type }) => OBJECTS[type].product))];
    return {
      objects: this.objects,
      unread: Object.keys(parts).filter((part) => isNotReadable(parts[part])),
      command:
        products.length === 0
          ? ""
          : `edgeguard import ${scope} --only ${products.join(",")} --out ${slug(name) || "imported"}`,
    };
  }
}
