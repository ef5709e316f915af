/** Stands for the SDK's automation API, which its index loads at every start; who uses it imports it by its own path. */
module.exports = new Proxy(
  { __esModule: true },
  { get: (own, member) => own[member] ?? require("@pulumi/pulumi/automation")[member] },
);
