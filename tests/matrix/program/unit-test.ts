import assert from "node:assert/strict";
import { test } from "node:test";
import { PageShieldSettings } from "pulumi-edgeguard";
import { runProgram } from "pulumi-edgeguard/testing";

const declare = (zoneId: string) => () => {
  new PageShieldSettings("shop", { zoneId, enabled: true });
};

void test("Page Shield is on", async () => {
  const { resources } = await runProgram(declare("0da42c8d2132a9ddaf714f9e7c920711"));
  assert.deepEqual(
    resources.map(({ type, name }) => [type, name]),
    [["PageShieldSettings", "shop"]],
  );
});

void test("rejects the program with the preview's message", async () => {
  await assert.rejects(runProgram(declare("shop.example")), /^RefusedProgramError: .*zoneId/);
});
