import { printable } from "../basics/printable";
import type { Changes } from "./changes";
import { ADOPTED, adoptionLine, pendingAdoption } from "./adopted";
import { HIDDEN, KEPT } from "./hidden";
import { failureText, type ResourceType } from "./resource-type";
import { IMPACT, revisionOf } from "./impact";
import type { Host } from "./host";
import { checkInputs, type CheckFailure } from "./inputs";
import type { AboutResource, Args, Context, Findings, Lifecycle, LiveChecks, Rule } from "./lifecycle";
import { liveFindings } from "./live";
import { provesFailure } from "./skipping";
import { UnmanagedMembers } from "./unmanaged";
import { namesOfSecrets } from "./secrets";
import { hasUnknown, UNKNOWN } from "./engine-values";
import { applying, inSeries } from "../basics/words";
import { omit, omitAbsent, ownMember, pick, sameJson, type JsonObject } from "../basics/json";

export interface CheckResult {
  readonly inputs: Record<string, unknown>;
  readonly failures: CheckFailure[];
}

/** Converts the inputs to canonical form, checks them, and adds what can be determined before the update. */
export async function check(
  resource: ResourceType,
  host: Host,
  olds: JsonObject,
  news: JsonObject,
): Promise<CheckResult> {
  const { lifecycle } = resource;
  const misconfigured = host.settingsProblem();
  const isDefault = lifecycle.ofAccount === true && misconfigured === undefined;
  const given = { ...(isDefault && { accountId: host.settings.accountId }), ...resource.written(news) };
  // 1. Each argument by its schema.
  const secrets = resource.secrets(news);
  const {
    inputs,
    failures: invalid,
    known: valid,
    corrected,
  } = checkInputs(lifecycle.args.shape, given, secrets);
  const failures = asWritten(invalid, lifecycle.writtenAs?.(given) ?? {});
  Object.assign(inputs, pick(news, KEPT));
  if (misconfigured !== undefined)
    return { inputs, failures: refusals(host, [{ property: "", reason: misconfigured }, ...failures]) };

  const problems: CheckFailure[] = [...failures];
  const collected = new Collected();
  const { skipped, unmanaged } = collected;
  const about = { ...resource.about(news), skipped, unmanaged };
  const ctx = host.context(lifecycle.type, about, host.probe);
  const add = (findings: Findings): void => {
    const { computed = {}, failures: wrong = [], adopts, exists } = findings;
    Object.assign(inputs, pick(computed, resource.computedInputs));
    problems.push(...wrong);
    collected.add(findings);
    if (typeof findings.pendingWork === "string") host.say.warn(findings.pendingWork);
    if (exists !== undefined) collected.changes = resource.changes(exists.args, olds, inputs);
    if (adopts === undefined) return;
    const adopted = resource.adopted(adopts, inputs, host.redact);
    inputs[ADOPTED] = adopted;
    host.say.info(adoptionLine(adopts, adopted));
  };
  const addAll = async (checks: () => Promise<LiveChecks>): Promise<void> => {
    for await (const findings of liveFindings(host, checks)) add(findings);
  };
  const unchanged = isSameBut([], resource, olds, inputs);

  // 2. Rules over several arguments. A rule reads only the arguments it needs, and all of those are known and valid.
  const isQuotable = ({ quotes = [] }: Rule<Args>): boolean => !quotes.some((key) => secrets.includes(key));
  const { failed, warnings } = byRules((lifecycle.rules ?? []).filter(isQuotable), inputs, corrected, valid);
  problems.push(...failed, ...clashes(lifecycle, host, about, { inputs, valid }));
  if (!unchanged) for (const warning of warnings) host.say.warn(warning); // Only in the run that changes the resource.

  // 3. Checks on this machine.
  const hasUnknownInputs = hasUnknown(omit(inputs, lifecycle.deriveWithout ?? []));
  if (problems.length === 0 && lifecycle.derive !== undefined && !hasUnknownInputs) {
    const args = hasUnknown(inputs) ? (inputs as Args) : resource.args(inputs); // `derive` ignores unknown inputs.
    add(await lifecycle.derive({ ctx, args, olds, given: news }));
  }

  // 4. Unchanged: earlier computed inputs still hold. What was found doesn't: it was about another operation.
  const also = lifecycle.compared?.also ?? [];
  const same = unchanged && also.every((key) => isEqual(lifecycle, key, olds, inputs));
  const carried = resource.computedInputs.filter(
    (key) => isNoRecord(key) && !also.includes(key) && !collected.determined.has(key),
  );
  if (same) Object.assign(inputs, pick(olds, carried));
  // `adopted` stays until the object is replaced.
  const isReplaced = resource.isReplaced(olds, inputs);
  if (!isReplaced) Object.assign(inputs, pick(olds, [ADOPTED]));
  // 5. Live checks. What an update overwrites doesn't depend on what isn't known yet.
  const unknown = resource.argKeys.filter((key) => hasUnknown(inputs[key]));
  const isUpdate = !same && !resource.isReplaced(olds, { ...inputs, ...pick(olds, unknown) });
  if (problems.length === 0 && isUpdate) await addAll(() => ownObject(resource, ctx, { olds, inputs }));
  if (unknown.length > 0) skipped.push(notKnownYet(unknown));
  else if (problems.length === 0) {
    const args = resource.args(inputs);
    const request = { ctx, args, olds, inputs: pick(inputs, resource.computedInputs) };
    if (!same || lifecycle.liveAlways?.(args) === true)
      await addAll(async () => (await lifecycle.live?.(request)) ?? {});
  }
  tellChanges(host, `${lifecycle.type} ${String(about.name)}`, collected.changes);
  // 6. Inputs that only the update will know: at an update, no argument is unknown.
  const isSaved = news[HIDDEN.savedPlan] === true;
  if (!same) {
    const isPartial = unknown.length > 0 || (isSaved && skipped.length > 0);
    const isOpen = (key: string): boolean =>
      (isSaved && lifecycle.informs?.includes(key) === true) || (isPartial && !(key in inputs));
    const open = pendingInputs(resource, inputs, olds, isReplaced).filter(isOpen);
    const mayStay = unknown.length > 0 && isSameBut(unknown, resource, olds, inputs) ? carried : [];
    for (const key of [...open, ...mayStay.filter((key) => key in olds)]) inputs[key] = UNKNOWN;
  }
  // 7. What was found, for a resource that the update may change: also if it couldn't look whether it will.
  if (!same || collected.hasPendingWork || skipped.length > 0) {
    const { members, record } = await collected.impact(host, resource, olds, inputs, unknown);
    inputs[IMPACT] = isSaved ? UNKNOWN : record;
    host.tell(lifecycle.messages?.(members, { name: about.name, args: inputs }) ?? {});
  }
  const { hasPendingWork } = collected;
  if (problems.length === 0) host.declared.set(resource.fingerprint(inputs), { hasPendingWork });
  return { inputs, failures: refusals(host, problems) };
}

