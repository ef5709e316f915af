import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reviewedZones } from "../../examples/policy-pack/snapshots";

const ZONE = "0da42c8d2132a9ddaf714f9e7c920711";

test("a snapshot counts as reviewed if it's committed and hasn't changed since", () => {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-policy-"));
  const git = (...args: string[]): Buffer =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      stdio: "pipe",
    });
  const save = (...scripts: object[]): void =>
    writeFileSync(join(folder, "detections.json"), JSON.stringify({ version: 1, zoneId: ZONE, scripts }));
  try {
    const zones = (): string[] => [...reviewedZones(folder, ["detections.json", "none.json"])];
    expect(zones()).toEqual([]);
    save();
    expect(zones()).toEqual([ZONE]); // Without git, every file counts.
    git("init", "--quiet");
    expect(zones()).toEqual([]);
    git("add", "detections.json");
    expect(zones()).toEqual([]);
    git("commit", "--quiet", "--message", "seen");
    expect(zones()).toEqual([ZONE]);
    save({ url: "https://new.example/a.js", host: "shop.example" });
    expect(zones()).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
