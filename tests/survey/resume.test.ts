import { readFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { callerOf, idOf } from "../local-api/client";
import { Ground, type Surveyed } from "./support";

/** What a survey that ended early makes of what it had read. */

const BUDGET = ["--budget", "100"] as const;
const JOURNAL = "survey/.edgeguard-survey.jsonl";

function expectEnd({ code, stderr }: Surveyed, expected: number, message: string): void {
  expect(stderr).toContain(message);
  expect(code).toBe(expected);
}

/** Ends the survey at a request, as if the token were revoked. */
function revokeAt(ground: Ground, path: string): void {
  ground.api.fault({ kind: "status", status: 401, match: { path } });
}

describe("a resumed survey", () => {
  it("retries the parts that failed during an outage", async () => {
    const ground = await Ground.with();
    await ground.survey(...BUDGET, "--out", "whole");
    ground.api.fault({ kind: "status", status: 503, match: { path: "/zones/" }, times: 20 });
    expectEnd(await ground.survey(...BUDGET, "--out", "resumed"), 1, "To continue, pass --resume.");
    expect(ground.read(`resumed/${JOURNAL.slice("survey/".length)}`)).toContain('"notReadable":"failed"');
    expectEnd(await ground.survey(...BUDGET, "--out", "resumed", "--resume"), 0, "");
    expect({ ...ground.result("resumed"), at: "" }).toEqual({ ...ground.result("whole"), at: "" });
  });

  it("isn't needed if nothing could be read: with a token that can read, the survey starts over", async () => {
    const ground = await Ground.with({
      credentials: [{ token: "none", paths: /^$/ }, { token: "local-token" }],
    });
    const { shop, blog } = ground.api.zones;
    const options = ["--zones", ground.write("ids.txt", `${shop}\n${blog}\n`), ...BUDGET];
    const none = await ground.run({ env: { CLOUDFLARE_API_TOKEN: "none" } }, ...options);
    expectEnd(none, 1, "the token couldn't read anything in these zones");
    const some = await ground.survey(...options);
    expect([some.stderr, some.code]).toEqual([expect.stringContaining("2 zones"), 0]);
  });

  it("tries each permission in the same zones as an uninterrupted survey", async () => {
    const ids = (await Ground.with({ zones: 24 })).api.snapshot().zones.map(({ id }) => id);
    // Each twentieth zone is tried, and this one says that the permission may be granted in others.
    const token = { token: "few-zones", paths: new RegExp(`/zones/${ids[40]}/logpush/`) };
    const ground = await Ground.with({ zones: 24, credentials: [token] });
    ground.write("zones.txt", ids.join("\n"));
    const env = { CLOUDFLARE_API_TOKEN: token.token };
    const run = (out: string, ...more: readonly string[]): Promise<Surveyed> =>
      ground.run({ env }, ...["--zones", "zones.txt", ...BUDGET, "--out", out, ...more]);
    const jobs = (folder: string): string[] =>
      ground
        .result(folder)
        .zones.map((each) => ("notReadable" in each.jobs ? each.jobs.notReadable : "read"));

    await run("whole");
    revokeAt(ground, `${ids[16]}/page_shield`);
    expectEnd(await run("resumed"), 1, "To continue, pass --resume.");
    await run("resumed", "--resume");
    expect(jobs("whole")).toEqual(ids.map((_, index) => (index === 40 ? "read" : "right")));
    expect(jobs("resumed")).toEqual(jobs("whole"));
    expect({ ...ground.result("resumed"), at: "" }).toEqual({ ...ground.result("whole"), at: "" });
  });

  it("marks what the stacks manage now, even if they changed since the survey began", async () => {
    const ground = await Ground.with();
    const { shop, blog } = ground.api.zones;
    const stack = (...zones: readonly string[]): string =>
      ground.write(
        "state.json",
        JSON.stringify({
          version: 3,
          deployment: {
            resources: zones.map((id) => ({
              urn: `urn:pulumi:prod::shop::edgeguard:index:PageShieldSettings::${id}`,
              type: "edgeguard:index:PageShieldSettings",
              id,
            })),
          },
        }),
      );
    const options = ["--zones", "few.txt", ...BUDGET, "--stack", stack(shop)];
    revokeAt(ground, `${blog}/logpush/jobs`);
    expectEnd(await ground.survey(...options), 1, "To continue, pass --resume.");
    stack(blog);
    expectEnd(await ground.survey(...options, "--resume"), 0, "2 zones");
    const stacks = [shop, blog].map((id) => ground.zone(id).pageShield);
    expect(stacks).toMatchObject([{ stack: null }, { stack: "shop/prod" }]);
  });

  it("counts the keys of each namespace once, and says up front how many namespaces there are", async () => {
    const ground = await Ground.with();
    const call = callerOf(ground.api);
    const path = `/accounts/${ground.api.accounts.main}/storage/kv/namespaces`;
    const ids: string[] = [];
    for (let number = 0; number < 20; number += 1)
      ids.push(idOf(await call("POST", path, { title: `n${number}` })));
    ground.api.clearRequests();
    revokeAt(ground, `${ids[12]}/keys`);
    const options = ["--zones", "few.txt", ...BUDGET];
    const ended = await ground.survey(...options);
    expect(ended.stderr).toMatch(/^edgeguard: surveying 2 zones and 21 namespaces: about 33 to 39 requests/);
    expectEnd(ended, 1, "Kept the results for 0 of 2 zones. To continue, pass --resume.");
    const resumed = await ground.survey(...options, "--resume");
    expect(resumed.stderr).toMatch(/surveying 2 zones and 21 namespaces \(\d+ already read\): about/);
    const counted = ground.api.requests.filter((each) => each.path.endsWith("/keys"));
    expect(counted.filter(({ status }) => status === 200)).toHaveLength(21);
    const [account] = ground.result().accounts;
    expect(account?.namespaces).toContainEqual({ id: ids[3], title: "n3", keys: { count: 0, more: false } });
  });
});

describe("a survey on a disk that's nearly full", () => {
  type Write = (bytes: Buffer, at: number, length: number | undefined, place: number) => Promise<unknown>;

  /** Replaces how many bytes files take of each write that names a length, as the journal's do. */
  async function limitWrites(take: (bytes: number) => number): Promise<jest.SpyInstance> {
    const handle = await open(__filename);
    const files = Object.getPrototypeOf(handle) as { write: Write };
    await handle.close();
    const { write } = files;
    return jest.spyOn(files, "write").mockImplementation(function (
      this: FileHandle,
      bytes,
      at,
      length,
      place,
    ) {
      return write.call(this, bytes, at, length === undefined ? length : take(length), place);
    });
  }

  it("finishes partly written lines, and can be resumed after the disk was full", async () => {
    const ground = await Ground.with();
    const options = ["--zones", "few.txt", ...BUDGET];
    await ground.survey(...options, "--out", "whole");
    let room = 4_000;
    const spy = await limitWrites((length) => {
      if (room <= 0)
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), {
          code: "ENOSPC",
          syscall: "write",
        });
      const taken = Math.min(length, 1_000, room);
      room -= taken;
      return taken;
    });
    const full = await ground.survey(...options);

    spy.mockRestore();
    expectEnd(
      full,
      1,
      "a file can't be written: Error: ENOSPC: no space left on device, write. Check that the disk",
    );
    expectEnd(full, 1, "of 2 zones. To continue, pass --resume.");
    expect(readFileSync(join(ground.cwd, JOURNAL))).toHaveLength(4_000);
    expectEnd(await ground.survey(...options, "--resume"), 0, "2 zones");
    expect({ ...ground.result(), at: "" }).toEqual({ ...ground.result("whole"), at: "" });
  });
});
