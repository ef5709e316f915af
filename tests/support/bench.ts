import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi, type LocalApi, type LocalApiOptions } from "edgeguard-local";
import { namespaces } from "../../local/api/kv/seed";
import { accounts, zones } from "../../local/api/seed";

/** The seeded IDs, which are the same at every start: a path can be written down before the API runs. */
const SEEDED: Pick<LocalApi, "accounts" | "zones" | "namespaces"> = { accounts, zones, namespaces };

/** The local API of the running test: each test has a new one. */
export function apiPerTest(options: LocalApiOptions = {}): LocalApi {
  const bench = new Bench(options);
  beforeEach(() => bench.start());
  afterEach(() => bench.stop());
  return bench.api;
}

/** One local API for all tests of a file, or of the `describe` that asks for it. */
export function apiPerFile(options: LocalApiOptions = {}): LocalApi {
  const bench = new Bench(options);
  beforeAll(() => bench.start());
  afterAll(() => bench.stop());
  return bench.api;
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

class Bench {
  /** Stands for whichever API runs now. */
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
  }

  async start(): Promise<void> {
    this.#running = await startLocalApi(this.#options);
  }

  async stop(): Promise<void> {
    await this.#running?.close();
    this.#running = undefined;
  }
}
