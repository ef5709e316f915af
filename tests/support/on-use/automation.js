/** Loads the SDK's Automation API only on use. The SDK's index loads it at every start, but no test needs it from there. */
module.exports = new Proxy(
  { __esModule: true },
  { get: (own, member) => own[member] ?? require("@pulumi/pulumi/automation")[member] },
);
