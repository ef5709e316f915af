/** Stands for the SDK's own way to the compiler, which it loads at every start and needs only to write functions as text. */
module.exports = new Proxy({}, { get: (_, member) => require("typescript")[member] });
