/** Loads TypeScript only on use. The SDK loads it at every start, but needs it only to serialize functions. */
module.exports = new Proxy({}, { get: (_, member) => require("typescript")[member] });
