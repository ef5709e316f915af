/** Loads OpenTelemetry only on use. The SDK loads it at every start, but needs it only to trace. */
module.exports = new Proxy(
  { __esModule: true },
  { get: (own, member) => own[member] ?? require("@opentelemetry/api/build/src/index.js")[member] },
);
