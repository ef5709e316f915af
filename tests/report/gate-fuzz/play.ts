import type { LocalApi } from "edgeguard-local";
import { report, type DangerKind, type JudgedDanger } from "../../../provider/report/index";
import { isJsonObject, type JsonObject } from "../../../provider/basics/json";
import { rawGet, rawSend } from "../../support/operation";
import { ACTIVE_CONNECTIONS, ACTIVE_SCRIPTS, effectOf, losses, objectName } from "./effect";
import { keyLosses, keysIn, type Writer } from "./keys";
import type { Dimension, Resource, Scene } from "./scene";

/** Plays a scene, and compares what was lost with the dangers that the report on its plan names. */

/** The resources of a stack by name, with the IDs of their objects. */
export type Ids = ReadonlyMap<
  string,
  { readonly type: string; readonly id: string; readonly outputs?: JsonObject }
>;

/** What runs the programs: an engine, or the provider's verbs as an engine calls them. */
export interface Player {
  /** Updates the stack. Undefined if that fails, unless it may. */
  up(
    program: readonly Resource[],
    limits?: { readonly targets?: readonly string[]; readonly mayFail?: true },
  ): Promise<Ids | undefined>;
  /** Returns the plan as `pulumi preview --json --show-sames` writes it. Undefined if the preview fails. */
  preview(
    program: readonly Resource[],
    scene: Pick<Scene, "targets" | "preview">,
  ): Promise<string | undefined>;
}

export interface NamedLoss {
  /** The resources of which at least one has to be named by a danger. */
  readonly by: readonly { readonly kind: string; readonly name: string }[];
  readonly what: string;
}

export interface Outcome {
  readonly seed: number;
  readonly plan: string;
  readonly losses: readonly NamedLoss[];
  /** The stack's objects that the update deletes, whether they had an effect or not. */
  readonly deleted: readonly NamedLoss[];
  readonly has: ReadonlyMap<Dimension, "plan" | readonly string[]>;
  /** What changed, as JSON: `before -> after`. */
  readonly changes: readonly string[];
}

/** Undefined if the preview or an update refuses what the scene does. */
export async function play(
  api: LocalApi,
  scene: Scene,
  player: Player,
  someoneElse: Player,
): Promise<Outcome | undefined> {
  const zones = [api.zones.empty, api.zones.blog];
  const { before, after, interrupted, targets } = scene;
  for (const zone of zones)
    api.detect(zone, {
      scripts: ACTIVE_SCRIPTS.map((url) => ({ url, host: "www.empty.example" })),
      connections: ACTIVE_CONNECTIONS.map((url) => ({ url, host: "www.empty.example" })),
    });
  if ((await someoneElse.up(scene.others)) === undefined) return undefined;
  let had = await player.up(before);
  if (had === undefined) return undefined;
  if (interrupted !== undefined) {
    api.fault({
      kind: "unsuccessful",
      match: { method: interrupted.fails, path: "/bulk" },
      fraction: 0.5,
      times: 9,
    });
    had = await player.up(interrupted.program, { mayFail: true });
    api.clearFaults();
    if (had === undefined) return undefined;
  }
  for (const { namespace, keys } of scene.othersKeys) await writeKeys(api, namespace, keys);

  for (const path of scene.preview.silent)
    api.fault({ kind: "dropBefore", match: { method: "GET", path }, times: 999 });
  if (scene.preview.silent.includes("bulk/get"))
    api.fault({ kind: "dropBefore", match: { path: "bulk/get" }, times: 999 });
  const plan = await player.preview(after, scene);
  api.clearFaults();
  if (plan === undefined) return undefined;

  const migrating = api.zones.migratePro;
  const phase = api.waf(migrating).phase;
  const [was, keysBefore] = [await effectOf(api, zones), keysIn(api)];
  const has = await player.up(after, targets === undefined ? {} : { targets });
  if (has === undefined) return undefined;
  const [is, keysAfter] = [await effectOf(api, zones), keysIn(api)];

  const ids = [...had, ...has];
  const byObject = losses(was, is).map(({ kind, what, objects }): NamedLoss => {
    const names = ids.filter(([, { type, id }]) => type === kind && objects?.includes(id) !== false);
    return { by: [...new Set(names.map(([name]) => name))].map((name) => ({ kind, name })), what };
  });
  const migrated: NamedLoss[] =
    api.waf(migrating).phase === phase
      ? []
      : [
          {
            by: [{ kind: "WafMigration", name: "migration" }],
            what: `${migrating} can't go back to ${phase}`,
          },
        ];
  const written = [...before, ...(interrupted?.program ?? [])];
  const byKey = keyLosses({
    before: keysBefore,
    after: keysAfter,
    were: writersIn(written, had),
    are: writersIn(after, has),
    namespaces: new Map(ids.flatMap(([name, { type, id }]) => (type === "KvNamespace" ? [[id, name]] : []))),
  });
  const exists = (in_: typeof was, keys: typeof keysBefore, type: string, id: string): boolean =>
    type === "KvNamespace" ? keys.has(id) : in_.objects.has(objectName(type, id));
  const deleted = [...had].flatMap(([name, { type, id }]): NamedLoss[] =>
    exists(was, keysBefore, type, id) && !exists(is, keysAfter, type, id)
      ? [{ by: [{ kind: type, name }], what: `${type} ${id} is deleted` }]
      : [],
  );
  return {
    seed: scene.seed,
    plan,
    losses: [...byObject, ...byKey, ...migrated],
    deleted,
    has: scene.has,
    changes: changesOf(before, after),
  };
}

