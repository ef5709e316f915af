/**
 * Preloaded into the program's process and the provider host. The SDK loads a compiler and a package-tree reader at every
 * start, and uses them only to write functions as text; its automation API, and what tracing needs, also where nobody has
 * asked for either. Together they are two thirds of its start; zod loads the words of all languages. Here they are loaded
 * when first used. Nothing else changes: whoever reads a member of them gets the real one.
 */
import Module from "node:module";
import path from "node:path";

const DEFERRED: ReadonlySet<string> = new Set([
  "typescript",
  "@npmcli/arborist",
  "./automation",
  "@opentelemetry/exporter-zipkin",
  "@opentelemetry/instrumentation",
  "@opentelemetry/instrumentation-grpc",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/sdk-trace-node",
]);
const SDK = path.join("@pulumi", "pulumi") + path.sep;
const ZOD = path.join("zod", "v4") + path.sep;
const LANGUAGES = "../locales/index.cjs";

type Load = (this: unknown, request: string, parent: unknown, isMain: boolean) => unknown;

/** Not part of Node's types, and for many years what every tool hooks into. */
const loader = Module as unknown as { _load: Load };
const load = loader._load;

loader._load = function (request, parent, isMain) {
  const now = () => load.call(this, request, parent, isMain);
  const isDeferred =
    (DEFERRED.has(request) && isIn(SDK, parent)) || (request === LANGUAGES && isIn(ZOD, parent));
  return isDeferred ? onUse(now) : now();
};

function isIn(folder: string, parent: unknown): boolean {
  if (typeof parent !== "object" || parent === null || !("filename" in parent)) return false;
  return typeof parent.filename === "string" && parent.filename.includes(folder);
}

function onUse(now: () => unknown): object {
  let loaded: object | undefined;
  const real = (): object => (loaded ??= now() as object);
  return new Proxy(
    {},
    {
      // An import of all members asks this first, and would otherwise copy them one by one.
      get: (_, member): unknown => (member === "__esModule" ? true : Reflect.get(real(), member)),
      has: (_, member) => Reflect.has(real(), member),
      set: (_, member, value) => Reflect.set(real(), member, value),
    },
  );
}
