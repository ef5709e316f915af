/**
 * Preloaded into the program and the provider host, to start them faster. At every start, the SDK loads its automation
 * API, its tracing libraries, and a compiler and a package-tree reader that it needs only to serialize functions. That
 * takes two thirds of its start time. zod loads messages in every language. This module loads all of these on first
 * use, through a proxy for the real module.
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

/** Node's module loader. Node's types don't include `_load`, but it's the established hook for tools. */
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
      // `import *` reads this first, and would otherwise copy every member.
      get: (_, member): unknown => (member === "__esModule" ? true : Reflect.get(real(), member)),
      has: (_, member) => Reflect.has(real(), member),
      set: (_, member, value) => Reflect.set(real(), member, value),
    },
  );
}
