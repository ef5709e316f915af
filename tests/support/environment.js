const { isNativeError } = require("node:util/types");
const { TestEnvironment } = require("jest-environment-node");
const { addHook } = require("sucrase/dist/register");

/**
 * Test files share what a worker has loaded once: the local API, zod, undici and gRPC. Loading them in each file's own realm
 * took a third of the tests' time. Their errors are of another realm, as those of Node.js are: here, both are an `Error`.
 */
module.exports = class extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.shared = require;
    const { Error: own } = this.global;
    const isInstance = Function.prototype[Symbol.hasInstance];
    Object.defineProperty(own, Symbol.hasInstance, {
      value(error) {
        return this === own ? isNativeError(error) : isInstance.call(this, error);
      },
    });
  }
};
addHook(".ts", { transforms: ["imports", "typescript"], disableESTransforms: true });
