import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { digestOf } from "../runtime/digest";
import { kindOf } from "../runtime/type-tokens";
import { slug } from "../import/names";
import { CommandError } from "../terminal/errors";
import { readText } from "../terminal/files";
import type { Io } from "../terminal/io";
import type { Account, Head, Unmanaged, Zone } from "./model";
import { valueOf } from "./readable";

/** What Pulumi's state manages: resources of this package, and those of Cloudflare's own provider. */
export class Stacks {
  readonly #managers = new Map<string, string>();
  readonly names: Head["stacks"][number][] = [];

  add(name: string, resources: readonly Resource[]): void {
    this.names.push({ name, resources: resources.length });
    for (const { type, id } of resources)
      if (id !== undefined) this.#managers.set(`${managedKind(type)} ${id}`, name);
  }

  /** A digest of what the stacks manage. */
  get digest(): string {
    return digestOf([...this.#managers]);
  }

  /**
   * The stack that manages an object; null if none does.
   *
   * @param kind the resource's class: `LogpushJob`.
   */
  of(kind: string, id: string): string | null {
    return this.#managers.get(`${kind} ${id}`) ?? null;
  }
}

/**
 * The `stack` of an object. Absent in a survey without stacks.
 *
 * @param resources the classes and IDs of the resources that may manage the object.
 */
export function stackOf(
  stacks: Stacks | undefined,
  ...resources: readonly (readonly [kind: string, id: string])[]
): { readonly stack?: string | null } {
  if (stacks === undefined) return {};
  const names = resources.map(([kind, id]) => stacks.of(kind, id));
  return { stack: names.find((name) => name !== null) ?? null };
}

/** The class of a resource of this package, or of one of Cloudflare's own provider, by the end of its type. */
function managedKind(type: string): string {
  const isOfCloudflare = type.startsWith("cloudflare:");
  return kindOf(type) ?? (isOfCloudflare ? type.slice(type.lastIndexOf(":") + 1) : type);
}

const resource = z.looseObject({
  urn: z.string(),
  type: z.string(),
  id: z.string().exactOptional(),
  /** A resource that the program only reads. */
  external: z.boolean().exactOptional(),
  /** A resource that is about to be deleted. */
  delete: z.boolean().exactOptional(),
});
type Resource = z.infer<typeof resource>;

const exported = z.looseObject({
  deployment: z.looseObject({ resources: z.array(resource).nullish() }).nullish(),
});

/**
 * Reads the state of stacks. A folder is a Pulumi project, whose selected stack is exported; a file is what
 * `pulumi stack export` wrote.
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
        `--stack ${path} is not an exported state. Pass a project directory, or a file that "pulumi stack export --file" wrote.`,
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

/** `urn:pulumi:prod::shop::…` is the stack shop/prod. */
function stackName(urn: string | undefined): string | undefined {
  const [, stack, project] = /^urn:pulumi:(.+?)::(.+?)::/.exec(urn ?? "") ?? [];
  return stack === undefined || project === undefined ? undefined : `${project}/${stack}`;
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

type ZoneFacts = Omit<Zone, "tasks" | "unmanaged">;

/** Lists the objects of a zone that no stack manages. Page Shield settings exist in every zone, and count if it's on. */
export function unmanagedIn(zone: ZoneFacts): Unmanaged {
  const settings = valueOf(zone.pageShield);
  const name = valueOf(zone.name) ?? zone.id;
  return unmanagedOf(`--zone ${zone.id}`, name, [
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

/** Lists the objects of an account that no stack manages. */
export function unmanagedInAccount({ id, jobs, namespaces }: Omit<Account, "unmanaged">): Unmanaged {
  return unmanagedOf(`--account ${id}`, `account-${id.slice(0, 8)}`, [
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

/** Resource types with the product that `edgeguard import --only` takes. */
const PRODUCTS = {
  PageShieldSettings: "page-shield",
  PageShieldPolicy: "page-shield",
  ManagedRulesetOverride: "rulesets",
  LogpushJob: "logpush",
  KvNamespace: "kv",
} as const;

function unmanagedOf(scope: string, name: string, rows: readonly Row[]): Unmanaged {
  const objects = rows.filter(({ stack }) => stack === null);
  const products = [...new Set(objects.map(({ type }) => PRODUCTS[type]))];
  return {
    objects: objects.map(({ type, id, name }) => ({ type, id, name })),
    command:
      objects.length === 0
        ? ""
        : `edgeguard import ${scope} --only ${products.join(",")} --out ${slug(name) || "imported"}`,
  };
}
