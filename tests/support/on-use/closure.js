const closure = "@pulumi/pulumi/runtime/closure";

/** Loads what serializes functions only on use. The SDK loads it at every start, with 60 modules of other packages. */
module.exports = {
  computeCodePaths: (...args) => require(`${closure}/codePaths.js`).computeCodePaths(...args),
  serializeFunction: (...args) => require(`${closure}/serializeClosure.js`).serializeFunction(...args),
  serializeFunctionAsync: (...args) =>
    require(`${closure}/serializeClosure.js`).serializeFunctionAsync(...args),
};
