import type { LocalApi } from "edgeguard-local";
import { omit, type JsonObject } from "../../../provider/basics/json";
import { UNKNOWN } from "../../../provider/runtime/engine-values";
import { Operation, type Recorded } from "../../support/operation";
import { diagnostic, type MadeStep } from "../plans";
import { namespaceOf, type Ids, type Player } from "./play";
import type { Resource, Scene } from "./scene";

/** Plays scenes through the provider's verbs, and writes plans as the Pulumi CLI does. */

interface Stored extends Recorded, Pick<Resource, "type" | "protect" | "retainOnDelete"> {
  /** What an update that failed halfway left to do. */
  readonly initErrors?: readonly string[];
}

export class VerbsPlayer implements Player {
  readonly #api: LocalApi;
  protected state: ReadonlyMap<string, Stored> = new Map();

  constructor(api: LocalApi) {
    this.#api = api;
  }

  async up(
    program: readonly Resource[],
    { targets, mayFail }: { readonly targets?: readonly string[]; readonly mayFail?: true } = {},
  ): Promise<Ids | undefined> {
    const operation = new Operation(this.#api, { inNoTime: this.#api });
    const next = new Map(this.state);
    const gone: Stored[] = [];
    try {
      for (const resource of program.filter(({ name }) => targets?.includes(name) !== false)) {
        const { name } = resource;
        const previous = next.get(name);
        try {
          const { stored, replaced } = await this.#applied(operation, resource, previous, next);
          next.set(name, stored);
          if (replaced !== undefined) gone.push(replaced);
        } catch (error) {
          const left = mayFail === true ? afterFailure(error, previous) : undefined;
          if (left === undefined) throw error;
          next.set(name, left);
        }
      }
      const removed = [...next].filter(
        ([name]) => !program.some((each) => each.name === name) && targets?.includes(name) !== false,
      );
      for (const [name] of removed) next.delete(name);
      for (const each of [...gone, ...removed.map(([, stored]) => stored)].reverse()) {
        if (each.protect === true) return undefined;
        if (each.retainOnDelete !== true) await operation.destroy(each.type, each);
      }
    } catch {
      return undefined;
    }
    this.state = next;
    return next;
  }

  async #applied(
    operation: Operation,
    resource: Resource,
    previous: Stored | undefined,
    ids: Ids,
  ): Promise<{ readonly stored: Stored; readonly replaced?: Stored }> {
    const { type } = resource;
    const inputs = written(resource, ids);
    const { step, inputs: checked } = await operation.preview(type, inputs, previous);
    const more = { type, ...optionsOf(resource) };
    if (previous === undefined) return { stored: { ...(await operation.create(type, checked)), ...more } };
    const retried = step === "same" && previous.initErrors !== undefined;
    if (step === "same" && !retried) return { stored: { ...previous, inputs: checked, ...more } };
    if (step !== "replace")
      return { stored: { ...(await operation.update(type, checked, previous)), ...more } };
    if (previous.protect === true) throw new Error("protected");
    // The engine checks the inputs of a replacement once more, without the old ones.
    const { inputs: again } = await operation.check(type, inputs);
    const stored = { ...(await operation.create(type, again)), ...more };
    return { stored, replaced: previous };
  }

