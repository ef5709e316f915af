import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { catalogOf } from "../../provider/kv/catalog";
import { openSource } from "../../provider/kv/declaration";
import { edgeguardResources, engines, Project } from "../support/engine";
import { TOKEN } from "../support/scenario";

/** A short value can be guessed from its digest, so no engine may show the digest anywhere. */

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace } from "pulumi-edgeguard";
const accountId = new pulumi.Config().require("accountId");
const { id: namespaceId } = new KvNamespace("pins", { accountId, title: "pins" });
const inFile = new KvEntries("file", { accountId, namespaceId, file: "pins.json" });
new KvEntries("inline", { accountId, namespaceId, entries: { "pin-b": "PIN" } });
export const digest = inFile.digest;
`;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

describe.each(engines().map((engine) => [engine.name, engine] as const))("on %s", (_name, engine) => {
  const api = apiPerTest();
  let project: Project;
  /** Everything that was printed or recorded. */
  let shown: string[];
  /** Digests of what was declared. */
  let digests: string[];
  const isCli = engine !== LOCAL_ENGINE;

  beforeEach(async () => {
    [shown, digests] = [[], []];
    project = new Project(engine, "digests");
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, EDGEGUARD_DEBUG: "1", EDGEGUARD_SAVED_PLAN: String(isCli) };
    await project.init({ accountId: api.accounts.main, "edgeguard:baseUrl": api.url });
  });

  afterEach(() => project.remove());

  async function declare(pin: string): Promise<void> {
    project.write(PROGRAM.replace("PIN", pin));
    const file = JSON.stringify([{ key: "pin-a", value: pin }]);
    writeFileSync(join(project.dir, "pins.json"), file);
    const sources = [{ file: "pins.json" }, { entries: { "pin-b": pin } }];
    const found = await Promise.all(sources.map((one) => catalogOf(openSource(one, project.dir))));
    digests.push(...found.map(({ digest }) => digest), sha256(file), sha256(pin).slice(0, 32));
  }

  const run = async (...args: string[]): Promise<string> => {
    const { text } = await project.ok(...args);
    shown.push(text);
    return text;
  };

  /** By a saved plan where the engine has one. */
  async function up(): Promise<string> {
    if (!isCli) return await run("up", "--yes", "--diff");
    const preview = await run("preview", "--diff", "--save-plan", "plan.json");
    await run("preview", "--json");
    await run("up", "--yes", "--diff", "--plan", "plan.json");
    return preview;
  }

  it("no plan, state or output shows a digest of KV content", async () => {
    await declare("412873");
    await up();
    await declare("412874");
    expect(await up()).toMatch(/KvEntries file: \+0 ~1 -0 \(~pin-a\)/);
    await run("preview", "--expect-no-changes");
    for (const state of edgeguardResources(await project.export()).values()) {
      if (state.type.endsWith("KvEntries"))
        for (const outputs of [state.inputs, state.outputs])
          expect(outputs).toHaveProperty(["digest", "ciphertext"]);
    }
    if (isCli) {
      // What was reached before a failure, and what a refresh records.
      await declare("412875");
      api.fault({ kind: "status", status: 400, match: { method: "PUT" }, times: 2 });
      shown.push((await project.run("up", "--yes", "--diff")).text);
      api.clearFaults(); // The engine may have stopped before the second request.
      shown.push(project.stateText(), JSON.stringify(await project.export()));
      await run("up", "--yes");
      await run("refresh", "--yes", "--diff");
      await run("preview", "--expect-no-changes");
    }

    const everything = [...shown, project.stateText(), JSON.stringify(await project.export())].join("\n");
    expect(everything).toContain("pin-a");
    for (const digest of digests) expect(everything).not.toContain(digest);
  });
});
