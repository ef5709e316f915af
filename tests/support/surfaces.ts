import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE, type EngineCommand } from "edgeguard-local";
import { TYPE_PREFIXES } from "../../provider/runtime/type-tokens";
import { generateSdk, PluginProject } from "../plugin/project";
import { engines, Project, temporaryFolder, type RunResult } from "./engine";
import { LONG } from "./long";

/** A way for a program's resources to reach an engine. */
export interface Surface {
  readonly name: string;
  readonly engine: EngineCommand;
  /** Who does the work: the classes' provider, the plugin behind that provider's host, or the plugin for its own SDK. */
  readonly by: "classes" | "plugin" | "SDK";
  /** Makes a project for programs that import the classes. */
  project(name: string): Project;
}

/**
 * The classes on every engine of this machine. In the long run, also the provider plugin: behind the local engine's
 * dynamic provider host, and on the Pulumi CLI with the same programs, whose classes are then those of the SDK.
 */
export function surfaces(): Surface[] {
  return [
    ...engines().map((engine) => ({
      name: engine.name,
      engine,
      by: "classes" as const,
      project: (name: string) => new Project(engine, name),
    })),
    ...(LONG ? engines().map(onPlugin) : []),
  ];
}

function onPlugin(engine: EngineCommand): Surface {
  return engine === LOCAL_ENGINE
    ? {
        name: `${engine.name}, through the provider plugin`,
        engine,
        by: "plugin",
        project: (name) => new Project(engine, name, true),
      }
    : {
        name: `${engine.name}, with the provider plugin's SDK`,
        engine,
        by: "SDK",
        project: (name) => new SdkProject(engine, name),
      };
}

/** A project whose programs import the classes and get the SDK's in their place. */
class SdkProject extends PluginProject {
  constructor(engine: EngineCommand, name: string) {
    super(engine, name);
    symlinkSync(join(sdkOf(engine), "nodejs/bin"), join(this.dir, "sdk"));
    writeFileSync(join(this.dir, "on-sdk.js"), ON_SDK);
  }

  override write(program: string): void {
    super.write(program.replaceAll('"pulumi-edgeguard"', '"./on-sdk"'));
  }

  override async run(...args: readonly string[]): Promise<RunResult> {
    return await super.run(...args.map((arg) => arg.replace(TYPE_PREFIXES.dynamic, TYPE_PREFIXES.plugin)));
  }
}

/**
 * The SDK takes what the builders of the classes return as text, under the names of the API's fields. A schema has no
 * methods, so programs do without `bindingSnippet`.
 */
const ON_SDK = `
const { Output } = require("@pulumi/pulumi");
const sdk = require("./sdk");
module.exports = {
  ...require("pulumi-edgeguard"),
  ...sdk,
  KvNamespace: class extends sdk.KvNamespace {
    bindingSnippet() {
      return undefined;
    }
  },
  LogpushJob: class extends sdk.LogpushJob {
    constructor(name, { destination, filter, ...args }, options) {
      const where = destination === undefined ? {} : { destinationConf: destination };
      const isText = typeof filter === "string" || Output.isInstance(filter);
      const lines = filter === undefined ? {} : { filter: isText ? filter : JSON.stringify(filter) };
      super(name, { ...args, ...where, ...lines }, options);
    }
  },
};
`;

let generated: string | undefined;

/** The SDK that the engine generates, once for each test file. */
function sdkOf(engine: EngineCommand): string {
  if (generated !== undefined) return generated;
  const folder = temporaryFolder("sdk");
  generateSdk(engine, folder, { PULUMI_HOME: folder, PULUMI_SKIP_UPDATE_CHECK: "1" });
  return (generated = folder);
}
