import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const { engines } = JSON.parse(readFileSync("provider/package.json", "utf8")) as {
  engines: { node: string };
};

function loadWith(version: string): string {
  const script = `Object.defineProperty(process.versions, "node", { value: "${version}" });
    require(${JSON.stringify(resolve("provider/dist/runtime/node-version"))});`;
  return spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stderr;
}

test("requires the Node.js version named in package.json", () => {
  expect(engines.node).toBe(">=20.18.1");
});

test.each(["18.20.8", "20.17.9", "20.18.0"])("refuses Node %s and says what to do", (version) => {
  expect(loadWith(version)).toContain(`pulumi-edgeguard needs Node.js 20.18.1 or newer; this is ${version}.`);
});

test.each(["20.18.1", "20.19.0", "22.0.0"])("accepts Node %s", (version) => {
  expect(loadWith(version)).toBe("");
});
