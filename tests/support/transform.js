const { transform } = require("sucrase");

/**
 * TypeScript to JavaScript, line by line: a stack trace needs no map. Types are checked by `npm run check`, once and not in
 * every worker.
 */
module.exports = {
  process: (source, filePath) => ({
    code: transform(source, {
      filePath,
      transforms: ["typescript", "imports", "jest"],
      disableESTransforms: true,
    }).code,
  }),
};
