module.exports = globalThis.shared("undici");
