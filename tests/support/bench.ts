import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi, type LocalApi, type LocalApiOptions } from "edgeguard-local";
import { namespaces } from "../../local/api/kv/seed";
import { accounts, zones } from "../../local/api/seed";
import type { JsonObject } from "../../provider/basics/json";
import { envelope, through, type Throwaway } from "./edge-client";
import {
  Operation,
  refreshedInputs,
  type OperationOptions,
  type Preview,
  type Recorded,
  type Step,
} from "./operation";

export { accounts, zones };

/** The seeded IDs, which are the same at every start: a path can be written down before the API runs. */
const SEEDED: Pick<LocalApi, "accounts" | "zones" | "namespaces"> = { accounts, zones, namespaces };

/** Without the requests of the preview. */
export const OFFLINE = { config: { "edgeguard:liveChecks": "false" } } as const;

/** The local API of the running test: each test has a new one. */
export function apiPerTest(options: LocalApiOptions = {}): LocalApi {
  const running = new RunningApi(options);
  beforeEach(() => running.start());
  return running.api;
}

/** One local API for all tests of a file, or of the `describe` that asks for it. */
export function apiPerFile(options: LocalApiOptions = {}): LocalApi {
  const running = new RunningApi(options);
  beforeAll(() => running.start());
  return running.api;
}

/** A folder that exists, empty, while the tests of a file run. */
export function folderPerFile(name: string): string {
  const folder = newFolder(name);
  beforeAll(() => mkdirSync(folder, { mode: 0o700 }));
  afterAll(() => remove(folder));
  return folder;
}

/** A folder that exists while a test runs: each test has an empty one, under the same path. */
export function folderPerTest(name: string): string {
  const folder = newFolder(name);
  beforeEach(() => mkdirSync(folder, { mode: 0o700 }));
  afterEach(() => remove(folder));
  return folder;
}

