/**
 * The only code from this package in a state file: a constant string that loads the package by name and forwards the
 * call. A closure serialized by the SDK would vary with the versions of the SDK and TypeScript. `refresh` and `destroy`
 * run the string recorded in the state, so the names in it (`pulumi-edgeguard/runtime` and the seven provider methods)
 * never change. Each resource's state contains it twice, so it's short.
 *
 * It runs in the program's directory. If the program depends on this package only through another one, such as a
 * company's component library, pnpm doesn't let it load this package from there. In that case, it searches the
 * dependencies by their real directories, nearest first, until it finds the package that depends on this one. It treats
 * a broken package.json as one without dependencies, and skips dependencies that aren't installed. If nothing is found,
 * the error says what to do. No path is recorded.
 */
export function forwarder(type: string): string {
  return `// Forwards to pulumi-edgeguard, found from the program's folder or its dependencies.
const type = ${JSON.stringify(type)};
const name = "pulumi-edgeguard";
const textOf = (e) => String(e?.message || e).split("\\n")[0];
const load = (from) => {
  try {
    return from(name + "/runtime");
  } catch (e) {
    if (textOf(e) !== \`Cannot find module '\${name}/runtime'\`) throw e;
  }
};
const find = () => {
  const fs = require("fs"), path = require("path");
  const folders = new Set();
  for (let at = process.cwd(); !folders.has(at); at = path.dirname(at)) folders.add(at);
  for (const folder of folders) {
    const file = path.join(folder, "package.json");
    const from = require("module").createRequire(file);
    let needs = {};
    try {
      const p = JSON.parse(fs.readFileSync(file, "utf8"));
      needs = { ...p.dependencies, ...p.peerDependencies, ...(!folder.includes("node_modules") && p.devDependencies) };
    } catch {}
    const found = name in needs && load(from);
    if (found) return found;
    for (const need in needs)
      for (const modules of from.resolve.paths(need) || [])
        try {
          folders.add(fs.realpathSync(path.join(modules, need)));
          break;
        } catch {}
  }
};
let runtime, why;
const run = (verb, args) => {
  if (!why)
    try {
      why = \`and neither \${process.cwd()} nor its dependencies have it. Add \${name} to the dependencies in its package.json and install them. In a bundle, also mark it as external.\`;
      runtime = load(require) || find();
    } catch (e) {
      why = \`which can't be loaded: \${textOf(e)}. Install the dependencies in \${process.cwd()} again; build the package if it's linked from source.\`;
    }
  if (!runtime) throw Object.assign(new Error(\`edgeguard: \${type} needs the package \${name}, \${why}\`), { stack: "" });
  return runtime[verb](type, ...args);
};
const verbs = ["configure", "check", "diff", "create", "read", "update", "delete"];
exports.handler = () => Object.fromEntries(verbs.map((verb) => [verb, (...args) => run(verb, args)]));
`;
}