const isNoRecord = (key: string): boolean => key !== IMPACT;

/** Whether the arguments are the recorded ones, apart from some. */
function isSameBut(
  some: readonly string[],
  { argKeys }: ResourceType,
  olds: JsonObject,
  inputs: JsonObject,
): boolean {
  const [was, is] = [olds, inputs].map((bag) => omit(pick(bag, argKeys), some));
  return sameJson(was, is);
}

/** Lists the computed inputs that a live check may add. */
function pendingInputs(
  { lifecycle, computedInputs }: ResourceType,
  inputs: JsonObject,
  olds: JsonObject,
  isNew: boolean,
): readonly string[] {
  const own = lifecycle.pending?.({ inputs, olds }) ?? [];
  return computedInputs.includes(ADOPTED) ? [...own, ...pendingAdoption(inputs, isNew)] : own;
}

/** Looks at the object that an update writes, and removes the computed inputs that it rules out. */
async function ownObject(
  { lifecycle, argKeys }: ResourceType,
  ctx: Context,
  given: { readonly olds: JsonObject; readonly inputs: JsonObject },
): Promise<Findings> {
  try {
    const exists = await lifecycle.current?.({ ctx, ...given });
    for (const key of exists?.rulesOut ?? []) Reflect.deleteProperty(given.inputs, key);
    return omitAbsent({ exists });
  } catch (error) {
    // While an argument is unknown, the update may turn out to be a replacement, which doesn't fail.
    if (!provesFailure(error) || !hasUnknown(pick(given.inputs, argKeys))) throw error;
    ctx.skip(error.message);
    return {};
  }
}

/** Records what the resource declares, and returns failures for what another resource in the program declares as well. */
function clashes(
  { type, claims = [] }: Pick<Lifecycle, "type" | "claims">,
  host: Host,
  { name = "", holder = name }: AboutResource,
  { inputs, valid }: { readonly inputs: JsonObject; readonly valid: ReadonlySet<string> },
): CheckFailure[] {
  const known = claims.filter(({ by }) => by.every((key) => valid.has(key)));
  const found = known.flatMap((rule) => rule.of(pick(inputs, rule.by) as Args)); // It reads no others.
  return found.flatMap(({ key, clash, warnOnly = false, isRead = false }) => {
    if (isRead && !host.record.isDeclared(`${type} ${key}`)) return [];
    const first = host.record.declare(`${type} ${key}`, { name, holder });
    if (clash === undefined || first.holder === holder) return [];
    const reason = `${type} "${first.name}" and "${name}" ${clash}.`;
    if (!warnOnly) return [{ property: "", reason }];
    host.say.warn(reason);
    return [];
  });
}

