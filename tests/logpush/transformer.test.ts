import { Bench, accounts, zones } from "../support/bench";
import { rawGet, rawSend } from "../support/operation";

/** Logpush transformers: what's written, adopted, repaired and refused. What holds for every resource is tested there. */

const CANARY = "c4nary-salt-of-the-hash";
const PATH = `/accounts/${accounts.main}/logpush/transformers`;
const CODE = `SELECT sha256(concat(ClientIP, '${CANARY}')) AS visitor\n  FROM http_requests\n  WHERE EdgeResponseStatus >= 500`;

const b = new Bench("LogpushTransformer");
const args = { accountId: accounts.main, name: "failed", code: CODE };

interface Live {
  readonly id: number;
  readonly name: string;
  readonly description: string;
}
const live = async (): Promise<readonly Live[]> => (await rawGet(b.api, PATH)).result as readonly Live[];
const versions = async (id: string): Promise<number> =>
  ((await rawGet(b.api, `${PATH}/${id}/versions`)).result as readonly unknown[]).length;
const codeOf = async (id: string): Promise<unknown> => (await rawGet(b.api, `${PATH}/${id}/content`)).result;
const made = async (members: object = {}): Promise<number> =>
  ((await rawSend(b.api, "POST", PATH, { name: "failed", code: CODE, ...members })).result as Live).id;

