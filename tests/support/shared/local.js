module.exports = globalThis.shared("../../local/index.ts");