/** Whether an input that counts as a change is as recorded. */
function isEqual(
  { equal }: Pick<Lifecycle, "equal">,
  key: string,
  olds: JsonObject,
  inputs: JsonObject,
): boolean {
  return sameJson(olds[key], inputs[key]) || equal?.[key]?.(olds[key], inputs[key], olds) === true;
}

/** Warns about what someone changed in the object that the update writes. */
function tellChanges(host: Host, what: string, changes: Changes): void {
  // A change that no argument shows has a sentence instead of a name.
  const names = Object.entries(changes).map(([name, { before }]) =>
    name === "drift" && typeof before === "string" ? before : name,
  );
  if (names.length > 0)
    host.say.warn(
      `${what} was changed outside the program: ${inSeries(names)}. An update writes the program's arguments.`,
    );
}

const notKnownYet = (names: readonly string[]): string =>
  `${inSeries(names)} ${names.length === 1 ? "isn't" : "aren't"} known yet`;

/** What the parts of a check find out, for the record. */
class Collected {
  readonly skipped: string[] = [];
  readonly unmanaged = new UnmanagedMembers();
  readonly #seen = new Set<string>();
  readonly #found: NonNullable<Findings["found"]>[] = [];
  /** The ID of the object that the update writes, and what someone changed in it. */
  own: string | undefined;
  changes: Changes = {};
  /** The arguments of the objects that the update overwrites. */
  readonly #existing: object[] = [];
  /** Computed inputs whose values, or whose absence, are known. */
  readonly determined = new Set<string>();
  hasPendingWork = false;

  add({
    computed = {},
    found,
    seen = [],
    pendingWork = false,
    exists,
    adopts,
    skipped,
  }: Findings & { readonly skipped?: string }): void {
    for (const key of Object.keys(computed)) this.determined.add(key);
    if (found !== undefined) this.#found.push(found);
    this.own ??= exists?.id;
    this.#existing.push(...applying(exists?.args, adopts?.found));
    for (const each of seen) this.#seen.add(each);
    if (skipped !== undefined) this.skipped.push(skipped);
    this.hasPendingWork ||= pendingWork !== false;
  }

  async impact(
    host: Host,
    { argKeys, computedInputs }: ResourceType,
    olds: JsonObject,
    inputs: JsonObject,
    unknown: readonly string[],
  ): Promise<{ readonly members: JsonObject; readonly record: JsonObject }> {
    const members: Record<string, unknown> = { ...this.unmanaged.outputs(inputs) };
    const hides = namesOfSecrets(inputs).length + unknown.length + this.skipped.length > 0;
    const known = pick(inputs, [...argKeys, ...computedInputs.filter(isNoRecord)]);
    for (const each of this.#found) Object.assign(members, typeof each === "function" ? await each() : each);
    const record = omit({
      operation: "check",
      revision: revisionOf(olds) + 1,
      seen: [...this.#seen].sort(),
      skipped: this.skipped.length === 0 ? undefined : [...new Set(this.skipped)],
      unknown: unknown.length === 0 ? undefined : unknown,
      known: hides ? host.keyedDigest([known, this.#existing]) : undefined,
      own: this.own,
      changes: Object.keys(this.changes).length === 0 ? undefined : this.changes,
      ...members,
    });
    return { members, record };
  }
}

function byRules(
  rules: readonly Rule<Args>[],
  args: Args,
  given: JsonObject,
  known: ReadonlySet<string>,
): { readonly failed: CheckFailure[]; readonly warnings: string[] } {
  const findings = rules
    .filter(({ needs }) => needs.every((key) => known.has(key)))
    .flatMap((rule) => rule.check(args, given) ?? []);
  return {
    failed: findings.flatMap((finding) => ("warning" in finding ? [] : [finding])),
    warnings: findings.flatMap((finding) => ("warning" in finding ? [finding.warning] : [])),
  };
}

/** Renames the arguments in failures to the names that the program uses. */
function asWritten(
  failures: readonly CheckFailure[],
  names: Readonly<Record<string, string>>,
): readonly CheckFailure[] {
  return failures.map(({ property, reason }) => ({
    property: property.replace(/^\w+/, (name) => ownMember(names, name) ?? name),
    reason,
  }));
}

/** A separator that can't occur in a message. */
const SEPARATOR = "\u0000\n";

/**
 * Converts check failures to the engine's format. They don't name a property, because the engine would print its value,
 * even a secret one. All failures are redacted in one pass, because there may be thousands of them, with long
 * arguments.
 */
function refusals(host: Host, failures: readonly CheckFailure[]): CheckFailure[] {
  if (failures.length === 0) return [];
  return host
    .inWords(failures.map(failureText).join(SEPARATOR))
    .replaceAll('"[secret]"', "[secret]")
    .split(SEPARATOR)
    .map((reason) => ({ property: "", reason: printable(reason) }));
}