describe("a LogpushTransformer", () => {
  test("makes a new version only if its code changes", async () => {
    const recorded = await b.up({ ...args, description: "errors" });
    expect(recorded.outputs).toMatchObject({ dataset: "http_requests" });
    const renamed = await b.up({ ...args, name: "errors" }, recorded);
    expect(b.bodies("PUT")).toEqual([{ name: "errors" }]);
    expect(await live()).toMatchObject([{ name: "errors", description: "" }]);
    expect(await versions(recorded.id)).toBe(1);
    const code = "SELECT QueryName FROM dns_logs";
    const changed = await b.up({ ...args, name: "errors", code }, renamed);
    expect(b.bodies("PUT").at(-1)).toEqual({ name: "errors", code });
    expect(await versions(recorded.id)).toBe(2);
    expect(changed.outputs).toMatchObject({ dataset: "dns_logs" });
    expect(changed.outputs["codeDigest"]).not.toBe(recorded.outputs["codeDigest"]);
  });

  test("shows no change if only whitespace around the code differs, as at the end of a file", async () => {
    const recorded = await b.up(args);
    await b.expectNoChange({ ...args, code: `\n${CODE}\n` }, recorded);
  });

  test("is repaired after someone changed its code, name and description by hand", async () => {
    const recorded = await b.up(args);
    const code = "SELECT ClientIP FROM http_requests";
    await rawSend(b.api, "PUT", `${PATH}/${recorded.id}`, { name: "theirs", description: "new", code });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs).toMatchObject({ name: "theirs", description: "new", code });
    expect(drifted.inputs["codeDigest"]).not.toBe(recorded.inputs["codeDigest"]);
    expect(await b.step(args, drifted)).toBe("update");
    await b.up(args, drifted);
    expect(await live()).toMatchObject([{ name: "failed", description: "" }]);
    expect(await codeOf(recorded.id)).toEqual({ content: CODE });
  });

  test("exists once if the response to its create is lost", async () => {
    b.api.fault({ match: { method: "POST" }, kind: "dropAfter" });
    const recorded = await b.up(args);
    expect(await live()).toMatchObject([{ id: Number(recorded.id) }]);
    expect(b.sent("POST")).toHaveLength(1);
    await b.expectNoChange(args, recorded);
  });

  test("isn't taken for one that someone gives its name while the response to its create is lost", async () => {
    const theirs = await made({ name: "theirs" });
    b.api.fault({ match: { method: "POST" }, kind: "dropBefore" });
    const rename = (): void => {
      if (b.sent("POST").length < 2) return; // A busy machine waits before that, too.
      const { logpush, ...rest } = b.api.snapshot();
      const transformers = logpush.transformers.map((each) => ({ ...each, name: "failed" }));
      b.api.restore({ ...rest, logpush: { ...logpush, transformers } });
    };
    const { id } = await b.operation({ inNoTime: { advance: rename } }).up("LogpushTransformer", args);
    expect(id).not.toBe(String(theirs));
    expect(b.sent("POST")).toHaveLength(3); // Theirs, the lost one, and its repetition.
  });

  test("adopts an equal one without writing, and otherwise only with takeOver", async () => {
    const id = String(await made());
    b.api.clearRequests();
    const recorded = await b.up(args);
    expect(recorded).toMatchObject({
      id,
      outputs: { adopted: { object: expect.stringContaining(`transformer ${id} of account`) as string } },
    });
    expect(b.sent("POST", "PUT")).toEqual([]);
    await expect(b.preview({ ...args, adopt: "never" })).rejects.toThrow(
      /adopt: "never" prevents adopting it/,
    );
    const other = { ...args, code: "SELECT RayID FROM http_requests" };
    await expect(b.preview(other)).rejects.toThrow(
      /already exists \(1\) but differs in codeDigest: "\w{32}" → "\w{32}"\. If the transformer is left over/,
    );
    const taken = await b.up({ ...other, adopt: "takeOver" });
    expect(taken.outputs["adopted"]).toMatchObject({ changes: { codeDigest: {} } });
    expect(await codeOf(id)).toEqual({ content: other.code });
    await made();
    await expect(b.preview({ ...args, adopt: "takeOver" })).rejects.toThrow(/More than one .*: 1, 2\./);
  });

  test("isn't destroyed while jobs use it, and the error names them", async () => {
    const recorded = await b.up(args);
    const jobs = `/zones/${zones.empty}/logpush/jobs`;
    const job = { name: "requests", dataset: "http_requests", destination_conf: "https://logs.example" };
    const { result } = await rawSend(b.api, "POST", jobs, { ...job, transformer_id: Number(recorded.id) });
    const { id } = result as { readonly id: number };
    await expect(b.destroy(recorded)).rejects.toThrow(
      `It's used by job ${id} "requests" of zone ${zones.empty}. Remove transformerId from each of them, or delete them, first.`,
    );
    await rawSend(b.api, "PUT", `${jobs}/${id}`, { transformer_id: null });
    await b.destroy(recorded);
    expect(await live()).toEqual([]);
  });

  test("is attached by its ID, which is a string", async () => {
    const { id } = await b.up(args);
    const job = {
      zoneId: zones.empty,
      name: "requests",
      dataset: "http_requests",
      destinationConf: "https://logs.example",
      transformerId: id,
    };
    const recorded = await b.operation().up("LogpushJob", job);
    expect(recorded.inputs["transformerId"]).toBe(Number(id));
    expect(b.bodies("POST").at(-1)).toMatchObject({ transformer_id: Number(id) });
    expect((await b.operation().preview("LogpushJob", job, recorded)).step).toBe("same");
  });

  test("has an error without its code, whatever Cloudflare quotes of it", async () => {
    const lines = CODE.split("\n").map((line) => line.trim());
    const message = `syntax error in ${JSON.stringify(CODE)}, line "${lines.join('", "')}", near ${CANARY}`;
    const errors = [{ code: 1002, message }];
    b.api.fault({
      match: { method: "POST" },
      kind: "raw",
      status: 400,
      body: JSON.stringify({ success: false, errors, messages: [], result: null }),
      contentType: "application/json",
    });
    const failed = await b.failedUp(args);
    expect(failed.message).toContain("syntax error in");
    for (const secret of [CANARY, ...lines]) expect(failed.message).not.toContain(secret);
  });

  test("has an error without the code that someone else wrote, which an update replaces", async () => {
    const recorded = await b.up({ ...args, code: "SELECT RayID FROM http_requests" });
    await rawSend(b.api, "PUT", `${PATH}/${recorded.id}`, { code: CODE });
    const message = `can't replace ${CODE.replaceAll("\n", " ")} or ${CODE}`;
    b.api.fault({
      match: { method: "PUT" },
      kind: "raw",
      status: 400,
      body: JSON.stringify({ success: false, errors: [{ code: 1002, message }], messages: [], result: null }),
      contentType: "application/json",
    });
    const failed = await b.failedUp({ ...args, code: "SELECT RayID, ClientIP FROM http_requests" }, recorded);
    expect(failed.message).toContain("can't replace");
    expect(failed.message).not.toContain(CANARY);
  });

  test.each([
    [{ code: "SELECT RayID" }, /^code: has no FROM clause\. Name a dataset/],
    [{ code: " \n" }, /^code: must not be empty$/],
    [
      { code: `SELECT a FROM dns_logs ${"x".repeat(32_768)}` },
      /^code: must be at most 32768 bytes, not 32791$/,
    ],
    [{ name: "é".repeat(128) }, /^name: must be at most 255 bytes, not 256$/],
    [{ description: "d".repeat(4_097) }, /^description: must be at most 4096 bytes, not 4097$/],
  ])("refuses %j", async (members, reason) => {
    expect(await b.refusals({ ...args, ...members })).toEqual([expect.stringMatching(reason)]);
  });

  test("warns about code of more than 10 KB", async () => {
    const code = `SELECT '${"x".repeat(10_000)}' FROM dns_logs`;
    expect(await b.warnings({ ...args, code })).toEqual([expect.stringMatching(/the 10 KB of its guide/)]);
  });
});
