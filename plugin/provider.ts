import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Metadata, status } from "@grpc/grpc-js";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Any } from "google-protobuf/google/protobuf/any_pb";
import {
  computedInputsOf,
  hasUnknown,
  Host,
  isCredential,
  isJsonObject,
  HIDDEN,
  KEPT,
  kindOf,
  Lifeline,
  listObjects,
  lookups,
  makesSavedPlan,
  namesOfSecrets,
  omit,
  openRecord,
  ownMember,
  partsOfUrn,
  pick,
  RESOURCES,
  UNKNOWN,
  unlessSkipped,
  withoutBookkeeping,
  type ConfigGetter,
  type Facts,
  type HostOptions,
  type JsonObject,
  type UrnParts,
  type Verbs,
} from "pulumi-edgeguard/plugin";
import { EngineLog } from "./engine-log";
import { detailedDiff } from "./property-diff";
import { configOf, explicitName, settingsProblems } from "./settings";
import { received, sent } from "./values";

/** A resource of a call. */
interface Resource extends UrnParts {
  readonly verbs: Verbs;
  readonly facts: Facts;
  readonly urn: string;
}

export const SCHEMA = readFileSync(join(__dirname, "../schema.json"), "utf8");

/** Passes the engine's calls to the lifecycles. Also does the work that the classes do in a TypeScript program. */
export class Provider {
  readonly #lifeline = new Lifeline();
  #engine: string | undefined;
  readonly #log = new EngineLog(() => this.#engine);
  #host: Host;
  #functions: FunctionSchemas | undefined;

  /** @param engine the engine's address, if it passed one. */
  constructor(engine: string | undefined) {
    this.#host = this.#hostOf(() => undefined);
    this.#lifeline.watch(() => this.#host.inFlight);
    this.#engine = engine;
  }

  connect(engine: string): void {
    this.#engine = engine;
  }

