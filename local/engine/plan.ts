/** Plans each registration in turn: keep, update, replace or create. */
import { aliasUrns } from "./aliases";
import { dependentsToReplace } from "./dependents";
import { differenceOf, type Difference } from "./difference";
import { AlreadyReported, CommandError } from "./errors";
import type { Events } from "./events";
import type { Goal } from "./goal";
import { dependentsOf } from "./graph";
import type { Lifecycle, Providers } from "./lifecycle";
import { resetTo } from "./paths";
import type { CheckFailure } from "./provider";
import { newState, type ResourceState } from "./state";
import type { DeleteStep, ForgetStep, Registered, Step } from "./steps";
import type { Targets } from "./targets";
import { isProviderType, isRootStack, makeUrn, nameOf, typeOf, type Urn } from "./urn";
import { equalMaps, toRedacted, type ValueMap } from "./values";

interface PlanContext {
  readonly stack: string;
  readonly project: string;
  readonly dryRun: boolean;
  /** The state before the operation, in order. Steps change it in place. */
  readonly base: readonly ResourceState[];
  readonly targets: Targets;
  readonly providers: Providers;
  readonly events: Events;
}

/** A resource that the program registers. */
interface Registration {
  readonly goal: Goal;
  readonly old: ResourceState | undefined;
  readonly state: ResourceState;
  readonly lifecycle: Lifecycle | undefined;
  readonly isTargeted: boolean;
  readonly respond: (registered: Registered) => void;
}
/** A registered resource that the state already has. */
type KnownRegistration = Registration & { readonly old: ResourceState };

export class Planner {
  readonly olds: ReadonlyMap<Urn, ResourceState>;
  /** Whether a problem makes the operation fail. Planning continues, to find other problems. */
  sawError = false;
  readonly #registered = new Set<Urn>();
  readonly #kept = new Set<Urn>();
  readonly #created = new Set<Urn>();
  readonly #deleted = new Set<Urn>();
  readonly #skipped = new Set<Urn>();
  readonly #deletedStates = new Set<ResourceState>();
  readonly #keysOfDependents = new Map<Urn, readonly string[]>();
  readonly #aliasOf = new Map<Urn, Urn>();
  readonly #renamedTo = new Map<Urn, Urn>();

  constructor(readonly context: PlanContext) {
    this.olds = new Map(context.base.filter((state) => !state.delete).map((state) => [state.urn, state]));
  }

  async plan(goal: Goal, respond: (registered: Registered) => void): Promise<Step[]> {
    const urn = this.#urnFor(goal);
    const old = this.#findOld(urn, goal);
    const state = this.#stateFor(urn, goal, old);
    const lifecycle = this.#lifecycleOf(state);
    const isTargeted = this.#isTargeted(urn);
    const registration = { goal, old, state, lifecycle, isTargeted, respond };
    state.inputs = await this.#checkedInputs(registration);
    if (old === undefined) return this.#create(registration);
    if (this.#deleted.has(urn)) return this.#recreate(old, state, respond);
    if (!isTargeted) return this.#keepUntargeted(old, respond);
    return this.#change({ ...registration, old });
  }

  #urnFor(goal: Goal): Urn {
    const { stack, project } = this.context;
    if (goal.parent !== "" && !this.#registered.has(goal.parent)) {
      throw new CommandError(`could not find parent resource ${goal.parent}`);
    }
    const urn = makeUrn({ stack, project, parent: goal.parent, type: goal.type, name: goal.name });
    if (this.#registered.has(urn)) {
      throw this.#refused(urn, `Duplicate resource URN '${urn}'; try giving it a unique name`);
    }
    this.#registered.add(urn);
    return urn;
  }

