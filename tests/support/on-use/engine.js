/** Loads the local engine only on use. Most tests need only the local API. */
module.exports = { runEngine: (...args) => require("../../../local/engine/index.ts").runEngine(...args) };
