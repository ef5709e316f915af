/** zod loads the messages of sixty languages at every start. Only English is used. */
module.exports = { en: require("zod/v4/locales/en.cjs").default };