function newFolder(name: string): string {
  return join(tmpdir(), `edgeguard-${name}-${randomUUID()}`);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Stands for whichever API runs now. It runs until the next one starts, because hooks of the file may still need it. */
class RunningApi {
  readonly api: LocalApi;
  #running: LocalApi | undefined;

  readonly #options: LocalApiOptions;

  constructor(options: LocalApiOptions) {
    this.#options = options;
    this.api = new Proxy<LocalApi>(SEEDED as LocalApi, {
      get: (seeded, member) => {
        if (this.#running !== undefined) return Reflect.get(this.#running, member) as unknown;
        if (member in seeded) return Reflect.get(seeded, member) as unknown;
        throw new Error(`no local API runs here yet, so it has no ${String(member)}`);
      },
    });
    afterAll(() => this.#running?.close());
  }

  async start(options: LocalApiOptions = {}): Promise<void> {
    await this.#running?.close();
    this.#running = await startLocalApi({ ...this.#options, ...options });
  }
}

export interface Setup {
  /** How the API behaves if a test doesn't start over. */
  readonly options?: LocalApiOptions;
  /** One API for the whole file: each test starts with its seeded state. Not for tests that change its settings. */
  readonly shared?: boolean;
}

/** Operations on one type of resource, each with a host of its own, and the requests that they sent. */
export class Bench {
  readonly api: LocalApi;
  readonly #running: RunningApi;

  constructor(
    readonly type: string,
    { options = {}, shared = false }: Setup = {},
  ) {
    this.#running = new RunningApi(options);
    this.api = this.#running.api;
    (shared ? beforeAll : beforeEach)(() => this.restart());
    if (shared)
      beforeEach(() => {
        this.api.reset();
        this.api.clearFaults();
        this.api.clearRequests();
      });
  }

  /** Starts over with an API that behaves differently. */
  async restart(options: LocalApiOptions = {}): Promise<void> {
    await this.#running.start(options);
  }

  operation(options: OperationOptions = {}): Operation {
    return new Operation(this.api, options);
  }

  up(inputs: JsonObject, previous?: Recorded, options?: Parameters<Operation["up"]>[3]): Promise<Recorded> {
    return this.operation().up(this.type, inputs, previous, options);
  }

  preview(inputs: JsonObject, previous?: Recorded, options: OperationOptions = {}): Promise<Preview> {
    return this.operation(options).preview(this.type, inputs, previous);
  }

  async step(inputs: JsonObject, previous?: Recorded): Promise<Step> {
    return (await this.preview(inputs, previous)).step;
  }

  update(inputs: JsonObject, previous: Recorded): Promise<Recorded> {
    return this.operation().update(this.type, inputs, previous);
  }

  failedUp(inputs: JsonObject, previous?: Recorded, options: OperationOptions = {}): Failed {
    return this.operation(options).failedUp(this.type, inputs, previous);
  }

  refusals(inputs: JsonObject, previous?: Recorded, options: OperationOptions = {}): Promise<string[]> {
    return this.operation(options).refusals(this.type, inputs, previous);
  }

  /** What a preview warns about. */
  async warnings(
    inputs: JsonObject,
    previous?: Recorded,
    options: OperationOptions = {},
  ): Promise<readonly string[]> {
    const operation = this.operation(options);
    await operation.preview(this.type, inputs, previous);
    return operation.warned;
  }

  /** What a refresh records of an object that exists. */
  async refresh(recorded: Recorded): Promise<Recorded> {
    const found = await this.operation().refresh(this.type, recorded);
    if (found === undefined) throw new Error(`${this.type} ${recorded.id} is gone`);
    return found;
  }

  async isGone(recorded: Recorded): Promise<boolean> {
    return (await this.operation().refresh(this.type, recorded)) === undefined;
  }

  destroy(recorded: Recorded): Promise<void> {
    return this.operation().destroy(this.type, recorded);
  }

  /** What was sent with these methods, or everything. Paths begin after the zone or account, and after the product. */
  sent(...methods: string[]): string[] {
    const start = /^\/(zones|accounts)\/[0-9a-f]+(\/(page_shield|logpush)(?=\/))?/;
    return this.api.requests
      .filter(({ method }) => methods.length === 0 || methods.includes(method))
      .map(({ method, path }) => `${method} ${path.replace(start, "")}`);
  }

  bodies(method: string): JsonObject[] {
    return this.api.requests.filter((each) => each.method === method).map(({ body }) => body as JsonObject);
  }

  /** Preview, refresh, preview and update find no changes. The previews send no request, the others no write. */
  async expectNoChange(inputs: JsonObject, recorded: Recorded): Promise<void> {
    this.api.clearRequests();
    expect(await this.step(inputs, recorded)).toBe("same");
    expect(this.sent()).toEqual([]);
    const refreshed = await this.refresh(recorded);
    expect(refreshed).toEqual({ ...recorded, inputs: refreshedInputs(recorded) });
    expect(await this.step(inputs, refreshed)).toBe("same");
    await this.update(recorded.inputs, recorded);
    expect(this.sent("POST", "PUT", "PATCH", "DELETE")).toEqual([]);
  }
}

type Failed = ReturnType<Operation["failedUp"]>;

/** Lets the API answer the next matching request with a result, and `more` beside it, that it wouldn't give itself. */
export function answerWith(
  api: Pick<LocalApi, "fault">,
  match: Parameters<LocalApi["fault"]>[0]["match"],
  result: unknown,
  more: object = {},
): void {
  api.fault({
    match,
    kind: "raw",
    status: 200,
    body: envelope(result, more),
    contentType: "application/json",
  });
}

/** The API, but every list is empty. */
export function withEmptyLists(api: LocalApi): Promise<Throwaway> {
  const emptied = (text: string): string => (/"result":\s*\[/.test(text) ? envelope([]) : text);
  return through(api, () => undefined, emptied);
}
