const assert = require("node:assert/strict");
const { runProgram, startLocalApi } = require("pulumi-edgeguard/testing");
const { declareShop } = require("./program.cjs");

const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
const accountId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";

/** The same cases for every test runner. */
exports.CASES = {
  "declares a policy of our own scripts": async () => {
    const { resources } = await runProgram(() => declareShop({ zoneId, accountId }));
    const policy = resources.find(({ type }) => type === "PageShieldPolicy");
    assert.equal(policy?.inputs.value, "script-src 'self'");
  },
  "refuses a keyword without quotes": async () => {
    const run = runProgram(() => declareShop({ zoneId, accountId, sources: ["self"] }));
    await assert.rejects(run, /^RefusedProgramError: PageShieldPolicy "shop": value\.scriptSrc/);
  },
  "creates a namespace and its entry in a local API": async () => {
    const api = await startLocalApi();
    try {
      const ids = { zoneId: api.zones.empty, accountId: api.accounts.main };
      await runProgram(() => declareShop(ids), { api });
      assert.ok(api.requests.some(({ method, path }) => method === "PUT" && path.endsWith("/bulk")));
    } finally {
      await api.close();
    }
  },
};

/** Fails, with the sentence of the preview. */
exports.FAILING = async () => {
  await runProgram(() => declareShop({ zoneId, accountId, sources: ["self"] }));
};

/** Fails, too, although the test waits for nothing. */
exports.FAILING_MOCKS = async () => {
  const pulumi = require("@pulumi/pulumi");
  const { checkedMocks } = require("pulumi-edgeguard/testing");
  await pulumi.runtime.setMocks(checkedMocks());
  declareShop({ zoneId, accountId, sources: ["self"] });
  await pulumi.runtime.disconnect();
};
