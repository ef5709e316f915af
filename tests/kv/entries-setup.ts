import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalApi, startLocalApi } from "edgeguard-local";
import { Operation, type Recorded } from "../support/operation";
import { emptyNamespace } from "./upload-support";

export const TYPE = "KvEntries";

/** Setup for tests of entries: a folder, a local API, and an empty namespace before each test. */
export class EntriesSetup {
  readonly folder: string;
  api!: LocalApi;
  address!: { readonly accountId: string; readonly namespaceId: string };

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `edgeguard-${name}-`));
    beforeAll(async () => {
      this.api = await startLocalApi();
    });
    beforeEach(() => {
      this.address = emptyNamespace(this.api);
      this.api.clearRequests();
    });
    afterAll(async () => {
      rmSync(this.folder, { recursive: true });
      await this.api.close();
    });
  }

  readonly up = (inputs: object, previous?: Recorded): Promise<Recorded> =>
    new Operation(this.api).up(TYPE, { ...this.address, ...inputs }, previous);
}
