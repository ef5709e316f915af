import type { LocalApi } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import { forwarder } from "../../provider/runtime/forwarder";
import { Host } from "../../provider/runtime/host";
import type { CheckFailure } from "../../provider/runtime/inputs";
import { omit, type JsonObject } from "../../provider/basics/json";
import type { Verbs } from "../../provider/runtime/verbs";

/** The string that the engine sends for a value that isn't known yet. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** A resource in a state file. */
export interface Recorded {
  readonly id: string;
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

export type Step = "create" | "update" | "replace" | "same";

export interface Preview {
  readonly step: Step;
  readonly replaces: readonly string[];
  readonly inputs: JsonObject;
}

export interface OperationOptions {
  readonly config?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** A test's own types, in addition to the registered ones. */
  readonly types?: Readonly<Record<string, Verbs>>;
  readonly signal?: AbortSignal;
  /** Instead of pausing, moves the clock of this API ahead. */
  readonly inNoTime?: Pick<LocalApi, "advance">;
}

/**
 * One operation of the engine, in its own host: calls the verbs in the engine's order, with plain JSON in between.
 * Returns what a state file would contain, for the next operation.
 */
export class Operation {
  readonly host: Host;
  readonly said: string[] = [];
  readonly warned: string[] = [];
  readonly #types: Readonly<Record<string, Verbs>>;

  constructor(
    api: Pick<LocalApi, "url">,
    { config = {}, env = {}, types = {}, signal, inNoTime }: OperationOptions = {},
  ) {
    const settings: Record<string, string> = {
      "edgeguard:baseUrl": api.url,
      "edgeguard:apiToken": "local-token",
      "edgeguard:maxRetries": "1",
      ...config,
    };
    this.#types = { ...REGISTER, ...types };
    this.host = new Host({
      config: (key) => (settings[key] === "" ? undefined : settings[key]),
      env,
      out: { info: (line) => this.said.push(line), warn: (line) => this.warned.push(line) },
      ...(signal === undefined ? {} : { signal }),
      ...(inNoTime === undefined
        ? {}
        : {
            sleep: (ms) => {
              inNoTime.advance(ms);
              return Promise.resolve();
            },
          }),
    });
  }

  async check(
    type: string,
    inputs: JsonObject,
    previous?: Recorded,
  ): Promise<{ inputs: JsonObject; failures: CheckFailure[] }> {
    const news = asSent({ ...inputs, __provider: forwarder(type) });
    const checked = await this.#verbs(type).check(this.host, previous?.inputs ?? {}, news);
    return {
      inputs: { ...asAnswered(checked.inputs), __provider: news["__provider"] },
      failures: checked.failures,
    };
  }

  /** The reasons why `check` refuses the inputs, as the engine prints them. */
  async refusals(type: string, inputs: JsonObject, previous?: Recorded): Promise<string[]> {
    const { failures } = await this.check(type, inputs, previous);
    return failures.map(({ reason }) => reason);
  }

  async preview(type: string, inputs: JsonObject, previous?: Recorded): Promise<Preview> {
    const checked = await this.check(type, inputs, previous);
    if (checked.failures.length > 0) {
      throw new Error(checked.failures.map(({ reason }) => reason).join("\n"));
    }
    if (previous === undefined) return { step: "create", replaces: [], inputs: checked.inputs };
    const diff = await this.#verbs(type).diff(this.host, previous.id, previous.outputs, checked.inputs);
    const step = diff.replaces.length > 0 ? "replace" : diff.changes ? "update" : "same";
    return { step, replaces: diff.replaces, inputs: checked.inputs };
  }

  async up(
    type: string,
    inputs: JsonObject,
    previous?: Recorded,
    { deleteBeforeReplace = false }: { readonly deleteBeforeReplace?: boolean } = {},
  ): Promise<Recorded> {
    const plan = await this.preview(type, inputs, previous);
    if (plan.step === "same" && previous !== undefined) return { ...previous, inputs: plan.inputs };
    if (plan.step === "update" && previous !== undefined)
      return await this.update(type, plan.inputs, previous);
    if (deleteBeforeReplace && previous !== undefined) await this.destroy(type, previous);
    const recorded = await this.create(type, plan.inputs);
    if (!deleteBeforeReplace && previous !== undefined) await this.destroy(type, previous);
    return recorded;
  }

  /** Carries out a create that a preview has planned. */
  async create(type: string, inputs: JsonObject): Promise<Recorded> {
    const { id, outs } = await this.#verbs(type).create(this.host, inputs);
    return recordedOf(id, inputs, outs);
  }

  /** Carries out an update, which the engine does after a partial failure even if nothing differs. */
  async update(type: string, inputs: JsonObject, previous: Recorded): Promise<Recorded> {
    const news = { ...asSent(inputs), __provider: forwarder(type) };
    const { outs } = await this.#verbs(type).update(this.host, previous.id, previous.outputs, news);
    return recordedOf(previous.id, news, outs);
  }

