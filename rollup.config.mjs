import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dts } from "rollup-plugin-dts";

/**
 * Rolls the provider's declarations up into one file per entry point. A program then reads a handful of files that import
 * nothing but the Pulumi SDK, instead of one per module and those of every library that the provider uses.
 */

const PROVIDER = join(import.meta.dirname, "provider");
const { exports } = JSON.parse(readFileSync(join(PROVIDER, "package.json"), "utf8"));
/** The compiler's declaration of each entry point, by the name of its roll-up. */
const input = Object.fromEntries(
  Object.values(exports)
    .filter((target) => target.types !== undefined)
    .map((target) => [
      target.types.replace(/^\.\/dist\/types\/(.+)\.d\.ts$/, "$1"),
      join(PROVIDER, target.default.replace(/^\.\/dist\/(.+)\.js$/, "dist/declarations/$1.d.ts")),
    ]),
);

/**
 * `export * as limits` becomes a namespace of aliases, for which editors show no docs: it can list the members themselves.
 * Private members go: a program for ES5 may not read them, and a resource of another copy of the package would not fit.
 */
const forEditors = {
  name: "for-editors",
  renderChunk(code) {
    const members = new Map();
    const renamed = new Map([...code.matchAll(/\b(\w+_d) as (\w+)/g)].map(([, from, to]) => [from, to]));
    return code
      .replace(
        /^(?:type|declare const) (\w+_d_\w+)\b.*[=:] (?:typeof )?(\w+)(?:<.*>)?;\n/gm,
        (_, alias, member) => {
          members.set(alias, member);
          return "";
        },
      )
      .replace(/\b(\w+_d_\w+) as (\w+)/g, (_, alias, name) => {
        const member = members.get(alias);
        if (member === undefined) throw new Error(`${alias} is not declared as an alias`);
        return member === name ? name : `${member} as ${name}`;
      })
      .replace(/\b(\w+_d)(?: as \w+)?\b/g, (text, namespace) => renamed.get(namespace) ?? text)
      .replace(/^ +#private;\n/gm, "");
  },
};

export default {
  input,
  output: { dir: join(PROVIDER, "dist/types"), chunkFileNames: "shared.d.ts", minifyInternalExports: false },
  external: (id) => !/^[./]/.test(id),
  // Declarations only need parsing: without the standard library and the SDK, that takes half the time.
  plugins: [
    dts({ tsconfig: false, compilerOptions: { noLib: true, noResolve: true, types: [] } }),
    forEditors,
  ],
  onwarn: ({ message }) => {
    throw new Error(message);
  },
};
