/**
 * The only code from this package in a state file: a constant string that loads the package by name and forwards the
 * call. A closure serialized by the SDK would vary with the versions of the SDK and TypeScript. `refresh` and `destroy`
 * run the string recorded in the state, so the names in it (`pulumi-edgeguard/runtime` and the seven provider methods)
 * never change. Each resource's state contains it twice, so it's short.
 *
 * It runs in the program's directory, and finds what the program itself could require. If the program depends on this
 * package only through another one, pnpm keeps it out of reach; the error says what to add.
 */
export function forwarder(type: string): string {
  return `// Forwards to pulumi-edgeguard, a dependency of the program.
const type = ${JSON.stringify(type)};
const name = "pulumi-edgeguard";
const load = () => {
  try {
    return require(name + "/runtime");
  } catch (e) {
    const reason = String(e?.message || e).split("\\n")[0];
    const why = reason === \`Cannot find module '\${name}/runtime'\`
      ? \`which can't be found from \${process.cwd()}. Add \${name} to the program's own dependencies and install them. With pnpm, adding it to publicHoistPattern works, too. In a bundle, also mark it as external.\`
      : \`which can't be loaded: \${reason}. Install the dependencies in \${process.cwd()} again; build the package if it's linked from source.\`;
    throw Object.assign(new Error(\`edgeguard: \${type} needs the package \${name}, \${why}\`), { stack: "" });
  }
};
const verbs = ["configure", "check", "diff", "create", "read", "update", "delete"];
exports.handler = () => Object.fromEntries(verbs.map((verb) => [verb, (...args) => load()[verb](type, ...args)]));
`;
}
