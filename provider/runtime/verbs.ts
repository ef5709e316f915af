import { z } from "zod";
import { MissingCredentialsError } from "../api/client";
import { AdoptionError } from "./adoption";
import { ApiError, CancelledError, isNotFound, isUnroutable } from "../api/errors";
import { VERSION } from "../version";
import type { Host } from "./host";
import { checkInputs, type CheckFailure } from "./inputs";
import { PartialFailure, type Args, type Lifecycle, type LiveFindings, type State } from "./lifecycle";
import { printable } from "../api/printable";
import { Redactor } from "../api/redact";
import { hideWords, namesOfSecrets, SECRETS, textsIn } from "./secrets";
import { canonicalJson, hasUnknown, omit, pick, sameJson, type Bag } from "./values";

const PROVIDER = "__provider";
const SCHEMA_VERSION = "schemaVersion";

export interface CheckResult {
  readonly inputs: Record<string, unknown>;
  readonly failures: CheckFailure[];
}

export interface DiffResult {
  readonly changes: boolean;
  readonly replaces: string[];
  readonly deleteBeforeReplace?: true;
}

/** The verbs of one resource type, as the engine calls them: plain values in, plain values out. */
export interface Verbs {
  check(host: Host, olds: Bag, news: Bag): Promise<CheckResult>;
  diff(host: Host, id: string, olds: Bag, news: Bag): Promise<DiffResult>;
  create(host: Host, inputs: Bag): Promise<{ id: string; outs: Record<string, unknown> }>;
  read(
    host: Host,
    id: string,
    props: Bag,
  ): Promise<{ id: string; props?: Record<string, unknown>; inputs?: Record<string, unknown> }>;
  update(host: Host, id: string, olds: Bag, news: Bag): Promise<{ outs: Record<string, unknown> }>;
  delete(host: Host, id: string, props: Bag): Promise<void>;
}

