module.exports = globalThis.shared("zod");