/** The program's entries, each with all keys that any of the programs declares for it. */
function writersIn(program: readonly Resource[], ids: Ids): Writer[] {
  const writers = new Map<string, Writer>();
  for (const { type, name, inputs } of program) {
    const namespace = namespaceOf(inputs, ids);
    if (type !== "KvEntries" || namespace === undefined || !ids.has(name)) continue;
    const { entries, prune } = inputs;
    const keys = new Set([
      ...(writers.get(name)?.keys ?? []),
      ...Object.keys(isJsonObject(entries) ? entries : {}),
    ]);
    const prunes = isJsonObject(prune) ? String(prune["prefix"]) : undefined;
    writers.set(name, { name, namespace, keys, prunes });
  }
  return [...writers.values()];
}

export function namespaceOf({ namespaceId }: JsonObject, ids: Ids): string | undefined {
  if (isJsonObject(namespaceId)) return ids.get(String(namespaceId["of"]))?.id;
  return typeof namespaceId === "string" ? namespaceId : undefined;
}

async function writeKeys(
  api: LocalApi,
  namespace: { readonly id: string } | { readonly title: string },
  keys: readonly string[],
): Promise<void> {
  const root = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  const { result } = await rawGet(api, `${root}?per_page=100`);
  const all = result as readonly { readonly id: string; readonly title: string }[];
  const found = "id" in namespace ? namespace : all.find(({ title }) => title === namespace.title);
  if (found === undefined) return; // The update creates it.
  await rawSend(
    api,
    "PUT",
    `${root}/${found.id}/bulk`,
    keys.map((key) => ({ key, value: "theirs" })),
  );
}

function changesOf(before: readonly Resource[], after: readonly Resource[]): string[] {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  const shown = (program: readonly Resource[], name: string): string | undefined =>
    JSON.stringify(program.find((each) => each.name === name));
  return names.flatMap((name) => {
    const [was, is] = [shown(before, name), shown(after, name)];
    return was === is ? [] : [`${was ?? "nothing"} -> ${is ?? "nothing"}`];
  });
}

// The report's dangers

/** The kinds of danger that announce a loss. */
const ANNOUNCING: readonly DangerKind[] = ["irreversible", "unprotect", "removes", "blocks", "unseen"];
const DELETING: readonly DangerKind[] = ["delete", "replace"];

const judged = ({ plan }: Pick<Outcome, "plan">): readonly JudgedDanger[] => report(plan, "json").dangers;

export const dangersIn = (outcome: Pick<Outcome, "plan">): readonly JudgedDanger[] =>
  judged(outcome).filter(({ kind }) => ANNOUNCING.includes(kind));

/** Losses and deleted objects that the gate lets pass: no danger names a resource that is responsible. */
export function passed(outcome: Outcome): readonly NamedLoss[] {
  const dangers = judged(outcome);
  const isNamed = ({ by }: NamedLoss, kinds: readonly DangerKind[]): boolean =>
    by.some(({ kind, name }) =>
      dangers.some((each) => kinds.includes(each.kind) && each.type === kind && each.name === name),
    );
  return [
    ...outcome.losses.filter((loss) => !isNamed(loss, ANNOUNCING)),
    ...outcome.deleted.filter((loss) => !isNamed(loss, DELETING)),
  ];
}