  /** Answers a call of the engine, once it has every message: then it may end the process. */
  async answering<T>(work: () => Promise<T> | T): Promise<T> {
    return await this.#lifeline.answering(async () => {
      try {
        return await work();
      } finally {
        await this.#log.shown();
      }
    });
  }

  cancel(): void {
    this.#lifeline.cancel();
  }

  checkConfig(request: rpc.CheckRequest): rpc.CheckResponse {
    const given = received(request.getNews());
    const explicit = explicitName(partsOfUrn(request.getUrn())?.name);
    const problems = settingsProblems(given, explicit);
    const credentials = Object.keys(given.values).filter(isCredential);
    const inputs = sent(given.values, new Set([...given.secrets, ...credentials]));
    return checkResponse(
      inputs,
      problems.map((reason) => ({ reason })),
    );
  }

  /**
   * Compares the provider's settings. A changed setting never replaces resources, because settings that apply to a
   * resource are among its arguments.
   */
  diffConfig(request: rpc.DiffRequest): rpc.DiffResponse {
    const [olds, news] = [received(request.getOldInputs() ?? request.getOlds()), received(request.getNews())];
    const response = detailedDiff(Object.keys({ ...olds.values, ...news.values }), olds.values, news.values);
    const { DIFF_SOME, DIFF_NONE } = rpc.DiffResponse.DiffChanges;
    return response.setChanges(response.getHasdetaileddiff() ? DIFF_SOME : DIFF_NONE);
  }

  configure(request: rpc.ConfigureRequest): void {
    const { values } = received(request.getArgs());
    const config = configOf(values, explicitName(request.getName()));
    this.#host = this.#hostOf(config, openRecord(this.#engine, config));
  }

  async check(request: rpc.CheckRequest): Promise<rpc.CheckResponse> {
    const resource = resourceOf(request);
    const { facts, verbs, name, urn } = resource;
    const given = received(request.getNews());
    const olds = received(request.getOlds());
    const written = withoutNulls(given.values);
    const named = facts.named?.(resource) ?? {};
    const ownSecrets = given.secrets.filter((each) => !Object.hasOwn(facts.secret ?? {}, each));
    const isSavedPlan = makesSavedPlan(process.env);
    if (isSavedPlan) this.#host.say.info(SAVING);
    const { inputs, failures } = await verbs.check(this.#host, olds.values, {
      ...named,
      ...written,
      [HIDDEN.name]: name,
      [HIDDEN.holder]: urn,
      ...(ownSecrets.length === 0 ? {} : { [HIDDEN.secrets]: ownSecrets }),
      ...(isSavedPlan ? { [HIDDEN.savedPlan]: true } : {}),
    });
    return checkResponse(sentOf(facts, inputs), failures);
  }

  async diff(request: rpc.DiffRequest): Promise<rpc.DiffResponse> {
    const { facts, verbs } = resourceOf(request);
    const { values: olds } = received(request.getOlds());
    const { values: news } = received(request.getNews());
    const { changes, changed, replaces, deleteBeforeReplace } = await verbs.diff(
      this.#host,
      request.getId(),
      olds,
      news,
    );
    // What no change follows from, such as where entries come from, and what follows from a change, such as `impact`.
    const shown = new Set([...changed, ...(facts.compared?.ignore ?? []), ...computedInputsOf(facts)]);
    const secrets = secretNames(facts, { ...olds, ...news });
    const { DIFF_SOME, DIFF_NONE } = rpc.DiffResponse.DiffChanges;
    const response = changes
      ? detailedDiff(shown, withoutBookkeeping(olds), withoutBookkeeping(news), { secrets, replaces })
      : new rpc.DiffResponse();
    return response
      .setReplacesList(replaces)
      .setDeletebeforereplace(deleteBeforeReplace)
      .setChanges(changes ? DIFF_SOME : DIFF_NONE);
  }

  async create(request: rpc.CreateRequest): Promise<rpc.CreateResponse> {
    const { facts, verbs } = resourceOf(request);
    const { values: inputs } = received(request.getProperties());
    if (request.getPreview())
      return new rpc.CreateResponse().setProperties(sentOf(facts, previewed(facts, inputs)));
    const { id, outs } = await this.#whole(facts, () => verbs.create(this.#host, inputs));
    return new rpc.CreateResponse().setId(id).setProperties(sentOf(facts, outs));
  }

  /** Reads a resource, for a refresh, an import or a `get`. Only a refresh passes properties. */
  async read(request: rpc.ReadRequest): Promise<rpc.ReadResponse> {
    const { facts, verbs, name } = resourceOf(request);
    const { values: recorded } = received(request.getProperties());
    const isNew = Object.keys(recorded).every((key) => KEPT.some((kept) => kept === key));
    const read = await verbs.read(this.#host, request.getId(), isNew ? { [HIDDEN.name]: name } : recorded);
    const response = new rpc.ReadResponse().setId(read.id);
    if (read.id === "") return response;
    // A dynamic resource's, until an update through this plugin. Otherwise, the refresh would show a change.
    const kept = pick(recorded, [HIDDEN.provider]);
    const outs = { ...omit(read.props ?? {}, isNew ? [HIDDEN.read] : []), ...kept };
    const names = [...Object.keys(facts.args.shape), ...computedInputsOf(facts), ...KEPT];
    const inputs = isNew
      ? pick(outs, names)
      : { ...read.inputs, ...pick(received(request.getInputs()).values, [HIDDEN.provider]) };
    const secrets = secretNames(facts, outs);
    return response.setProperties(sent(outs, secrets)).setInputs(sent(inputs, secrets));
  }

  async update(request: rpc.UpdateRequest): Promise<rpc.UpdateResponse> {
    const { facts, verbs } = resourceOf(request);
    const { values: olds } = received(request.getOlds());
    const { values: news } = received(request.getNews());
    if (request.getPreview())
      return new rpc.UpdateResponse().setProperties(sentOf(facts, previewed(facts, news)));
    const { outs } = await this.#whole(facts, () => verbs.update(this.#host, request.getId(), olds, news));
    return new rpc.UpdateResponse().setProperties(sentOf(facts, outs));
  }

  async delete(request: rpc.DeleteRequest): Promise<void> {
    const { verbs } = resourceOf(request);
    await verbs.delete(this.#host, request.getId(), received(request.getProperties()).values);
  }

  async invoke(request: rpc.InvokeRequest): Promise<rpc.InvokeResponse> {
    const token = request.getTok();
    const name = kindOf(token) ?? "";
    const lookup = lookups().get(name);
    if (lookup === undefined)
      throw new Error(
        `edgeguard has no function ${token}. Its functions are ${[...lookups().keys()].join(", ")}.`,
      );
    const args = withoutNulls(received(request.getArgs()).values);
    const properties = this.#outputsOf(token);
    const outputs = Object.keys(properties);
    // An engine refuses a function's unknown values, so nothing is returned that a program couldn't iterate over.
    const lists = outputs.filter((output) => properties[output]?.type === "array");
    const empty = Object.fromEntries(lists.map((output) => [output, []]));
    const answer = async (): Promise<ReturnType<typeof sent>> => {
      const found = await lookup.answer(this.#host, args);
      const result = Buffer.isBuffer(found) ? found.toString("base64") : found;
      const members = outputs.includes(RESULT) || !isJsonObject(result) ? { [RESULT]: result } : result;
      return sent(members, new Set(lookup.traits.secret === true ? outputs : []));
    };
    const returned = await this.#presented(() =>
      unlessSkipped(this.#host, name, answer, sent(empty), {
        isPreview: request.getPreview(),
        result: "empty",
      }),
    );
    return new rpc.InvokeResponse().setReturn(returned);
  }

  async #presented<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof Error ? new Error(this.#host.presentable(error.message)) : error;
    }
  }

  /** Lists existing objects. Each page is read anew, because a provider may end between two pages. */
  async list(request: rpc.ListRequest): Promise<rpc.ListResponse[]> {
    const { values: query } = received(request.getQuery());
    if (hasUnknown(query)) return [new rpc.ListResponse().setComputed(new rpc.ListResponse.Computed())];
    const verbs = verbsOf(request.getToken());
    const all = await this.#presented(() => listObjects(this.#host, verbs, withoutNulls(query)));
    const from = Number(request.getContinuationToken());
    const limit = request.getLimit() < 1 ? all.length : request.getLimit();
    const size = request.getPageSize() < 1 ? all.length : request.getPageSize();
    const to = Math.min(limit, from + size);
    const results = all
      .slice(from, to)
      .map(({ id, name }) =>
        new rpc.ListResponse().setResult(new rpc.ListResponse.Result().setId(id).setName(name)),
      );
    const next = to < Math.min(limit, all.length) ? String(to) : "";
    const continuation = new rpc.ListResponse.Continuation().setContinuationToken(next);
    return [...results, new rpc.ListResponse().setContinuation(continuation)];
  }

  /** The outputs of a function, from the schema. */
  #outputsOf(token: string): OutputSchemas {
    this.#functions ??= (JSON.parse(SCHEMA) as { readonly functions: FunctionSchemas }).functions;
    return this.#functions[token]?.outputs.properties ?? {};
  }

  /** Runs a create or update. If it's only partly done, the engine records that part. */
  async #whole<T>(facts: Facts, work: () => Promise<T>): Promise<T> {
    if (makesSavedPlan(process.env)) throw new Error(OPEN);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error) || !("id" in error)) throw error;
      const { id, properties, reasons } = error as Error & Half; // Of `handingOverHalf`.
      const part = new rpc.ErrorResourceInitFailed()
        .setId(id)
        .setProperties(sentOf(facts, properties))
        .setReasonsList([...reasons]);
      throw Object.assign(error, { metadata: metadataOf(error.message, part) });
    }
  }

  #hostOf(config: ConfigGetter, shared: Pick<HostOptions, "record" | "problem"> = {}): Host {
    const { signal, closing } = this.#lifeline;
    return new Host({ config, signal, closing, out: this.#log.out, ...shared });
  }
}

