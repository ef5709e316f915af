import { readFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
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
  it("keeps as not readable what failed right before an outage ended the survey", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 503, match: { path: "/zones/" }, times: 20 });
    expectEnd(await ground.survey(...BUDGET), 1, "To continue, pass --resume.");
    expect(ground.read(JOURNAL)).toContain('"notReadable":"failed"');
    expectEnd(await ground.survey(...BUDGET, "--resume"), 0, "18 zones");
    expect(ground.read("survey/survey.json")).toContain('"notReadable":"failed"');
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
});

describe("a survey on a disk that's nearly full", () => {
  /** Lets files take only so many bytes that are appended. */
  async function limitAppends(room: number): Promise<jest.SpyInstance> {
    const handle = await open(__filename);
    const files = Object.getPrototypeOf(handle) as Pick<FileHandle, "appendFile">;
    await handle.close();
    const { appendFile } = files;
    let left = room;
    return jest.spyOn(files, "appendFile").mockImplementation(async function (this: FileHandle, text) {
      const bytes = Buffer.from(text as string);
      await appendFile.call(this, bytes.subarray(0, left));
      left -= bytes.length;
      if (left < 0)
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), {
          code: "ENOSPC",
          syscall: "write",
        });
    });
  }

  it("can be resumed after the disk was full, although its last line is incomplete", async () => {
    const ground = await Ground.with();
    const options = ["--zones", "few.txt", ...BUDGET];
    await ground.survey(...options, "--out", "whole");
    const spy = await limitAppends(4_000);
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
