/** `import --file`: records existing resources in the state, as the file describes them. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CommandError, EXIT, messageOf, UnsupportedError } from "./errors";
import { providerInputs } from "./lifecycle";
import { finishRun, withRunContext, type RunContext, type Outcome, type Run } from "./run-context";
import { PROVIDER_KEY } from "./provider";
import { newState, type ResourceState } from "./state";
import { json, properties } from "./state-json";
import type { Step } from "./steps";
import {
  defaultProviderUrn,
  makeUrn,
  nameOf,
  PROVIDER_PACKAGE,
  PROVIDER_TYPE,
  providerReference,
  ROOT_STACK_TYPE,
  rootStackUrn,
  type Urn,
} from "./urn";
import { decode, mapValues, type JsonMap, type Value, type ValueMap } from "./values";

const importFileSchema = z.strictObject({
  resources: z
    .array(
      z.strictObject({
        type: z.string(),
        name: z.string(),
        logicalName: z.string().optional(),
        id: z.string().optional(),
        parent: z.string().optional(),
        component: z.boolean().optional(),
        version: z.string().optional(),
        inputs: properties.optional(),
        outputs: properties.optional(),
      }),
    )
    .min(1),
});

type ImportFile = z.infer<typeof importFileSchema>;
type Spec = ImportFile["resources"][number];

export async function readImportFile(path: string): Promise<ImportFile> {
  let given: unknown;
  try {
    given = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new CommandError(`could not read import file ${path}: ${messageOf(error)}`, EXIT.badInvocation);
  }
  const parsed = importFileSchema.safeParse(given);
  if (!parsed.success) {
    throw new CommandError(`import file ${path}: ${z.prettifyError(parsed.error)}`, EXIT.badInvocation);
  }
  parsed.data.resources.forEach(refuseUnsupported);
  return parsed.data;
}

/**
 * Throws if the file doesn't contain a dynamic resource's state. Without its provider's code, the resource can't be
 * read.
 */
function refuseUnsupported(spec: Spec): void {
  if (spec.component === true || spec.parent !== undefined)
    throw new UnsupportedError(`components and parents in an import file (${spec.name})`);
  if (!spec.type.startsWith(`${PROVIDER_PACKAGE}:`))
    throw new UnsupportedError(`resources of other providers (${spec.type})`);
  if (spec.inputs?.[PROVIDER_KEY] === undefined || spec.outputs?.[PROVIDER_KEY] === undefined) {
    throw new UnsupportedError(
      `importing a dynamic resource by its ID alone (${spec.name})`,
      `add its \`inputs\` and \`outputs\` to the import file, both with \`${PROVIDER_KEY}\``,
    );
  }
}

export async function importResources(
  run: Run,
  file: ImportFile,
  options: { protect: boolean },
): Promise<Outcome> {
  return withRunContext(run, {}, async (context) => {
    const importer = new Importer(context, file, options.protect);
    await importer.run();
    return finishRun(context);
  });
}

class Importer {
  readonly #known: Map<Urn, ResourceState>;

  constructor(
    readonly context: RunContext,
    readonly file: ImportFile,
    readonly protect: boolean,
  ) {
    const { base } = context.run;
    this.#known = new Map(base.resources.filter((state) => !state.delete).map((state) => [state.urn, state]));
  }

  async run(): Promise<void> {
    const { executor, run } = this.context;
    const { stack, project } = run;
    const existing = run.base.resources
      .filter((state) => !state.delete)
      .map((state): Step => ({ op: "same", old: state, new: { ...state, id: "" } }));
    await executor.submit(existing);
    const root = rootStackUrn(stack, project.name);
    await this.#createIfMissing(newState({ urn: root, type: ROOT_STACK_TYPE, custom: false, outputs: {} }));
    const provider = defaultProviderUrn(stack, project.name);
    await this.#createIfMissing(
      newState({ urn: provider, type: PROVIDER_TYPE, custom: true, inputs: providerInputs(run.config) }),
    );
    for (const spec of this.file.resources) await this.#importOne(spec, root, provider);
  }

  /** Creates the resource unless the state already has it. */
  async #createIfMissing(state: ResourceState): Promise<void> {
    if (this.#known.has(state.urn)) return;
    this.#known.set(state.urn, state);
    await this.context.executor.submit([{ op: "create", new: state, respond: () => undefined }]);
  }

  async #importOne(spec: Spec, root: Urn, providerUrn: Urn): Promise<void> {
    const { executor, run, providers } = this.context;
    const name = spec.logicalName ?? spec.name;
    const urn = makeUrn({ stack: run.stack, project: run.project.name, parent: root, type: spec.type, name });
    const id = spec.id ?? "";
    if (id === "")
      throw new CommandError(`import file: resource ${spec.name} has no \`id\``, EXIT.badInvocation);
    const old = this.#known.get(urn);
    if (old !== undefined) {
      this.#refuseOther(old, id);
      return;
    }
    const provider = this.#known.get(providerUrn);
    const reference = provider === undefined ? "" : providerReference(providerUrn, provider.id);
    const now = new Date().toISOString();
    const state = newState({
      urn,
      type: spec.type,
      custom: true,
      id,
      inputs: readMap(spec.inputs ?? {}),
      outputs: readMap(spec.outputs ?? {}),
      parent: root,
      provider: reference,
      protect: this.protect,
      created: now,
      modified: now,
    });
    if (reference !== "" && provider !== undefined) {
      await providers.ensure(reference, this.#known);
      await this.#warnOfFailures(state);
    }
    this.#known.set(urn, state);
    await executor.submit([{ op: "import", new: state }]);
  }

  #refuseOther(old: ResourceState, id: string): void {
    if (old.id === id) return;
    const message = `resource '${old.urn}' already exists`;
    this.context.run.events.diagnostic({ urn: old.urn, severity: "error", message });
    this.context.executor.failed = true;
    this.context.executor.stop();
  }

  /** Warns about invalid inputs. They're imported anyway, and the next update reports them in full. */
  async #warnOfFailures(state: ResourceState): Promise<void> {
    const { providers, run } = this.context;
    const { failures } = await providers.get(state.provider).check(state.urn, state.inputs, state.inputs);
    for (const { property, reason } of failures) {
      const message = `${state.type} resource '${nameOf(state.urn)}': property ${property} has a problem: ${reason}`;
      run.events.diagnostic({ urn: state.urn, severity: "warning", message });
    }
  }
}

/** Reads a property map. Secrets in an import file are plain text. */
function readMap(map: JsonMap): ValueMap {
  const open = (marked: JsonMap): Value => {
    const { plaintext, value } = marked;
    if (typeof plaintext === "string") return decode(json.parse(JSON.parse(plaintext)), open);
    if (value !== undefined) return decode(value, open);
    throw new UnsupportedError("encrypted secrets in an import file", "write them as `plaintext`");
  };
  return mapValues(map, (value) => decode(value, open));
}