/** An engine's check doesn't say whether it's for a preview. In an update, the engine itself refuses inputs left open. */
const SAVING =
  "EDGEGUARD_SAVED_PLAN is true, so some inputs are left open, as `pulumi preview --save-plan` needs. Unset it for an update, which otherwise fails.";

const OPEN =
  "EDGEGUARD_SAVED_PLAN is true, so the inputs that it leaves open are unknown in this update. Nothing was sent. Set it only for `pulumi preview --save-plan`, and run the update again.";

/** The name of the output of a function whose result isn't an object with known properties. */
const RESULT = "result";

type OutputSchemas = Readonly<Record<string, { readonly type?: string }>>;
type FunctionSchemas = Readonly<Record<string, { readonly outputs: { readonly properties: OutputSchemas } }>>;

/** What `handingOverHalf` adds to an error. */
interface Half {
  readonly id: string;
  readonly properties: JsonObject;
  readonly reasons: readonly string[];
}

/** Returns what the engine records of an object that was only partly created or changed. */
function metadataOf(message: string, part: rpc.ErrorResourceInitFailed): Metadata {
  const detail = new Any();
  detail.pack(part.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const whole = new Status().setCode(status.UNKNOWN).setMessage(message).setDetailsList([detail]);
  const metadata = new Metadata();
  metadata.add("grpc-status-details-bin", Buffer.from(whole.serializeBinary()));
  return metadata;
}

/** @throws if this version doesn't have the type. */
function resourceOf(request: { getUrn(): string }): Resource {
  const urn = request.getUrn();
  const parts = partsOfUrn(urn);
  if (parts === undefined) throw unsupported(urn);
  const verbs = verbsOf(parts.type);
  return { ...parts, verbs, facts: verbs.facts, urn };
}

/** @throws if this version doesn't have the type. */
function verbsOf(type: string): Verbs {
  const verbs = ownMember(RESOURCES, kindOf(type) ?? "");
  if (verbs === undefined) throw unsupported(type);
  return verbs;
}

function unsupported(type: string): Error {
  return new Error(
    `this version of pulumi-resource-edgeguard has no resource ${type}. Install the version that wrote the state, or a later one.`,
  );
}

/**
 * Returns the names of a resource's secret inputs and outputs. They're always secret, or because the program made an
 * argument secret.
 */
function secretNames(
  { secret = {}, secretOutputs = [], derivedFrom = {} }: Facts,
  bag: JsonObject,
): ReadonlySet<string> {
  const names = [...Object.keys(secret), ...namesOfSecrets(bag)];
  const derived = Object.entries(derivedFrom).filter(([, from]) => from.some((each) => names.includes(each)));
  return new Set([...names, ...secretOutputs, ...derived.map(([output]) => output)]);
}

/** Writes a resource's inputs or outputs. Marks the secret ones. */
function sentOf(facts: Facts, bag: JsonObject): ReturnType<typeof sent> {
  return sent(bag, secretNames(facts, bag));
}

/**
 * Returns the outputs that a preview knows: those that are also inputs. An input that's known in part isn't in the form
 * of its output yet, which SDKs refuse.
 */
function previewed({ computed, ...facts }: Facts, inputs: JsonObject): JsonObject {
  const later = omit(computed.shape, computedInputsOf(facts));
  const known = Object.entries(inputs).filter(([, value]) => !hasUnknown(value));
  const names = [...Object.keys(later), ...Object.keys(inputs)];
  return { ...Object.fromEntries(names.map((output) => [output, UNKNOWN])), ...Object.fromEntries(known) };
}

/** Removes nulls, which SDKs send for arguments that aren't set. */
function withoutNulls(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

function checkResponse(
  inputs: ReturnType<typeof sent>,
  failures: readonly { readonly reason: string }[],
): rpc.CheckResponse {
  const list = failures.map(({ reason }) => new rpc.CheckFailure().setReason(reason));
  return new rpc.CheckResponse().setInputs(inputs).setFailuresList(list);
}
