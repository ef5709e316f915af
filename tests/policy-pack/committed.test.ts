import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isCommitted } from "../../examples/policy-pack/committed";

test("an inventory counts as reviewed if it's committed and hasn't changed since", () => {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-policy-"));
  const file = join(folder, "script-inventory.yaml");
  const git = (...args: string[]): Buffer =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      stdio: "pipe",
    });
  try {
    expect(isCommitted(file)).toBe(false);
    writeFileSync(file, "version: 1\nscripts: []\n");
    expect(isCommitted(file)).toBe(true); // Without git, every file counts.
    git("init", "--quiet");
    expect(isCommitted(file)).toBe(false);
    git("add", "script-inventory.yaml");
    expect(isCommitted(file)).toBe(false);
    git("commit", "--quiet", "--message", "seen");
    expect(isCommitted(file)).toBe(true);
    writeFileSync(file, "version: 1\nscripts: [{ script: cdn.example.com }]\n");
    expect(isCommitted(file)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