/** Turns what is special about a resource into the verbs that all resources share. */
export function verbsOf<Shape extends z.ZodRawShape, Computed extends object>(
  lifecycle: Lifecycle<Shape, Computed>,
): Verbs {
  const { type } = lifecycle;
  const argKeys = Object.keys(lifecycle.args.shape);
  const { computedInputs = [], hints = [] } = lifecycle;
  const recorded = z.intersection(z.looseObject(asRecorded(lifecycle)), lifecycle.computed);

  /** Inputs as `check` gave them; what an edited state or an engine without a check hands over is refused here. */
  const argsOf = (inputs: Bag): Args<Shape> => {
    const parsed = lifecycle.args.safeParse(pick(inputs, argKeys));
    if (parsed.success) return parsed.data;
    const [first] = checkInputs(lifecycle.args.shape, pick(inputs, argKeys), secretsOf(inputs)).failures;
    throw new Error(
      `The inputs of this ${type} are not valid: ${first === undefined ? "" : sentence(first)}`,
    );
  };

  const always: readonly string[] = lifecycle.secret ?? [];
  const secretsOf = (...bags: readonly Bag[]): string[] => [...always, ...bags.flatMap(namesOfSecrets)];

  /** Does the work of a verb without showing a secret of what it was given. */
  const hiding = <T>(host: Host, bags: readonly Bag[], work: () => Promise<T>): Promise<T> => {
    const secrets = new Redactor((redactor) => {
      for (const bag of bags) {
        if (lifecycle.hide === undefined) hideWords(redactor, pick(bag, always));
        else lifecycle.hide(redactor, bag);
        redactor.add(...textsIn(pick(bag, bags.flatMap(namesOfSecrets))));
      }
    });
    return host.hiding(secrets, work);
  };

  const stateOf = (outputs: Bag): State<Shape, Computed> => {
    const parsed = recorded.safeParse(omit(upgrade(lifecycle, outputs), [PROVIDER, SECRETS, SCHEMA_VERSION]));
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw new Error(
      `The recorded state of this ${type} cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}. ` +
        "If it was edited by hand, restore it with `pulumi stack import`; otherwise report it.",
    );
  };

  const outputsOf = (args: Bag, inputs: Bag, computed: object): Record<string, unknown> => ({
    ...omit(args, []),
    ...pick(inputs, computedInputs),
    ...omit({ ...computed }, []),
    ...pick(inputs, [SECRETS]),
    [SCHEMA_VERSION]: lifecycle.schemaVersion,
  });

  /** A half-finished change is recorded by the engine; anything else keeps its own message. */
  const recordingHalf = async <T>(host: Host, inputs: Bag, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PartialFailure)) throw error;
      host.ledger.enter(type, error.id, "made");
      const properties = {
        ...outputsOf({ ...pick(inputs, argKeys), ...error.reached }, inputs, error.computed as object),
        [PROVIDER]: inputs[PROVIDER],
      };
      const message = host.presentable(error.message);
      throw Object.assign(new Error(message), { id: error.id, properties, reasons: [message] });
    }
  };

  /** Arguments that the configuration gives where the program does not. */
  const settingsFor = (host: Host): Bag =>
    Object.fromEntries(
      Object.entries(lifecycle.fromSettings ?? {}).map(([key, of]) => [key, of(host.settings)]),
    );

  const liveFindings = (host: Host, args: Args<Shape>, olds: Bag): Promise<LiveFindings> =>
    looking(
      host,
      async () =>
        (await lifecycle.live?.({ ctx: host.probeContext(type), args, olds, once: host.once })) ?? {},
    );

  /** What can be seen in a preview; where nothing can, that is said, and nothing is found. */
  const looking = async (host: Host, look: () => Promise<LiveFindings>): Promise<LiveFindings> => {
    if (!host.settings.liveChecks) return {};
    try {
      return await look();
    } catch (error) {
      if (error instanceof AdoptionError) return { failures: [{ property: "adopt", reason: error.message }] };
      const reason = noVerdict(error);
      if (reason === undefined) throw error;
      host.warnOnce("not checked live", `not checked live: ${reason}`);
      return {};
    }
  };

  /** Whether a look finds something, which is said to the reviewer. */
  const finds = async (host: Host, look: () => Promise<string | undefined> | undefined): Promise<boolean> => {
    const { due } = await looking(host, async () => {
      const found = await look();
      return found === undefined ? {} : { due: found };
    });
    if (due !== undefined) host.warnOnce(due, due);
    return due !== undefined;
  };

  const dueBy = async (host: Host, olds: Bag, news: Bag): Promise<boolean> => {
    if (lifecycle.due === undefined || hasUnknown(news)) return false;
    const request = { ctx: host.probeContext(type), state: stateOf(olds), args: argsOf(news) };
    return await finds(host, () => lifecycle.due?.(request));
  };

  const goesFirst = async (host: Host, id: string, news: Bag): Promise<boolean> => {
    if (lifecycle.deletedFirst === undefined || hasUnknown(news)) return false;
    const request = { ctx: host.probeContext(type), id, args: argsOf(news), once: host.once };
    return await finds(host, () => lifecycle.deletedFirst?.(request));
  };

  const verbs: Verbs = {
    async check(host, olds, news) {
      const misconfigured = host.settingsProblem();
      const given = {
        ...(misconfigured === undefined ? settingsFor(host) : {}),
        ...omit(news, [PROVIDER, SECRETS, ...hints, ...computedInputs]),
      };
      const { inputs, failures, known } = checkInputs(lifecycle.args.shape, given, secretsOf(news));
      Object.assign(inputs, pick(news, [SECRETS]));
      const problems: CheckFailure[] = [...failures];
      const dues: string[] = [];
      const take = ({ computed = {}, failures: wrong = [], due }: LiveFindings): void => {
        Object.assign(inputs, pick(computed, computedInputs));
        problems.push(...wrong);
        if (due !== undefined) dues.push(due);
      };
      if (misconfigured !== undefined)
        return { inputs, failures: refusals(host, [{ property: "", reason: misconfigured }, ...problems]) };

      const unchanged = sameJson(pick(olds, argKeys), pick(inputs, argKeys));
      if (failures.length === 0) {
        for (const rule of lifecycle.rules ?? []) {
          if (!rule.needs.every((key) => known.has(key))) continue;
          // A rule reads only what it needs, and all of that is known and valid.
          const finding = rule.check(inputs as Args<Shape>, given);
          if (finding === undefined) continue;
          if (!("warning" in finding)) problems.push(finding);
          else if (!unchanged) host.warnOnce(finding.warning, finding.warning); // Said once, by the run that changes it.
        }
      }

      const awaited = hasUnknown(omit(inputs, lifecycle.deriveWithout ?? []));
      if (problems.length === 0 && lifecycle.derive !== undefined && !awaited) {
        const args = hasUnknown(inputs) ? (inputs as Args<Shape>) : argsOf(inputs); // It does without what is not known.
        take(await lifecycle.derive({ ctx: host.probeContext(type), args, olds, hints: pick(news, hints) }));
      }
      const also = lifecycle.compared?.also ?? [];
      const same = unchanged && also.every((key) => !(key in inputs) || sameJson(olds[key], inputs[key]));
      if (same) {
        const carried = computedInputs.filter((key) => !also.includes(key) && !(key in inputs));
        Object.assign(inputs, pick(olds, carried));
      }
      const look = problems.length === 0 && !hasUnknown(inputs);
      if (look && (!same || lifecycle.liveAlways?.(argsOf(inputs)) === true))
        take(await liveFindings(host, argsOf(inputs), olds));

      if (problems.length === 0) host.checked.add(fingerprint(type, inputs));
      for (const due of dues) {
        host.warnOnce(due, due);
        host.due.add(fingerprint(type, inputs));
      }
      return { inputs, failures: refusals(host, problems) };
    },

    async diff(host, id, olds, news) {
      const before = upgrade(lifecycle, olds);
      const { ignore = [], also = [] } = lifecycle.compared ?? {};
      const counted = [...argKeys.filter((key) => !ignore.includes(key)), ...also];
      const changed = counted.filter(
        (key) =>
          !sameJson(before[key], news[key] ?? undefined) &&
          lifecycle.equal?.[key]?.(before[key], news[key], before) !== true,
      );
      // Without a check of this operation there is no program that declares it: a refresh, a destroy. Or the engine asks
      // whether this object has to go before another one that is about to be deleted and that it depends on.
      const print = fingerprint(type, omit(news, [PROVIDER]));
      const declared = host.checked.has(print);
      const replaces = changed.filter(
        (key) => lifecycle.replaceOn.includes(key) && !(declared && hasUnknown(news[key])),
      );
      if (declared && replaces.length === 0) {
        // A crash between a create and the delete of its predecessor leaves both in the state: the delete comes now.
        host.ledger.enter(type, id, changed.length === 0 ? "unchanged" : "changing");
      }
      if (declared && changed.length === 0) {
        await lifecycle.keep?.({ ctx: host.probeContext(type), state: stateOf(olds) });
      }
      const isUpdate = declared && changed.length > 0 && replaces.length === 0;
      if (isUpdate && lifecycle.describe !== undefined && !hasUnknown(news)) {
        const request = { ctx: host.probeContext(type), state: stateOf(olds), args: argsOf(news) };
        const { live } = await lifecycle.describe(request);
        const { failures = [] } = await looking(host, async () => {
          await live?.();
          return {};
        });
        if (failures.length > 0) throw new Error(failures.map(({ reason }) => reason).join(" "));
      }
      const isDue =
        host.due.has(print) || (declared && replaces.length === 0 && (await dueBy(host, olds, news)));
      const isFirst = declared && replaces.length > 0 && (await goesFirst(host, id, news));
      return {
        changes: changed.length > 0 || isDue,
        replaces,
        ...(isFirst ? { deleteBeforeReplace: true } : {}),
      };
    },

    async create(host, inputs) {
      const args = argsOf(inputs);
      return await recordingHalf(host, inputs, () =>
        host.locks.with(lifecycle.lock(args), async () => {
          const { id, computed } = await lifecycle.create({
            ctx: host.context(type),
            args,
            inputs: pick(inputs, computedInputs),
          });
          host.ledger.enter(type, id, "made");
          return { id, outs: outputsOf(args, inputs, computed) };
        }),
      );
    },

    async read(host, id, props) {
      const state = stateOf(props);
      let found: State<Shape, Computed> | undefined;
      try {
        found = await lifecycle.read({ ctx: host.context(type), id, state });
      } catch (error) {
        if (!isNotFound(error) || isUnroutable(error)) throw error; // A wrong address must not empty the state.
      }
      if (found === undefined) return { id: "" };
      const outputs: Bag = { ...found, ...pick(state, lifecycle.writeOnly ?? []) };
      // What a read gives as undefined is no more.
      const isGone = (key: string): boolean => key in outputs && outputs[key] === undefined;
      const recordedBefore = omit(pick(props, computedInputs), computedInputs.filter(isGone));
      const alongside = { ...recordedBefore, ...pick(outputs, computedInputs), ...pick(props, [SECRETS]) };
      return {
        id,
        props: outputsOf(outputs, alongside, {}),
        inputs: { ...pick(outputs, argKeys), ...alongside },
      };
    },

    async update(host, id, olds, news) {
      const state = stateOf(olds);
      const args = argsOf(news);
      return await recordingHalf(host, news, () =>
        host.locks.with(lifecycle.lock(args), async () => {
          if (host.ledger.holding(type, id) === "made") {
            throw new Error(
              `${type} ${id} was taken over by another resource of this program, declared with what this one had before. ` +
                "Nothing was changed. Give that one content of its own, or this one an alias, and run `pulumi up` again.",
            );
          }
          const computed = await lifecycle.update({
            ctx: host.context(type),
            id,
            state,
            args,
            inputs: pick(news, computedInputs),
          });
          host.ledger.enter(type, id, "changed");
          return { outs: outputsOf(args, news, computed) };
        }),
      );
    },

    async delete(host, id, props) {
      if (host.ledger.keeps(type, id)) {
        host.say.info(
          [
            `${type} ${id} is kept: another resource of this operation has taken it over. Nothing was sent.`,
            lifecycle.lostOnHandOver ?? "",
          ]
            .join(" ")
            .trimEnd(),
        );
        return;
      }
      const state = stateOf(props);
      try {
        await host.locks.with(lifecycle.lock(state), () =>
          lifecycle.delete({ ctx: host.context(type), id, state }),
        );
      } catch (error) {
        // Absent is what was asked for. That nothing could be found at this address is no proof of it.
        if (!isNotFound(error) || isUnroutable(error)) throw error;
      }
    },
  };

  return {
    check: (host, olds, news) => hiding(host, [olds, news], () => verbs.check(host, olds, news)),
    diff: (host, id, olds, news) => hiding(host, [olds, news], () => verbs.diff(host, id, olds, news)),
    create: (host, inputs) => hiding(host, [inputs], () => verbs.create(host, inputs)),
    read: (host, id, props) => hiding(host, [props], () => verbs.read(host, id, props)),
    update: (host, id, olds, news) => hiding(host, [olds, news], () => verbs.update(host, id, olds, news)),
    delete: (host, id, props) => hiding(host, [props], () => verbs.delete(host, id, props)),
  };
}

