/** Carries out steps. Changes states in place, because the plan, the journal and the program share them. */
import { differenceOf } from "./difference";
import type { Lifecycle, Providers } from "./lifecycle";
import { InitFailedError, type CreatedResource } from "./provider";
import type { ResourceState } from "./state";
import type {
  CreateStep,
  DeleteStep,
  RefreshStep,
  SameStep,
  SkipCreateStep,
  Step,
  UpdateStep,
} from "./steps";
import { isProviderType } from "./urn";
import { equalMaps, type ValueMap } from "./values";

interface ApplyContext {
  readonly providers: Providers;
  readonly dryRun: boolean;
}

export async function apply(step: Step, tools: ApplyContext): Promise<void> {
  switch (step.op) {
    case "same":
      return keepUnchanged(step, tools);
    case "create":
    case "create-replacement":
      return create(step, tools);
    case "update":
      return update(step, tools);
    case "delete":
    case "delete-replaced":
      return remove(step, tools);
    case "refresh":
      return refresh(step, tools);
    case "replace":
    case "remove-pending-replace":
    case "import":
      return;
  }
}

async function keepUnchanged(step: SameStep | SkipCreateStep, { providers }: ApplyContext): Promise<void> {
  if (step.old === undefined) return;
  step.new.id = step.old.id;
  step.new.outputs = step.old.outputs;
  // Equal secrets keep their ciphertext, so an unchanged stack writes an unchanged file.
  if (equalMaps(step.old.inputs, step.new.inputs)) step.new.inputs = step.old.inputs;
  if (isProviderType(step.new.type) && step.respond !== undefined) await providers.use(step.new);
}

async function create(step: CreateStep, { providers }: ApplyContext): Promise<void> {
  const { old, new: state } = step;
  const keep = (created: Partial<CreatedResource>): void => {
    state.id = created.id ?? "";
    state.outputs = created.outputs;
    state.created = state.modified = new Date().toISOString();
    if (step.deleteOldLater === true && old !== undefined) old.delete = true;
  };
  if (!state.custom) {
    keep({});
    return;
  }
  await keepPartialResult(state, keep, async () => keep(await lifecycleOf(state, providers).create(state)));
}

async function update(step: UpdateStep, { providers }: ApplyContext): Promise<void> {
  const { old, new: state } = step;
  state.id = old.id;
  state.created = old.created;
  state.modified = old.modified;
  if (!state.custom) return;
  const keep = ({ outputs }: { outputs: ValueMap }): void => {
    state.outputs = outputs;
    state.modified = new Date().toISOString();
  };
  await keepPartialResult(state, keep, async () => {
    keep({ outputs: await lifecycleOf(state, providers).update(old, state) });
  });
}

/** Records what a step created before it failed. */
async function keepPartialResult(
  state: ResourceState,
  keep: (created: CreatedResource) => void,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof InitFailedError) {
      state.initErrors = error.reasons;
      keep(error.created);
    }
    throw error;
  }
}

async function remove(step: DeleteStep, { providers, dryRun }: ApplyContext): Promise<void> {
  const { old } = step;
  if (step.op === "delete" && old.protect) throw new ProtectedError(old);
  if (!dryRun && old.custom && !old.retainOnDelete) await lifecycleOf(old, providers).delete(old);
  if (step.replacementFollows === true) old.pendingReplacement = true;
}

/** Refreshes a resource. The drift is the inverse of the change that would undo it. */
async function refresh(step: RefreshStep, { providers }: ApplyContext): Promise<void> {
  const { old } = step;
  if (!old.custom || isProviderType(old.type) || old.pendingReplacement) return;
  const provider = providers.get(old.provider);
  const live = await provider.read(old);
  if (live === undefined) {
    step.new = undefined;
    return;
  }
  const { id, outputs, inputs = old.inputs } = live;
  const isUnchanged = equalMaps(inputs, old.inputs) && equalMaps(outputs, old.outputs ?? {});
  const modified = isUnchanged ? old.modified : new Date().toISOString();
  const found: ResourceState = { ...old, id, inputs, outputs, initErrors: [], modified };
  step.new = found;
  step.hasDrifted = (await differenceOf(provider, found, inputs, outputs, old.inputs)).changes;
}

function lifecycleOf(state: ResourceState, providers: Providers): Lifecycle {
  return isProviderType(state.type) ? providers : providers.get(state.provider);
}

export class ProtectedError extends Error {
  override readonly name = "ProtectedError";
  constructor(readonly state: ResourceState) {
    super(
      `resource ${JSON.stringify(state.urn)} cannot be deleted\nbecause it is protected. ` +
        `To unprotect the resource, either remove the \`protect\` flag from the resource in your Pulumi program and run \`pulumi up\`, or use the command:\n\`pulumi state unprotect '${state.urn}'\``,
    );
  }
}
