import { apiPerFile, folderPerFile } from "../support/bench";
import { Operation, type Recorded } from "../support/operation";
import { emptyNamespace } from "./upload-support";

export const TYPE = "KvEntries";

/** Setup for tests of entries: a folder, a local API, and an empty namespace before each test. */
export class EntriesSetup {
  readonly folder: string;
  readonly api = apiPerFile();
  readonly address = { accountId: this.api.accounts.main, namespaceId: this.api.namespaces.existing };

  constructor(name: string) {
    this.folder = folderPerFile(name);
    beforeEach(() => {
      emptyNamespace(this.api);
      this.api.clearRequests();
    });
  }

  readonly up = (inputs: object, previous?: Recorded): Promise<Recorded> =>
    new Operation(this.api).up(TYPE, { ...this.address, ...inputs }, previous);
}