  #findOld(urn: Urn, goal: Goal): ResourceState | undefined {
    const own = this.olds.get(urn);
    if (own !== undefined) return own;
    const aliases = aliasUrns({ urn, parent: goal.parent, aliases: goal.aliases }, this.#aliasOf);
    const alias = aliases.find((each) => this.olds.has(each));
    if (alias === undefined) return undefined;
    const taken = this.#registered.has(alias) ? alias : this.#renamedTo.get(alias);
    if (taken !== undefined) {
      throw this.#refused(
        urn,
        `Duplicate resource alias '${alias}' applied to resource with URN '${urn}' conflicting with resource with URN '${taken}'`,
      );
    }
    this.#aliasOf.set(urn, alias);
    this.#renamedTo.set(alias, urn);
    return this.olds.get(alias);
  }

  #stateFor(urn: Urn, goal: Goal, old: ResourceState | undefined): ResourceState {
    const alias = this.#aliasOf.get(urn);
    return newState({
      urn,
      type: goal.type,
      custom: goal.custom,
      inputs: goal.inputs,
      parent: goal.parent,
      provider: goal.provider,
      protect: goal.protect ?? false,
      retainOnDelete: goal.retainOnDelete ?? false,
      dependencies: goal.dependencies,
      propertyDependencies: goal.propertyDependencies,
      additionalSecretOutputs: goal.additionalSecretOutputs,
      ignoreChanges: goal.ignoreChanges,
      aliases: alias === undefined ? [] : [alias],
      created: old?.created,
      modified: old?.modified,
    });
  }

  #lifecycleOf(state: ResourceState): Lifecycle | undefined {
    if (!state.custom) return undefined;
    return isProviderType(state.type) ? this.context.providers : this.context.providers.get(state.provider);
  }

  /** Whether the operation covers a resource. Targets never exclude providers or the stack itself. */
  #isTargeted(urn: Urn): boolean {
    return isRootStack(urn) || isProviderType(typeOf(urn)) || this.context.targets.includes(urn);
  }

  async #checkedInputs({ goal, old, state, lifecycle, isTargeted }: Registration): Promise<ValueMap> {
    if (old !== undefined && !isTargeted) return old.inputs;
    const wanted = old === undefined ? goal.inputs : resetTo(old.inputs, goal.inputs, goal.ignoreChanges);
    if (lifecycle === undefined || !isTargeted) return wanted;
    const { urn } = state;
    const isReplacement = this.#deleted.has(urn) || this.context.targets.isReplaced(urn);
    if (old === undefined || isReplacement) return this.#checked(lifecycle, state, {}, goal.inputs);
    return this.#checked(lifecycle, state, old.inputs, wanted);
  }

  async #checked(
    lifecycle: Lifecycle,
    state: ResourceState,
    olds: ValueMap,
    news: ValueMap,
  ): Promise<ValueMap> {
    const { inputs, failures } = await lifecycle.check(state.urn, olds, news);
    this.#reportCheckFailures(state, failures);
    return inputs;
  }

  #reportCheckFailures(state: ResourceState, failures: readonly CheckFailure[]): void {
    for (const { property, reason } of failures) {
      const subject = `${state.type} resource '${nameOf(state.urn)}'`;
      const message =
        property === ""
          ? `${subject} has a problem: ${reason}`
          : `${subject}: property ${property} value ${redactedValue(state.inputs, property)} has a problem: ${reason}`;
      this.context.events.diagnostic({ urn: state.urn, severity: "error", message });
    }
    if (failures.length > 0) throw new AlreadyReported(`resource ${state.urn} is invalid`);
  }

  /** Recreates a resource that was deleted before a resource that it depends on was replaced. */
  #recreate(old: ResourceState, state: ResourceState, respond: (registered: Registered) => void): Step[] {
    this.#deleted.delete(state.urn);
    this.#kept.add(state.urn);
    const replaceKeys = this.#keysOfDependents.get(state.urn) ?? [];
    return [
      { op: "replace", old, new: state },
      { op: "create-replacement", old, new: state, replaceKeys, respond },
    ];
  }

  #create({ state, isTargeted, respond }: Registration): Step[] {
    if (!isTargeted) {
      this.#kept.add(state.urn);
      this.#skipped.add(state.urn);
      return [{ op: "same", new: state, respond }];
    }
    this.#refuseSkippedDependencies(state);
    this.#created.add(state.urn);
    return [{ op: "create", new: state, respond }];
  }

  /** Throws if a targeted resource depends on a resource that --target excludes. */
  #refuseSkippedDependencies(state: ResourceState): void {
    const missing = neededBy(state).find((urn) => this.#skipped.has(urn));
    if (missing === undefined) return;
    // The CLI's own words, with its slip.
    const message = `Resource '${state.urn}' depends on '${missing}' which was was not specified in --target list.`;
    const refused = this.#refused(state.urn, message);
    if (!this.context.dryRun) throw refused;
  }

  #keepUntargeted(old: ResourceState, respond: (registered: Registered) => void): Step[] {
    const before = neededBy(old).flatMap((urn): Step[] => {
      const dependency = this.olds.get(urn);
      if (dependency === undefined || this.#isPlanned(urn)) return [];
      return this.#keepUntargeted(dependency, () => undefined);
    });
    this.#kept.add(old.urn);
    this.#registered.add(old.urn);
    return [...before, { op: "same", old, new: { ...old, id: "" }, respond }];
  }

  async #change(registration: KnownRegistration): Promise<Step[]> {
    const { old, state, lifecycle, respond } = registration;
    const difference = await this.#differenceBetween(old, state, lifecycle);
    this.#refuseSkippedDependencies(state);
    const { changes, deleteBeforeReplace, ...reasons } = difference;
    if ((changes && reasons.replaceKeys.length > 0) || old.pendingReplacement)
      return this.#replace(registration, deleteBeforeReplace, reasons);
    this.#kept.add(state.urn);
    // Retry an unfinished resource even if nothing differs.
    if (changes || old.initErrors.length > 0) return [{ op: "update", old, new: state, respond, ...reasons }];
    return [{ op: "same", old, new: state, respond }];
  }

  async #differenceBetween(
    old: ResourceState,
    state: ResourceState,
    lifecycle: Lifecycle | undefined,
  ): Promise<Difference> {
    const plain = { changedKeys: [], deleteBeforeReplace: false };
    if (this.context.targets.isReplaced(state.urn)) return { ...plain, changes: true, replaceKeys: ["id"] };
    if (old.custom !== state.custom) return { ...plain, changes: true, replaceKeys: ["provider"] };
    if (lifecycle === undefined)
      return { ...plain, changes: !equalMaps(old.inputs, state.inputs), replaceKeys: [] };
    return differenceOf(lifecycle, old, old.inputs, old.outputs ?? {}, state.inputs);
  }

  async #replace(
    { goal, old, state, lifecycle, respond }: KnownRegistration,
    deleteFirst: boolean,
    reasons: Pick<Difference, "replaceKeys" | "changedKeys">,
  ): Promise<Step[]> {
    this.#refuseProtected(old, state);
    this.#kept.add(state.urn);
    // The inputs were checked against the old resource. Its replacement has none.
    if (lifecycle !== undefined && !this.context.targets.isReplaced(state.urn))
      state.inputs = await this.#checked(lifecycle, state, {}, goal.inputs);
    const replace: Step = { op: "replace", old, new: state, ...reasons };
    if (goal.deleteBeforeReplace ?? deleteFirst) {
      return [
        ...(await this.#deleteDependents(old)),
        ...(await this.#deleteFirst(old)),
        replace,
        { op: "create-replacement", old, new: state, respond, ...reasons },
      ];
    }
    return [
      { op: "create-replacement", old, new: state, deleteOldLater: true, respond, ...reasons },
      replace,
    ];
  }

  #refuseProtected(old: ResourceState, state: ResourceState): void {
    if (!old.protect || !state.protect) return;
    const message =
      `unable to replace resource ${JSON.stringify(state.urn)}\nas it is currently marked for protection. ` +
      "To unprotect the resource, remove the `protect` flag from the resource in your Pulumi program and run `pulumi up`";
    const refused = this.#refused(state.urn, message);
    // A preview continues, to show what would be replaced and why.
    if (!this.context.dryRun) throw refused;
  }

  /**
   * Deletes a resource before its replacement is created. Skips the delete if an interrupted operation already did it.
   */
  async #deleteFirst(old: ResourceState): Promise<Step[]> {
    await this.context.providers.ensure(old.provider, this.olds);
    return old.pendingReplacement ? [] : [{ op: "delete-replaced", old, replacementFollows: true }];
  }

  /** Deletes dependents in reverse order. They're recreated when the program registers them. */
  async #deleteDependents(root: ResourceState): Promise<Step[]> {
    const steps: Step[] = [];
    const settled = new Set([...this.#kept, ...this.#created, ...this.#deleted]);
    const dependents = await dependentsToReplace(root, this.context.base, settled, this.context.providers);
    for (const { state, keys } of dependents.reverse()) {
      if (this.#deletedStates.has(state)) continue;
      this.#keysOfDependents.set(state.urn, keys);
      if (state.delete) {
        steps.push({ op: "delete", old: state });
      } else {
        this.#refuseProtectedDependent(root, state);
        steps.push({ op: "delete-replaced", old: state, replacementFollows: true });
      }
      this.#deleted.add(state.urn);
      this.#deletedStates.add(state);
    }
    return steps;
  }

  #refuseProtectedDependent(root: ResourceState, state: ResourceState): void {
    if (!state.protect) return;
    const message =
      `unable to replace resource ${JSON.stringify(state.urn)} as part of replacing ${JSON.stringify(root.urn)} as it is currently marked for protection. ` +
      "To unprotect the resource, remove the `protect` flag from the resource in your Pulumi program and run `pulumi up`";
    throw this.#refused(root.urn, message);
  }

  /** Shows an error, because of which the operation fails. A preview may continue, to find other problems. */
  #refused(urn: Urn, message: string): AlreadyReported {
    this.context.events.diagnostic({ urn, severity: "error", message });
    this.sawError = true;
    return new AlreadyReported(message);
  }

  #isPlanned(urn: Urn): boolean {
    return this.#kept.has(urn) || this.#created.has(urn) || this.#deleted.has(urn);
  }

  /** Plans the deletion of resources that the program didn't register or that were replaced. */
  async planDeletes(): Promise<{ untargeted: Step[]; deletes: (DeleteStep | ForgetStep)[] }> {
    const untargeted: Step[] = [];
    const deletes: (DeleteStep | ForgetStep)[] = [];
    for (const state of this.context.base) {
      if (state.delete ? this.#deletedStates.has(state) : this.#isKept(state)) continue;
      if (!this.context.targets.includes(state.urn)) {
        if (!state.delete) untargeted.push({ op: "same", old: state, new: { ...state, id: "" } });
        continue;
      }
      await this.context.providers.ensure(state.provider, this.olds);
      this.#deleted.add(state.urn);
      deletes.push(deleteStep(state));
    }
    this.#refuseOrphans(untargeted, deletes);
    return { untargeted, deletes };
  }

  #isKept(state: ResourceState): boolean {
    return this.#kept.has(this.#renamedTo.get(state.urn) ?? state.urn);
  }

  /** Throws if a deleted target has dependents that aren't in the program and aren't targets themselves. */
  #refuseOrphans(untargeted: readonly Step[], deletes: readonly (DeleteStep | ForgetStep)[]): void {
    const left = new Set(untargeted.map((step) => step.old));
    const orphans = new Set(
      deletes.flatMap(({ old }) => dependentsOf(old, this.context.base, new Set(), true)),
    );
    for (const { urn } of [...orphans].filter((state) => left.has(state))) {
      const message =
        `Resource '${urn}' will be destroyed but was not specified in --target list.\n` +
        "Either include resource in --target list or pass --target-dependents to proceed.";
      this.#refused(urn, message);
    }
    if (this.sawError && !this.context.dryRun) throw new AlreadyReported("delete untargeted resource");
  }
}

const neededBy = (state: ResourceState): Urn[] => [
  state.parent,
  ...state.dependencies,
  ...Object.values(state.propertyDependencies).flat(),
];

function deleteStep(state: ResourceState): DeleteStep | ForgetStep {
  if (state.delete) return { op: "delete-replaced", old: state };
  return { op: state.pendingReplacement ? "remove-pending-replace" : "delete", old: state };
}

function redactedValue(inputs: ValueMap, property: string): string {
  const value = inputs[property];
  return value === undefined ? "{<nil>}" : `{${asText(toRedacted(value))}}`;
}

const asText = (json: unknown): string => (typeof json === "string" ? json : JSON.stringify(json));