  /** Runs an `up` that has to fail, in its preview or later. Returns its error and what the engine records. */
  async failedUp(
    type: string,
    inputs: JsonObject,
    previous?: Recorded,
  ): Promise<{ message: string; recorded: Recorded | undefined; error: Error }> {
    let plan: Preview | undefined;
    try {
      plan = await this.preview(type, inputs, previous);
      await this.up(type, inputs, previous);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const id: unknown = Reflect.get(error, "id");
      const properties = Reflect.get(error, "properties") as JsonObject | undefined;
      const recorded =
        typeof id === "string" && properties !== undefined
          ? recordedOf(id, plan?.inputs ?? {}, properties)
          : undefined;
      return { message: error.message, recorded, error };
    }
    throw new Error(`the up of ${type} was to fail, and did not`);
  }

  /** Returns what a refresh records, or undefined if the object is gone. */
  async refresh(type: string, recorded: Recorded): Promise<Recorded | undefined> {
    const { id, props, inputs } = await this.#verbs(type).read(this.host, recorded.id, recorded.outputs);
    if (id === "") return undefined;
    return recordedOf(id, { ...inputs, __provider: forwarder(type) }, props ?? {});
  }

  /** Returns what the engine records for `get`, which passes only the inputs that the class adds itself. */
  async get(type: string, id: string): Promise<Recorded> {
    const given = { __provider: forwarder(type), __resourceName: "existing" };
    const read = await this.#verbs(type).read(this.host, id, given);
    return recordedOf(read.id, given, read.props ?? {});
  }

  async destroy(type: string, recorded: Recorded): Promise<void> {
    await this.#verbs(type).delete(this.host, recorded.id, recorded.outputs);
  }

  #verbs(type: string): Verbs {
    const verbs = this.#types[type];
    if (verbs === undefined) throw new Error(`no type ${type}`);
    return verbs;
  }
}

/** The inputs that a refresh leaves if the object is unchanged: the last update's impact stays in the outputs only. */
export function refreshedInputs({ inputs }: Recorded): JsonObject {
  return omit(inputs, ["impact"]);
}

/** The JSON that arrives when the engine sends a value, without undefined members. */
function asSent(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** The JSON that the engine gets for a verb's answer. It refuses an undefined member, at any depth. */
function asAnswered(value: JsonObject): JsonObject {
  const isUndefined = (member: unknown): boolean =>
    member === undefined ||
    (typeof member === "object" && member !== null && Object.values(member).some(isUndefined));
  const found = Object.entries(value).find(([, member]) => isUndefined(member));
  if (found !== undefined) throw new Error(`Unexpected struct type: ${found[0]} has an undefined member`);
  return asSent(value);
}

function recordedOf(id: string, inputs: JsonObject, outputs: JsonObject): Recorded {
  return {
    id,
    inputs: asSent(inputs),
    outputs: asAnswered({ ...outputs, __provider: inputs["__provider"] }),
  };
}

/** The API's answer to a plain request. */
export interface RawAnswer {
  readonly success: boolean;
  readonly result: unknown;
  readonly errors?: unknown;
}

/** Reads from the API without the code under test. */
export function rawGet(api: Pick<LocalApi, "url">, path: string): Promise<RawAnswer> {
  return rawSend(api, "GET", path);
}

/** Lets visitors load a zone's scripts now: the seeded detections are older than a script inventory accepts. */
export function visit(api: Pick<LocalApi, "snapshot" | "detect">, zone: string): void {
  const { scripts = [] } = api.snapshot().pageShieldDetected[zone] ?? {};
  const last_seen_at = new Date().toISOString().replace(/\.\d+/, "");
  api.detect(zone, { scripts: scripts.map(({ id }) => ({ id, last_seen_at })) });
}

/** Sends a request without the code under test, like the dashboard or another tool. */
export async function rawSend(
  api: Pick<LocalApi, "url">,
  method: string,
  path: string,
  body?: unknown,
): Promise<RawAnswer> {
  const response = await fetch(api.url + path, {
    method,
    headers: {
      authorization: "Bearer local-token",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return text === "" ? { success: response.ok, result: null } : (JSON.parse(text) as RawAnswer);
}

/** Sends a request that has to succeed. Returns its result. */
export async function mustSend(
  api: Pick<LocalApi, "url">,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const answer = await rawSend(api, method, path, body);
  if (!answer.success) throw new Error(`${method} ${path} was refused: ${JSON.stringify(answer)}`);
  return answer.result;
}

/** Creates a transformer for a dataset in the account, like the dashboard. Returns its ID. */
export async function madeTransformer(
  api: Pick<LocalApi, "url" | "accounts">,
  dataset = "http_requests",
  members: JsonObject = {},
): Promise<number> {
  const body = { name: `for ${dataset}`, code: `SELECT * FROM ${dataset}`, ...members };
  const path = `/accounts/${api.accounts.main}/logpush/transformers`;
  return ((await mustSend(api, "POST", path, body)) as { readonly id: number }).id;
}

/** Method and path of each request, without the zone's page_shield prefix. */
export function sent(api: LocalApi, ...methods: string[]): string[] {
  return api.requests
    .filter(({ method }) => methods.length === 0 || methods.includes(method))
    .map(({ method, path }) => `${method} ${path.replace(/^\/zones\/[0-9a-f]+\/page_shield/, "")}`);
}

/** Publishes a version of a managed ruleset as Cloudflare does, given its differences from the last version. */
export async function publishVersion(
  api: Pick<LocalApi, "url">,
  ruleset: string,
  next: object,
): Promise<void> {
  const url = new URL(`/__local/rulesets/${ruleset}/versions`, api.url);
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(next) });
  if (!response.ok) throw new Error(await response.text());
}