/** Brings recorded outputs of an older version to the present form. */
function upgrade(
  lifecycle: Pick<Lifecycle<z.ZodRawShape, object>, "type" | "schemaVersion" | "upgrades">,
  outputs: Bag,
): Bag {
  const recorded = outputs[SCHEMA_VERSION] ?? lifecycle.schemaVersion;
  if (typeof recorded !== "number")
    throw new Error(`The recorded state of this ${lifecycle.type} has no readable schemaVersion.`);
  if (recorded > lifecycle.schemaVersion) {
    throw new Error(
      `This ${lifecycle.type} was written by a newer pulumi-edgeguard (state schema ${recorded}; version ${VERSION} reads up to ${lifecycle.schemaVersion}). ` +
        "Install the version that wrote it, or a later one, and run the command again.",
    );
  }
  let current = outputs;
  for (let version = recorded; version < lifecycle.schemaVersion; version += 1) {
    const step = lifecycle.upgrades[version];
    if (step === undefined)
      throw new Error(`There is no upgrade of ${lifecycle.type} from state schema ${version}.`);
    current = step(current);
  }
  return current;
}

/** Why a live check could not be made, or undefined when the error is something else: a defect, a cancellation. */
function noVerdict(error: unknown): string | undefined {
  if (error instanceof CancelledError) return undefined;
  if (error instanceof MissingCredentialsError)
    return "no credentials are set. An up, refresh or destroy needs them";
  if (!(error instanceof ApiError)) return undefined;
  return error.message.replace(/\.$/, ""); // Whatever a read was answered says nothing of the declaration.
}

