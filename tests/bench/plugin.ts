import { join } from "node:path";
import { forwarder } from "../../provider/runtime/forwarder";
import type { JsonObject } from "../../provider/basics/json";
import { PLUGIN } from "../plugin/project";
import { PluginClient } from "../plugin/client";
import { REPOSITORY } from "../support/repository";
import { median, type Row } from "./table";

const RESOURCES = 500;
const TYPE = "KvNamespace";
const HOST = "node_modules/@pulumi/pulumi/cmd/dynamic-provider";
const ACCOUNT_ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const STARTS = 15;
const ROUNDS = 9;

/** The provider plugin beside the host of dynamic resources, both asked over gRPC as an engine asks them. No request is sent. */
export async function plugin(): Promise<Row[]> {
  const settings = { apiToken: "local-token", accountId: ACCOUNT_ID, liveChecks: "false" };
  const surfaces: Readonly<Record<"plugin" | "dynamic", Surface>> = {
    plugin: { command: [join(PLUGIN, "pulumi-resource-edgeguard")], settings, inputs: {} },
    dynamic: {
      command: [process.execPath, join(REPOSITORY, HOST)],
      settings: Object.fromEntries(
        Object.entries(settings).map(([key, value]) => [`edgeguard:${key}`, value]),
      ),
      inputs: { __provider: forwarder(TYPE) },
    },
  };
  const first = async (surface: Surface): Promise<void> => {
    const client = await started(surface);
    await client.check(TYPE, nameOf(0), written(surface, 0));
    client.stop();
  };
  const [plugin, dynamic] = [await started(surfaces.plugin), await started(surfaces.dynamic)];
  const previews = {
    plugin: await unchangedOf(plugin, surfaces.plugin),
    dynamic: await unchangedOf(dynamic, surfaces.dynamic),
  };
  const compared = async (what: string, rounds: number, arms: Arms): Promise<Row> => {
    const times: Readonly<Record<keyof Arms, number[]>> = { plugin: [], dynamic: [] };
    for (let round = 0; round < rounds; round += 1)
      for (const arm of ["plugin", "dynamic"] as const) times[arm].push(await median(1, arms[arm]));
    const middle = (of: number[]): number => of.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN;
    const [ours, theirs] = [middle(times.plugin), middle(times.dynamic)];
    return { what, ours, unit: "ms", against: "the dynamic form", theirs, atMost: 1 };
  };
  const starts = { plugin: () => first(surfaces.plugin), dynamic: () => first(surfaces.dynamic) };
  const rows = [
    await compared("start of the plugin to its first answer", STARTS, starts),
    await compared(`${RESOURCES} unchanged resources of the plugin`, ROUNDS, previews),
  ];
  plugin.stop();
  dynamic.stop();
  return rows;
}

/** The same work of both. They take turns, so that another load on the machine slows down both. */
type Arms = Readonly<Record<"plugin" | "dynamic", () => Promise<void>>>;

interface Surface {
  readonly command: readonly [string, ...string[]];
  readonly settings: JsonObject;
  /** What the class adds to the arguments. */
  readonly inputs: JsonObject;
}

const started = ({ command, settings }: Surface): Promise<PluginClient> =>
  PluginClient.start(settings, { command });

const written = ({ inputs }: Surface, index: number): JsonObject => ({
  title: nameOf(index),
  __resourceName: nameOf(index),
  ...inputs,
});

/** Checks and compares resources that didn't change, as a preview of them does. */
async function unchangedOf(client: PluginClient, surface: Surface): Promise<() => Promise<void>> {
  const recorded = await Promise.all(
    Array.from({ length: RESOURCES }, async (_, index) => {
      const { inputs } = await client.check(TYPE, nameOf(index), written(surface, index));
      return { id: idOf(index), inputs, outputs: inputs };
    }),
  );
  return async () => {
    const compared = recorded.map(async (made, index) => {
      const { details } = await client.diff(TYPE, nameOf(index), made, written(surface, index));
      if (Object.keys(details).length > 0) throw new Error("a resource changed");
    });
    await Promise.all(compared);
  };
}

const nameOf = (index: number): string => `namespace-${index}`;
const idOf = (index: number): string => index.toString(16).padStart(32, "0");
