/** Type token of this package's resources, up to the class name: the engine calls them dynamic resources. */
export const TYPE_PREFIX = "pulumi-nodejs:dynamic/edgeguard:";

/**
 * The only code of this package in a state file: a constant text that loads the package by name and forwards the verb. A
 * closure serialized by the SDK would change with the SDK's and TypeScript's versions, and show as a change of every
 * resource. `refresh` and `destroy` run the text in the state, so the names in it (`pulumi-edgeguard/runtime`, the seven
 * verbs) never change.
 */
export function forwarder(type: string): string {
  return `// Forwards to the installed package pulumi-edgeguard. Holds no logic and no value.
const type = ${JSON.stringify(type)};
const run = (verb, ...args) => {
  let runtime;
  try {
    runtime = require("pulumi-edgeguard/runtime");
  } catch (e) {
    const reason = String((e && e.message) || e).split("\\n")[0];
    const error = new Error("edgeguard: " + type + " needs the package pulumi-edgeguard, which cannot be loaded from " + process.cwd() +
      ": run npm install in that directory (and build the package if it is linked from source), then run the command again. Reason: " + reason);
    error.stack = "";
    throw error;
  }
  return runtime[verb](type, ...args);
};
exports.handler = () => ({
  configure: (req) => run("configure", req),
  check: async (olds, news) => run("check", olds, news),
  diff: async (id, olds, news) => run("diff", id, olds, news),
  create: async (inputs) => run("create", inputs),
  read: async (id, props) => run("read", id, props),
  update: async (id, olds, news) => run("update", id, olds, news),
  delete: async (id, props) => run("delete", id, props),
});
`;
}