/** A failure as a sentence, the path of what it is about in front. */
function sentence({ property, reason }: CheckFailure): string {
  return property === "" ? reason : `${property}: ${reason}`;
}

/** Stands in no sentence. */
const BETWEEN = "\u0000\n";

/**
 * Failures as the engine is given them. They name no property: the engine prints the value of one that is named, secret or
 * not. Redacted in one go, since there may be thousands, of arguments that are long.
 */
function refusals(host: Host, failures: readonly CheckFailure[]): CheckFailure[] {
  if (failures.length === 0) return [];
  return host
    .redact(failures.map(sentence).join(BETWEEN))
    .replaceAll('"[secret]"', "a value that is not shown")
    .split(BETWEEN)
    .map((reason) => ({ property: "", reason: printable(reason) }));
}

/**
 * Schemas of recorded arguments. A refresh records what it finds, and the service may hold what no program may declare (an
 * action of tomorrow, a text typed in the dashboard): only what names the object has to be valid, or nothing could mend it.
 */
function asRecorded<Shape extends z.ZodRawShape>({
  args,
  replaceOn,
}: Pick<Lifecycle<Shape, object>, "args" | "replaceOn">): Shape {
  const shape = Object.entries(args.shape).map(([key, schema]) => [
    key,
    (replaceOn as readonly string[]).includes(key) ? schema : z.catch(schema, ({ input }) => input),
  ]);
  return Object.fromEntries(shape) as Shape; // The same keys, each with the same type.
}

function fingerprint(type: string, inputs: Bag): string {
  return `${type} ${canonicalJson(inputs)}`;
}
