/** Loads semver only on use. The SDK loads its 47 modules at every start, but needs them only to find provider packages. */
module.exports = new Proxy(
  { __esModule: true },
  { get: (own, member) => own[member] ?? require("semver/index.js")[member] },
);
