import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EngineCommand, LocalApi } from "edgeguard-local";
import { isJsonObject } from "../../../provider/basics/json";
import { Project } from "../../support/engine";
import type { Ids } from "./play";
import { urnOf, VerbsPlayer, written } from "./verbs";
import type { Resource, Scene } from "./scene";

/** Plays scenes through the provider's verbs, but lets an engine write the plan, from the same state. */
export class EnginePlayer extends VerbsPlayer {
  readonly #project: Project;

  constructor(
    readonly api: LocalApi,
    engine: EngineCommand,
  ) {
    super(api);
    this.#project = new Project(engine, "edge");
  }

  async init(): Promise<this> {
    await this.#project.init({
      "edgeguard:baseUrl": this.api.url,
      "edgeguard:accountId": this.api.accounts.main,
      "edgeguard:maxRetries": "1",
    });
    return this;
  }

  close(): void {
    this.#project.remove();
  }

  override async preview(
    program: readonly Resource[],
    { targets, preview: { liveChecks, credential } }: Pick<Scene, "targets" | "preview">,
  ): Promise<string | undefined> {
    await this.#import();
    this.#project.write(programText(program, this.api.accounts.main, this.state));
    this.#project.env = {
      ...(credential ? { CLOUDFLARE_API_TOKEN: "local-token" } : {}),
      ...(liveChecks ? {} : { EDGEGUARD_LIVE_CHECKS: "false" }),
    };
    const declared = [...program, ...[...this.state].map(([name, { type }]) => ({ name, type }))];
    const wanted = (targets ?? []).flatMap((name) =>
      declared.filter((each) => each.name === name).slice(0, 1),
    );
    const gate = targets === undefined ? [] : [GATE];
    const flags = [...wanted, ...gate].flatMap(({ type, name }) => ["--target", urnOf(type, name)]);
    const { stdout, stderr, code } = await this.#project.run("preview", "--json", "--show-sames", ...flags);
    if (code !== 0 && process.env["V"])
      console.log("refused by engine", stderr.slice(-400), stdout.slice(-1200));
    return code === 0 ? stdout : undefined;
  }

  /** Gives the engine the state that the verbs have made. */
  async #import(): Promise<void> {
    const exported = join(this.#project.dir, "state.json");
    const deployment = (await this.#project.export()) as unknown as {
      readonly deployment: Readonly<Record<string, unknown>>;
    };
    const root = {
      type: "pulumi:pulumi:Stack",
      custom: false,
      urn: "urn:pulumi:dev::edge::pulumi:pulumi:Stack::edge-dev",
    };
    const provider = {
      type: "pulumi:providers:pulumi-nodejs",
      custom: true,
      id: "b1c5e1a6-0000-4000-8000-000000000001",
      urn: "urn:pulumi:dev::edge::pulumi:providers:pulumi-nodejs::default",
    };
    const resources = [...this.state].map(([name, { type, ...stored }]) => ({
      ...stored,
      type: `pulumi-nodejs:dynamic/edgeguard:${type}`,
      custom: true,
      urn: urnOf(type, name),
      parent: root.urn,
      provider: `${provider.urn}::${provider.id}`,
    }));
    const next = {
      ...deployment,
      deployment: { ...deployment.deployment, resources: [root, provider, ...resources] },
    };
    writeFileSync(exported, JSON.stringify(next));
    await this.#project.ok("stack", "import", "--file", exported);
  }
}

/** A new namespace, whose ID no preview knows. */
const GATE = { type: "KvNamespace", name: "gate" } as const;

function programText(program: readonly Resource[], accountId: string, ids: Ids): string {
  const lines = program.map((resource) => {
    const { type, name, inputs, unknown = [], protect, retainOnDelete } = resource;
    const { confirm } = written(resource, ids);
    const args = Object.entries({ ...inputs, ...(confirm === undefined ? {} : { confirm }) }).map(
      ([argument, value]) => {
        const isReference = argument === "namespaceId" && isJsonObject(value);
        const text = isReference ? `made[${JSON.stringify(value["of"])}].id` : JSON.stringify(value);
        return `${argument}: ${unknown.includes(argument) ? `late(${text})` : text}`;
      },
    );
    const options = JSON.stringify({ protect, retainOnDelete });
    return `made[${JSON.stringify(name)}] = new edgeguard.${type}(${JSON.stringify(name)}, { ${args.join(", ")} }, ${options});`;
  });
  return [
    'import * as pulumi from "@pulumi/pulumi";',
    'import * as edgeguard from "pulumi-edgeguard";',
    "const made: Record<string, any> = {};",
    `const gate = new edgeguard.${GATE.type}("${GATE.name}", { accountId: "${accountId}", title: "gate" });`,
    "const late = (value: any) => pulumi.all([gate.id, value]).apply(([, known]) => known);",
    ...lines,
  ].join("\n");
}
