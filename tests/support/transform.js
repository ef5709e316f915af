const { transform } = require("sucrase");

/**
 * Turns TypeScript into JavaScript with the same line numbers, so stack traces need no source map. `npm run check` checks
 * the types once, instead of every worker.
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