  async preview(
    program: readonly Resource[],
    { targets, preview: { liveChecks, credential } }: Pick<Scene, "targets" | "preview">,
  ): Promise<string | undefined> {
    const config = {
      ...(credential ? {} : { "edgeguard:apiToken": "" }),
      ...(liveChecks ? {} : { "edgeguard:liveChecks": "false" }),
    };
    const operation = new Operation(this.#api, { inNoTime: this.#api, config });
    const steps: MadeStep[] = [];
    const ids = new Map<
      string,
      { readonly type: string; readonly id: string; readonly outputs?: JsonObject }
    >(this.state);
    for (const resource of program) {
      const { type, name } = resource;
      const previous = this.state.get(name);
      const oldState = previous === undefined ? {} : { oldState: stateOf(previous) };
      const urn = urnOf(type, name);
      if (targets?.includes(name) === false) {
        const bare = { custom: true, type: urn.split("::").at(-2) ?? "" };
        steps.push({
          op: "same",
          urn,
          ...oldState,
          newState: previous === undefined ? bare : stateOf(previous),
        });
        continue;
      }
      const unknown = Object.fromEntries((resource.unknown ?? []).map((argument) => [argument, UNKNOWN]));
      const inputs = { ...written(resource, ids), ...unknown };
      const diff = await tried(() => operation.preview(type, inputs, previous));
      if (diff === undefined) return undefined;
      const isReplaced = diff.step === "replace";
      if (isReplaced && previous?.protect === true) return undefined;
      const { inputs: news, failures } = isReplaced
        ? await operation.check(type, inputs)
        : { ...diff, failures: [] };
      if (failures.length > 0) return undefined;
      if (isReplaced || previous === undefined) ids.set(name, { type, id: UNKNOWN });
      const sources = Object.fromEntries(
        Object.entries(resource.inputs).map(([argument, value]) => [
          argument,
          sourcesOf(argument, value, resource, program),
        ]),
      );
      steps.push({
        op: diff.step === "same" && previous?.initErrors !== undefined ? "update" : diff.step,
        urn,
        ...oldState,
        newState: { custom: true, inputs: news, propertyDependencies: sources, ...optionsOf(resource) },
        ...(isReplaced ? { replaceReasons: diff.replaces } : {}),
      });
    }
    for (const [name, stored] of this.state) {
      if (program.some((each) => each.name === name) || targets?.includes(name) === false) continue;
      if (stored.protect === true) return undefined;
      steps.push({ op: "delete", urn: urnOf(stored.type, name), oldState: stateOf(stored) });
    }
    const lines = [...operation.said, ...operation.warned];
    return JSON.stringify({ steps, diagnostics: lines.map((line) => diagnostic(line, "info#err")) });
  }
}

async function tried<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

/** What the engine stores after a failed update: the old inputs, what the provider says it reached, and why it failed. */
function afterFailure(error: unknown, previous: Stored | undefined): Stored | undefined {
  if (!(error instanceof Error) || previous === undefined) return undefined;
  const outputs: unknown = Reflect.get(error, "properties");
  if (typeof outputs !== "object" || outputs === null) return undefined;
  return { ...previous, outputs: { ...outputs }, initErrors: [error.message] };
}

const optionsOf = ({ protect, retainOnDelete }: Resource): Pick<Resource, "protect" | "retainOnDelete"> => ({
  ...(protect === undefined ? {} : { protect }),
  ...(retainOnDelete === undefined ? {} : { retainOnDelete }),
});

const stateOf = (stored: Stored): JsonObject => ({ custom: true, ...omit({ ...stored }, ["type"]) });

/** The inputs that the class sends. */
export function written({ name, inputs }: Resource, ids: Ids): JsonObject {
  const namespaceId = namespaceOf(inputs, ids);
  const confirm =
    inputs["confirm"] === undefined ? undefined : ids.get(name)?.outputs?.["configurationDigest"];
  return {
    ...inputs,
    ...(namespaceId === undefined ? {} : { namespaceId }),
    ...(confirm === undefined ? {} : { confirm }),
    __resourceName: name,
  };
}

function sourcesOf(
  argument: string,
  value: unknown,
  { unknown = [] }: Resource,
  program: readonly Resource[],
): string[] {
  const gate = unknown.includes(argument)
    ? ["urn:pulumi:dev::edge::random:index/randomId:RandomId::gate"]
    : [];
  const isReference = typeof value === "object" && value !== null && "of" in value;
  const of = isReference ? program.find(({ name }) => name === String(value.of)) : undefined;
  return [...gate, ...(of === undefined ? [] : [urnOf(of.type, of.name)])];
}

export const urnOf = (type: string, name: string): string =>
  `urn:pulumi:dev::edge::pulumi-nodejs:dynamic/edgeguard:${type}::${name}`;
